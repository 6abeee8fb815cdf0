//! The reads of animals, inline on a connection that in practice each thread has to itself.
//!
//! A read takes a few microseconds and, with a write-ahead log, never waits for a writer, so handing it
//! to another thread would cost several times the read itself.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OptionalExtension, Row};
use serde::Serialize;

use super::error::StoreError;
use super::schema;
use crate::domain::wire::PetStatus;

const ONE: &str = "SELECT id, name, category_id, status FROM animals WHERE id = ?1";
const NEWEST: &str = "SELECT id, name, category_id, status FROM animals ORDER BY id DESC LIMIT ?1";
const NEWEST_BY_STATUS: &str =
    "SELECT id, name, category_id, status FROM animals WHERE status = ?1 ORDER BY id DESC LIMIT ?2";

/// An animal in the database, borrowed while it is written out as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AnimalRow<'row> {
    /// The identifier that the store assigned.
    pub id: i64,
    /// The name as the client sent it.
    pub name: &'row str,
    /// The identifier of the animal's category.
    pub category_id: i64,
    /// The availability of the animal, if one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<PetStatus>,
}

/// A fixed set of reading connections, open from the start, so that no request fails for a lack of file descriptors or a
/// replaced file.
pub(super) struct Readers {
    path: PathBuf,
    slots: Box<[Mutex<Connection>]>,
}

impl Readers {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn open(path: &Path) -> rusqlite::Result<Self> {
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        let slots = (0..=threads).map(|_| schema::open_reader(path).map(Mutex::new));
        Ok(Self { path: path.to_owned(), slots: slots.collect::<rusqlite::Result<_>>()? })
    }

    /// Runs `work` with a connection. A thread gets its own connection again unless another thread uses it.
    pub(super) fn with<T>(&self, work: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        work(&self.free_slot())
    }

    fn free_slot(&self) -> MutexGuard<'_, Connection> {
        let own = thread_number() % self.slots.len();
        let (before, from_own) = self.slots.split_at(own);
        let free = from_own.iter().chain(before).find_map(|slot| slot.try_lock().ok());
        free.unwrap_or_else(|| self.slots[own].lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The number of the present thread, in the order of the first calls.
fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    NUMBER.with(|number| *number)
}

/// Hands the animal with `id` to `write`, if there is one.
pub(super) fn animal<T>(
    conn: &Connection,
    id: i64,
    write: impl FnOnce(AnimalRow<'_>) -> T,
) -> Result<Option<T>, StoreError> {
    let found = conn.prepare_cached(ONE)?.query_row([id], |row| Ok(write(borrow(row)?))).optional()?;
    Ok(found)
}

/// Hands up to `limit` animals to `write`, the newest first, of one status or of all.
pub(super) fn newest(
    conn: &Connection,
    status: Option<PetStatus>,
    limit: u32,
    mut write: impl FnMut(AnimalRow<'_>),
) -> Result<(), StoreError> {
    let mut statement = conn.prepare_cached(if status.is_some() { NEWEST_BY_STATUS } else { NEWEST })?;
    let mut rows = match status {
        Some(status) => statement.query((status_code(status), limit))?,
        None => statement.query([limit])?,
    };
    while let Some(row) = rows.next()? {
        write(borrow(row)?);
    }
    Ok(())
}

/// The number that a status is stored as.
pub(super) const fn status_code(status: PetStatus) -> i64 {
    match status {
        PetStatus::Available => 0,
        PetStatus::Pending => 1,
        PetStatus::Sold => 2,
    }
}

fn borrow<'row>(row: &'row Row<'_>) -> rusqlite::Result<AnimalRow<'row>> {
    let status = match row.get::<_, Option<i64>>(3)? {
        None => None,
        Some(0) => Some(PetStatus::Available),
        Some(1) => Some(PetStatus::Pending),
        Some(2) => Some(PetStatus::Sold),
        Some(other) => return Err(rusqlite::Error::IntegralValueOutOfRange(3, other)),
    };
    Ok(AnimalRow { id: row.get(0)?, name: row.get_ref(1)?.as_str()?, category_id: row.get(2)?, status })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filtered_list_is_answered_from_the_covering_index_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let conn = schema::open(&folder.path().join("plan.sqlite"), schema::Durability::None, schema::SERVER_PATIENCE)
            .expect("a database");
        let plan = |sql: &str, parameters: &[i64]| -> String {
            conn.query_row(&format!("EXPLAIN QUERY PLAN {sql}"), rusqlite::params_from_iter(parameters), |row| {
                row.get(3)
            })
            .expect("a plan")
        };
        assert_eq!(
            plan(NEWEST_BY_STATUS, &[0, 20]),
            "SEARCH animals USING COVERING INDEX animals_by_status (status=?)"
        );
        assert_eq!(plan(NEWEST, &[20]), "SCAN animals");
    }
}
