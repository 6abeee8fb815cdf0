//! Events of a run: the only way from the run to those who watch it.

use std::time::Duration;

/// Something that happened, or is about to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// The server does not respond yet; the run begins when it does.
    NoResponseYet {
        /// The maximum time to wait.
        timeout: Duration,
        /// The error of the client.
        detail: String,
    },
    /// A note about the options of the run.
    Note(String),
    /// Preflight has passed; the plan of the rest of the run.
    Planned {
        /// The number of probes.
        probes: usize,
        /// The maximum number of requests of the whole run.
        requests: usize,
    },
    /// A probe begins.
    Probe(&'static str),
    /// A requirement is broken, as far as the run shows so far.
    Broken {
        /// Its identifier.
        id: &'static str,
        /// Its title.
        title: &'static str,
    },
    /// Requests beside the plan begin, such as reads that are repeated.
    Aside(&'static str),
    /// An exchange is complete.
    Exchange {
        /// The number of the exchange.
        number: usize,
        /// Method and target, keys redacted.
        request: String,
        /// The status, or the error.
        outcome: String,
        /// The requests that remain in the budget.
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

/// Receives the events. It is called from the task of the run, so it should return at once.
pub type Listener = dyn Fn(&Event) + Send + Sync;
