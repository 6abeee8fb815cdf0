//! `cargo xtask serve`: the reference server, for interactive use.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Args;

use crate::cargo;

/// The arguments of `cargo xtask serve`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cargo xtask serve
  cargo xtask serve --db animals.sqlite --listen 127.0.0.1:9000
  cargo xtask serve --now 2030-12-04T23:59:50Z    see the deprecated operation go
  cargo xtask serve -- --help                     every option of the server")]
pub(crate) struct Options {
    /// Options of `reference serve`; without them: `--db :memory: --listen 127.0.0.1:8080`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    args: Vec<OsString>,
}

/// Builds the reference and becomes it: Ctrl-C and the exit code are the server's own. With `--dev`, nothing is written to disk by default.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let program = ["--package", "animal-store-reference", "--bin", "reference"];
    let args = options.args.iter().filter(|arg| *arg != "--dev").cloned();
    cargo::become_program(&program, ["serve".into(), "--dev".into()].into_iter().chain(args))
}
