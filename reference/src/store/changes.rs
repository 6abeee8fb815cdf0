//! Detecting at almost no cost that any process has committed anything.
//!
//! SQLite keeps the state of the write-ahead log in a small file beside the database (documented in
//! "WAL-mode File Format", sqlite.org/walformat.html). Its header holds a checksum that every commit
//! changes, and a commit is visible there before the commit returns. Reading those eight
//! bytes costs a fraction of a microsecond; asking SQLite itself means a read transaction with its locks.

use std::fs::File;
use std::path::Path;

/// The offset of the checksum in the file.
const CHECKSUM: u64 = 40;

/// An open view of the shared state.
///
/// On Unix, closing a file drops every lock that the process holds on it, SQLite's included. So this must
/// be the last thing of a store to be closed.
pub(super) struct Changes(File);

impl Changes {
    pub(super) fn open(path: &Path) -> std::io::Result<Self> {
        File::open(path).map(Self)
    }

    /// A value that differs after any commit by any process. `None` if the file cannot be read, which a
    /// caller must take as "changed".
    pub(super) fn mark(&self) -> Option<u64> {
        let mut bytes = [0_u8; 8];
        std::os::unix::fs::FileExt::read_exact_at(&self.0, &mut bytes, CHECKSUM).ok()?;
        Some(u64::from_ne_bytes(bytes))
    }
}
