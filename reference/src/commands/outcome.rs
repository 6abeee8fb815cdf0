//! How a command ends: what it prints, or why it failed.

use std::fmt::Display;
use std::io::Write;

/// Why a command ended without having done what it should.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It was tried and failed: exit code 1.
    Failed(String),
    /// The command line asks for something impossible: exit code 2.
    Usage(String),
    /// A server, or the database it needs, could not be brought up: exit code 3.
    CannotStart(String),
    /// It was stopped before its work was done: exit code 4.
    Unfinished(String),
}

impl Failure {
    pub(crate) fn failed(error: impl Display) -> Self {
        Self::Failed(error.to_string())
    }

    pub(crate) fn cannot_start(error: impl Display) -> Self {
        Self::CannotStart(error.to_string())
    }
}

/// Writes to standard output; a reader that has gone is no reason to panic.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::failed)
}
