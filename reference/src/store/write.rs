//! The one writer: a thread that commits whatever is queued in one transaction, then answers.
//!
//! A commit costs a wait for the disk, whether it holds one animal or five hundred. So concurrent
//! requests share commits, and success is not reported before the disk has confirmed it.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::{oneshot, watch};

use super::catalogue::{self, Catalogue};
use super::checkpoint::Checkpoints;
use super::error::StoreError;
use super::files::OpenFiles;
use super::read::status_code;
use super::status::{Commits, WritingStatus};
use crate::rate_limit::Usage;
use crate::wire::NewPet;

/// The most jobs that share a commit.
const MAX_BATCH: usize = 512;

/// The longest that a batch waits for more jobs.
const MAX_GATHER: Duration = Duration::from_micros(500);

/// Below this, the next commit is worth less than the work that the wait would delay.
const SLOW_COMMIT: Duration = Duration::from_millis(1);

/// How often a commit is tried while commits fail, so that it is known when writing works again.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// The answer to a job: the new animal's id (0 for a job without one).
type Answer = Result<i64, StoreError>;

enum Work {
    Create(NewPet),
    /// Usage by key id.
    SaveUsage(Vec<(i64, Usage)>),
    Replace(Catalogue),
    #[cfg(test)]
    Panic,
}

struct Job {
    work: Work,
    answer: oneshot::Sender<Answer>,
}

/// The sending side of the writer.
pub(super) struct Writer {
    queue: Mutex<Option<SyncSender<Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    commits: Arc<Mutex<Commits>>,
    /// Closed when the thread ends, however it ends.
    alive: watch::Receiver<()>,
}

impl Writer {
    /// Starts the thread on its own connection; at most `queue` jobs wait at a time.
    pub(super) fn start(
        conn: Connection,
        queue: usize,
        files: Arc<OpenFiles>,
        checkpoints: Checkpoints,
    ) -> std::io::Result<Self> {
        let (sender, receiver) = sync_channel(queue.max(1));
        let (living, alive) = watch::channel(());
        let commits = Arc::<Mutex<Commits>>::default();
        let noted = Arc::clone(&commits);
        let thread = std::thread::Builder::new().name("store-writer".to_owned()).spawn(move || {
            let _living = living;
            run(&conn, &receiver, &files, &checkpoints, &noted);
        })?;
        Ok(Self { queue: Mutex::new(Some(sender)), thread: Mutex::new(Some(thread)), commits, alive })
    }

    /// Completes when the thread has ended.
    pub(super) fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut alive = self.alive.clone();
        async move { while alive.changed().await.is_ok() {} }
    }

    pub(super) fn status(&self, files: &OpenFiles) -> WritingStatus {
        let commits = lock(&self.commits);
        let ended = self.alive.has_changed().is_err().then(|| "the writer has ended".to_owned());
        let replaced = || files.check().err().map(|error| error.to_string());
        WritingStatus {
            last_commit: commits.last(),
            log_bytes: files.log_size(),
            failure: ended.or_else(replaced).or_else(|| commits.failure()),
        }
    }

    /// Stores an animal and returns its id once the disk has confirmed it.
    pub(super) async fn create(&self, pet: NewPet) -> Answer {
        self.submit(Work::Create(pet)).await
    }

    /// Stores what keys have used.
    pub(super) async fn save_usage(&self, usage: Vec<(i64, Usage)>) -> Result<(), StoreError> {
        self.submit(Work::SaveUsage(usage)).await.map(drop)
    }

    /// Stores a catalogue in the place of the present one.
    pub(super) async fn replace(&self, catalogue: Catalogue) -> Result<(), StoreError> {
        self.submit(Work::Replace(catalogue)).await.map(drop)
    }

    async fn submit(&self, work: Work) -> Answer {
        let (answer, confirmation) = oneshot::channel();
        {
            let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            let sender = queue.as_ref().ok_or(StoreError::Unconfirmed)?;
            sender.try_send(Job { work, answer }).map_err(|refused| match refused {
                TrySendError::Full(_) => StoreError::QueueFull,
                TrySendError::Disconnected(_) => StoreError::Unconfirmed,
            })?;
        }
        confirmation.await.unwrap_or(Err(StoreError::Unconfirmed))
    }

    /// Commits what is queued and ends the thread.
    pub(super) fn stop(&self) {
        drop(self.queue.lock().unwrap_or_else(PoisonError::into_inner).take());
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the store's writer ended in a panic");
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.stop();
    }
}

fn lock(commits: &Mutex<Commits>) -> MutexGuard<'_, Commits> {
    commits.lock().unwrap_or_else(PoisonError::into_inner)
}

fn run(
    conn: &Connection,
    queue: &Receiver<Job>,
    files: &OpenFiles,
    checkpoints: &Checkpoints,
    commits: &Mutex<Commits>,
) {
    let mut batch: Vec<Job> = Vec::with_capacity(MAX_BATCH);
    let mut answers: Vec<i64> = Vec::with_capacity(MAX_BATCH);
    let mut window = BatchWindow::default();
    let mut failing = false;
    loop {
        match if failing { queue.recv_timeout(TRY_AGAIN) } else { queue.recv().map_err(Into::into) } {
            Ok(first) => {
                batch.push(first);
                window.gather(queue, &mut batch);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let started = Instant::now();
        lock(commits).begin();
        let outcome = commit(conn, files, &batch, &mut answers);
        lock(commits).end(outcome.clone());
        window.learn(batch.len(), started.elapsed());
        match &outcome {
            Err(error) if !batch.is_empty() => tracing::error!(%error, jobs = batch.len(), "a commit failed"),
            Ok(()) if failing => tracing::info!("commits succeed again"),
            _ => {}
        }
        failing = outcome.is_err();
        for (index, job) in batch.drain(..).enumerate() {
            let answer = match &outcome {
                Ok(()) => Ok(answers[index]),
                Err(error) => Err(error.clone()),
            };
            // The client may have disconnected; the animal is stored all the same.
            let _ = job.answer.send(answer);
        }
        checkpoints.after_commit(conn);
    }
}

/// How long it pays to wait for more jobs: when the last commit was shared and the disk is slow, the clients
/// it answered are about to ask again, and a short wait lets them share the next one too.
#[derive(Default)]
struct BatchWindow {
    last_batch: usize,
    wait: Duration,
}

impl BatchWindow {
    fn gather(&self, queue: &Receiver<Job>, batch: &mut Vec<Job>) {
        let deadline = Instant::now() + self.wait;
        while batch.len() < MAX_BATCH {
            match queue.try_recv() {
                Ok(job) => batch.push(job),
                Err(TryRecvError::Disconnected) => return,
                Err(TryRecvError::Empty) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if batch.len() >= self.last_batch || left.is_zero() {
                        return;
                    }
                    match queue.recv_timeout(left) {
                        Ok(job) => batch.push(job),
                        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
                    }
                }
            }
        }
    }

    fn learn(&mut self, batch: usize, commit: Duration) {
        self.last_batch = batch;
        let worthwhile = batch > 1 && commit >= SLOW_COMMIT;
        self.wait = if worthwhile { (commit / 4).min(MAX_GATHER) } else { Duration::ZERO };
    }
}

/// Stores all of the batch or nothing of it. An empty batch only tries whether storing works.
fn commit(conn: &Connection, files: &OpenFiles, batch: &[Job], answers: &mut Vec<i64>) -> Result<(), StoreError> {
    answers.clear();
    files.check()?;
    conn.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    let outcome = write_all(conn, batch, answers).and_then(|()| {
        let executed = conn.prepare_cached("COMMIT")?.execute([]);
        executed.map(drop).map_err(|error| StoreError::of_commit(&error))
    });
    if outcome.is_err() && !conn.is_autocommit() {
        conn.execute_batch("ROLLBACK")?;
    }
    // What was stored is only confirmed where a restart will look for it.
    outcome.and_then(|()| files.check())
}

fn write_all(conn: &Connection, batch: &[Job], answers: &mut Vec<i64>) -> Result<(), StoreError> {
    let mut insert = conn.prepare_cached("INSERT INTO animals (name, category_id, status) VALUES (?1, ?2, ?3)")?;
    if batch.is_empty() {
        conn.prepare_cached("UPDATE key_changes SET generation = generation")?.execute([])?;
    }
    for job in batch {
        match &job.work {
            #[cfg(test)]
            Work::Panic => panic!("a deliberate panic"),
            Work::Create(pet) => {
                let id = insert.insert((&pet.name, pet.category_id, pet.status.map(status_code)))?;
                answers.push(id);
            }
            Work::SaveUsage(usage) => {
                save_usage(conn, usage)?;
                answers.push(0);
            }
            Work::Replace(catalogue) => {
                catalogue::replace(conn, catalogue)?;
                answers.push(0);
            }
        }
    }
    Ok(())
}

/// Stores usage by key number, inside the transaction of the caller.
pub(super) fn save_usage(conn: &Connection, usage: &[(i64, Usage)]) -> Result<(), StoreError> {
    let mut statement = conn.prepare_cached(
        "INSERT INTO usage (key_id, minute, in_minute, in_day, refusals, banned_until) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (key_id) DO UPDATE SET minute = ?2, in_minute = ?3, in_day = ?4, refusals = ?5, banned_until = ?6",
    )?;
    // SQLite's integers are signed; no count or time gets near the difference.
    let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    for (key, used) in usage {
        let counts = [used.minute, used.in_minute, used.in_day, used.refusals, used.banned_until].map(signed);
        statement.execute((key, counts[0], counts[1], counts[2], counts[3], counts[4]))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
