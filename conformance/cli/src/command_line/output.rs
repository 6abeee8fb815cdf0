//! The output of commands, and the exit code that goes with it.
//!
//! Everything that is printed is a [`Printable`]: an error message may quote a file, an address or a server.

use std::fmt::Display;
use std::io::Write;

use crate::exit_code::ExitCode;
use animal_store_conformance::redaction::Printable;

/// Prints a usage or configuration error, and returns the exit code.
pub(super) fn usage(error: &dyn Display) -> ExitCode {
    say(format!("error: {error}"));
    ExitCode::Usage
}

/// Prints the reason why a run could not take place, and returns the exit code.
pub(super) fn could_not_run(error: &dyn Display) -> ExitCode {
    say(format!("error: {error}"));
    ExitCode::CouldNotRun
}

/// Prints on standard output, and returns the given exit code unless printing fails. A reader that closed the pipe is no failure.
#[expect(clippy::disallowed_methods, reason = "this is the gate")]
pub(super) fn print(text: impl Into<Printable>, code: ExitCode) -> ExitCode {
    match write!(anstream::stdout(), "{}", text.into()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            could_not_run(&format!("cannot write to standard output: {error}"))
        }
        _ => code,
    }
}

/// Prints a line on standard error; failures are ignored, because there is nowhere to report them.
#[expect(clippy::disallowed_methods, reason = "this is the gate")]
pub(crate) fn say(text: impl Into<Printable>) {
    let _nowhere_to_report = writeln!(anstream::stderr(), "{}", text.into());
}

/// Runs a task to its end. Nothing waits for connections that a hostile server keeps busy, or that have changed their protocol.
pub(super) fn complete(task: impl Future<Output = Result<ExitCode, ExitCode>>) -> Result<ExitCode, ExitCode> {
    let runtime = tokio::runtime::Runtime::new();
    let runtime = runtime.map_err(|error| could_not_run(&format!("cannot start the asynchronous runtime: {error}")))?;
    let code = runtime.block_on(task);
    runtime.shutdown_background();
    code
}
