//! API keys in the database: only their hashes are stored.

use rusqlite::{Connection, OptionalExtension, Row};

use super::error::StoreError;
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

/// Stores a key. Its number is chosen first, because an issued key, which `hash` hashes, contains its number.
pub(super) fn add(conn: &Connection, key: &NewKey<'_>, hash: impl FnOnce(i64) -> [u8; 32]) -> Result<i64, StoreError> {
    conn.execute_batch("BEGIN IMMEDIATE")?;
    let outcome = insert(conn, key, hash).and_then(|id| {
        conn.execute_batch("COMMIT")?;
        Ok(id)
    });
    if outcome.is_err() && !conn.is_autocommit() {
        conn.execute_batch("ROLLBACK")?;
    }
    outcome
}

fn insert(conn: &Connection, key: &NewKey<'_>, hash: impl FnOnce(i64) -> [u8; 32]) -> Result<i64, StoreError> {
    // AUTOINCREMENT keeps the highest number ever used, so that a removed key's number stays retired.
    let last: Option<i64> =
        conn.query_row("SELECT seq FROM sqlite_sequence WHERE name = 'keys'", [], |row| row.get(0)).optional()?;
    let id = last.unwrap_or(0) + 1;
    conn.execute(
        "INSERT INTO keys (id, name, plan, per_minute, per_day, hash, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        (
            id,
            key.name,
            key.plan,
            i64::try_from(key.limits.per_minute).unwrap_or(i64::MAX),
            i64::try_from(key.limits.per_day).unwrap_or(i64::MAX),
            hash(id),
            i64::try_from(key.created_at).unwrap_or(i64::MAX),
        ),
    )?;
    Ok(id)
}

/// Revokes a key. Returns false if there is no such key or it was revoked before.
pub(super) fn revoke(conn: &Connection, id: i64, now: u64) -> Result<bool, StoreError> {
    let changed = conn.execute(
        "UPDATE keys SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL",
        (id, i64::try_from(now).unwrap_or(i64::MAX)),
    )?;
    Ok(changed == 1)
}

const ALL: &str = "SELECT id, name, plan, per_minute, per_day, hash, created_at, revoked_at,
           minute, in_minute, in_day, refusals, banned_until
    FROM keys LEFT JOIN usage ON usage.key_id = keys.id ORDER BY id";
const BY_HASH: &str = "SELECT id, name, plan, per_minute, per_day, hash, created_at, revoked_at,
           minute, in_minute, in_day, refusals, banned_until
    FROM keys LEFT JOIN usage ON usage.key_id = keys.id WHERE hash = ?1";
const IN_FORCE: &str = "SELECT id, per_minute, per_day FROM keys WHERE hash = ?1 AND revoked_at IS NULL";

/// All keys, in the order they were issued.
pub(super) fn all(conn: &Connection) -> Result<Vec<StoredKey>, StoreError> {
    Ok(conn.prepare(ALL)?.query_map([], stored)?.collect::<rusqlite::Result<_>>()?)
}

/// The key with this hash, which may be revoked.
pub(super) fn by_hash(conn: &Connection, hash: &[u8; 32]) -> Result<Option<StoredKey>, StoreError> {
    Ok(conn.prepare_cached(BY_HASH)?.query_row([hash], stored).optional()?)
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
    use super::super::schema::{self, Durability};
    use super::*;

    #[test]
    fn a_key_that_cannot_be_stored_leaves_nothing_behind_and_the_next_one_can() {
        let folder = tempfile::tempdir().expect("a folder");
        let conn = schema::open(&folder.path().join("keys.sqlite"), Durability::None, schema::SERVER_PATIENCE)
            .expect("a database");
        let key = |name: &'static str| {
            let limits = Limits { per_minute: 1, per_day: 1 };
            NewKey { name, plan: "free", limits, created_at: 0 }
        };
        assert_eq!(add(&conn, &key("first"), |_| [1; 32]).ok(), Some(1));
        let twice = add(&conn, &key("twice"), |_| [1; 32]).expect_err("the hash is taken");
        assert!(twice.to_string().contains("UNIQUE"), "{twice}");
        // SQLite may also end the transaction by itself.
        let undoing = "CREATE TEMP TRIGGER undoing BEFORE INSERT ON keys WHEN NEW.name = 'undone'
             BEGIN SELECT RAISE(ROLLBACK, 'undone at once'); END";
        conn.execute_batch(undoing).expect("a trigger");
        let undone = add(&conn, &key("undone"), |_| [2; 32]).expect_err("it is undone");
        assert!(undone.to_string().contains("undone at once"), "{undone}");
        assert_eq!(add(&conn, &key("second"), |_| [2; 32]).ok(), Some(2));
        let names: Vec<String> = all(&conn).expect("the keys").into_iter().map(|key| key.name).collect();
        assert_eq!(names, ["first", "second"]);
    }
}
