//! `cargo xtask mutants`: changes the code in one place at a time, and sees whether a test notices.
//!
//! The rules are judged by the trace edits, the reference by its own tests and by the judge. cargo-mutants makes the changes; here
//! it is told what to change and which tests to ask, and what it found is compared with `fixtures/mutants.toml`: each change that
//! no test notices is there with a reason, or the command fails.

mod accepted;
mod ledger;
mod place;
mod subject;
mod summary;
mod tool;
mod tree;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use crate::cargo;
use accepted::Accepted;
use ledger::Ledger;
use subject::Subject;
use summary::Summary;
use tool::Tool;

/// The arguments of `cargo xtask mutants`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cargo xtask mutants                        # everything: hours
  cargo xtask mutants rules --file '**/list.rs'
  cargo xtask mutants rules --again          # after new tests: only what no test noticed the last time
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
    shard: Option<String>,
    /// Leave out what a test noticed the last time
    #[arg(long)]
    again: bool,
    /// Change nothing: tell what the last run found
    #[arg(long, conflicts_with_all = ["file", "shard", "again"])]
    no_run: bool,
}

/// Runs cargo-mutants, and tells what no test noticed.
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
        ledger.keep(&tool.list()?);
        for (pass, tests) in subject.passes().iter().enumerate() {
            ledger.save()?;
            // What one pass has noticed the next need not try.
            tool.run(tests, options, options.again || pass > 0)?;
            ledger.add()?;
        }
        ledger.save()?;
    }
    let possible = tool.list()?;
    ledger.keep(&possible);
    let summary = Summary::new(subject, &ledger, possible.len(), accepted, &tool.tree)?;
    print!("{summary}");
    Ok(summary.is_good())
}

/// Where copies, builds and results are kept: beside the folder of this program, in `target`.
fn folder() -> anyhow::Result<PathBuf> {
    let mut folder = cargo::programs_dir()?;
    folder.set_file_name("mutation");
    Ok(folder)
}
