//! Copying the write-ahead log to the database ("checkpoint") in a thread of its own.
//!
//! SQLite would do it inside a commit, so that a log that grew long (any process that reads for minutes keeps it from
//! being emptied) made one unlucky request wait for many seconds. Here the thread copies while the writer writes. Only
//! the short rest, without which the log cannot start over, is left to the writer, between two commits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::{Connection, InterruptHandle};

use super::changes::Changes;
use super::error::StoreError;

/// Frames (pages of 4 KiB) that are worth copying.
const WORTHWHILE: u64 = 1_000;

/// Frames after which the log should start over. The log file is about as long as this, at least.
const LONG: u64 = 4_000;

/// Frames above which a log has grown by more than a busy server explains: 64 MiB.
const EXCESSIVE: u64 = 16_384;

/// How long to wait before trying again to copy a log that another process was reading.
const RETRY: Duration = Duration::from_secs(1);

/// What the writer and the thread share.
struct Shared {
    changes: Arc<Changes>,
    /// The thread copied all it could, and the writer should copy the rest.
    rest: AtomicBool,
    /// A reader keeps the log from being copied.
    held_back: AtomicBool,
    stopping: AtomicBool,
}

/// The writer's side.
pub(super) struct Checkpoints {
    shared: Arc<Shared>,
    wake: SyncSender<()>,
}

impl Checkpoints {
    /// To be called after each commit, when its jobs are answered.
    pub(super) fn after_commit(&self, conn: &Connection) {
        if self.shared.rest.swap(false, Ordering::AcqRel)
            && let Err(error) = copy(conn)
        {
            tracing::warn!(%error, "the write-ahead log could not be copied to the database");
        }
        if self.shared.changes.pending() >= WORTHWHILE && !self.shared.held_back.load(Ordering::Acquire) {
            // It is awake already if there is no room.
            let _ = self.wake.try_send(());
        }
    }
}

/// The thread. It ends when this is dropped.
pub(super) struct Checkpointer {
    shared: Arc<Shared>,
    wake: SyncSender<()>,
    interrupt: InterruptHandle,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    /// Starts the thread on its own connection.
    pub(super) fn start(conn: Connection, changes: Arc<Changes>) -> std::io::Result<(Self, Checkpoints)> {
        let shared = Arc::new(Shared {
            changes,
            rest: AtomicBool::new(false),
            held_back: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
        });
        let (wake, woken) = sync_channel(1);
        let interrupt = conn.get_interrupt_handle();
        let threads = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("store-checkpoint".to_owned())
            .spawn(move || run(&conn, &threads, &woken))?;
        let checkpointer = Self { shared: Arc::clone(&shared), wake: wake.clone(), interrupt, thread: Some(thread) };
        Ok((checkpointer, Checkpoints { shared, wake }))
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::Release);
        let _ = self.wake.try_send(());
        self.interrupt.interrupt();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the checkpoint thread ended in a panic");
        }
    }
}

fn run(conn: &Connection, shared: &Shared, woken: &Receiver<()>) {
    let mut warned = EXCESSIVE / 2;
    loop {
        // A reader that held the log back does not announce its end.
        let unfinished = shared.changes.pending() >= WORTHWHILE;
        let waited = if unfinished { woken.recv_timeout(RETRY) } else { woken.recv().map_err(Into::into) };
        if shared.stopping.load(Ordering::Acquire) || waited == Err(RecvTimeoutError::Disconnected) {
            return;
        }
        let before = shared.changes.pending();
        if let Err(error) = copy(conn) {
            tracing::warn!(%error, "the write-ahead log could not be copied to the database");
        }
        let (after, frames) = (shared.changes.pending(), shared.changes.frames());
        shared.held_back.store(after >= WORTHWHILE && after >= before, Ordering::Release);
        shared.rest.store((1..WORTHWHILE).contains(&after) && frames >= LONG, Ordering::Release);
        if frames >= warned * 2 {
            warned = frames;
            tracing::warn!(
                mebibytes = frames * 4 / 1024,
                "the write-ahead log is growing: another process keeps reading an old state of the database, or the disk is too slow"
            );
        } else if frames < EXCESSIVE {
            warned = EXCESSIVE / 2;
        }
    }
}

/// Copies what no reader needs any more, without waiting for a lock.
fn copy(conn: &Connection) -> Result<(), StoreError> {
    Ok(conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::files::companion;
    use super::super::schema::{self, Durability};
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    fn grow(conn: &Connection, checkpoints: &Checkpoints, frames: u64) {
        for _ in 0..frames / 4 {
            let animal = "INSERT INTO animals (name, category_id) VALUES (hex(zeroblob(3000)), 1)";
            conn.execute(animal, []).expect("an animal");
            checkpoints.after_commit(conn);
        }
    }

    #[test]
    fn a_log_that_a_reader_held_back_is_copied_and_shortened_once_the_reader_is_gone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("animals.sqlite");
        let conn = schema::open(&path, Durability::None).expect("a database");
        schema::leave_checkpoints(&conn).expect("a setting");
        let changes = Arc::new(Changes::open(&companion(&path, "-shm")).expect("the shared state"));
        let copying = schema::open_second(&path, Durability::None).expect("a connection");
        let (_checkpointer, checkpoints) = Checkpointer::start(copying, Arc::clone(&changes)).expect("a thread");

        let reader = Connection::open(&path).expect("a connection");
        reader.execute_batch("BEGIN; SELECT count(*) FROM animals").expect("an old state");
        grow(&conn, &checkpoints, 3 * LONG);
        assert!(changes.pending() >= 2 * LONG, "it cannot be copied past what is being read");
        reader.execute_batch("COMMIT").expect("it reads no more");

        let deadline = Instant::now() + PATIENCE;
        while changes.pending() >= WORTHWHILE {
            assert!(Instant::now() < deadline, "{} frames are not copied", changes.pending());
            std::thread::sleep(Duration::from_millis(10));
        }
        // It starts over with a change that finds all of it copied.
        let length = || std::fs::metadata(companion(&path, "-wal")).expect("a log").len();
        while length() >= 2 * LONG * 4096 {
            assert!(Instant::now() < deadline + PATIENCE, "the log starts over and is shortened: {}", length());
            grow(&conn, &checkpoints, 4);
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
