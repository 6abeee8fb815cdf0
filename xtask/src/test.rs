//! `cargo xtask test`: everything that tests.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;

use crate::cargo;

/// The arguments of `cargo xtask test`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cargo xtask test
  cargo xtask test --package animal-store-reference
  cargo xtask test list_limit -- --nocapture")]
pub(crate) struct Options {
    /// Arguments of `cargo test`: filters, `--package`, and after `--` those of the test programs
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    args: Vec<OsString>,
}

/// Runs unit, integration and doc tests of every package, with nothing but cargo.
///
/// `--no-fail-fast`: one failure in the first package must not hide what the others have to say.
pub(crate) fn run(args: &[OsString]) -> anyhow::Result<ExitCode> {
    let mut command = cargo::cargo();
    command.args(["test", "--locked", "--no-fail-fast"]);
    if !args.iter().any(selects_packages) {
        command.arg("--workspace");
    }
    command.args(args);
    let status = command.status().context("could not start cargo; is it on the path?")?;
    Ok(cargo::exit_code(status))
}

/// Whether the user chose packages: then `--workspace` would choose all of them again.
fn selects_packages(arg: &OsString) -> bool {
    arg.to_str().is_some_and(|arg| {
        arg.starts_with("-p") || arg == "--package" || arg.starts_with("--package=") || arg == "--workspace"
    })
}
