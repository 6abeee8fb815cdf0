//! The database: animals, keys and the usage of keys, in one SQLite file.
//!
//! No other module uses SQLite. One thread writes and shares commits between requests;
//! reads run inline on their own connections and never wait for that thread.

mod animals;
mod error;
mod keys;
mod open;
mod write;

use std::fs::{File, Permissions};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{os::unix::fs::PermissionsExt, path::Path};

use rusqlite::Connection;
use tempfile::TempDir;

pub use animals::{AnimalRow, Catalogue};
pub use error::{OpenError, OpenErrorKind, StoreError};
pub use keys::{KeyStore, StoredKey};
use open::SERVER_PATIENCE;
use write::Writer;

/// An open database that a server serves.
///
/// The fields are dropped in this order: the writer ends first, then the readers close, and only then the descriptor
/// of the lock (see `open.rs`).
pub struct Store {
    pub(crate) writer: Writer,
    /// One more connection than threads that read, open from the start, so that no request fails for a lack of file descriptors or
    /// a replaced file.
    readers: Vec<Mutex<Connection>>,
    /// The keys of the database, on a connection of their own.
    pub keys: KeyStore,
    _lock: File,
}

impl Store {
    /// Opens a database to serve it, and creates it if it is missing.
    ///
    /// # Errors
    ///
    /// [`OpenError`], with a message that names a remedy; among others when another server has the file.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        Self::open_as(path, open::DURABLE)
    }

    /// Opens a new database of this process alone, which goes with it, however it ends. No commit waits for the disk.
    ///
    /// # Errors
    ///
    /// [`OpenError`] when there is no place for temporary files.
    pub fn temporary() -> Result<Self, OpenError> {
        let folder = private_folder()?;
        // The files lose their names with the folder, and last as long as the connections. All are open by then.
        Self::open_as(&folder.path().join("animals.sqlite"), open::TEMPORARY)
    }

    fn open_as(path: &Path, synchronous: &str) -> Result<Self, OpenError> {
        let open = || {
            // Before any connection, because it must be closed after all of them.
            let lock = open::lock(path)?;
            let conn = open::open(path, synchronous, SERVER_PATIENCE)?;
            open::check_pages(&conn, path)?;
            let readers = (0..readers()).map(|_| open::connect(path, synchronous, SERVER_PATIENCE).map(Mutex::new));
            let readers = readers.collect::<rusqlite::Result<_>>()?;
            let keys = KeyStore(Mutex::new(open::connect(path, synchronous, SERVER_PATIENCE)?));
            Ok(Self { writer: Writer::start(conn)?, readers, keys, _lock: lock })
        };
        open().map_err(|kind| OpenError { path: path.to_owned(), kind })
    }

    /// Runs `work` with a connection that no other thread uses. A read takes a few microseconds and never waits for a writer, so
    /// handing it to another thread would cost several times the read itself.
    fn read<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let free = self.readers.iter().find_map(|conn| conn.try_lock().ok());
        Ok(work(&free.unwrap_or_else(|| lock(&self.readers[0])))?)
    }
}

/// The number of connections of a store that read: one more than threads.
fn readers() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from) + 1
}

/// The number of files that an open store has: the database and its log for each connection (the readers, the writer, and the one for
/// keys), the state that processes share, and the lock.
pub(crate) fn open_files() -> usize {
    2 * (readers() + 2) + 2
}

/// Locks a value that stays valid when a holder of its lock panics.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a temporary folder that only this user can use.
pub(crate) fn private_folder() -> Result<TempDir, OpenError> {
    let folder = tempfile::Builder::new().prefix("animal-store-").permissions(Permissions::from_mode(0o700)).tempdir();
    let kind = |error: std::io::Error| OpenErrorKind::NoTemporaryFolder(error.kind());
    folder.map_err(|error| OpenError { path: std::env::temp_dir(), kind: kind(error) })
}

#[cfg(test)]
impl Store {
    /// Occupies every connection that reads, as slow reads do.
    pub(crate) fn occupy(&self) -> impl Sized {
        self.readers.iter().map(lock).collect::<Vec<_>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::wire::NewPet;

    #[tokio::test]
    async fn when_writing_has_stopped_reads_still_work() {
        let store = Store::temporary().expect("a store");
        let pet = || NewPet { name: "Rex".to_owned(), category_id: 1, status: None };
        let id = store.create(pet()).await.expect("stored");
        store.writer.stop();
        assert!(matches!(store.create(pet()).await, Err(StoreError::Unavailable(_))));
        assert_eq!(store.animal(id, |animal| animal.name.to_owned()).expect("read").as_deref(), Some("Rex"));
    }
}
