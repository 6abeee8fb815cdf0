//! `cargo xtask mutants`: changes the code in one place at a time, and sees whether a test notices.
//!
//! The rules are tested by the trace edits, the reference by its own tests and by the judge. cargo-mutants makes the changes; this
//! module tells it what to change and which tests to run, and compares its findings with `fixtures/mutants.toml`: each change that
//! no test notices must be listed there with a reason, or the command fails.

mod accepted;
mod ledger;
mod place;
mod subject;
mod summary;
mod tool;
mod tree;

use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

use clap::{Args, ValueEnum};

use crate::cargo;
use accepted::Accepted;
use ledger::Ledger;
use place::Mutant;
use subject::Subject;
use summary::Summary;
use tool::Tool;

/// This many changes are made before their outcomes are written down.
const AT_ONCE: usize = 100;

/// The arguments of `cargo xtask mutants`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cargo xtask mutants                        # everything: hours
  cargo xtask mutants rules --file '**/list.rs'
  cargo xtask mutants rules --missed-only    # after new tests: only what no test noticed the last time
  cargo xtask mutants reference --shard 0/4
  cargo xtask mutants --no-run               # what the last run found")]
pub(crate) struct Options {
    /// What to change [default: both, one after the other]
    subject: Option<Subject>,
    /// Change only files of it that match
    #[arg(long, value_name = "GLOB")]
    file: Vec<String>,
    /// Make only the K-th of N parts of all changes, counted from 0
    #[arg(long, value_name = "K/N")]
    shard: Option<Shard>,
    /// Leave out what a test noticed the last time, and continue what was interrupted
    #[arg(long)]
    missed_only: bool,
    /// Change nothing: report what the last run found
    #[arg(long, conflicts_with_all = ["file", "shard", "missed_only"])]
    no_run: bool,
}

/// Runs cargo-mutants, and reports what no test noticed.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    tool::find()?;
    let accepted = Accepted::read(&cargo::workspace_root())?;
    let mut good = true;
    for subject in Subject::value_variants() {
        if options.subject.is_none_or(|one| one == *subject) {
            good &= judge(*subject, options, &accepted)?;
        }
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Changes one subject and prints what came of it. Whether every survivor is explained.
fn judge(subject: Subject, options: &Options, accepted: &Accepted) -> anyhow::Result<bool> {
    let folder = folder()?;
    let tool =
        Tool { subject, tree: folder.join("tree"), build: folder.join("build"), output: folder.join(subject.name()) };
    let mut ledger = Ledger::open(&tool.output)?;
    if !options.no_run {
        tree::copy(&cargo::workspace_root(), &tool.tree)?;
        let passes = subject.passes();
        let chosen = chosen(&tool, options)?;
        ledger.forget(&chosen, |fate| !options.missed_only || !fate.is_settled() && fate.asked == passes.len());
        for (place, tests) in passes.iter().enumerate() {
            // What one set of tests has noticed the next need not be asked about.
            let open = ledger.open_in(place, &chosen);
            println!("{} {}: {} changes", tests.package, tests.program, open.len());
            for some in open.chunks(AT_ONCE) {
                ledger.save()?;
                tool.run(tests, some)?;
                ledger.add(place + 1)?;
            }
        }
        ledger.save()?;
    }
    let possible = tool.list([subject.files()])?;
    ledger.keep(&possible);
    let summary = Summary::new(subject, &ledger, possible.len(), accepted, &tool.tree)?;
    print!("{summary}");
    Ok(summary.is_good())
}

/// The changes that are asked for.
fn chosen(tool: &Tool, options: &Options) -> anyhow::Result<Vec<Mutant>> {
    let mut chosen = match &options.file[..] {
        [] => tool.list([tool.subject.files()])?,
        globs => tool.list(globs.iter().map(String::as_str))?,
    };
    if let Some(Shard { number, of }) = options.shard {
        let mut place = 0..;
        chosen.retain(|_| place.next().is_some_and(|place| place % of == number));
    }
    Ok(chosen)
}

/// One of several parts of equal size.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Shard {
    number: usize,
    of: usize,
}

impl FromStr for Shard {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Shard, Self::Err> {
        let read = || {
            let (number, of) = text.split_once('/')?;
            Some(Shard { number: number.parse().ok()?, of: of.parse().ok()? })
        };
        read().filter(|shard| shard.number < shard.of).ok_or("write K/N, with K from 0 to N - 1, such as 0/4")
    }
}

/// Where copies, builds and results are kept: beside the folder of this program, in `target`.
fn folder() -> anyhow::Result<PathBuf> {
    let mut folder = cargo::programs_dir()?;
    folder.set_file_name("mutation");
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_one_of_those_that_there_are() {
        assert_eq!("1/4".parse(), Ok(Shard { number: 1, of: 4 }));
        for wrong in ["", "1", "4/4", "0/0", "a/b", "1/4/2"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
