//! `cargo xtask bench`: what the reference and the judge cost, as ratios within one run.
//!
//! Absolute figures say more about the machine than about the code. So every rate is compared with a baseline of the
//! same kind, in rounds that alternate between the two; the result is the median of the ratios of the rounds.

pub(crate) mod bare;
pub(crate) mod bare_proxy;
mod disk;
mod judging;
mod load;
mod machine;
mod message;
mod proxy;
mod rates;
mod reference;
mod rounds;
mod server;
mod stats;
mod table;
mod verdict;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use self::machine::{Cores, Machine};
use self::rates::Catalogues;
use self::reference::Reference;
use crate::cargo;

/// The arguments of `cargo xtask bench`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cargo xtask bench
  cargo xtask bench --only read --rounds 11
  cargo xtask bench --check --fresh-clone")]
pub(crate) struct Options {
    /// Measure these only
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHAT")]
    only: Vec<Part>,
    /// Also time a fresh clone up to its first verdict (takes minutes)
    #[arg(long)]
    fresh_clone: bool,
    /// Exit with 1 when a bound is missed
    #[arg(long)]
    check: bool,
    /// Rounds of each comparison; one more before them warms both sides up and is not counted
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=99), value_name = "N")]
    rounds: u32,
    /// Seconds of each side in a round
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=60), value_name = "N")]
    seconds: u64,
    /// Animals of the long catalogue
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1_000..=10_000_000),
          value_name = "N")]
    animals: u64,
    /// Where the databases lie while they are measured (their disk is the one that is measured) [default: beside the
    /// compiled programs]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

/// How many clients read at once.
const READERS: usize = 32;

/// What can be measured by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// GET of one animal against a bare server
    Read,
    /// GET of a filtered list of many animals against few
    List,
    /// GET through the judging proxy against a bare proxy
    Proxy,
    /// Durable POST against the disk
    Create,
    /// The judge's functional verdict on the embedded server
    Verdict,
    /// Recorded traffic, the time of an exchange in longer recordings
    Judging,
}

/// What the rows share.
#[derive(Debug)]
struct Session {
    programs: PathBuf,
    folder: TempDir,
    machine: Machine,
    runtime: Runtime,
    rounds: u32,
    round: Duration,
}

/// Measures and prints the table.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    if cfg!(debug_assertions) {
        // The load generator and the yardstick must be as optimised as what they measure.
        let mut release = cargo::cargo();
        release.args(["run", "--quiet", "--release", "--locked", "--package", "xtask", "--"]);
        release.args(std::env::args_os().skip(1)).current_dir(std::env::current_dir()?);
        eprintln!("building with optimisation …");
        return cargo::replace_process(release);
    }
    let mut build = cargo::cargo();
    build.args(["build", "--quiet", "--release", "--locked", "--package", "animal-store-reference"]);
    cargo::run(build)?;

    let session = Session::new(options)?;
    let rows = measure(&session, options)?;
    let footnotes = [
        format!(
            "{} rounds of {} s a side, the sides taking turns of a quarter second, after a round that is not counted; no \
             round is dropped; a ratio is taken within its round; every answer is compared with what it must be",
            options.rounds, options.seconds
        ),
        session.machine.describe(),
    ];
    println!("{}", table::render(&rows, &footnotes));
    let missed = rows.iter().filter(|row| !row.holds()).count();
    Ok(if options.check && missed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn measure(session: &Session, options: &Options) -> anyhow::Result<Vec<table::Row>> {
    let wants = |part| options.only.is_empty() || options.only.contains(&part);
    let (mut rates, mut creates, mut times) = (Vec::new(), Vec::new(), Vec::new());
    // The judge and the compiler are to have every core, so they come before this process is bound to one.
    if wants(Part::Verdict) {
        eprintln!("timing the judge …");
        times.push(verdict::verdict_row()?);
    }
    if wants(Part::Judging) {
        eprintln!("judging recordings …");
        times.extend(judging::judging_rows(session)?);
    }
    if options.fresh_clone {
        times.push(verdict::fresh_clone_row(session)?);
    }
    // Neither do creates compare two servers, so here the server has every core and a writer beside its readers.
    if wants(Part::Create) {
        eprintln!("creating animals …");
        creates = rates::create_rows(session)?;
    }
    session.machine.pin_load();
    if wants(Part::Read) || wants(Part::List) {
        let catalogues = Catalogues::prepare(session, options.animals)?;
        if wants(Part::Read) {
            eprintln!("reading animals …");
            rates.extend(catalogues.read_rows(session)?);
        }
        if wants(Part::List) {
            eprintln!("reading lists …");
            rates.push(catalogues.list_row(session)?);
        }
    }
    if wants(Part::Proxy) {
        eprintln!("reading through proxies …");
        rates.push(proxy::proxy_row(session)?);
    }
    rates.extend(creates);
    rates.extend(times);
    Ok(rates)
}

impl Session {
    fn new(options: &Options) -> anyhow::Result<Session> {
        let programs = cargo::programs_dir()?;
        let beside = options.folder.clone().unwrap_or_else(|| programs.clone());
        let folder = tempfile::Builder::new()
            .prefix("bench-")
            .tempdir_in(&beside)
            .with_context(|| format!("no folder for the databases can be made in {}", beside.display()))?;
        Ok(Session {
            programs,
            folder,
            machine: Machine::look(),
            runtime: load::runtime()?,
            rounds: options.rounds,
            round: Duration::from_secs(options.seconds),
        })
    }

    /// A reference server with a database of its own.
    fn reference(&self, name: &str, cores: Cores) -> anyhow::Result<Reference> {
        let program = self.programs.join(format!("reference{}", std::env::consts::EXE_SUFFIX));
        let command = self.machine.command(program.as_os_str(), cores);
        Reference::start(&program, command, &reference::database(self.folder.path(), name))
    }
}
