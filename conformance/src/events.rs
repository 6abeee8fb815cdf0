//! Events of a run, the only way in which a run reports its progress.

use std::fmt;
use std::time::Duration;

use animal_store_rules::trace::exchange::FailureKind;

/// An event of a run: something that has happened, or is about to.
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
        /// The identifier of the requirement.
        id: &'static str,
        /// The title of the requirement.
        title: &'static str,
    },
    /// Requests beside the plan begin, such as reads that are repeated.
    Aside(&'static str),
    /// An exchange is complete.
    Exchange {
        /// The number of the exchange, from 1.
        number: usize,
        /// The method of the request.
        method: String,
        /// The path and query of the request, without keys. The address is in front if the service has several.
        target: String,
        /// The response, or its absence.
        answer: Answer,
        /// The number of requests that remain in the budget.
        left: usize,
    },
    /// The run waits.
    Waiting {
        /// The duration of the wait.
        time: Duration,
        /// The reason for the wait.
        reason: &'static str,
    },
}

/// The end of an exchange. As text, it is the status code or the message.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Answer {
    /// The status code of the response.
    Status(u16),
    /// There was no usable response.
    Failed {
        /// The kind of the failure.
        kind: FailureKind,
        /// The message of the client, without keys.
        message: String,
    },
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Status(status) => status.fmt(f),
            Answer::Failed { message, .. } => message.fmt(f),
        }
    }
}

/// Receives the events. It is called from the task of the run, so it should return at once.
pub type Listener = dyn Fn(&Event) + Send + Sync;
