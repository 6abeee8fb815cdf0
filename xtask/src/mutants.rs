//! `cargo xtask mutants`: changes the code in one place at a time, and sees whether a test notices.
//!
//! cargo-mutants makes the changes; `.cargo/mutants.toml` has its settings, and the changes that no test can notice, each with the
//! reason. This command asks several sets of tests about each change, the quickest first, which cargo-mutants cannot.

use std::process::{Command, ExitCode};

use anyhow::Context;
use clap::{Args, ValueEnum};

use crate::cargo;

/// The arguments of `cargo xtask mutants`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cargo xtask mutants                        # everything: hours
  cargo xtask mutants rules -- --file '**/list.rs'
  cargo xtask mutants rules --missed-only    # after new tests: leave out the changes that a test noticed before
  cargo xtask mutants reference -- --shard 0/4

Results are in target/mutation/*/mutants.out; missed.txt there lists the changes that no test noticed.")]
pub(crate) struct Options {
    /// The code to change [default: both, one after the other]
    subject: Option<Subject>,
    /// Leave out the changes that a test noticed the last time, and continue an interrupted run
    #[arg(long)]
    missed_only: bool,
    /// Options of cargo-mutants
    #[arg(last = true, value_name = "ARGS")]
    args: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Subject {
    /// The rules of the judge, tested with recorded traces that are edited
    Rules,
    /// The reference server, tested with its own tests and the judge
    Reference,
}

/// Tests that run together: their package, their test program and the beginnings of their names.
type Tests = (&'static str, &'static str, &'static [&'static str]);

const RULES: &str = "animal-store-rules";
const REFERENCE: &str = "animal-store-reference";
const JUDGEMENTS: [&str; 3] =
    ["the_reference_conforms_on_a_pro", "the_reference_conforms_after", "the_transcript_of_the_tour"];

impl Subject {
    /// The changed package, and the tests that have to notice, the quickest first.
    fn plan(self) -> (&'static str, [Tests; 3]) {
        match self {
            Subject::Rules => {
                (RULES, [(RULES, "--lib", &[]), (RULES, "--test=edits", &["messages::"]), (RULES, "--test=edits", &[])])
            }
            Subject::Reference => (
                REFERENCE,
                [
                    (REFERENCE, "--lib", &[]),
                    (REFERENCE, "--test=it", &[]),
                    ("animal-store-conform", "--test=it", &JUDGEMENTS),
                ],
            ),
        }
    }
}

/// cargo-mutants has found changes that no test notices.
const MISSED: i32 = 2;
/// With some changes the tests did not come to an end.
const TIMEOUT: i32 = 3;

/// Runs cargo-mutants once for each set of tests; fails if a change is noticed by none of them.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    cargo::output(cargo::cargo().args(["mutants", "--version"])).context(
        "cargo-mutants is not installed; `cargo install cargo-mutants --locked --version '^27'` installs it",
    )?;
    let mut missed = false;
    for subject in Subject::value_variants() {
        if options.subject.is_none_or(|chosen| chosen == *subject) {
            missed |= change(*subject, options)?;
        }
    }
    Ok(if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Changes one subject. Returns true if no test noticed some change.
fn change(subject: Subject, options: &Options) -> anyhow::Result<bool> {
    let (package, passes) = subject.plan();
    let mut output = cargo::programs_dir()?;
    output.set_file_name("mutation");
    output.push(package);
    if output.exists() && !options.missed_only {
        std::fs::remove_dir_all(&output).with_context(|| format!("cannot remove {}", output.display()))?;
    }
    std::fs::create_dir_all(&output).with_context(|| format!("cannot make {}", output.display()))?;
    let mut code = None;
    for (tested, program, names) in passes {
        let mut command: Command = cargo::cargo();
        // With --iterate, changes that a previous set of tests noticed are not made again.
        command.args(["mutants", "--iterate", "--package", package, "--test-package", tested, "--output"]);
        command.arg(&output).arg(format!("--cargo-arg={program}")).args(&options.args);
        // Each run has a copy of the tree of its own; the packages from elsewhere are built once.
        command.env("CARGO_TARGET_DIR", output.with_file_name("build"));
        if !names.is_empty() {
            command.args(["--", "--"]).args(names);
        }
        let status = command.status().context("could not start cargo mutants")?;
        code = status.code();
        anyhow::ensure!(matches!(code, Some(0 | MISSED | TIMEOUT)), "cargo mutants failed: {status}");
    }
    Ok(code == Some(MISSED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_excluded_change_can_still_be_made() {
        let read = |path: &str| std::fs::read_to_string(cargo::workspace_root().join(path)).unwrap_or_default();
        let settings: toml::Table = read(".cargo/mutants.toml").parse().expect("TOML");
        for pattern in settings["exclude_re"].as_array().expect("an array") {
            let pattern = pattern.as_str().expect("a text");
            let (file, rest) = pattern.split_once(r":\d+:").expect(pattern);
            let (column, change) = rest.split_once(": replace ").expect(pattern);
            let column: usize = column.parse().expect(pattern);
            let (first, _) = change.split_once(' ').expect(pattern);
            let (function, source) =
                (change.trim_end_matches('$').rsplit([' ', ':']).next().expect(pattern), read(file));
            let has_function = |name: &str| source.contains(&format!("fn {name}("));
            let operator = first.replace('\\', "");
            let is_at = |line: &str| line.get(column - 1..).is_some_and(|rest| rest.starts_with(&operator));
            assert!(
                has_function(first) || has_function(function) && source.lines().any(is_at),
                "the code has changed: take the entry out of .cargo/mutants.toml and run `cargo xtask mutants -- --file {file}`: {pattern}"
            );
        }
    }
}
