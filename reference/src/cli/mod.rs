//! The program: from arguments to an exit code.

pub mod config;
mod health;
mod keys;
mod logging;
mod outcome;
mod serve;
mod stopping;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use config::{Cli, Command};
pub use health::health;
pub use outcome::{Failure, exit_code, print};
pub use serve::serve;

use crate::api::extension::Plain;
use crate::api::openapi;

/// The name of the program.
const PROGRAM: &str = "reference";

/// The definition of the command line, for completions and man pages.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the program with its arguments, its own name first, and returns the exit code of [`exit_code`]. A server that ends before its
/// work is done does not return: it exits with 4 by itself (see `stopping.rs`).
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // A terminal that is gone cannot be told.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let outcome = match cli.command {
        Command::Serve(args) => serve(PROGRAM, &args, Plain),
        Command::Keys(args) => keys::run(&args.command),
        Command::Openapi => print(&openapi::render(&openapi::document("/v1"))),
        Command::Health(args) => health(&args),
    };
    exit_code(PROGRAM, outcome)
}
