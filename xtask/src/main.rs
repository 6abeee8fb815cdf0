//! The project's own commands: `cargo xtask conform`, `rules`, `serve`, `test`, `lab`, `bench`, `completions`, `man`,
//! `dist` and `image`.
//!
//! This file only dispatches: each command is a module of its own.

mod bench;
mod cargo;
mod conform;
mod dist;
mod documents;
mod image;
mod lab;
mod metadata;
mod products;
mod serve;
mod test;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

/// The project's own commands.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Command {
    /// Judge a server: the reference inside this process, or any other with `--base-url`
    ///
    /// `cargo xtask conform --help` lists the judge's own options.
    #[command(disable_help_flag = true)]
    Conform(PassedOn),
    /// List the requirements, or explain one: `cargo xtask rules list.complete`
    #[command(disable_help_flag = true)]
    Rules(PassedOn),
    /// Start the reference server for interactive use: one key per plan, and a temporary database
    Serve(serve::Options),
    /// Run all tests
    Test(test::Options),
    /// Judge the reference under the choices of many seeds; any finding is a false positive
    Lab(lab::Options),
    /// Measure the reference and the judge, as ratios within one run
    Bench(bench::Options),
    /// Write shell completions for `conform`, `reference` and `animal-lab`
    Completions(documents::CompletionsOptions),
    /// Write the man pages of `conform`, `reference` and `animal-lab`
    Man(documents::ManOptions),
    /// Build static release binaries, with archives, Debian packages and checksums
    Dist(dist::Options),
    /// Build container images that hold the static programs and nothing else
    Image(image::Options),
    /// The bare server and the bare proxy that `bench` compares with
    #[command(hide = true, subcommand)]
    BenchBaseline(bench::baseline::Baseline),
}

/// The arguments of the judge's own commands.
#[derive(Debug, clap::Args)]
struct PassedOn {
    /// Everything after the name is passed on to the judge unchanged
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    args: Vec<OsString>,
}

fn main() -> ExitCode {
    let command = Command::parse();
    let failure = match command {
        // 1 would mean that the candidate violates the specification.
        Command::Conform(_) => animal_store_conform::ExitCode::CouldNotRun.into(),
        _ => ExitCode::FAILURE,
    };
    run(&command).unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        failure
    })
}

fn run(command: &Command) -> anyhow::Result<ExitCode> {
    // The parser above drops a `--` that is to be passed on.
    let line: Vec<OsString> = std::env::args_os().collect();
    match command {
        Command::Conform(_) => conform::run("cargo xtask conform", &line[2..]),
        Command::Rules(_) => conform::run("cargo xtask", &line[1..]),
        Command::Serve(options) => serve::run(options),
        Command::Test(_) => test::run(&line[2..]),
        Command::Lab(options) => lab::run(options),
        Command::Bench(options) => bench::run(options),
        Command::Completions(options) => documents::run_completions(options),
        Command::Man(options) => documents::run_man(options),
        Command::Dist(options) => dist::run(options),
        Command::Image(options) => image::run(options),
        Command::BenchBaseline(baseline) => baseline.run(),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Command::command().debug_assert();
    }

    #[test]
    fn the_judge_gets_its_own_arguments() {
        for args in [
            vec![],
            vec!["--help"],
            vec!["-h"],
            vec!["--version"],
            vec!["help"],
            vec!["--base-url", "http://127.0.0.1:1/v1", "-vv", "--only=list"],
            vec!["--", "--dry-run"],
            vec!["--header", "a: b", "--", "c"],
        ] {
            let line = ["xtask", "conform"].into_iter().chain(args);
            let parsed = Command::try_parse_from(line).expect("the judge's arguments are not ours to refuse");
            assert!(matches!(parsed, Command::Conform(_)));
        }
    }
}
