//! What a run tells while it runs: the only way from the run to those who watch it.

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
    /// Preflight has passed, and this is what follows it.
    Planned {
        /// How many probes.
        probes: usize,
        /// The most requests that the whole run takes.
        requests: usize,
    },
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
        /// How many requests the budget has left.
        left: usize,
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
