//! The one writer: a thread that commits all queued jobs in one transaction, then answers them.
//!
//! A commit costs a wait for the disk, whether it holds one animal or five hundred. So concurrent
//! requests share commits, and success is not reported before the disk has confirmed it.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::{thread::JoinHandle, time::Duration};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::{oneshot, watch};

use super::{error::StoreError, lock};

/// The number of jobs that may wait to be committed. A further one is refused with [`StoreError::Unavailable`].
const QUEUE: usize = 1024;

/// The greatest number of jobs that share a commit.
const MAX_BATCH: usize = 512;

/// The interval at which an empty commit is tried while commits fail, to notice when writing works again.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// A change of the database inside a transaction. Returns the id of the animal that it inserts, or 0.
type Change = Box<dyn FnOnce(&Connection) -> rusqlite::Result<i64> + Send>;

/// A change and the place for its answer.
type Job = (Change, oneshot::Sender<Result<i64, StoreError>>);

/// The sending side of the writer.
pub(crate) struct Writer {
    /// The queue, and the thread that empties it until the queue is dropped.
    running: Mutex<Option<(SyncSender<Job>, JoinHandle<()>)>>,
    /// The error of the last commit, if it failed. The channel closes when the thread ends, also by a panic.
    failure: watch::Receiver<Option<StoreError>>,
}

impl Writer {
    /// Starts the thread on its own connection.
    pub(super) fn start(conn: Connection) -> std::io::Result<Self> {
        let (sender, receiver) = sync_channel(QUEUE);
        let (noted, failure) = watch::channel(None);
        let builder = std::thread::Builder::new().name("store-writer".to_owned());
        let thread = builder.spawn(move || run(&conn, &receiver, &noted))?;
        Ok(Self { running: Mutex::new(Some((sender, thread))), failure })
    }

    /// Completes when the thread has ended, which it does only when the store is closed or by a panic. Nothing can be stored after that.
    pub(crate) fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut failure = self.failure.clone();
        async move { while failure.changed().await.is_ok() {} }
    }

    /// The reason why nothing can be stored at present. `None` if the last commit succeeded.
    pub(crate) fn failure(&self) -> Option<String> {
        if self.failure.has_changed().is_err() {
            return Some("the writer has ended".to_owned());
        }
        self.failure.borrow().as_ref().map(ToString::to_string)
    }

    /// Queues a change, and returns its answer once the disk has confirmed the commit.
    pub(super) async fn submit(
        &self,
        change: impl FnOnce(&Connection) -> rusqlite::Result<i64> + Send + 'static,
    ) -> Result<i64, StoreError> {
        let (answer, confirmation) = oneshot::channel();
        {
            let running = lock(&self.running);
            let stopping = || StoreError::Unavailable("the server is stopping".to_owned());
            let (queue, _) = running.as_ref().ok_or_else(stopping)?;
            queue.try_send((Box::new(change), answer)).map_err(|refused| match refused {
                TrySendError::Full(_) => StoreError::Unavailable("too many animals are being added at once".to_owned()),
                TrySendError::Disconnected(_) => stopping(),
            })?;
        }
        let ended = || StoreError::OutcomeUnknown("the writer ended before it confirmed the write".to_owned());
        confirmation.await.unwrap_or_else(|_| Err(ended()))
    }

    /// Commits the queued changes and ends the thread. Reads still work.
    pub(crate) fn stop(&self) {
        let Some((queue, thread)) = lock(&self.running).take() else { return };
        drop(queue);
        if thread.join().is_err() {
            tracing::error!("the store's writer ended in a panic");
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Commits what is queued until the queue is dropped. While commits fail, an empty one is tried at intervals.
fn run(conn: &Connection, queue: &Receiver<Job>, failure: &watch::Sender<Option<StoreError>>) {
    loop {
        let failing = failure.borrow().is_some();
        let first = match if failing { queue.recv_timeout(TRY_AGAIN) } else { queue.recv().map_err(Into::into) } {
            Ok(job) => Some(job),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let (changes, answers): (Vec<_>, Vec<_>) =
            first.into_iter().chain(queue.try_iter().take(MAX_BATCH - 1)).unzip();
        let outcome = commit(conn, changes);
        match &outcome {
            Err(error) if !answers.is_empty() => tracing::error!(%error, jobs = answers.len(), "a commit failed"),
            Ok(_) if failing => tracing::info!("commits succeed again"),
            _ => {}
        }
        // A success after a success is no news for those who watch.
        if failing || outcome.is_err() {
            failure.send_replace(outcome.as_ref().err().cloned());
        }
        for (index, answer) in answers.into_iter().enumerate() {
            // The client may have disconnected; the animal is stored all the same.
            let _ = answer.send(outcome.as_ref().map(|ids| ids[index]).map_err(Clone::clone));
        }
    }
}

/// Makes all changes or none of them, and returns their answers. Without a change it only tests that a commit succeeds.
fn commit(conn: &Connection, changes: Vec<Change>) -> Result<Vec<i64>, StoreError> {
    let transaction = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
    if changes.is_empty() {
        // An unchanged version is a page to write, so that the commit tests the disk.
        let version: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
        transaction.pragma_update(None, "user_version", version)?;
    }
    let answers = changes.into_iter().map(|change| change(&transaction)).collect::<rusqlite::Result<_>>()?;
    transaction.commit().map_err(StoreError::of_commit)?;
    Ok(answers)
}

#[cfg(test)]
mod tests;
