//! What a run tells while it runs.

use std::time::Duration;

/// Something that happened, or is about to.
#[derive(Clone, Debug)]
pub enum Event {
    /// Nothing answers at the base URL yet; the run begins when something does.
    NothingYet {
        /// For how long to wait at the most.
        patience: Duration,
        /// The client's words.
        detail: String,
    },
    /// What the reader should know about how the run was asked for.
    Note(String),
    /// A probe begins.
    Probe(&'static str),
    /// An exchange is complete: how many there are now.
    Exchange {
        /// The number of the exchange.
        number: usize,
        /// Method and target, keys redacted.
        request: String,
        /// The status, or why there is none.
        outcome: String,
    },
    /// The run waits.
    Waiting {
        /// For how long.
        time: Duration,
        /// For what.
        reason: &'static str,
    },
}

/// Who is told. Called from the run's task: it should return at once.
pub type Listener = dyn Fn(&Event) + Send + Sync;
