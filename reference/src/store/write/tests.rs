use super::super::schema::{self, Durability};
use super::*;

const PATIENCE: Duration = Duration::from_secs(30);

fn job(name: &str) -> Job {
    let pet = NewPet { name: name.to_owned(), category_id: 1, status: None };
    Job { work: Work::Create(pet), answer: oneshot::channel().0 }
}

fn database() -> (Connection, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("animals.sqlite");
    (schema::open(&path, Durability::None, schema::SERVER_PATIENCE).expect("a database"), folder)
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
    let mut answers = Vec::new();
    for bad in ["refused", "undone"] {
        let error = commit(&conn, &[job("Rex"), job(bad), job("Bella")], &mut answers).expect_err("it fails");
        assert!(error.to_string().contains(&format!("as {bad}")), "{error}");
        assert!(conn.is_autocommit(), "no transaction is left open");
    }
    commit(&conn, &[job("Rex"), job("Bella")], &mut answers).expect("stored");
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
            let queue = writer.queue.lock().expect("no panic");
            queue.as_ref().expect("open").send(Job { answer, ..job("Rex") }).expect("a writer");
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
    assert!(matches!(writer.submit(Work::Panic).await, Err(StoreError::Unconfirmed)));
    tokio::time::timeout(PATIENCE, writer.ended()).await.expect("it ends");
    assert_eq!(writer.failure().as_deref(), Some("the writer has ended"));
}

#[tokio::test]
async fn writing_recovers_without_a_request() {
    let (writer, folder) = writer();
    let other = Connection::open(folder.path().join("animals.sqlite")).expect("a connection");
    other.execute_batch("BEGIN IMMEDIATE").expect("a lock");
    let pet = NewPet { name: "Rex".to_owned(), category_id: 1, status: None };
    assert!(matches!(writer.submit(Work::Create(pet)).await, Err(StoreError::Busy(_))));
    assert!(writer.failure().expect("a failure").contains("locked"));
    other.execute_batch("ROLLBACK").expect("released");
    let recovered = async {
        while writer.failure().is_some() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, recovered).await.expect("it recovers");
}
