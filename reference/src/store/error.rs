//! The errors of files at the start of a server, and of the database while it runs.

use std::path::{Path, PathBuf};
use std::{fmt::Display, io};

use rusqlite::ErrorCode;

/// The reason why a file could not be opened: the database, or a certificate or a key for HTTPS. The message has a remedy.
#[derive(Debug, thiserror::Error)]
#[error("{} {kind}", .path.display())]
pub struct OpenError {
    /// The path of the file.
    pub path: PathBuf,
    /// The defect of the file, or of its place.
    pub kind: OpenErrorKind,
}

/// The defect of a file that could not be opened, or of its place. The path of the file precedes each message.
#[derive(Debug, thiserror::Error)]
pub enum OpenErrorKind {
    /// The folder that should hold the file does not exist.
    #[error("is in a folder that does not exist: create it, or name another file with --db")]
    MissingFolder,
    /// Another process holds the file locked.
    #[error("is locked by another process: end whatever has it open for writing, then start again")]
    Locked,
    /// Another server already serves this file.
    #[error("is served by another server already: stop it first, or name another file with --db")]
    AlreadyServed,
    /// The file is no SQLite database.
    #[error("is not an animal store database: name another file with --db")]
    NotADatabase,
    /// The file is an SQLite database of another program.
    #[error("belongs to another program: name another file with --db")]
    Foreign,
    /// The file is damaged. Has the first defect that was found.
    #[error("is damaged ({0}): restore it from a backup, or name another file with --db")]
    Corrupt(String),
    /// A later version of this program wrote the file. Has the version of its schema, and the one of this program.
    #[error("was written by a newer version (schema {0}; this one knows up to {1}): update this program")]
    NewerSchema(i64, i64),
    /// The file, its folder or its disk does not allow to use it. Has the message of SQLite or of the system.
    #[error("cannot be used ({0}): check the file, its folder and its disk, or name another file with --db")]
    Unusable(String),
    /// The place for temporary files cannot hold a folder.
    #[error("cannot hold a temporary folder ({0}): set TMPDIR to a folder in which this user can create others")]
    NoTemporaryFolder(io::ErrorKind),
    /// The file does not serve HTTPS.
    #[error("cannot be used for HTTPS: {0}")]
    Https(String),
}

impl OpenErrorKind {
    /// The error of a file for HTTPS.
    pub(crate) fn https<E: Display>(path: &Path) -> impl Fn(E) -> OpenError {
        move |defect| OpenError { path: path.to_owned(), kind: Self::Https(defect.to_string()) }
    }
}

impl From<io::Error> for OpenErrorKind {
    fn from(error: io::Error) -> Self {
        Self::Unusable(error.to_string())
    }
}

impl From<rusqlite::Error> for OpenErrorKind {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked,
            Some(ErrorCode::NotADatabase) => Self::NotADatabase,
            Some(ErrorCode::DatabaseCorrupt) => Self::Corrupt(error.to_string()),
            _ => Self::Unusable(error.to_string()),
        }
    }
}

/// The reason why a running server could not read or write. A write that fails has stored nothing, unless it fails with
/// [`StoreError::OutcomeUnknown`].
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// Nothing can be read or written at present: the queue of writes is full, another process has locked the database for too long,
    /// there is no space left on the disk, or the writer has ended.
    #[error("{0}")]
    Unavailable(String),
    /// The disk failed during a commit, or the writer ended in it. If the commit reached the disk all the same, a restart finds it.
    #[error("whether it was stored is not known: {0}")]
    OutcomeUnknown(String),
    /// The database cannot be read or written for another reason, damage among them.
    #[error("the database failed: {0}")]
    Failed(String),
}

impl StoreError {
    /// The error of a commit. After the errors of other statements nothing was stored; after this one it is unknown.
    pub(super) fn of_commit(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::SystemIoFailure) => Self::OutcomeUnknown(format!("the disk failed: {error}")),
            _ => error.into(),
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::DiskFull) => {
                Self::Unavailable(format!("the database cannot be used: {error}"))
            }
            _ => Self::Failed(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    fn sqlite(code: i32) -> rusqlite::Error {
        rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)
    }

    #[test]
    fn a_database_that_cannot_be_opened_is_reported_with_its_path_its_reason_and_a_remedy() {
        for (kind, reason) in [
            (sqlite(ffi::SQLITE_READONLY).into(), "readonly"),
            (sqlite(ffi::SQLITE_CANTOPEN).into(), "unable to open"),
            (sqlite(ffi::SQLITE_FULL).into(), "full"),
            (io::Error::from(io::ErrorKind::StorageFull).into(), "no storage space"),
        ] {
            let message = OpenError { path: "animals.sqlite".into(), kind }.to_string();
            assert!(message.starts_with("animals.sqlite ") && message.contains(reason), "{message}");
            assert!(message.contains("check the file, its folder and its disk"), "{message}");
        }
    }

    #[test]
    fn an_input_or_output_error_leaves_the_outcome_of_a_commit_unknown_and_of_nothing_else() {
        for code in [ffi::SQLITE_IOERR, ffi::SQLITE_IOERR_FSYNC, ffi::SQLITE_IOERR_WRITE] {
            assert!(matches!(StoreError::of_commit(sqlite(code)), StoreError::OutcomeUnknown(_)), "{code}");
            assert!(matches!(StoreError::from(sqlite(code)), StoreError::Failed(_)), "{code}");
        }
        assert!(matches!(StoreError::of_commit(sqlite(ffi::SQLITE_FULL)), StoreError::Unavailable(_)));
        assert!(matches!(StoreError::of_commit(sqlite(ffi::SQLITE_BUSY)), StoreError::Unavailable(_)));
    }
}
