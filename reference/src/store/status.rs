//! Whether writing works, for the health of the server.

use std::time::{Duration, Instant};

use super::error::StoreError;

/// A commit that takes longer is a sign of hung storage.
const HUNG: Duration = Duration::from_secs(10);

/// What is known about writing at one time.
#[derive(Clone, Debug)]
pub struct WritingStatus {
    /// The last commit of this process, if there was one.
    pub last_commit: Option<LastCommit>,
    /// The size of the write-ahead log in bytes. It stays below 32 MiB or so, unless another process keeps reading
    /// an old state of the database.
    pub log_bytes: u64,
    /// Why nothing can be stored at present; `None` when as far as is known everything works.
    pub failure: Option<String>,
}

/// How a commit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastCommit {
    /// Whether the disk confirmed it.
    pub succeeded: bool,
    /// How long ago it ended.
    pub age: Duration,
}

/// The commits of the writer.
#[derive(Default)]
pub(super) struct Commits {
    last: Option<(Instant, Result<(), StoreError>)>,
    running_since: Option<Instant>,
}

impl Commits {
    pub(super) fn begin(&mut self) {
        self.running_since = Some(Instant::now());
    }

    pub(super) fn end(&mut self, outcome: Result<(), StoreError>) {
        self.running_since = None;
        self.last = Some((Instant::now(), outcome));
    }

    pub(super) fn last(&self) -> Option<LastCommit> {
        self.last.as_ref().map(|(at, outcome)| LastCommit { succeeded: outcome.is_ok(), age: at.elapsed() })
    }

    /// Why the last commit failed, or that the present one does not end.
    pub(super) fn failure(&self) -> Option<String> {
        if let Some((_, Err(error))) = &self.last {
            return Some(error.to_string());
        }
        let running = self.running_since?.elapsed();
        (running > HUNG).then(|| format!("a commit has been waiting for the disk for {} s", running.as_secs()))
    }
}
