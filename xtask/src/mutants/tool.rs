//! cargo-mutants: found, and run.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::Context;

use super::place::Mutant;
use super::subject::{Subject, Tests};
use crate::cargo;

/// The series of cargo-mutants whose output is understood here.
const SERIES: &str = "27.";

/// Makes sure that cargo-mutants is there.
pub(super) fn find() -> anyhow::Result<()> {
    let reported =
        cargo::cargo().args(["mutants", "--version"]).stderr(Stdio::null()).output().context("cargo does not start")?;
    let version = String::from_utf8_lossy(&reported.stdout).trim().replace("cargo-mutants ", "");
    anyhow::ensure!(
        reported.status.success(),
        "cargo-mutants is not installed; `cargo install cargo-mutants --locked --version '^27.1'` installs it"
    );
    if !version.starts_with(SERIES) {
        eprintln!("note: this is cargo-mutants {version}; what is read here is the output of {SERIES}x");
    }
    Ok(())
}

/// cargo-mutants, made ready for a subject.
pub(super) struct Tool {
    pub(super) subject: Subject,
    /// The copy of the workspace in which changes are made.
    pub(super) tree: PathBuf,
    /// Where that is built.
    pub(super) build: PathBuf,
    /// Where the results go.
    pub(super) output: PathBuf,
}

/// What cargo-mutants says with its exit code that is no trouble: all were noticed, some were not, some took too long.
const ORDINARY: [i32; 3] = [0, 2, 3];

impl Tool {
    /// Every change that can be made in files that match.
    pub(super) fn list<'g>(&self, files: impl IntoIterator<Item = &'g str>) -> anyhow::Result<Vec<Mutant>> {
        let mut command = self.command();
        command.arg("--list").args(files.into_iter().map(|glob| format!("--file={glob}")));
        let listed = command.stderr(Stdio::inherit()).output().context("could not start cargo mutants")?;
        anyhow::ensure!(listed.status.success(), "cargo mutants --list failed: {}", listed.status);
        let names = String::from_utf8(listed.stdout).context("a change whose name is no text")?;
        names.lines().map(|name| Mutant::parse(name).with_context(|| format!("cargo mutants lists {name}"))).collect()
    }

    /// Makes these changes, each in turn, and runs these tests.
    pub(super) fn run(&self, tests: &Tests, mutants: &[&Mutant]) -> anyhow::Result<()> {
        let mut command = self.command();
        // In a copy that stays where it is: then only what a change touches is built again, from one run to the next.
        command.env("CARGO_TARGET_DIR", &self.build).args(["--in-place", "--profile=mutants"]);
        command.args(["--no-times", "--colors=never", "--annotations=none"]);
        // Endless loops only: on a machine that is busy with other things tests may take long.
        command.args(["--timeout-multiplier=8", "--minimum-test-timeout=40"]);
        command.arg("--output").arg(&self.output);
        command.arg(format!("--test-package={}", tests.package));
        command.args(["--cargo-arg=--locked".to_owned(), format!("--cargo-arg={}", tests.program)]);
        command.args(mutants.iter().map(|mutant| format!("--re={}", mutant.pattern())));
        // Fields that are left out of a struct are not sorted out by their names.
        let files: BTreeSet<&str> = mutants.iter().map(|mutant| mutant.file.as_str()).collect();
        command.args(files.into_iter().map(|file| format!("--file={file}")));
        if !tests.only.is_empty() {
            command.args(["--", "--"]).args(tests.only);
        }
        let status = command.status().context("could not start cargo mutants")?;
        anyhow::ensure!(status.code().is_some_and(|code| ORDINARY.contains(&code)), "cargo mutants failed: {status}");
        Ok(())
    }

    fn command(&self) -> Command {
        let mut command = cargo::cargo();
        command.current_dir(&self.tree).args(["mutants", &format!("--package={}", self.subject.package())]);
        command
    }
}
