//! API keys in the database: only their hashes are stored.

use std::{path::Path, sync::Mutex};

use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior};

use super::error::{OpenError, StoreError};
use super::open;
use super::{Store, lock};
use crate::domain::plan::{Limits, Plan};
use crate::domain::rate_limit::Usage;

/// A key as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredKey {
    /// The number of the key, which is a part of an issued key.
    pub id: i64,
    /// The name that its owner gave the key.
    pub name: String,
    /// The name of the key's plan.
    pub plan: String,
    /// The numbers of requests that the key admits.
    pub limits: Limits,
    /// The time at which the key was issued, as a Unix time in seconds.
    pub issued_at: i64,
    /// The time at which the key was revoked, as a Unix time in seconds.
    pub revoked_at: Option<i64>,
}

/// The keys of a database, which a server may be using at the same time.
pub struct KeyStore(pub(super) Mutex<Connection>);

impl KeyStore {
    /// Opens the database at `path`, and creates it if it is missing.
    ///
    /// # Errors
    ///
    /// [`OpenError`], with a message that names a remedy.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let conn = open::open(path, open::DURABLE, open::COMMAND_PATIENCE);
        conn.map(|conn| Self(Mutex::new(conn))).map_err(|kind| OpenError { path: path.to_owned(), kind })
    }

    /// Stores a key and returns its number. The number is chosen first, because an issued key, which `hash` hashes, contains it.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; nothing was stored.
    pub fn add(&self, name: &str, plan: Plan, now: u64, hash: impl FnOnce(i64) -> [u8; 32]) -> Result<i64, StoreError> {
        let conn = lock(&self.0);
        let transaction = Transaction::new_unchecked(&conn, TransactionBehavior::Immediate)?;
        // AUTOINCREMENT keeps the highest number ever used, so that a removed key's number stays retired.
        let last = "SELECT seq FROM sqlite_sequence WHERE name = 'keys'";
        let last: Option<i64> = transaction.query_row(last, [], |row| row.get(0)).optional()?;
        let (id, Limits { per_minute, per_day }) = (last.unwrap_or(0) + 1, plan.limits());
        transaction.execute(
            "INSERT INTO keys (id, name, plan, per_minute, per_day, hash, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            (id, name, plan.name(), per_minute, per_day, hash(id), now),
        )?;
        transaction.commit()?;
        Ok(id)
    }

    /// Revokes a key. Returns false if there is no such key or it was revoked before.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; nothing was changed.
    pub fn revoke(&self, id: i64, now: u64) -> Result<bool, StoreError> {
        let update = "UPDATE keys SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL";
        Ok(lock(&self.0).execute(update, (id, now))? == 1)
    }

    /// The key with this hash, which may be revoked.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the database cannot be read.
    pub fn with_hash(&self, hash: &[u8; 32]) -> Result<Option<StoredKey>, StoreError> {
        Ok(lock(&self.0).query_row(&format!("{STORED} WHERE hash = ?1"), [hash], stored).optional()?)
    }

    /// All keys, revoked ones included, in the order they were issued.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the database cannot be read.
    pub fn list(&self) -> Result<Vec<StoredKey>, StoreError> {
        let all = format!("{STORED} ORDER BY id");
        Ok(lock(&self.0).prepare(&all)?.query_map([], stored)?.collect::<rusqlite::Result<_>>()?)
    }
}

#[cfg(test)]
impl KeyStore {
    /// Keeps everybody else from writing, as another process may.
    pub(crate) fn lock(&self) {
        lock(&self.0).execute_batch("BEGIN IMMEDIATE").expect("nobody else is writing");
    }

    /// Lets the others write again.
    pub(crate) fn unlock(&self) {
        lock(&self.0).execute_batch("ROLLBACK").expect("it is locked");
    }
}

const SAVE_USAGE: &str = "REPLACE INTO usage (key_id, minute, in_minute, in_day, refusals, banned_until)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const IN_FORCE: &str = "SELECT id, per_minute, per_day,
    ifnull(minute, 0), ifnull(in_minute, 0), ifnull(in_day, 0), ifnull(refusals, 0), ifnull(banned_until, 0)
    FROM keys LEFT JOIN usage ON key_id = id WHERE hash = ?1 AND revoked_at IS NULL";
const ANY_IN_FORCE: &str = "SELECT EXISTS (SELECT 1 FROM keys WHERE revoked_at IS NULL)";

impl Store {
    /// The number of the key with this hash, its limits, and its usage when that was last stored. `None` unless it is in force.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the database cannot be read.
    pub fn key_in_force(&self, hash: &[u8; 32]) -> Result<Option<(i64, Limits, Usage)>, StoreError> {
        let found = |row: &Row<'_>| {
            let (id, per_minute, per_day, minute, in_minute, in_day, refusals, banned_until) = row.try_into()?;
            let usage = Usage { minute, in_minute, in_day, refusals, banned_until };
            Ok((id, Limits { per_minute, per_day }, usage))
        };
        self.read(|conn| conn.prepare_cached(IN_FORCE)?.query_row([hash], found).optional())
    }

    /// Returns true if any key is in force.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the database cannot be read.
    pub fn has_keys(&self) -> Result<bool, StoreError> {
        self.read(|conn| conn.query_row(ANY_IN_FORCE, [], |row| row.get(0)))
    }

    /// Stores the usage of keys by their numbers.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; nothing was written, unless it is [`StoreError::OutcomeUnknown`].
    pub async fn save_usage(&self, usage: Vec<(i64, Usage)>) -> Result<(), StoreError> {
        let save = move |conn: &Connection| {
            let mut statement = conn.prepare_cached(SAVE_USAGE)?;
            for (key, Usage { minute, in_minute, in_day, refusals, banned_until }) in &usage {
                statement.execute((key, minute, in_minute, in_day, refusals, banned_until))?;
            }
            Ok(0)
        };
        self.writer.submit(save).await.map(drop)
    }
}

const STORED: &str = "SELECT id, name, plan, per_minute, per_day, created_at, revoked_at FROM keys";

fn stored(row: &Row<'_>) -> rusqlite::Result<StoredKey> {
    let (id, name, plan, per_minute, per_day, issued_at, revoked_at) = row.try_into()?;
    Ok(StoredKey { id, name, plan, limits: Limits { per_minute, per_day }, issued_at, revoked_at })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_cannot_be_stored_leaves_nothing_behind_and_the_next_one_can() {
        let folder = tempfile::tempdir().expect("a folder");
        let keys = KeyStore::open(&folder.path().join("keys.sqlite")).expect("a database");
        let add = |name: &str, hash: u8| keys.add(name, Plan::Free, 0, |_| [hash; 32]);
        assert_eq!(add("first", 1).ok(), Some(1));
        let twice = add("twice", 1).expect_err("the hash is taken");
        assert!(twice.to_string().contains("UNIQUE"), "{twice}");
        // SQLite may also end the transaction by itself.
        let undoing = "CREATE TEMP TRIGGER undoing BEFORE INSERT ON keys WHEN NEW.name = 'undone'
             BEGIN SELECT RAISE(ROLLBACK, 'undone at once'); END";
        lock(&keys.0).execute_batch(undoing).expect("a trigger");
        let undone = add("undone", 2).expect_err("it is undone");
        assert!(undone.to_string().contains("undone at once"), "{undone}");
        assert_eq!(add("second", 2).ok(), Some(2));
        let names: Vec<String> = keys.list().expect("the keys").into_iter().map(|key| key.name).collect();
        assert_eq!(names, ["first", "second"]);
    }
}
