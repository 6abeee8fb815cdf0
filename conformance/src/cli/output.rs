//! Words and exit codes: how a command ends.

use std::io::Write;
use std::process::ExitCode;

/// The exit codes that are no verdict.
pub mod exit {
    /// Wrong usage, or a configuration that cannot be used: nothing was sent.
    pub const USAGE: u8 = 2;
    /// The run could not take place, or a report could not be written.
    pub const COULD_NOT_RUN: u8 = 3;
}
use exit::{COULD_NOT_RUN, USAGE};

/// Says what is wrong with how the command was asked for; the exit code.
pub(super) fn usage(error: &dyn std::error::Error) -> ExitCode {
    say(&format!("error: {error}"));
    ExitCode::from(USAGE)
}

/// Prints on standard output; the exit code, which says so when that is not possible. A reader that left early is content.
pub(super) fn print(text: &str, code: ExitCode) -> ExitCode {
    match write!(anstream::stdout(), "{text}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            say(&format!("error: the output cannot be printed: {error}"));
            ExitCode::from(COULD_NOT_RUN)
        }
        _ => code,
    }
}

/// Prints on standard error, whoever reads it.
pub(super) fn say(text: &str) {
    let _nobody_reads = writeln!(anstream::stderr(), "{text}");
}
