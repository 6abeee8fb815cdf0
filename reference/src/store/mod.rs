//! The database: animals, keys and what keys have used, in one SQLite file.
//!
//! No other module uses SQLite. One thread writes and shares commits between requests;
//! reads run inline on their own connections and never wait for it.

mod catalogue;
mod changes;
mod checkpoint;
mod error;
mod files;
mod keys;
mod read;
mod schema;
mod scratch;
mod status;
mod usage_log;
mod wal;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use catalogue::Catalogue;
pub use error::{OpenError, StoreError};
pub use keys::{NewKey, StoredKey};
pub use read::AnimalRow;
pub use status::{LastCommit, WritingStatus};

use crate::rate_limit::Usage;
use crate::wire::{NewPet, PetStatus};
use changes::Changes;
use checkpoint::Checkpointer;
use files::{Claim, OpenFiles};
use read::Readers;
use schema::Durability;
use scratch::ScratchFolder;
use usage_log::UsageLog;
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
/// The fields are dropped in this order: the writer ends first, then the checkpoints, then the readers close, and
/// only then the descriptors of files that SQLite has locks on (see `changes.rs` and `files.rs`).
pub struct Store {
    writer: Writer,
    _checkpointer: Checkpointer,
    readers: Readers,
    changes: Arc<Changes>,
    files: Arc<OpenFiles>,
    /// None for a temporary database.
    usage_log: Option<UsageLog>,
    _claim: Claim,
    _scratch: Option<ScratchFolder>,
}

impl Store {
    /// Opens a database to serve it, and creates it if it is missing; at most `queue` writes wait at a time.
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
        let explain = |error: rusqlite::Error| OpenError::from_sqlite(&path, &error);
        files::create(&path)?;
        // Before any connection, because it must be closed after all of them.
        let claim = Claim::new(&path)?;
        warn_of_damage(&path).map_err(other)?;
        let conn = schema::open(&path, durability)?;
        schema::check_pages(&conn, &path)?;
        schema::leave_checkpoints(&conn).map_err(explain)?;
        let resolved = schema::resolved_path(&conn, &path);
        let files = Arc::new(OpenFiles::note(&path, &resolved).map_err(other)?);
        let usage_log = match scratch {
            Some(_) => None,
            None => Some(restore_usage(&conn, &resolved).map_err(other)?),
        };
        let changes = Arc::new(Changes::open(&files::companion(&resolved, "-shm")).map_err(other)?);
        let readers = Readers::open(&path).map_err(explain)?;
        let copying = schema::open_second(&path, durability).map_err(explain)?;
        let (checkpointer, checkpoints) = Checkpointer::start(copying, Arc::clone(&changes)).map_err(other)?;
        let writer = Writer::start(conn, queue, Arc::clone(&files), checkpoints).map_err(other)?;
        Ok(Self {
            writer,
            _checkpointer: checkpointer,
            readers,
            changes,
            files,
            usage_log,
            _claim: claim,
            _scratch: scratch,
        })
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

    /// All animals, as of one moment.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the database cannot be read.
    pub fn catalogue(&self) -> Result<Catalogue, StoreError> {
        self.readers.with(catalogue::all)
    }

    /// Puts another catalogue in the place of the present one. A server that keeps ready bodies does not see it
    /// (see [`crate::app::App::changing`]).
    ///
    /// # Errors
    ///
    /// [`StoreError`]; nothing was changed, unless it is [`StoreError::Unconfirmed`].
    pub async fn replace(&self, catalogue: Catalogue) -> Result<(), StoreError> {
        self.writer.replace(catalogue).await
    }

    /// Stores what keys (by id) have used.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; nothing was written.
    pub async fn save_usage(&self, usage: Vec<(i64, Usage)>) -> Result<(), StoreError> {
        self.writer.save_usage(usage).await
    }

    /// Notes what the key with this number and hash has used, so that a killed process does not forget it.
    pub fn note_usage(&self, id: i64, hash: &[u8; 32], usage: &Usage) {
        if let Some(log) = &self.usage_log {
            log.note(id, hash, usage);
        }
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

    /// Whether writing works. This looks at the files, too, so that their removal is noticed without a write.
    #[must_use]
    pub fn writing(&self) -> WritingStatus {
        self.writer.status(&self.files)
    }

    /// Completes when the thread that writes has ended, which it does only when the store is closed or by a panic:
    /// then nothing can be stored any more.
    pub fn writer_ended(&self) -> impl Future<Output = ()> + Send + 'static {
        self.writer.ended()
    }

    /// Commits what is queued and stops writing. Reads still work.
    pub fn stop_writing(&self) {
        self.writer.stop();
    }
}

/// The keys of a database, which a server may be using at the same time.
pub struct KeyStore(rusqlite::Connection);

impl KeyStore {
    /// Opens the database at `path`, and creates it if it is missing.
    ///
    /// # Errors
    ///
    /// [`OpenError`], with a message that says what to do.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        schema::open(path, Durability::Full).map(Self)
    }

    /// Opens the keys of a store that this process serves, with a connection of its own.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when one more connection cannot be opened.
    pub fn open_for(store: &Store) -> Result<Self, StoreError> {
        Ok(Self(schema::open_second(store.readers.path(), Durability::Full)?))
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

/// Opens the file in which usage is noted, and stores what a killed process left there.
fn restore_usage(conn: &rusqlite::Connection, resolved: &Path) -> std::io::Result<UsageLog> {
    let log = UsageLog::open(&files::companion(resolved, "-usage"))?;
    log.restore(conn).map_err(std::io::Error::other)?;
    Ok(log)
}

/// Warns of damage in the write-ahead log, which SQLite passes over without a message.
fn warn_of_damage(path: &Path) -> std::io::Result<()> {
    let log = files::companion(&std::fs::canonicalize(path)?, "-wal");
    if let Some(damage) = wal::find_damage(&log)? {
        tracing::warn!(
            file = %log.display(),
            frame = damage.frame,
            hidden_commits = damage.hidden_commits,
            "the write-ahead log is damaged, and commits behind the damage are lost: acknowledged animals may be missing"
        );
    }
    Ok(())
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
