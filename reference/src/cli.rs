//! The program: from arguments to an exit code.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use clap::{CommandFactory, Parser};

use crate::commands::outcome::{Failure, print};
use crate::commands::{challenge, health, keys, lab, serve};
use crate::config::{Cli, Command};
use crate::openapi;

/// The command line's definition, for completions and man pages.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the program with its arguments, its own name first. Failures are reported on standard error, and
/// the exit code is 0 when all is done, 1 when it failed, 2 for wrong usage, 3 when it could not start, 4 when it was
/// stopped unfinished. A server that ends before its work is done does not return from here: it exits with 4 by itself
/// (see `serve/stopping.rs`).
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // Nothing else can be done when the terminal is gone.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let outcome = match cli.command {
        Command::Serve(args) => serve::run(&args),
        Command::Keys(args) => keys::run(&args.command),
        Command::Openapi => print(&openapi::render(&openapi::document("/v1"))),
        Command::Health(args) => health::run(&args),
        Command::Choices(args) => lab::list_choices(&args),
        Command::Faults(args) => lab::list_faults(&args),
        Command::Challenge(args) => challenge::run(&args),
    };
    let (code, message) = match outcome {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Failed(message)) => (1, message),
        Err(Failure::Usage(message)) => (2, message),
        Err(Failure::CannotStart(message)) => (3, message),
        Err(Failure::Unfinished(message)) => (4, message),
    };
    report(message);
    ExitCode::from(code)
}

/// Writes why a command failed, without waiting for long when it is not read.
fn report(message: String) {
    let (written, finished) = sync_channel(1);
    std::thread::spawn(move || {
        let _ = writeln!(std::io::stderr(), "reference: {message}");
        let _ = written.send(());
    });
    let _ = finished.recv_timeout(Duration::from_secs(1));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completions_and_man_pages_are_made_of_the_real_command_line() {
        let command = command();
        assert_eq!(command.get_name(), "reference");
        assert!(command.find_subcommand("serve").is_some());
    }
}
