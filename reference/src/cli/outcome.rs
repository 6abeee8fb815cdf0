//! How a command ends: what it prints, or why it failed.

use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

/// Why a command ended without having done what it should.
#[derive(Debug)]
pub enum Failure {
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
    /// A failure with the message of an error.
    pub fn failed(error: impl Display) -> Self {
        Self::Failed(error.to_string())
    }

    /// A server that could not be brought up, with the message of an error.
    pub fn cannot_start(error: impl Display) -> Self {
        Self::CannotStart(error.to_string())
    }
}

/// Writes to standard output; a reader that has gone is no reason to panic.
///
/// # Errors
///
/// [`Failure::Failed`] with what the system says.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::failed)
}

/// The exit code of a program: 0 when all is done, 1 when it failed, 2 for wrong usage, 3 when it could not start, 4 when it was
/// stopped unfinished. A failure is reported on standard error.
#[must_use]
pub fn exit_code(program: &str, outcome: Result<(), Failure>) -> ExitCode {
    let (code, message) = match outcome {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Failed(message)) => (1, message),
        Err(Failure::Usage(message)) => (2, message),
        Err(Failure::CannotStart(message)) => (3, message),
        Err(Failure::Unfinished(message)) => (4, message),
    };
    report(format!("{program}: {message}\n"), Duration::from_secs(1));
    ExitCode::from(code)
}

/// Writes to standard error, for no longer than a time: one that nobody reads must not keep the process.
pub(crate) fn report(text: String, at_most: Duration) {
    let (written, finished) = sync_channel(1);
    let writing = std::thread::Builder::new().spawn(move || {
        let _ = std::io::stderr().write_all(text.as_bytes());
        let _ = written.send(());
    });
    if writing.is_ok() {
        let _ = finished.recv_timeout(at_most);
    }
}
