use std::sync::mpsc::channel;

use super::super::changes::Changes;
use super::super::checkpoint::Checkpointer;
use super::super::files::companion;
use super::super::schema::{self, Durability};
use super::*;

/// Far longer than any of this takes.
const LONG: Duration = Duration::from_hours(1);
const PATIENCE: Duration = Duration::from_secs(30);

fn job(name: &str) -> Job {
    let pet = NewPet { name: name.to_owned(), category_id: 1, status: None };
    Job { work: Work::Create(pet), answer: oneshot::channel().0 }
}

struct Database {
    conn: Connection,
    files: Arc<OpenFiles>,
    folder: tempfile::TempDir,
}

impl Database {
    fn create() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("animals.sqlite");
        let conn = schema::open(&path, Durability::None).expect("a database");
        let files = OpenFiles::note(&path, &path).expect("its files");
        Self { conn, files: Arc::new(files), folder }
    }

    fn writer(self) -> (Writer, Checkpointer, Arc<OpenFiles>, tempfile::TempDir) {
        let path = self.folder.path().join("animals.sqlite");
        let changes = Changes::open(&companion(&path, "-shm")).expect("the shared state");
        let copying = schema::open_second(&path, Durability::None).expect("a connection");
        let (checkpointer, checkpoints) = Checkpointer::start(copying, Arc::new(changes)).expect("a thread");
        let writer = Writer::start(self.conn, MAX_BATCH, Arc::clone(&self.files), checkpoints).expect("a thread");
        (writer, checkpointer, self.files, self.folder)
    }
}

/// How many jobs share a batch when so many are queued, and so many come later, one by one.
fn gathered(window: BatchWindow, queued: usize, later: usize) -> usize {
    let (sender, queue) = sync_channel(1_000);
    (0..queued).for_each(|_| sender.send(job("Rex")).expect("room"));
    let (report, outcome) = channel();
    std::thread::spawn(move || {
        let mut batch = vec![queue.recv().expect("a job")];
        window.gather(&queue, &mut batch);
        let _ = report.send(batch.len());
    });
    for _ in 0..later {
        // Each finds the earlier ones taken, if the batch waits.
        std::thread::yield_now();
        let _ = sender.send(job("Rex"));
    }
    // The sender lives on, so that only the rules of the window end the wait.
    let batch = outcome.recv_timeout(PATIENCE).expect("no batch waits for more jobs than the last one had");
    drop(sender);
    batch
}

#[test]
fn a_batch_takes_what_is_queued_up_to_its_limit() {
    assert_eq!(gathered(BatchWindow::default(), 1, 0), 1);
    assert_eq!(gathered(BatchWindow::default(), 7, 0), 7);
    assert_eq!(gathered(BatchWindow::default(), MAX_BATCH, 0), MAX_BATCH);
    assert_eq!(gathered(BatchWindow::default(), MAX_BATCH + 1, 0), MAX_BATCH);
    assert_eq!(gathered(BatchWindow { last_batch: MAX_BATCH + 5, wait: LONG }, MAX_BATCH + 1, 0), MAX_BATCH);
}

#[test]
fn a_batch_waits_for_as_many_jobs_as_the_last_one_had() {
    assert_eq!(gathered(BatchWindow { last_batch: 3, wait: LONG }, 1, 2), 3);
    assert_eq!(gathered(BatchWindow { last_batch: 3, wait: LONG }, 3, 0), 3);
    assert_eq!(gathered(BatchWindow { last_batch: 3, wait: LONG }, 4, 0), 4);
    assert_eq!(gathered(BatchWindow { last_batch: 3, wait: Duration::from_millis(1) }, 1, 0), 1);
}

#[test]
fn waiting_pays_after_a_shared_commit_on_a_slow_disk() {
    let learnt = |batch, commit| {
        let mut window = BatchWindow { last_batch: 99, wait: LONG };
        window.learn(batch, commit);
        assert_eq!(window.last_batch, batch);
        window.wait
    };
    assert_eq!(learnt(1, SLOW_COMMIT), Duration::ZERO);
    assert_eq!(learnt(2, SLOW_COMMIT.checked_sub(Duration::from_nanos(1)).unwrap()), Duration::ZERO);
    assert_eq!(learnt(2, SLOW_COMMIT), SLOW_COMMIT / 4);
    assert_eq!(learnt(64, Duration::from_micros(1_200)), Duration::from_micros(300));
    assert_eq!(learnt(2, Duration::from_millis(50)), MAX_GATHER);
}

#[test]
fn a_batch_is_stored_whole_or_not_at_all_and_the_next_one_goes_on() {
    let Database { conn, files, folder: _folder } = Database::create();
    let trigger = |name: &str, action: &str| {
        format!(
            "CREATE TEMP TRIGGER t_{name} BEFORE INSERT ON animals WHEN NEW.name = '{name}' BEGIN SELECT RAISE({action}, 'as {name}'); END;"
        )
    };
    // SQLite ends a transaction by itself on some errors, and leaves it open on others.
    conn.execute_batch(&(trigger("refused", "ABORT") + &trigger("undone", "ROLLBACK"))).expect("triggers");
    let mut answers = Vec::new();
    for bad in ["refused", "undone"] {
        let error = commit(&conn, &files, &[job("Rex"), job(bad), job("Bella")], &mut answers).expect_err("it fails");
        assert!(error.to_string().contains(&format!("as {bad}")), "{error}");
        assert!(conn.is_autocommit(), "no transaction is left open");
    }
    commit(&conn, &files, &[job("Rex"), job("Bella")], &mut answers).expect("stored");
    assert_eq!(answers.len(), 2);
    let names: String =
        conn.query_row("SELECT group_concat(name) FROM animals", [], |row| row.get(0)).expect("the names");
    assert_eq!(names, "Rex,Bella");
}

#[test]
fn dropping_a_writer_commits_everything_queued() {
    let (writer, _checkpointer, _files, _folder) = Database::create().writer();
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

#[test]
fn nothing_is_written_to_a_file_that_was_replaced_and_writing_goes_on_when_it_is_back() {
    let Database { conn, files, folder } = Database::create();
    let mut answers = Vec::new();
    for name in ["animals.sqlite", "animals.sqlite-wal", "animals.sqlite-shm"] {
        let (path, moved) = (folder.path().join(name), folder.path().join("moved"));
        std::fs::rename(&path, &moved).expect("moved");
        let removed = commit(&conn, &files, &[job("Rex")], &mut answers);
        std::fs::write(&path, "").expect("another file");
        let replaced = commit(&conn, &files, &[job("Rex")], &mut answers);
        for outcome in [removed, replaced] {
            assert!(matches!(&outcome, Err(StoreError::Replaced(file)) if file == name), "{outcome:?}");
        }
        std::fs::rename(&moved, &path).expect("moved back");
    }
    commit(&conn, &files, &[job("Bella")], &mut answers).expect("stored");
    let names: String =
        conn.query_row("SELECT group_concat(name) FROM animals", [], |row| row.get(0)).expect("the names");
    assert_eq!(names, "Bella");
}

#[tokio::test]
async fn a_writer_that_panics_is_reported_and_ends_whoever_waits_for_that() {
    let (writer, _checkpointer, files, _folder) = Database::create().writer();
    assert_eq!(writer.status(&files).failure, None);
    assert!(matches!(writer.submit(Work::Panic).await, Err(StoreError::Unconfirmed)));
    tokio::time::timeout(PATIENCE, writer.ended()).await.expect("it ends");
    assert_eq!(writer.status(&files).failure.as_deref(), Some("the writer has ended"));
}

#[tokio::test]
async fn writing_recovers_without_a_request() {
    let (writer, _checkpointer, files, folder) = Database::create().writer();
    let other = Connection::open(folder.path().join("animals.sqlite")).expect("a connection");
    other.execute_batch("BEGIN IMMEDIATE").expect("a lock");
    let pet = NewPet { name: "Rex".to_owned(), category_id: 1, status: None };
    assert!(matches!(writer.create(pet).await, Err(StoreError::Busy(_))));
    assert!(writer.status(&files).failure.expect("a failure").contains("locked"));
    other.execute_batch("ROLLBACK").expect("released");
    let recovered = async {
        while writer.status(&files).failure.is_some() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, recovered).await.expect("it recovers");
    assert!(writer.status(&files).last_commit.expect("a commit").succeeded);
}
