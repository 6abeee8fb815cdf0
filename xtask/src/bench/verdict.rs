//! The rows that time how long a user waits for the verdict of the judge: with everything built, and from a fresh clone.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, ensure};

use super::Session;
use super::machine::Cores;
use super::stats::{Bound, Summary};
use super::table::{Row, Unit};
use crate::cargo;

/// How often the verdict is timed.
const VERDICTS: usize = 5;

/// `cargo xtask conform --profile functional` on the embedded server, once everything is built.
pub(crate) fn verdict_row() -> anyhow::Result<Row> {
    let judge = || {
        let mut command = cargo::cargo();
        command.args(["xtask", "conform", "--profile", "functional"]);
        command
    };
    timed(judge()).context("the run that builds the judge")?;
    let times = (0..VERDICTS).map(|_| timed(judge())).collect::<anyhow::Result<Vec<f64>>>()?;
    Ok(Row {
        what: "cargo xtask conform --profile functional, built, cargo's own time included".to_owned(),
        measured: None,
        figure: Summary::of(&times).context("the judge was not timed")?,
        unit: Unit::Seconds,
        bound: Bound::Below(2.0),
        notes: Vec::new(),
    })
}

/// `git clone` and `cargo xtask conform` in an empty folder, with the crates downloaded before.
pub(crate) fn fresh_clone_row(session: &Session) -> anyhow::Result<Row> {
    let clone = session.folder.path().join("clone");
    let root = cargo::workspace_root();
    let mut fetch = cargo::cargo();
    fetch.args(["fetch", "--locked"]);
    cargo::run(fetch)?;

    eprintln!("a fresh clone is compiled; this takes minutes …");
    let start = Instant::now();
    let mut git = Command::new("git");
    git.args(["clone", "--quiet", "--no-hardlinks"]).arg(&root).arg(&clone);
    cargo::run(git)?;
    let cargo = cargo::cargo();
    let mut conform = session.machine.command(cargo.get_program(), Cores::Two);
    conform.args(["xtask", "conform"]).current_dir(&clone).env("CARGO_TARGET_DIR", clone.join("target"));
    for (name, value) in cargo.get_envs() {
        match value {
            Some(value) => conform.env(name, value),
            None => conform.env_remove(name),
        };
    }
    timed(conform).context("the judgement in the fresh clone")?;
    let time = start.elapsed().as_secs_f64();
    Ok(Row {
        what: "fresh clone to verdict on two cores, crates downloaded".to_owned(),
        measured: None,
        figure: Summary { median: time, min: time, max: time },
        unit: Unit::Seconds,
        bound: Bound::Below(240.0),
        notes: vec!["the fresh clone is of HEAD and was timed once".to_owned()],
    })
}

/// Seconds until `command` ends; only success is a figure.
fn timed(mut command: Command) -> anyhow::Result<f64> {
    let start = Instant::now();
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("could not start {}", command.get_program().display()))?;
    let time = start.elapsed().as_secs_f64();
    ensure!(
        output.status.success(),
        "{command:?} ended with {} and said:\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(time)
}
