//! The project's own commands: `cargo xtask conform`, `rules`, `serve`, `test`, `lab`, `mutants`, `new-rule`, `bench`,
//! `completions`, `man`, `dist` and `image`.
//!
//! This file only dispatches: each command is a module of its own.

mod bench;
mod cargo;
mod completions;
mod conform;
mod dist;
mod image;
mod lab;
mod man;
mod metadata;
mod mutants;
mod new_rule;
mod products;
mod programs;
mod rules;
mod serve;
mod test;

use std::ffi::OsString;
use std::process::ExitCode;

use animal_store_conform as cli;
use clap::{Parser, Subcommand};

/// The project's own commands.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Judge a server: the reference inside this process, or any other with `--base-url`
    ///
    /// `cargo xtask conform --help` lists the judge's own options.
    #[command(disable_help_flag = true)]
    Conform {
        /// Everything after the name is passed on to the judge unchanged
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
        args: Vec<OsString>,
    },
    /// List the requirements, or explain one: `cargo xtask rules list.complete`
    #[command(disable_help_flag = true)]
    Rules {
        /// Everything after the name is passed on to the judge unchanged
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
        args: Vec<OsString>,
    },
    /// Start the reference server for interactive use: one key per plan, and a temporary database
    Serve(serve::Options),
    /// Run all tests
    Test(test::Options),
    /// Judge the reference under the choices of many seeds; any finding is a false positive
    Lab(lab::Options),
    /// Mutation testing: change the code in one place at a time, and see whether a test notices
    Mutants(mutants::Options),
    /// Write the skeleton of a rule to every place that a rule needs
    NewRule(new_rule::Options),
    /// Measure the reference and the judge, as ratios within one run
    Bench(bench::Options),
    /// Write shell completions for `conform`, `reference` and `animal-lab`
    Completions(completions::Options),
    /// Write the man pages of `conform`, `reference` and `animal-lab`
    Man(man::Options),
    /// Build static release binaries, with licences and checksums
    Dist(dist::Options),
    /// Build container images that hold the static programs and nothing else
    Image(image::Options),
    /// The bare server and the bare proxy that `bench` compares with
    #[command(hide = true, subcommand)]
    BenchBaseline(bench::baseline::Baseline),
}

fn main() -> ExitCode {
    let command = Cli::parse().command;
    let failure = match command {
        // 1 would mean that the candidate violates the specification.
        Command::Conform { .. } => cli::ExitCode::CouldNotRun.into(),
        _ => ExitCode::FAILURE,
    };
    run(&command).unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        failure
    })
}

fn run(command: &Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Conform { .. } => conform::run(&passed_on(std::env::args_os())),
        Command::Rules { .. } => Ok(rules::run(passed_on(std::env::args_os()))),
        Command::Serve(options) => serve::run(options),
        Command::Test(_) => test::run(&passed_on(std::env::args_os())),
        Command::Lab(options) => lab::run(options),
        Command::Mutants(options) => mutants::run(options),
        Command::NewRule(options) => new_rule::run(options),
        Command::Bench(options) => bench::run(options),
        Command::Completions(options) => completions::run(options),
        Command::Man(options) => man::run(options),
        Command::Dist(options) => dist::run(options),
        Command::Image(options) => image::run(options),
        Command::BenchBaseline(baseline) => baseline.run(),
    }
}

/// The arguments after the subcommand, unchanged: of `test -- --nocapture` the parser above would keep only the latter.
fn passed_on(line: impl Iterator<Item = OsString>) -> Vec<OsString> {
    line.skip(2).collect()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_judge_gets_its_arguments_as_they_stand() {
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
            let line = || ["xtask", "conform"].into_iter().chain(args.iter().copied()).map(OsString::from);
            let parsed = Cli::try_parse_from(line()).expect("the judge's arguments are not ours to refuse");
            assert!(matches!(parsed.command, Command::Conform { .. }));
            assert_eq!(passed_on(line()), args);
        }
    }
}
