//! `cargo xtask rules`: the catalogue of requirements, as the judge's own `rules` reports it.

use std::ffi::OsString;
use std::process::ExitCode;

use animal_store_conform as cli;

/// Answers the arguments that follow `rules` on the command line.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    let line = ["cargo xtask", "rules"].into_iter().map(OsString::from).chain(args);
    // With `rules` on the line there is nothing to judge: everything has been said by the time the line is understood.
    cli::parse(line).err().map_or(ExitCode::SUCCESS, ExitCode::from)
}
