//! The database: animals, keys and the usage of keys, in one SQLite file.
//!
//! No other module uses SQLite. One thread writes and shares commits between requests;
//! reads run inline on their own connections and never wait for that thread.

mod catalogue;
mod error;
mod files;
mod keys;
mod read;
mod schema;
mod write;

use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

pub use catalogue::Catalogue;
pub use error::{OpenError, StoreError};
pub use keys::{KeyStore, NewKey, StoredKey};
pub use read::AnimalRow;
use tempfile::TempDir;

use crate::domain::plan::Limits;
use crate::domain::rate_limit::Usage;
use crate::domain::wire::{NewPet, PetStatus};
use read::Readers;
use schema::{Durability, SERVER_PATIENCE};
use write::{Work, Writer};

/// The place of a database: a file or a temporary folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A file that is kept.
    File(PathBuf),
    /// A private temporary folder, which is removed with the store. No commit waits for the disk.
    Scratch,
}

impl Location {
    /// Reads `:memory:` as a temporary database, anything else as a path.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        if text == ":memory:" { Self::Scratch } else { Self::File(PathBuf::from(text)) }
    }
}

/// The size in bytes above which a write-ahead log takes so long to read at start that a warning is logged.
const LONG_LOG: u64 = 64 * 1024 * 1024;

/// An open database that a server serves.
///
/// The fields are dropped in this order: the writer ends first, then the readers close, and only then the descriptor
/// of the lock (see `files.rs`).
pub struct Store {
    writer: Writer,
    readers: Readers,
    _lock: File,
    scratch: Option<TempDir>,
}

impl Store {
    /// Opens a database to serve it, and creates it if it is missing.
    ///
    /// # Errors
    ///
    /// [`OpenError`], with a message that names a remedy; among others when another server has the file.
    pub fn open(location: &Location) -> Result<Self, OpenError> {
        let (path, durability, scratch) = match location {
            Location::File(path) => (path.clone(), Durability::Full, None),
            Location::Scratch => {
                let other =
                    |error: std::io::Error| OpenError::Other { path: std::env::temp_dir(), detail: error.to_string() };
                let owner_only = Permissions::from_mode(0o700);
                let folder = tempfile::Builder::new().prefix("animal-store-").permissions(owner_only).tempdir();
                let folder = folder.map_err(other)?;
                (folder.path().join("animals.sqlite"), Durability::None, Some(folder))
            }
        };
        files::create(&path)?;
        // Before any connection, because it must be closed after all of them.
        let lock = files::lock(&path)?;
        announce_long_log(&path);
        let conn = schema::open(&path, durability, SERVER_PATIENCE)?;
        schema::check_pages(&conn, &path)?;
        let readers = Readers::open(&path).map_err(|error| OpenError::from_sqlite(&path, &error))?;
        let writer =
            Writer::start(conn).map_err(|error| OpenError::Other { path: path.clone(), detail: error.to_string() })?;
        Ok(Self { writer, readers, _lock: lock, scratch })
    }

    /// The private folder of a temporary database, which is removed with the store.
    #[must_use]
    pub fn scratch_folder(&self) -> Option<&Path> {
        self.scratch.as_ref().map(TempDir::path)
    }

    /// Hands the animal with `id` to `write`, if there is one.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the database cannot be read.
    pub fn animal<T>(&self, id: i64, write: impl FnOnce(AnimalRow<'_>) -> T) -> Result<Option<T>, StoreError> {
        self.readers.with(|conn| read::animal(conn, id, write))
    }

    /// Hands up to `limit` animals to `write`, the newest first, of one status or of all.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the database cannot be read; `write` may have been called before.
    pub fn newest(
        &self,
        status: Option<PetStatus>,
        limit: u32,
        write: impl FnMut(AnimalRow<'_>),
    ) -> Result<(), StoreError> {
        self.readers.with(|conn| read::newest(conn, status, limit, write))
    }

    /// Stores an animal. Returns its id once the animal would survive a power cut.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; the animal was not stored, unless it is [`StoreError::Unconfirmed`] or [`StoreError::Unknown`].
    pub async fn create(&self, pet: NewPet) -> Result<i64, StoreError> {
        self.writer.submit(Work::Create(pet)).await
    }

    /// All animals, as of one moment.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the database cannot be read.
    pub fn catalogue(&self) -> Result<Catalogue, StoreError> {
        self.readers.with(catalogue::all)
    }

    /// Replaces the present catalogue. The cache of response bodies is not cleared: use `App::replace` while a server runs.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; nothing was changed, unless it is [`StoreError::Unconfirmed`] or [`StoreError::Unknown`].
    pub async fn replace(&self, catalogue: Catalogue) -> Result<(), StoreError> {
        self.writer.submit(Work::Replace(catalogue)).await.map(drop)
    }

    /// Stores the usage of keys by their numbers.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; nothing was written, unless it is [`StoreError::Unconfirmed`] or [`StoreError::Unknown`].
    pub async fn save_usage(&self, usage: Vec<(i64, Usage)>) -> Result<(), StoreError> {
        self.writer.submit(Work::SaveUsage(usage)).await.map(drop)
    }

    /// The key with this hash, which may be revoked.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the database cannot be read.
    pub fn key(&self, hash: &[u8; 32]) -> Result<Option<StoredKey>, StoreError> {
        self.readers.with(|conn| keys::by_hash(conn, hash))
    }

    /// The number and the limits of the key with this hash, if it is in force.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the database cannot be read.
    pub fn key_in_force(&self, hash: &[u8; 32]) -> Result<Option<(i64, Limits)>, StoreError> {
        self.readers.with(|conn| keys::in_force(conn, hash))
    }

    /// Returns true if any key is in force.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the database cannot be read.
    pub fn has_keys(&self) -> Result<bool, StoreError> {
        self.readers.with(keys::any_in_force)
    }

    /// The reason why nothing can be stored at present. `None` if the last commit succeeded.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.writer.failure()
    }

    /// Completes when the thread that writes has ended, after which nothing can be stored any more. The thread ends only
    /// when the store is closed or by a panic.
    pub fn writer_ended(&self) -> impl Future<Output = ()> + Send + 'static {
        self.writer.ended()
    }

    /// Commits the queued writes and stops writing. Reads still work.
    pub fn stop_writing(&self) {
        self.writer.stop();
    }
}

impl KeyStore {
    /// Opens the keys of a store that this process serves, with a connection of its own.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when one more connection cannot be opened.
    pub fn open_for(store: &Store) -> Result<Self, StoreError> {
        Self::open_second(store.readers.path())
    }
}

/// Warns of a long write-ahead log. SQLite reads the whole log that a killed process has left before anything else.
fn announce_long_log(path: &Path) {
    let resolved = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let log = files::companion(&resolved, "-wal");
    let length = std::fs::metadata(&log).map_or(0, |file| file.len());
    if length > LONG_LOG {
        tracing::warn!(
            mebibytes = length >> 20,
            "the write-ahead log is long: reading it may take a minute, and the server starts after that"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn when_writing_has_stopped_reads_still_work() {
        let store = Store::open(&Location::Scratch).expect("a store");
        let pet = || NewPet { name: "Rex".to_owned(), category_id: 1, status: None };
        let id = store.create(pet()).await.expect("stored");
        store.stop_writing();
        assert!(matches!(store.create(pet()).await, Err(StoreError::Stopped)));
        assert_eq!(store.animal(id, |animal| animal.name.to_owned()).expect("read").as_deref(), Some("Rex"));
    }
}
