//! Opening a database file: the checks at start, the schema, and the settings of every connection.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, MAIN_DB, OpenFlags, Transaction, TransactionBehavior};

use super::error::OpenError;
use super::files;

/// The schema that this program writes, kept in `PRAGMA user_version`.
const VERSION: i64 = 1;

/// The mark of a file of this program (`PRAGMA application_id`): the letters "ASto".
const APPLICATION_ID: i64 = 0x4153_746f;

/// The size in bytes up to which a file is checked from end to end at start, which takes well under a second. A larger
/// file is checked page by page as it is read.
const CHECKED_AT_START: u64 = 32 * 1024 * 1024;

/// The time for which a server waits for a lock that another process holds.
pub(super) const SERVER_PATIENCE: Duration = Duration::from_secs(2);

/// The time for which a command waits for a lock. Revoking a key must not fail because a backup is under way.
pub(super) const COMMAND_PATIENCE: Duration = Duration::from_mins(1);

/// The size in bytes that the file of the write-ahead log keeps when the log starts over.
const LOG_KEPT: i64 = 16 * 1024 * 1024;

/// The statements that create the schema. `status` is 0, 1 or 2 in the order of the specification, or NULL when none was given.
/// Ids are never used twice (AUTOINCREMENT). The index covers a filtered list, so that its cost does not grow with the catalogue.
const SCHEMA: &str = "
CREATE TABLE animals (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    category_id INTEGER NOT NULL,
    status INTEGER CHECK (status IN (0, 1, 2))
) STRICT;
CREATE INDEX animals_by_status ON animals (status, id, name, category_id);
CREATE TABLE keys (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    plan TEXT NOT NULL,
    per_minute INTEGER NOT NULL CHECK (per_minute > 0),
    per_day INTEGER NOT NULL CHECK (per_day > 0),
    hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT;
CREATE TABLE usage (
    key_id INTEGER PRIMARY KEY REFERENCES keys (id),
    minute INTEGER NOT NULL,
    in_minute INTEGER NOT NULL,
    in_day INTEGER NOT NULL,
    refusals INTEGER NOT NULL,
    banned_until INTEGER NOT NULL
) STRICT;
";

/// The durability of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Durability {
    /// A commit waits for the disk, and survives a power cut.
    Full,
    /// A commit does not wait for the disk: for temporary databases.
    None,
}

/// Opens `path` for writing, checks it, and creates or completes the schema.
pub(super) fn open(path: &Path, durability: Durability, patience: Duration) -> Result<Connection, OpenError> {
    files::create(path)?;
    let explain = |error: rusqlite::Error| OpenError::from_sqlite(path, &error);
    let conn = connect(path, patience).map_err(explain)?;
    let application: i64 = conn.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(explain)?;
    let version: i64 = conn.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(explain)?;
    let objects: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(explain)?;
    if application != APPLICATION_ID && (application != 0 || version != 0 || objects != 0) {
        return Err(OpenError::Foreign(path.to_owned()));
    }
    if application == APPLICATION_ID && (version < 0 || version == 0 && objects != 0) {
        let detail = format!("its schema version is {version}, which no version of this program writes");
        return Err(OpenError::Corrupt { path: path.to_owned(), detail });
    }
    if version > VERSION {
        return Err(OpenError::NewerSchema { path: path.to_owned(), found: version, known: VERSION });
    }
    if conn.is_readonly(MAIN_DB).map_err(explain)? {
        return Err(OpenError::ReadOnly(path.to_owned()));
    }
    let mode: String = conn.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0)).map_err(explain)?;
    if mode != "wal" {
        return Err(OpenError::Other {
            path: path.to_owned(),
            detail: format!("its file system does not support write-ahead logging (journal mode {mode})"),
        });
    }
    conn.pragma_update_and_check(None, "journal_size_limit", LOG_KEPT, |_| Ok(())).map_err(explain)?;
    synchronise(&conn, durability).map_err(explain)?;
    create_schema(&conn).map_err(explain)?;
    Ok(conn)
}

/// Opens one more connection to a database that [`open`] has accepted, for reading only.
pub(super) fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    let conn = connect(path, SERVER_PATIENCE)?;
    conn.pragma_update(None, "query_only", true)?;
    read_once(&conn)?;
    Ok(conn)
}

/// Opens one more connection to a database that [`open`] has accepted, for writing.
pub(super) fn open_second(path: &Path, durability: Durability) -> rusqlite::Result<Connection> {
    let conn = connect(path, SERVER_PATIENCE)?;
    synchronise(&conn, durability)?;
    read_once(&conn)?;
    Ok(conn)
}

/// Makes SQLite open the write-ahead log: it does so with the first read, by the name that the file then has.
fn read_once(conn: &Connection) -> rusqlite::Result<()> {
    conn.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
}

fn synchronise(conn: &Connection, durability: Durability) -> rusqlite::Result<()> {
    let synchronous = if durability == Durability::Full { "FULL" } else { "OFF" };
    conn.pragma_update(None, "synchronous", synchronous)
}

/// Opens a connection without creating a file: a missing file was removed, and an empty one in its place would hide that.
fn connect(path: &Path, patience: Duration) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(patience)?;
    // Without this setting, SQLite prepares a statement again for every value bound to LIMIT.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(conn)
}

/// Checks a database from end to end, unless it is larger than [`CHECKED_AT_START`].
pub(super) fn check_pages(conn: &Connection, path: &Path) -> Result<(), OpenError> {
    if std::fs::metadata(path).is_ok_and(|file| file.len() > CHECKED_AT_START) {
        return Ok(());
    }
    let explain = |error: rusqlite::Error| OpenError::from_sqlite(path, &error);
    let verdict: String = conn.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0)).map_err(explain)?;
    if verdict == "ok" {
        return Ok(());
    }
    let detail = verdict.lines().last().unwrap_or_default().to_owned();
    Err(OpenError::Corrupt { path: path.to_owned(), detail })
}

/// Creates the schema if there is none. The write lock that this takes proves that the file can be written.
fn create_schema(conn: &Connection) -> rusqlite::Result<()> {
    let transaction = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
    // The version is read again inside the transaction, because another process may have been first.
    let version: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version == 0 {
        transaction.execute_batch(SCHEMA)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Opens a file that this SQL has been run on.
    fn opened(sql: &str) -> Result<Connection, OpenError> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("animals.sqlite");
        Connection::open(&path).and_then(|conn| conn.execute_batch(sql)).expect("a database");
        open(&path, Durability::None, SERVER_PATIENCE)
    }

    #[test]
    fn a_database_is_ours_when_it_is_new_or_has_our_application_id() {
        assert!(opened("").is_ok());
        assert!(opened(&format!("PRAGMA application_id = {APPLICATION_ID}")).is_ok());
        for foreign in ["PRAGMA application_id = 7", "PRAGMA user_version = 1", "CREATE TABLE diary (day TEXT)"] {
            assert!(matches!(opened(foreign), Err(OpenError::Foreign(_))), "{foreign}");
        }
        let ours =
            |version| opened(&format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {version}"));
        assert!(ours(VERSION).is_ok());
        assert!(matches!(ours(VERSION + 1), Err(OpenError::NewerSchema { found: 2, known: 1, .. })));
        assert!(matches!(ours(-1), Err(OpenError::Corrupt { .. })));
        let emptied = format!("PRAGMA application_id = {APPLICATION_ID}; CREATE TABLE animals (id INTEGER)");
        assert!(matches!(opened(&emptied), Err(OpenError::Corrupt { .. })));
    }

    #[test]
    fn commits_wait_for_the_disk_unless_the_database_is_temporary() {
        let folder = tempfile::tempdir().expect("a folder");
        for (durability, synchronous) in [(Durability::Full, 2), (Durability::None, 0)] {
            let conn = open(&folder.path().join("animals.sqlite"), durability, SERVER_PATIENCE).expect("a database");
            let found: i64 = conn.pragma_query_value(None, "synchronous", |row| row.get(0)).expect("a number");
            assert_eq!(found, synchronous, "{durability:?}");
        }
    }
}
