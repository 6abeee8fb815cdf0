//! The program: from arguments to an exit code.

use std::{ffi::OsString, process::ExitCode};

use animal_store_reference::cli::{Failure, exit_code, health};
use animal_store_reference::config::HealthArgs;
use animal_store_secrets::printable::printable;
use clap::{CommandFactory, Parser, Subcommand};

use crate::config::{ChallengeArgs, ListArgs, ServeArgs};
use crate::{challenge, lists, serve};

/// The name of the program.
const PROGRAM: &str = "animal-lab";

/// Lawful and broken servers of the Animal Store API, to test clients and test suites with
#[derive(Debug, Parser)]
#[command(
    name = PROGRAM,
    version,
    after_help = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 could not start, 4 stopped unfinished."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the API as another lawful server, as a broken one, or as a mock that tests control
    Serve(Box<ServeArgs>),
    /// List the lawful choices that `serve --choose` and `serve --lawful` make
    Choices(ListArgs),
    /// List the faults that `serve --fault` has
    Faults(ListArgs),
    /// Ask a running server whether it is healthy; for container health checks
    Health(HealthArgs),
    /// Try a test suite against lawful servers and broken ones, and show what it misses
    Challenge(Box<ChallengeArgs>),
}

/// The command line's definition, for completions and man pages.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the program with its arguments, its own name first. The exit codes are those of the reference server.
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
        Command::Serve(args) => serve::run(PROGRAM, *args),
        Command::Choices(args) => lists::list_choices(&args),
        Command::Faults(args) => lists::list_faults(&args),
        Command::Health(args) => health(&args),
        Command::Challenge(args) => challenge::run(&args.into()),
    };
    exit_code(PROGRAM, outcome.map_err(printable_failure))
}

/// The failure with a message that can be printed: it may quote a file or an argument.
fn printable_failure(failure: Failure) -> Failure {
    match failure {
        Failure::Failed(message) => Failure::Failed(printable(&message)),
        Failure::Usage(message) => Failure::Usage(printable(&message)),
        Failure::CannotStart(message) => Failure::CannotStart(printable(&message)),
        Failure::Unfinished(message) => Failure::Unfinished(printable(&message)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }
}
