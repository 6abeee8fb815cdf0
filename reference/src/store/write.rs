//! The one writer: a thread that commits all queued jobs in one transaction, then answers them.
//!
//! A commit costs a wait for the disk, whether it holds one animal or five hundred. So concurrent
//! requests share commits, and success is not reported before the disk has confirmed it.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::{oneshot, watch};

use super::catalogue::{self, Catalogue};
use super::error::StoreError;
use super::keys::signed;
use super::read::status_code;
use crate::domain::rate_limit::Usage;
use crate::domain::wire::NewPet;

/// The number of jobs that may wait to be committed. A further one is refused with [`StoreError::QueueFull`].
const QUEUE: usize = 1024;

/// The greatest number of jobs that share a commit.
const MAX_BATCH: usize = 512;

/// The interval at which an empty commit is tried while commits fail, to notice when writing works again.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// The answer to a job: the new animal's id (0 for a job without one).
pub(super) type Answer = Result<i64, StoreError>;

pub(super) enum Work {
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
    /// The error of the last commit, if it failed.
    failure: Arc<Mutex<Option<StoreError>>>,
    /// A channel that closes when the thread ends, also by a panic.
    alive: watch::Receiver<()>,
}

impl Writer {
    /// Starts the thread on its own connection.
    pub(super) fn start(conn: Connection) -> std::io::Result<Self> {
        let (sender, receiver) = sync_channel(QUEUE);
        let (living, alive) = watch::channel(());
        let failure = Arc::<Mutex<Option<StoreError>>>::default();
        let noted = Arc::clone(&failure);
        let thread = std::thread::Builder::new().name("store-writer".to_owned()).spawn(move || {
            let _living = living;
            run(&conn, &receiver, &noted);
        })?;
        Ok(Self { queue: Mutex::new(Some(sender)), thread: Mutex::new(Some(thread)), failure, alive })
    }

    /// Completes when the thread has ended.
    pub(super) fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut alive = self.alive.clone();
        async move { while alive.changed().await.is_ok() {} }
    }

    /// The reason why nothing can be stored at present, if there is one.
    pub(super) fn failure(&self) -> Option<String> {
        if self.alive.has_changed().is_err() {
            return Some("the writer has ended".to_owned());
        }
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(ToString::to_string)
    }

    /// Queues a job, and returns its answer once the disk has confirmed the commit.
    pub(super) async fn submit(&self, work: Work) -> Answer {
        let (answer, confirmation) = oneshot::channel();
        {
            let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            let sender = queue.as_ref().ok_or(StoreError::Stopped)?;
            sender.try_send(Job { work, answer }).map_err(|refused| match refused {
                TrySendError::Full(_) => StoreError::QueueFull,
                TrySendError::Disconnected(_) => StoreError::Stopped,
            })?;
        }
        confirmation.await.unwrap_or(Err(StoreError::Unconfirmed))
    }

    /// Commits the queued jobs and ends the thread.
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

fn run(conn: &Connection, queue: &Receiver<Job>, noted: &Mutex<Option<StoreError>>) {
    let mut batch: Vec<Job> = Vec::with_capacity(MAX_BATCH);
    let mut answers: Vec<i64> = Vec::with_capacity(MAX_BATCH);
    let mut failing = false;
    loop {
        match if failing { queue.recv_timeout(TRY_AGAIN) } else { queue.recv().map_err(Into::into) } {
            Ok(first) => {
                batch.push(first);
                batch.extend(queue.try_iter().take(MAX_BATCH - 1));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let outcome = commit(conn, &batch, &mut answers);
        match &outcome {
            Err(error) if !batch.is_empty() => tracing::error!(%error, jobs = batch.len(), "a commit failed"),
            Ok(()) if failing => tracing::info!("commits succeed again"),
            _ => {}
        }
        failing = outcome.is_err();
        *noted.lock().unwrap_or_else(PoisonError::into_inner) = outcome.clone().err();
        for (index, job) in batch.drain(..).enumerate() {
            let answer = match &outcome {
                Ok(()) => Ok(answers[index]),
                Err(error) => Err(error.clone()),
            };
            // The client may have disconnected; the animal is stored all the same.
            let _ = job.answer.send(answer);
        }
    }
}

/// Stores the whole batch or no part of it. An empty batch only tests that a commit succeeds.
fn commit(conn: &Connection, batch: &[Job], answers: &mut Vec<i64>) -> Result<(), StoreError> {
    answers.clear();
    let transaction = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
    write_all(&transaction, batch, answers)?;
    transaction.commit().map_err(|error| StoreError::of_commit(&error))
}

fn write_all(conn: &Connection, batch: &[Job], answers: &mut Vec<i64>) -> Result<(), StoreError> {
    let mut insert = conn.prepare_cached("INSERT INTO animals (name, category_id, status) VALUES (?1, ?2, ?3)")?;
    if batch.is_empty() {
        // An unchanged version is a page to write, so that the commit tests the disk.
        let version: i64 = conn.pragma_query_value(None, "user_version", |row| row.get(0))?;
        conn.pragma_update(None, "user_version", version)?;
    }
    for job in batch {
        answers.push(match &job.work {
            #[cfg(test)]
            Work::Panic => panic!("a deliberate panic"),
            Work::Create(pet) => insert.insert((&pet.name, pet.category_id, pet.status.map(status_code)))?,
            Work::SaveUsage(usage) => save_usage(conn, usage).map(|()| 0)?,
            Work::Replace(catalogue) => catalogue::replace(conn, catalogue).map(|()| 0)?,
        });
    }
    Ok(())
}

/// Stores usage by key number, inside the transaction of the caller.
fn save_usage(conn: &Connection, usage: &[(i64, Usage)]) -> Result<(), StoreError> {
    let mut statement = conn.prepare_cached(
        "INSERT INTO usage (key_id, minute, in_minute, in_day, refusals, banned_until) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (key_id) DO UPDATE SET minute = ?2, in_minute = ?3, in_day = ?4, refusals = ?5, banned_until = ?6",
    )?;
    for (key, used) in usage {
        let counts = [used.minute, used.in_minute, used.in_day, used.refusals, used.banned_until].map(signed);
        statement.execute((key, counts[0], counts[1], counts[2], counts[3], counts[4]))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
