use super::super::open;
use super::*;

const PATIENCE: Duration = Duration::from_secs(30);

/// The insertion of an animal of this name.
fn adding(name: &'static str) -> Change {
    Box::new(move |conn| conn.prepare("INSERT INTO animals (name, category_id) VALUES (?1, 1)")?.insert([name]))
}

fn database() -> (Connection, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("animals.sqlite");
    (open::open(&path, open::TEMPORARY, open::SERVER_PATIENCE).expect("a database"), folder)
}

fn writer() -> (Writer, tempfile::TempDir) {
    let (conn, folder) = database();
    (Writer::start(conn).expect("a thread"), folder)
}

#[test]
fn a_batch_is_stored_whole_or_not_at_all_and_the_next_one_goes_on() {
    let (conn, _folder) = database();
    let trigger = |name: &str, action: &str| {
        format!(
            "CREATE TEMP TRIGGER t_{name} BEFORE INSERT ON animals WHEN NEW.name = '{name}' BEGIN SELECT RAISE({action}, 'as {name}'); END;"
        )
    };
    // SQLite ends a transaction by itself on some errors, and leaves it open on others.
    conn.execute_batch(&(trigger("refused", "ABORT") + &trigger("undone", "ROLLBACK"))).expect("triggers");
    for bad in ["refused", "undone"] {
        let error = commit(&conn, vec![adding("Rex"), adding(bad), adding("Bella")]).expect_err("it fails");
        assert!(error.to_string().contains(&format!("as {bad}")), "{error}");
        assert!(conn.is_autocommit(), "no transaction is left open");
    }
    let answers = commit(&conn, vec![adding("Rex"), adding("Bella")]).expect("stored");
    assert_eq!(answers.len(), 2);
    let names: String =
        conn.query_row("SELECT group_concat(name) FROM animals", [], |row| row.get(0)).expect("the names");
    assert_eq!(names, "Rex,Bella");
}

#[test]
fn dropping_a_writer_commits_everything_queued() {
    let (writer, _folder) = writer();
    let confirmations: Vec<_> = (0..MAX_BATCH)
        .map(|_| {
            let (answer, confirmation) = oneshot::channel();
            let running = writer.running.lock().expect("no panic");
            running.as_ref().expect("open").0.send((adding("Rex"), answer)).expect("a writer");
            confirmation
        })
        .collect();
    drop(writer);
    for mut confirmation in confirmations {
        assert!(matches!(confirmation.try_recv(), Ok(Ok(_))));
    }
}

#[tokio::test]
async fn a_writer_that_panics_is_reported_and_ends_whoever_waits_for_that() {
    let (writer, _folder) = writer();
    assert_eq!(writer.failure(), None);
    assert!(matches!(writer.submit(|_| panic!("a deliberate panic")).await, Err(StoreError::OutcomeUnknown(_))));
    tokio::time::timeout(PATIENCE, writer.ended()).await.expect("it ends");
    assert_eq!(writer.failure().as_deref(), Some("the writer has ended"));
}

#[tokio::test]
async fn writing_recovers_without_a_request() {
    let (writer, folder) = writer();
    let other = Connection::open(folder.path().join("animals.sqlite")).expect("a connection");
    other.execute_batch("BEGIN IMMEDIATE").expect("a lock");
    assert!(matches!(writer.submit(adding("Rex")).await, Err(StoreError::Unavailable(_))));
    assert!(writer.failure().expect("a failure").contains("locked"));
    other.execute_batch("ROLLBACK").expect("released");
    let recovered = async {
        while writer.failure().is_some() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, recovered).await.expect("it recovers");
}
