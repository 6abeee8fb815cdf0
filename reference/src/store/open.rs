//! Opening a database file: its permissions and its lock, the checks at start, the schema, and the settings of every connection.
//!
//! SQLite locks byte ranges with `fcntl`; such locks belong to the process and vanish when it closes any descriptor of the file. The
//! lock of a server is `flock` on the database file itself, which is independent of SQLite's locks. Its descriptor is closed after all
//! connections.

use std::fs::{File, TryLockError};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::{io::ErrorKind, path::Path, time::Duration};

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, config::DbConfig};

use super::error::OpenErrorKind;

/// The version of the schema that this program writes (`PRAGMA user_version`).
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

/// The size in MiB from which on a write-ahead log takes so long to read at start that a warning is logged.
const LONG_LOG: u64 = 64;

/// `PRAGMA synchronous`: a commit waits for the disk, and survives a power cut.
pub(super) const DURABLE: &str = "FULL";

/// `PRAGMA synchronous`: a commit does not wait for the disk, for temporary databases.
pub(super) const TEMPORARY: &str = "OFF";

/// Creates an empty file that only this user can read and write, if there is none. SQLite gives the files beside
/// the database the same permissions.
fn create(path: &Path) -> Result<(), OpenErrorKind> {
    let folder = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(OpenErrorKind::MissingFolder);
    }
    // Opening a pipe would wait for ever.
    if path.exists() && !path.is_file() {
        return Err(OpenErrorKind::Unusable("it is not a regular file".to_owned()));
    }
    match File::options().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error.into()),
        _ => Ok(()),
    }
}

/// Creates a database if it is missing, locks it for one server, and warns of its condition. Two servers on one file would each count requests by themselves,
/// and admit twice what a plan allows.
pub(super) fn lock(path: &Path) -> Result<File, OpenErrorKind> {
    create(path)?;
    let file = File::open(path)?;
    file.try_lock().map_err(|refused| match refused {
        TryLockError::WouldBlock => OpenErrorKind::AlreadyServed,
        TryLockError::Error(error) => error.into(),
    })?;
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        tracing::warn!(file = %path.display(), "other users can read or write the database; consider chmod 600");
    }
    // SQLite reads the whole log that a killed process has left before anything else.
    let log = format!("{}-wal", path.canonicalize()?.display());
    let mebibytes = std::fs::metadata(log).map_or(0, |file| file.len() >> 20);
    if mebibytes >= LONG_LOG {
        tracing::warn!(mebibytes, "the write-ahead log is long: reading it may take a minute before the server starts");
    }
    Ok(file)
}

/// Opens `path` for writing, checks it, and creates or completes the schema.
pub(super) fn open(path: &Path, synchronous: &str, patience: Duration) -> Result<Connection, OpenErrorKind> {
    create(path)?;
    let conn = connect(path, synchronous, patience)?;
    // The write lock that this takes proves that the file can be written, and that no other process creates the schema as well.
    let transaction = Transaction::new_unchecked(&conn, TransactionBehavior::Immediate)?;
    let application: i64 = transaction.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let is_empty: bool = transaction.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))?;
    match (application, version) {
        (0 | APPLICATION_ID, 0) if is_empty => {
            transaction.execute_batch(include_str!("schema.sql"))?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        (APPLICATION_ID, 1..=VERSION) => {}
        (APPLICATION_ID, newer) if newer > VERSION => return Err(OpenErrorKind::NewerSchema(newer, VERSION)),
        (APPLICATION_ID, wrong) => return Err(OpenErrorKind::Corrupt(format!("its schema version is {wrong}"))),
        _ => return Err(OpenErrorKind::Foreign),
    }
    transaction.commit()?;
    let mode: String = conn.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
    if mode != "wal" {
        return Err(OpenErrorKind::Unusable(format!("its file system allows journal mode {mode} and not wal")));
    }
    conn.pragma_update_and_check(None, "journal_size_limit", LOG_KEPT, |_| Ok(()))?;
    Ok(conn)
}

/// Opens a connection without creating a file: a missing file was removed, and an empty one in its place would hide that.
pub(super) fn connect(path: &Path, synchronous: &str, patience: Duration) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(patience)?;
    // Without this setting, SQLite prepares a statement again for every value bound to LIMIT.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.pragma_update(None, "synchronous", synchronous)?;
    // SQLite opens the write-ahead log with the first read, by the name that the file then has.
    conn.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(conn)
}

/// Checks a database from end to end, unless it is larger than [`CHECKED_AT_START`].
pub(super) fn check_pages(conn: &Connection, path: &Path) -> Result<(), OpenErrorKind> {
    if std::fs::metadata(path).is_ok_and(|file| file.len() > CHECKED_AT_START) {
        return Ok(());
    }
    let verdict: String = conn.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    match verdict.lines().last() {
        Some("ok") => Ok(()),
        defect => Err(OpenErrorKind::Corrupt(defect.unwrap_or_default().to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Opens a file that this SQL has been run on.
    fn opened(sql: &str) -> Result<Connection, OpenErrorKind> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("animals.sqlite");
        Connection::open(&path).and_then(|conn| conn.execute_batch(sql)).expect("a database");
        open(&path, TEMPORARY, SERVER_PATIENCE)
    }

    #[test]
    fn a_database_is_ours_when_it_is_new_or_has_our_application_id() {
        assert!(opened("").is_ok());
        assert!(opened(&format!("PRAGMA application_id = {APPLICATION_ID}")).is_ok());
        for foreign in ["PRAGMA application_id = 7", "PRAGMA user_version = 1", "CREATE TABLE diary (day TEXT)"] {
            assert!(matches!(opened(foreign), Err(OpenErrorKind::Foreign)), "{foreign}");
        }
        let ours =
            |version| opened(&format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {version}"));
        assert!(ours(VERSION).is_ok());
        assert!(matches!(ours(VERSION + 1), Err(OpenErrorKind::NewerSchema(2, VERSION))));
        assert!(matches!(ours(-1), Err(OpenErrorKind::Corrupt(_))));
        let emptied = format!("PRAGMA application_id = {APPLICATION_ID}; CREATE TABLE animals (id INTEGER)");
        assert!(matches!(opened(&emptied), Err(OpenErrorKind::Corrupt(_))));
    }

    #[test]
    fn commits_wait_for_the_disk_unless_the_database_is_temporary() {
        let folder = tempfile::tempdir().expect("a folder");
        for (synchronous, expected) in [(DURABLE, 2), (TEMPORARY, 0)] {
            let conn = open(&folder.path().join("animals.sqlite"), synchronous, SERVER_PATIENCE).expect("a database");
            let found: i64 = conn.pragma_query_value(None, "synchronous", |row| row.get(0)).expect("a number");
            assert_eq!(found, expected, "{synchronous}");
        }
    }

    #[test]
    fn damage_is_found_at_start_in_a_file_of_up_to_32_mib() {
        let folder = tempfile::tempdir().expect("a folder");
        let conn = open(&folder.path().join("animals.sqlite"), TEMPORARY, SERVER_PATIENCE).expect("a database");
        let damage = "INSERT INTO animals (name, category_id) VALUES ('Rex', 1);
             PRAGMA writable_schema = ON;
             UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'keys') WHERE name = 'animals_by_status';
             PRAGMA writable_schema = RESET";
        conn.execute_batch(damage).expect("damage");
        // An empty file of the size in question stands for the database.
        let sized = folder.path().join("sized");
        let file = std::fs::File::create(&sized).expect("a file");
        for (size, is_found) in [(32 * 1024 * 1024, true), (32 * 1024 * 1024 + 1, false)] {
            file.set_len(size).expect("a size");
            assert_eq!(matches!(check_pages(&conn, &sized), Err(OpenErrorKind::Corrupt(_))), is_found, "{size}");
        }
    }
}
