//! Unix sockets for the servers of the tests. The tests make some hundred thousand connections; as TCP connections they would fill
//! the connection table of a firewall, which keeps each of them for minutes.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;

/// A place for a Unix socket, in a folder of its own that is removed with this value.
pub(crate) struct Socket {
    folder: TempDir,
}

/// The beginning of the name of a folder, and of a host.
const PREFIX: &str = "animal-store-";

/// The file in the folder.
const FILE: &str = "socket";

impl Socket {
    /// A new place.
    pub(crate) fn new() -> Socket {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("{PREFIX}{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = tempfile::Builder::new().prefix(&name).rand_bytes(0).tempdir().expect("a folder");
        Socket { folder }
    }

    /// Where a server listens.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join(FILE)
    }

    /// The host that stands for this socket: [`of`] finds the socket by it, also behind a subdomain.
    pub(crate) fn host(&self) -> &str {
        self.folder.path().file_name().and_then(|name| name.to_str()).expect("the name above")
    }
}

/// The socket behind a base URL whose host is that of a [`Socket`].
pub(crate) fn of(base_url: &str) -> Option<PathBuf> {
    let host = base_url.split('/').nth(2)?.rsplit('.').next()?;
    host.starts_with(PREFIX).then(|| std::env::temp_dir().join(host).join(FILE))
}
