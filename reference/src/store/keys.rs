//! API keys in the database: only their hashes are stored.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior};

use super::error::{OpenError, StoreError};
use super::schema::{self, Durability};
use crate::domain::plan::Limits;
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
    /// The SHA-256 of the whole key.
    pub hash: [u8; 32],
    /// The time at which the key was issued, as a Unix time in seconds.
    pub created_at: i64,
    /// The time at which the key was revoked, as a Unix time in seconds.
    pub revoked_at: Option<i64>,
    /// The usage of the key when it was last stored.
    pub usage: Usage,
}

/// A key about to be stored.
#[derive(Clone, Debug)]
pub struct NewKey<'a> {
    /// The name that its owner gives the key.
    pub name: &'a str,
    /// The name of the key's plan.
    pub plan: &'a str,
    /// The numbers of requests that the key admits.
    pub limits: Limits,
    /// The time at which the key is issued, as a Unix time in seconds.
    pub created_at: u64,
}

/// The keys of a database, which a server may be using at the same time.
pub struct KeyStore(Connection);

impl KeyStore {
    /// Opens the database at `path`, and creates it if it is missing.
    ///
    /// # Errors
    ///
    /// [`OpenError`], with a message that names a remedy.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        schema::open(path, Durability::Full, schema::COMMAND_PATIENCE).map(Self)
    }

    /// Opens the keys of a database that this process serves, with a connection of its own.
    pub(super) fn open_second(path: &Path) -> Result<Self, StoreError> {
        Ok(Self(schema::open_second(path, Durability::Full)?))
    }

    /// Stores a key and returns its number. The number is chosen first, because an issued key, which `hash` hashes, contains it.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; nothing was stored.
    pub fn add(&self, key: &NewKey<'_>, hash: impl FnOnce(i64) -> [u8; 32]) -> Result<i64, StoreError> {
        let transaction = Transaction::new_unchecked(&self.0, TransactionBehavior::Immediate)?;
        // AUTOINCREMENT keeps the highest number ever used, so that a removed key's number stays retired.
        let last = "SELECT seq FROM sqlite_sequence WHERE name = 'keys'";
        let last: Option<i64> = transaction.query_row(last, [], |row| row.get(0)).optional()?;
        let id = last.unwrap_or(0) + 1;
        let (per_minute, per_day) = (signed(key.limits.per_minute), signed(key.limits.per_day));
        transaction.execute(
            "INSERT INTO keys (id, name, plan, per_minute, per_day, hash, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            (id, key.name, key.plan, per_minute, per_day, hash(id), signed(key.created_at)),
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
        Ok(self.0.execute(update, (id, signed(now)))? == 1)
    }

    /// The key with this hash, which may be revoked.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the database cannot be read.
    pub fn with_hash(&self, hash: &[u8; 32]) -> Result<Option<StoredKey>, StoreError> {
        by_hash(&self.0, hash)
    }

    /// All keys, revoked ones included, in the order they were issued.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the database cannot be read.
    pub fn list(&self) -> Result<Vec<StoredKey>, StoreError> {
        let all = format!("{STORED} ORDER BY id");
        Ok(self.0.prepare(&all)?.query_map([], stored)?.collect::<rusqlite::Result<_>>()?)
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

/// A number that is never negative, as SQLite stores it. No count and no time gets near the largest that it can store.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

const STORED: &str = "SELECT id, name, plan, per_minute, per_day, hash, created_at, revoked_at,
           minute, in_minute, in_day, refusals, banned_until
    FROM keys LEFT JOIN usage ON usage.key_id = keys.id";
const IN_FORCE: &str = "SELECT id, per_minute, per_day FROM keys WHERE hash = ?1 AND revoked_at IS NULL";

/// The key with this hash, which may be revoked.
pub(super) fn by_hash(conn: &Connection, hash: &[u8; 32]) -> Result<Option<StoredKey>, StoreError> {
    Ok(conn.query_row(&format!("{STORED} WHERE hash = ?1"), [hash], stored).optional()?)
}

/// The number and the limits of the key with this hash, if it is in force.
pub(super) fn in_force(conn: &Connection, hash: &[u8; 32]) -> Result<Option<(i64, Limits)>, StoreError> {
    let found = conn.prepare_cached(IN_FORCE)?.query_row([hash], |row| {
        Ok((row.get(0)?, Limits { per_minute: unsigned(row, 1)?, per_day: unsigned(row, 2)? }))
    });
    Ok(found.optional()?)
}

/// Returns true if any key is in force.
pub(super) fn any_in_force(conn: &Connection) -> Result<bool, StoreError> {
    Ok(conn.query_row("SELECT EXISTS (SELECT 1 FROM keys WHERE revoked_at IS NULL)", [], |row| row.get(0))?)
}

fn stored(row: &Row<'_>) -> rusqlite::Result<StoredKey> {
    Ok(StoredKey {
        id: row.get(0)?,
        name: row.get(1)?,
        plan: row.get(2)?,
        limits: Limits { per_minute: unsigned(row, 3)?, per_day: unsigned(row, 4)? },
        hash: row.get(5)?,
        created_at: row.get(6)?,
        revoked_at: row.get(7)?,
        usage: Usage {
            minute: unsigned(row, 8)?,
            in_minute: unsigned(row, 9)?,
            in_day: unsigned(row, 10)?,
            refusals: unsigned(row, 11)?,
            banned_until: unsigned(row, 12)?,
        },
    })
}

/// The number in a column that is never negative; 0 for NULL.
fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, Option<i64>>(column)?.unwrap_or(0)).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_cannot_be_stored_leaves_nothing_behind_and_the_next_one_can() {
        let folder = tempfile::tempdir().expect("a folder");
        let keys = KeyStore::open(&folder.path().join("keys.sqlite")).expect("a database");
        let key = |name: &'static str| {
            let limits = Limits { per_minute: 1, per_day: 1 };
            NewKey { name, plan: "free", limits, created_at: 0 }
        };
        assert_eq!(keys.add(&key("first"), |_| [1; 32]).ok(), Some(1));
        let twice = keys.add(&key("twice"), |_| [1; 32]).expect_err("the hash is taken");
        assert!(twice.to_string().contains("UNIQUE"), "{twice}");
        // SQLite may also end the transaction by itself.
        let undoing = "CREATE TEMP TRIGGER undoing BEFORE INSERT ON keys WHEN NEW.name = 'undone'
             BEGIN SELECT RAISE(ROLLBACK, 'undone at once'); END";
        keys.0.execute_batch(undoing).expect("a trigger");
        let undone = keys.add(&key("undone"), |_| [2; 32]).expect_err("it is undone");
        assert!(undone.to_string().contains("undone at once"), "{undone}");
        assert_eq!(keys.add(&key("second"), |_| [2; 32]).ok(), Some(2));
        let names: Vec<String> = keys.list().expect("the keys").into_iter().map(|key| key.name).collect();
        assert_eq!(names, ["first", "second"]);
    }
}
