//! `cargo xtask serve`: the reference server, for interactive use.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Args;

use crate::cargo;

/// The defaults of `serve`: nothing is written to disk, and only this machine can connect.
const DEFAULTS: &[(&str, &str)] = &[("--db", ":memory:"), ("--listen", "127.0.0.1:8080")];

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

/// Builds the reference and becomes it: Ctrl-C and the exit code are the server's own.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let mut command = cargo::cargo();
    command.args(["run", "--quiet", "--package", "animal-store-reference", "--bin", "reference", "--"]);
    command.args(serve_args(&options.args));
    // Paths among the arguments are meant from where the user stands.
    command.current_dir(std::env::current_dir()?);
    cargo::replace_process(command)
}

/// The server's command line: the user's arguments, and a default for each of `DEFAULTS` that they do not name.
fn serve_args(args: &[OsString]) -> Vec<OsString> {
    let mut line: Vec<OsString> = vec!["serve".into(), "--dev".into()];
    for (flag, value) in DEFAULTS {
        if !args.iter().any(|arg| names(arg, flag)) {
            line.extend([OsString::from(flag), OsString::from(value)]);
        }
    }
    line.extend(args.iter().filter(|arg| *arg != "--dev").cloned());
    line
}

/// Whether `arg` is `flag` or `flag=value`.
fn names(arg: &OsString, flag: &str) -> bool {
    arg.to_str().and_then(|arg| arg.strip_prefix(flag)).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(args: &[&str]) -> Vec<String> {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        serve_args(&args).into_iter().map(|arg| arg.into_string().expect("test arguments are UTF-8")).collect()
    }

    #[test]
    fn without_arguments_nothing_is_written_and_only_this_machine_can_connect() {
        assert_eq!(line(&[]), ["serve", "--dev", "--db", ":memory:", "--listen", "127.0.0.1:8080"]);
    }

    #[test]
    fn a_named_option_replaces_its_default_in_either_spelling() {
        assert_eq!(line(&["--db", "a.sqlite"]), ["serve", "--dev", "--listen", "127.0.0.1:8080", "--db", "a.sqlite"]);
        assert_eq!(
            line(&["--listen=127.0.0.1:9000"]),
            ["serve", "--dev", "--db", ":memory:", "--listen=127.0.0.1:9000"]
        );
    }

    #[test]
    fn an_option_that_only_begins_alike_replaces_nothing() {
        assert!(line(&["--db-timeout", "3"]).contains(&":memory:".to_owned()));
    }

    #[test]
    fn dev_is_given_once() {
        assert_eq!(line(&["--dev"]).iter().filter(|arg| *arg == "--dev").count(), 1);
    }
}
