//! The database: animals, keys and what keys have used, in one SQLite file.
//!
//! No other module uses SQLite. One thread writes and shares commits between requests;
//! reads run inline on their own connections and never wait for it.

mod changes;
mod error;
mod keys;
mod read;
mod schema;
mod scratch;
mod write;

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

pub use error::{OpenError, StoreError};
pub use keys::{NewKey, StoredKey};
pub use read::AnimalRow;

use crate::rate_limit::Usage;
use crate::wire::{NewPet, PetStatus};
use changes::Changes;
use read::Readers;
use schema::Durability;
use scratch::ScratchFolder;
use write::Writer;

/// Where a database is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// In a file that is kept.
    File(PathBuf),
    /// In a private temporary folder that goes away with the store. Nothing waits for the disk.
    Scratch,
}

impl Location {
    /// Reads `:memory:` as a temporary database, anything else as a path.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        if text == ":memory:" { Self::Scratch } else { Self::File(PathBuf::from(text)) }
    }
}

/// An open database that a server serves.
///
/// The fields are dropped in this order: the writer ends first, then the readers close, and only then the
/// view of the shared state (see `changes.rs`).
pub struct Store {
    writer: Writer,
    readers: Readers,
    changes: Changes,
    _served: File,
    _scratch: Option<ScratchFolder>,
}

impl Store {
    /// Opens a database to serve it, creating it if need be; at most `queue` writes wait at a time.
    ///
    /// # Errors
    ///
    /// [`OpenError`], with a message that says what to do; among others when another server has the file.
    pub fn open(location: &Location, queue: usize) -> Result<Self, OpenError> {
        let (path, durability, scratch) = match location {
            Location::File(path) => (path.clone(), Durability::Full, None),
            Location::Scratch => {
                let other =
                    |error: std::io::Error| OpenError::Other { path: std::env::temp_dir(), detail: error.to_string() };
                let folder = ScratchFolder::create().map_err(other)?;
                (folder.path().join("animals.sqlite"), Durability::None, Some(folder))
            }
        };
        let other = |error: std::io::Error| OpenError::Other { path: path.clone(), detail: error.to_string() };
        let conn = schema::open(&path, durability)?;
        let served = claim(&path)?;
        schema::check_pages(&conn, &path)?;
        let changes = Changes::open(&schema::shared_state_path(&conn, &path)).map_err(other)?;
        let writer = Writer::start(conn, queue).map_err(other)?;
        Ok(Self { writer, readers: Readers::new(&path), changes, _served: served, _scratch: scratch })
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

    /// Stores an animal. It returns its id only once the animal would survive a power cut.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; the animal was not stored, unless it is [`StoreError::Unconfirmed`].
    pub async fn create(&self, pet: NewPet) -> Result<i64, StoreError> {
        self.writer.create(pet).await
    }

    /// Stores what keys (by id) have used.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; nothing was written.
    pub async fn save_usage(&self, usage: Vec<(i64, Usage)>) -> Result<(), StoreError> {
        self.writer.save_usage(usage).await
    }

    /// A value that differs after any commit by any process; `None` must be taken as "changed".
    #[must_use]
    pub fn change_mark(&self) -> Option<u64> {
        self.changes.mark()
    }

    /// A number that every change of the keys increases, whichever process makes it.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the database cannot be read.
    pub fn key_generation(&self) -> Result<i64, StoreError> {
        self.readers.with(keys::generation)
    }

    /// The generation and all keys, revoked ones included, from one transaction.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the database cannot be read.
    pub fn keys(&self) -> Result<(i64, Vec<StoredKey>), StoreError> {
        self.readers.with(keys::all)
    }

    /// Commits what is queued and stops writing. Reads still work.
    pub fn stop_writing(&self) {
        self.writer.stop();
    }
}

/// The keys of a database, which a server may be using at the same time.
pub struct KeyStore(rusqlite::Connection);

impl KeyStore {
    /// Opens the database at `path`, creating it if need be.
    ///
    /// # Errors
    ///
    /// [`OpenError`], with a message that says what to do.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        schema::open(path, Durability::Full).map(Self)
    }

    /// The keys of a store that this process serves.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when one more connection cannot be opened.
    pub fn beside(store: &Store) -> Result<Self, StoreError> {
        Ok(Self(schema::open_beside(store.readers.path())?))
    }

    /// Stores a key whose hash `hash` computes from its number; returns the number.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; nothing was stored.
    pub fn add(&self, key: &NewKey<'_>, hash: impl FnOnce(i64) -> [u8; 32]) -> Result<i64, StoreError> {
        keys::add(&self.0, key, hash)
    }

    /// Revokes a key; false if there is no such key or it was revoked before.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; nothing was changed.
    pub fn revoke(&self, id: i64, now: u64) -> Result<bool, StoreError> {
        keys::revoke(&self.0, id, now)
    }

    /// All keys, revoked ones included, in the order they were issued.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the database cannot be read.
    pub fn list(&self) -> Result<Vec<StoredKey>, StoreError> {
        keys::all(&self.0).map(|(_, keys)| keys)
    }
}

#[cfg(test)]
impl KeyStore {
    /// Keeps everybody else from writing, as another process may.
    pub(crate) fn lock(&self) {
        self.0.execute_batch("BEGIN IMMEDIATE").expect("nobody else is writing");
    }

    /// Lets the others write again.
    pub(crate) fn unlock(&self) {
        self.0.execute_batch("ROLLBACK").expect("it is locked");
    }
}

/// Holds a lock beside the database for as long as the returned file is open: two servers on one file
/// would each count requests by themselves, and admit twice what a plan allows.
fn claim(path: &Path) -> Result<File, OpenError> {
    let other = |error: std::io::Error| OpenError::Other { path: path.to_owned(), detail: error.to_string() };
    let mut name = std::fs::canonicalize(path).map_err(other)?.into_os_string();
    name.push(".lock");
    let file = File::options().create(true).truncate(false).write(true).open(&name).map_err(other)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::AlreadyServed(path.to_owned())),
        Err(TryLockError::Error(error)) => Err(other(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn when_writing_has_stopped_reads_still_work() {
        let store = Store::open(&Location::Scratch, 4).expect("a store");
        let pet = || NewPet { name: "Rex".to_owned(), category_id: 1, status: None };
        let id = store.create(pet()).await.expect("stored");
        store.stop_writing();
        assert!(matches!(store.create(pet()).await, Err(StoreError::Unconfirmed)));
        assert_eq!(store.animal(id, |animal| animal.name.to_owned()).expect("read").as_deref(), Some("Rex"));
    }
}
