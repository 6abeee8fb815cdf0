//! The outcome of a command: its output, or the reason why it failed.

use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

/// The reason why a command failed, by its exit code.
#[derive(Debug)]
pub enum Failure {
    /// The command failed: exit code 1.
    Failed(String),
    /// The command line asks for something impossible: exit code 2.
    Usage(String),
    /// A server, or the database it needs, could not be started: exit code 3.
    CannotStart(String),
    /// The command was stopped before its work was done: exit code 4.
    Unfinished(String),
}

impl Failure {
    /// A [`Failure::Failed`] with the message of an error.
    pub fn failed(error: impl Display) -> Self {
        Self::Failed(error.to_string())
    }

    /// A [`Failure::CannotStart`] with the message of an error.
    pub fn cannot_start(error: impl Display) -> Self {
        Self::CannotStart(error.to_string())
    }
}

/// Writes to standard output. A reader that has gone is an error, not a panic.
///
/// # Errors
///
/// [`Failure::Failed`] with the error of the system.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::failed)
}

/// The exit code of a program: 0 for success, 1 if it failed, 2 for wrong usage, 3 if it could not start, 4 if it was
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

/// Writes to standard error, for `at_most` this time: a standard error that no program reads must not keep the process.
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
