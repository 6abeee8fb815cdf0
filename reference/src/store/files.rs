//! The files of a served database: created for this user alone, locked, and compared with what their paths name.
//!
//! SQLite locks byte ranges with `fcntl`; such locks belong to the process and vanish when it closes any descriptor
//! of the file. The lock here is `flock` on the database file itself, which is independent of them. Its descriptor
//! is closed after all connections, and never opened twice in one process.

use std::fs::{File, Metadata, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::error::{OpenError, StoreError};

/// Device and inode: the file that a path names at the moment.
type Identity = (u64, u64);

/// The databases that this process serves.
static SERVED: Mutex<Vec<Identity>> = Mutex::new(Vec::new());

/// Creates an empty file that only this user can read and write, if there is none. SQLite gives the files beside
/// the database the same permissions.
pub(super) fn create(path: &Path) -> Result<(), OpenError> {
    let folder = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        return Err(OpenError::MissingFolder(folder.to_owned()));
    }
    match File::options().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(OpenError::from_io(path, &error)),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// The right to serve a database. Two servers on one file would each count requests by themselves, and admit twice
/// what a plan allows.
pub(super) struct Claim {
    identity: Identity,
    _locked: File,
}

impl Claim {
    /// Locks the file at `path`, by whatever name others know it.
    pub(super) fn new(path: &Path) -> Result<Self, OpenError> {
        let explain = |error: io::Error| OpenError::from_io(path, &error);
        let mut served = served();
        let metadata = std::fs::metadata(path).map_err(explain)?;
        let identity = identity(&metadata);
        if served.contains(&identity) {
            return Err(OpenError::AlreadyServed(path.to_owned()));
        }
        let file = File::open(path).map_err(explain)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(OpenError::AlreadyServed(path.to_owned())),
            Err(TryLockError::Error(error)) => return Err(explain(error)),
        }
        if metadata.permissions().mode() & 0o077 != 0 {
            tracing::warn!(file = %path.display(), "other users can read or write the database; consider chmod 600");
        }
        served.push(identity);
        Ok(Self { identity, _locked: file })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        served().retain(|served| *served != self.identity);
    }
}

fn served() -> MutexGuard<'static, Vec<Identity>> {
    SERVED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The files that the open connections use: the database, its write-ahead log and its shared state.
pub(super) struct OpenFiles([(PathBuf, Identity); 3]);

impl OpenFiles {
    /// Notes which files these are. The database is known by the `path` it was opened by, the others by the names
    /// that SQLite derives, after following symbolic links, from `resolved`.
    pub(super) fn note(path: &Path, resolved: &Path) -> io::Result<Self> {
        let named = |path: PathBuf| std::fs::metadata(&path).map(|metadata| (path, identity(&metadata)));
        Ok(Self([named(path.to_owned())?, named(companion(resolved, "-wal"))?, named(companion(resolved, "-shm"))?]))
    }

    /// Checks that each path still names the file that is open. Otherwise whatever is written is lost at the end of
    /// the process, because no other process can open that file.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        for (path, opened) in &self.0 {
            if std::fs::metadata(path).map_or(true, |metadata| identity(&metadata) != *opened) {
                // Without its folder, because health reports this to clients without a key.
                let name = path.file_name().unwrap_or_default();
                return Err(StoreError::Replaced(name.display().to_string()));
            }
        }
        Ok(())
    }

    /// The size of the write-ahead log in bytes.
    pub(super) fn log_size(&self) -> u64 {
        std::fs::metadata(&self.0[1].0).map_or(0, |metadata| metadata.len())
    }
}

/// The name of a file that SQLite keeps beside the database.
pub(super) fn companion(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn identity(metadata: &Metadata) -> Identity {
    (metadata.dev(), metadata.ino())
}
