//! What commands print, and the exit code that goes with it.

use std::io::Write;

use crate::exit_code::ExitCode;

/// Prints a usage or configuration error; the exit code.
pub(super) fn usage(error: &dyn std::error::Error) -> ExitCode {
    say(&format!("error: {error}"));
    ExitCode::Usage
}

/// Prints why a run could not take place; the exit code.
pub(super) fn could_not_run(error: &dyn std::fmt::Display) -> ExitCode {
    say(&format!("error: {error}"));
    ExitCode::CouldNotRun
}

/// Prints on standard output; the given exit code, unless that fails. A reader that closed the pipe is no failure.
pub(super) fn print(text: &str, code: ExitCode) -> ExitCode {
    match write!(anstream::stdout(), "{text}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            could_not_run(&format!("cannot write to standard output: {error}"))
        }
        _ => code,
    }
}

/// Prints on standard error; failures are ignored, because there is nowhere to report them.
pub(super) fn say(text: &str) {
    let _nowhere_to_report = writeln!(anstream::stderr(), "{text}");
}
