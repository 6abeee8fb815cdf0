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

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser};

use config::{Cli, Command};
pub use health::health;
pub use outcome::{Failure, exit_code, print};
pub use serve::serve;

use crate::api::extension::Plain;
use crate::api::openapi;

/// The name of the program.
const PROGRAM: &str = "reference";

/// The commands and options that this program had once, each with its successor.
const MOVED: [(&str, &str); 11] = [
    ("choices", "animal-lab choices"),
    ("faults", "animal-lab faults"),
    ("challenge", "animal-lab challenge -- COMMAND…"),
    ("--idle-timeout", "--header-timeout"),
    ("--lawful", "animal-lab serve --lawful SEED"),
    ("--choose", "animal-lab serve --choose NAME"),
    ("--fault", "animal-lab serve --fault NAME"),
    ("--animals", "animal-lab serve --animals COUNT|FILE"),
    ("--delay", "animal-lab serve --delay MS"),
    ("--cors", "animal-lab serve --cors ORIGIN"),
    ("--control", "animal-lab serve --control PORT"),
];

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
            if let Some((old, new)) = moved(&error) {
                return exit_code(PROGRAM, Err(Failure::Usage(format!("`{old}` is now `{new}`"))));
            }
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

/// The former command or option that an error is about, and its successor.
fn moved(error: &clap::Error) -> Option<(&'static str, &'static str)> {
    let named = [ContextKind::InvalidSubcommand, ContextKind::InvalidArg];
    let unknown = named.into_iter().find_map(|kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    })?;
    MOVED.into_iter().find(|(old, _)| unknown == old)
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

    #[test]
    fn what_the_program_had_once_is_answered_with_what_has_it_now() {
        for (line, expected) in [
            (&["choices", "--format", "json"][..], Some("animal-lab choices")),
            (&["challenge", "--", "pytest"], Some("animal-lab challenge -- COMMAND…")),
            (&["serve", "--dev", "--lawful", "7"], Some("animal-lab serve --lawful SEED")),
            (&["serve", "--control=9090"], Some("animal-lab serve --control PORT")),
            (&["serve", "--lawfull"], None),
            (&["serve", "--listen", "nowhere"], None),
        ] {
            let error = Cli::try_parse_from([&["reference"], line].concat()).expect_err("it is refused");
            assert_eq!(moved(&error).map(|(_, new)| new), expected, "{line:?}");
        }
    }
}
