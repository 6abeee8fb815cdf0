//! `cargo xtask lab`: judges many servers of the laboratory, on a simulated clock: the lawful choices of many seeds, or each fault by
//! many seeds of the judge.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use clap::Args;
use tokio::runtime::{Builder, Runtime};

mod faults;
mod judging;
mod lawful;
mod start;

use animal_store_reference::Plan;
use judging::Run;
use start::Start;

/// The arguments of `cargo xtask lab`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:
  cargo xtask lab --seeds 1000                 no lawful server of a thousand is accused
  cargo xtask lab --circumstances              nor with other traffic on its keys, or earlier bans
  cargo xtask lab --faults --seeds 30          each fault is caught, whatever the seed of the judge
  cargo xtask lab --faults=quota. --seeds 30   those whose name contains `quota.`
  cargo xtask lab --faults=quota. --start-at seed --seeds 60   at every second of the minute
  cargo xtask lab --two-keys                   the same for a judge with a second key, also with --faults

Exit codes: 0 every lawful server conforms, or every fault is caught; 1 otherwise.

Judge and server share a simulated clock, so no run waits in real time. `--release` after
`cargo` makes it several times faster: cargo run --release --package xtask -- lab")]
pub(crate) struct Options {
    /// How many seeds
    #[arg(long, value_name = "COUNT", default_value_t = 1_000)]
    seeds: u64,

    /// The first seed
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    from: u64,

    /// Also simulate conditions outside the server: other traffic, earlier bans, different times of day
    #[arg(long, conflicts_with = "faults")]
    circumstances: bool,

    /// Start the clock of each server at this second of the minute or time of day: `6`, `23:59:30`, or `seed` for second N of the
    /// minute with seed N [default: as the server chooses, else second 45]
    #[arg(long, value_name = "TIME", value_parser = start::parse)]
    start_at: Option<Start>,

    /// Write the trace of each run to this folder, as `conform --record` does
    #[arg(long, value_name = "FOLDER")]
    record: Option<PathBuf>,

    /// Judge the faults whose name contains this text, each by every seed of the judge, instead of lawful servers
    #[arg(long, value_name = "TEXT", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    faults: Option<String>,

    /// Give the judge a second key, as `--quota-key` does
    #[arg(long)]
    two_keys: bool,

    /// Servers to judge at a time [default: the number of processors]
    #[arg(long, value_name = "COUNT")]
    jobs: Option<usize>,

    /// Begin no further run after this number of seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 3_600)]
    max_duration: u64,

    /// Report the fewest choices of a seed that show a problem, which takes many more runs
    #[arg(long, conflicts_with = "faults")]
    simplify: bool,

    /// Print each request and each wait; for one server at a time
    #[arg(long)]
    verbose: bool,
}

/// Judges lawful servers, or faults if they are selected.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    match &options.faults {
        Some(text) => faults::run(options, text),
        None => lawful::run(options),
    }
}

impl Options {
    /// The settings for the run of a seed; the name of the trace file begins with `name`.
    fn run(&self, plan: Plan, seed: u64, name: &str) -> Run {
        Run {
            plan,
            seed,
            two_keys: self.two_keys,
            verbose: self.verbose,
            start_at: self.start_at.map(|start| start.time(seed)),
            record: self.record.as_ref().map(|folder| folder.join(format!("{name}-{seed}.jsonl"))),
        }
    }

    /// Does `work` for each number below `count`, several at a time, until the time is over. Returns the results in no order.
    fn for_each<T: Send + 'static>(
        &self,
        count: u64,
        work: impl Fn(&Runtime, u64) -> anyhow::Result<T> + Send + Sync + 'static,
    ) -> anyhow::Result<Vec<T>> {
        let jobs = match self.jobs {
            _ if self.verbose => 1,
            Some(jobs) => jobs.max(1),
            None => std::thread::available_parallelism().map_or(2, usize::from),
        };
        let until = Instant::now() + Duration::from_secs(self.max_duration);
        let (next, work) = (Arc::new(AtomicU64::new(0)), Arc::new(work));
        let mut workers = Vec::new();
        for _ in 0..jobs {
            let (next, work) = (Arc::clone(&next), Arc::clone(&work));
            workers.push(std::thread::spawn(move || {
                let runtime = Builder::new_current_thread().enable_all().build()?;
                let mut done = Vec::new();
                while Instant::now() < until {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        break;
                    }
                    done.push(work(&runtime, number)?);
                }
                anyhow::Ok(done)
            }));
        }
        let mut all = Vec::new();
        for worker in workers {
            all.extend(worker.join().map_err(|_| anyhow!("a worker panicked"))??);
        }
        Ok(all)
    }
}
