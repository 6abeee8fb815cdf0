//! `cargo xtask test`: all tests.

use std::ffi::OsString;
use std::io::Write;
use std::process::{Command, ExitCode, Stdio};
use std::{env, thread};

use anyhow::Context;
use clap::Args;
use xtask_launcher::exit_code;

use crate::cargo;
use crate::metadata::FEATURES;

/// The tests that wait most of the time, for a limit in real time, a slow server and the container engine, each with the test program
/// that it belongs to.
const WAITING: [(&str, &str); 4] = [
    ("it", "reference::the_reference_conforms_on_a_free_key_within_its_budget"),
    ("it", "lawful::a_server_that_answers_one_request_at_a_time_is_not_sent_more_than_it_answers_in_time"),
    ("conform", "the_commands_of_the_pages_run_as_they_are_printed_and_leave_no_process_behind"),
    ("containers", "images_of_the_products_judge_and_are_judged_and_leave_nothing_behind"),
];

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
/// With `--no-fail-fast`, so that a failure in the first package does not hide the failures of the others.
pub(crate) fn run(args: &[OsString]) -> anyhow::Result<ExitCode> {
    if args.is_empty() {
        return run_everything();
    }
    let packages = if args.iter().any(selects_packages) { &[][..] } else { &ALL };
    let status = cargo_test(packages).args(args).status().context(NO_CARGO)?;
    Ok(exit_code(status))
}

/// The variable that sets how many tests of a program run at a time; a value of the user stays.
const TEST_THREADS: &str = "RUST_TEST_THREADS";

/// The number of tests that keep a processor busy.
const TESTS_PER_PROCESSOR: usize = 2;

const NO_CARGO: &str = "could not start cargo; is it on the path?";

/// Runs the tests that wait at the same time as all others, and prints their output afterwards. All select the whole workspace, so that
/// they share what is built.
fn run_everything() -> anyhow::Result<ExitCode> {
    let built = cargo_test(&ALL).arg("--no-run").status().context(NO_CARGO)?;
    if !built.success() {
        return Ok(exit_code(built));
    }
    let (mut waiting, mut others) = (cargo_test(&ALL), cargo_test(&ALL));
    waiting.args(WAITING.iter().flat_map(|(program, _)| ["--test", program]));
    waiting.arg("--").args(WAITING.map(|(_, test)| test)).stdin(Stdio::null());
    others.arg("--").args(WAITING.iter().flat_map(|(_, test)| ["--skip", test]));
    // Many tests wait for servers and programs that they have started.
    if env::var_os(TEST_THREADS).is_none() {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        others.env(TEST_THREADS, (TESTS_PER_PROCESSOR * processors).to_string());
    }
    let waiting = thread::spawn(move || waiting.output());
    let others = others.status().context(NO_CARGO);
    let waiting = waiting.join().expect("a thread that only waits").context(NO_CARGO)?;
    std::io::stderr().write_all(&waiting.stderr)?;
    std::io::stdout().write_all(&waiting.stdout)?;
    let others = others?;
    Ok(exit_code(if others.success() { waiting.status } else { others }))
}

/// Selects the tests of every package, the judge with every feature: images are tested with the programs that the tests build.
const ALL: [&str; 3] = ["--workspace", "--features", FEATURES];

fn cargo_test(packages: &[&str]) -> Command {
    let mut command = cargo::cargo();
    command.args(["test", "--locked", "--no-fail-fast"]).args(packages);
    command
}

/// Whether the user chose packages: then `--workspace` would choose all of them again.
fn selects_packages(arg: &OsString) -> bool {
    arg.to_str().is_some_and(|arg| ["-p", "--package", "--workspace"].iter().any(|option| arg.starts_with(option)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_that_wait_have_the_names_that_are_left_out() {
        let sources = [
            include_str!("../../conformance/tests/it/reference.rs"),
            include_str!("../../conformance/tests/it/lawful.rs"),
            include_str!("../tests/conform.rs"),
            include_str!("../tests/containers.rs"),
        ];
        for ((_, test), source) in WAITING.into_iter().zip(sources) {
            let name = test.rsplit("::").next().expect("a name");
            assert!(source.contains(&format!("fn {name}()")), "{test}");
        }
    }
}
