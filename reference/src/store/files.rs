//! The file of a served database: created for this user alone, and locked.
//!
//! SQLite locks byte ranges with `fcntl`; such locks belong to the process and vanish when it closes any descriptor
//! of the file. The lock here is `flock` on the database file itself, which is independent of SQLite's locks. Its descriptor
//! is closed after all connections.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::error::OpenError;

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
        Ok(_) => Ok(()),
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(OpenError::from_io(path, &error)),
        // Opening a pipe would wait for ever.
        Err(_) if std::fs::metadata(path).is_ok_and(|file| !file.is_file()) => {
            Err(OpenError::CannotOpen { path: path.to_owned(), detail: "it is not a regular file".to_owned() })
        }
        Err(_) => Ok(()),
    }
}

/// Locks a database for one server. Two servers on one file would each count requests by themselves, and admit twice
/// what a plan allows.
pub(super) fn lock(path: &Path) -> Result<File, OpenError> {
    let explain = |error: io::Error| OpenError::from_io(path, &error);
    let file = File::open(path).map_err(explain)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(OpenError::AlreadyServed(path.to_owned())),
        Err(TryLockError::Error(error)) => return Err(explain(error)),
    }
    if file.metadata().map_err(explain)?.permissions().mode() & 0o077 != 0 {
        tracing::warn!(file = %path.display(), "other users can read or write the database; consider chmod 600");
    }
    Ok(file)
}

/// The name of a file that SQLite keeps beside the database.
pub(super) fn companion(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
