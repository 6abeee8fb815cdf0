//! `cargo xtask bench`: the cost of the reference and of the judge, as ratios within one run.
//!
//! Absolute figures say more about the machine than about the code. So each rate is compared with a baseline of the same kind, in
//! rounds that alternate between the two; the result is the median of the ratios of the rounds.

mod baseline;
mod judging;
mod load;
mod rates;

use std::ops::Range;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::Context;
use clap::{Parser, ValueEnum};
use xtask::{cargo, programs_dir, seconds, workspace_root};

/// Measure the reference and the judge, as ratios within one run
#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask bench",
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  cargo xtask bench
  cargo xtask bench --only read --rounds 11
  cargo xtask bench --check --only verdict,fresh-clone"
)]
struct Options {
    /// The bare servers that the products are compared with.
    #[command(subcommand)]
    baseline: Option<baseline::Baseline>,
    /// Measure these only [default: everything except fresh-clone]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAME")]
    only: Vec<Part>,
    /// Exit with 1 when a bound is missed
    #[arg(long)]
    check: bool,
    /// Rounds of each comparison; one more before them warms both sides up and is not counted
    #[arg(long, default_value_t = 7, value_name = "N")]
    rounds: usize,
    /// Animals of the long catalogue, at least 1000
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    animals: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// The judge's functional verdict on the embedded server
    Verdict,
    /// Recorded traffic: the time of an exchange in longer recordings
    Judging,
    /// GET of one animal, relative to a bare axum server
    Read,
    /// GET of a filtered list of many animals, relative to few
    List,
    /// GET through the judging proxy, relative to a bare hyper proxy
    Proxy,
    /// Durable POST, relative to serial writes to the disk
    Create,
    /// A fresh clone up to its first verdict (takes minutes)
    FreshClone,
}

type Measure = fn(&mut Bench<'_>) -> anyhow::Result<()>;

fn main() -> anyhow::Result<ExitCode> {
    let options = Options::parse();
    match &options.baseline {
        Some(baseline) => baseline.run(),
        None => run(&options),
    }
}

/// Measures, and prints each figure as soon as it is known.
fn run(options: &Options) -> anyhow::Result<ExitCode> {
    seconds(cargo().args([
        "build",
        "--release",
        "--locked",
        "--package",
        "animal-store-reference",
        "--package",
        "animal-store-conform",
    ]))?;
    let folder = tempfile::Builder::new().prefix("bench-").tempdir_in(programs_dir()?)?;
    let mut bench = Bench { options, folder: folder.path(), missed: false };
    let measurements: [(&[Part], Measure); 6] = [
        (&[Part::Verdict], verdict),
        (&[Part::FreshClone], fresh_clone),
        (&[Part::Judging], judging::measure),
        (&[Part::Read, Part::List], rates::reads),
        (&[Part::Proxy], rates::proxy),
        (&[Part::Create], rates::create),
    ];
    for (parts, measure) in measurements {
        if parts.iter().any(|part| bench.wants(*part)) {
            measure(&mut bench)?;
        }
    }
    Ok(if options.check && bench.missed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// `cargo xtask conform --profile functional` on the embedded server, once everything is built.
fn verdict(bench: &mut Bench<'_>) -> anyhow::Result<()> {
    let judge = || seconds(cargo().args(["xtask", "conform", "--profile", "functional"]));
    judge().context("the run that builds the judge")?;
    let times: Vec<f64> = (0..5).map(|_| judge()).collect::<Result<_, _>>()?;
    bench.show("verdict: seconds of cargo xtask conform --profile functional, built", &times, 0.0..2.0, "");
    Ok(())
}

/// `git clone` and `cargo xtask conform` in an empty folder, with the crates downloaded before.
fn fresh_clone(bench: &mut Bench<'_>) -> anyhow::Result<()> {
    let clone = bench.folder.join("clone");
    seconds(cargo().args(["fetch", "--locked"]))?;
    let mut git = Command::new("git");
    let cloned = seconds(git.args(["clone", "--no-hardlinks"]).arg(workspace_root()).arg(&clone))?;
    let mut conform = cargo();
    conform.args(["xtask", "conform"]).current_dir(&clone).env("CARGO_TARGET_DIR", clone.join("target"));
    let judged = seconds(conform.env("CARGO_BUILD_JOBS", "2"))?;
    bench.show("fresh-clone: seconds from a clone of HEAD to its verdict", &[cloned + judged], 0.0..150.0, "");
    Ok(())
}

/// The settings of all measurements, and whether one has missed its bound.
struct Bench<'o> {
    options: &'o Options,
    folder: &'o Path,
    missed: bool,
}

impl Bench<'_> {
    fn wants(&self, part: Part) -> bool {
        self.options.only.contains(&part) || self.options.only.is_empty() && part != Part::FreshClone
    }

    /// Prints the median of several measurements. The bound is a range from 0 or to infinity.
    fn show(&mut self, what: &str, values: &[f64], bound: Range<f64>, note: &str) {
        let (figure, holds) = (median(values), bound.contains(&median(values)));
        self.missed |= !holds;
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        let Range { start, end } = bound;
        let bound = if end.is_finite() { format!("below {end}") } else { format!("at least {start}") };
        let verdict = if holds { "holds" } else { "MISSED" };
        println!("{what}\n    {figure:.2} (median of {least:.2} to {most:.2}), bound: {bound}, {verdict} {note}");
    }
}

/// The middle value, or the mean of the two in the middle; not a number when there is none.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        length => f64::midpoint(sorted[(length - 1) / 2], sorted[length / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_decides_whether_a_bound_is_missed() {
        for (values, bound, missed) in [
            (&[0.9, 0.1, 0.8][..], 0.8..f64::INFINITY, false),
            (&[0.7, 0.9, 0.8, 0.6], 0.76..f64::INFINITY, true),
            (&[1.49], 0.0..1.5, false),
            (&[1.5], 0.0..1.5, true),
            (&[], 0.0..1.0, true),
        ] {
            let options = Options { baseline: None, only: Vec::new(), check: true, rounds: 1, animals: 1 };
            let mut bench = Bench { options: &options, folder: Path::new(""), missed: false };
            bench.show("a figure", values, bound, "");
            assert_eq!(bench.missed, missed, "{values:?}");
        }
    }
}
