//! What a run tells while it runs.

use std::time::Duration;

/// Something that happened, or is about to.
#[derive(Clone, Debug)]
pub enum Event {
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
