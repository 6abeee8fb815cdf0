//! The errors of the database file, at start and while running.

use std::io::ErrorKind;
use std::path::PathBuf;

use rusqlite::ErrorCode;

/// The reason why a database could not be opened. Every message names a remedy.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder that should hold the file does not exist.
    #[error("the folder {} does not exist: create it, or name another file with --db", .0.display())]
    MissingFolder(PathBuf),
    /// The file or its folder cannot be opened or created.
    #[error("cannot open or create {}: check that its folder can be written by this user ({detail})", .path.display())]
    CannotOpen {
        /// The path of the database.
        path: PathBuf,
        /// The message of SQLite.
        detail: String,
    },
    /// The file, or the file system below it, is read-only.
    #[error("{} is read-only: make the file and its folder writable for this user, or name another file with --db", .0.display())]
    ReadOnly(PathBuf),
    /// Another process holds the file locked.
    #[error("{} is locked by another process: end whatever has it open for writing, then start again", .0.display())]
    Locked(PathBuf),
    /// Another server already serves this file.
    #[error("another server already serves {}: stop it first, or name another file with --db", .0.display())]
    AlreadyServed(PathBuf),
    /// The file is no SQLite database.
    #[error("{} is not an animal store database: name another file with --db", .0.display())]
    NotADatabase(PathBuf),
    /// The file is an SQLite database of another program.
    #[error("{} belongs to another program: name another file with --db", .0.display())]
    Foreign(PathBuf),
    /// The file is damaged.
    #[error("{} is damaged ({detail}): restore it from a backup, or name another file with --db", .path.display())]
    Corrupt {
        /// The path of the database.
        path: PathBuf,
        /// The first defect that SQLite found.
        detail: String,
    },
    /// A later version of this program wrote the file.
    #[error("{} was written by a newer version (schema {found}; this one knows up to {known}): update this program", .path.display())]
    NewerSchema {
        /// The path of the database.
        path: PathBuf,
        /// The schema version of the file.
        found: i64,
        /// The newest schema version that this program can read.
        known: i64,
    },
    /// There is no space left for the file.
    #[error("the disk that holds {} is full: free some space, then start again", .0.display())]
    Full(PathBuf),
    /// The file cannot be used for another reason.
    #[error("cannot use {}: {detail}; check the file and its disk", .path.display())]
    Other {
        /// The path of the database.
        path: PathBuf,
        /// The message of SQLite or of the system.
        detail: String,
    },
}

impl OpenError {
    pub(super) fn from_io(path: &std::path::Path, error: &std::io::Error) -> Self {
        let (path, detail) = (path.to_owned(), error.to_string());
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::PermissionDenied => Self::CannotOpen { path, detail },
            ErrorKind::ReadOnlyFilesystem => Self::ReadOnly(path),
            ErrorKind::StorageFull => Self::Full(path),
            _ => Self::Other { path, detail },
        }
    }

    pub(super) fn from_sqlite(path: &std::path::Path, error: &rusqlite::Error) -> Self {
        let (path, detail) = (path.to_owned(), error.to_string());
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked(path),
            Some(ErrorCode::NotADatabase) => Self::NotADatabase(path),
            Some(ErrorCode::DatabaseCorrupt) => Self::Corrupt { path, detail },
            Some(ErrorCode::ReadOnly) => Self::ReadOnly(path),
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => Self::CannotOpen { path, detail },
            Some(ErrorCode::DiskFull) => Self::Full(path),
            _ => Self::Other { path, detail },
        }
    }
}

/// The reason why a running server could not read or write. A write that fails has stored nothing, unless it fails with
/// [`StoreError::Unconfirmed`] or [`StoreError::Unknown`].
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The queue of writes is full.
    #[error("the queue of writes is full")]
    QueueFull,
    /// Another process kept the database locked for too long.
    #[error("the database is locked by another process: {0}")]
    Busy(String),
    /// There is no space left on the disk, or a file-size limit was met.
    #[error("no space is left for the database: {0}")]
    Full(String),
    /// The writer has ended.
    #[error("the store takes no more writes")]
    Stopped,
    /// The writer ended before it answered, so the write may have been stored.
    #[error("the writer ended before it confirmed the write")]
    Unconfirmed,
    /// The disk failed during a commit. If the frames of the commit were written all the same, a restart finds them.
    #[error("the disk failed during the commit, so whether it was stored is not known: {0}")]
    Unknown(String),
    /// The database cannot be read or written for another reason, damage among them.
    #[error("the database failed: {0}")]
    Failed(String),
}

impl StoreError {
    /// The error of a commit. After the errors of other statements nothing was stored; after this one it is unknown.
    pub(super) fn of_commit(error: &rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::SystemIoFailure) => Self::Unknown(error.to_string()),
            _ => error.into(),
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::from(&error)
    }
}

impl From<&rusqlite::Error> for StoreError {
    fn from(error: &rusqlite::Error) -> Self {
        let detail = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy(detail),
            Some(ErrorCode::DiskFull) => Self::Full(detail),
            _ => Self::Failed(detail),
        }
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn an_input_or_output_error_leaves_the_outcome_of_a_commit_unknown_and_of_nothing_else() {
        let error = |code| rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        for code in [ffi::SQLITE_IOERR, ffi::SQLITE_IOERR_FSYNC, ffi::SQLITE_IOERR_WRITE] {
            assert!(matches!(StoreError::of_commit(&error(code)), StoreError::Unknown(_)), "{code}");
            assert!(matches!(StoreError::from(error(code)), StoreError::Failed(_)), "{code}");
        }
        assert!(matches!(StoreError::of_commit(&error(ffi::SQLITE_FULL)), StoreError::Full(_)));
        assert!(matches!(StoreError::of_commit(&error(ffi::SQLITE_BUSY)), StoreError::Busy(_)));
    }
}
