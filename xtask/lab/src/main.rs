//! `cargo xtask lab`: judges many servers of the laboratory, on a simulated clock: the lawful choices of many seeds, or each fault by
//! many seeds of the judge.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use clap::Parser;
use jiff::civil::Time;
use tokio::runtime::Builder;

mod faults;
mod judging;
mod lawful;

/// Judge the lawful servers of many seeds, where any finding is a false positive; or, with --faults, the broken ones
#[derive(Clone, Debug, Parser)]
#[command(
    name = "cargo xtask lab",
    after_help = "Examples:
  cargo xtask lab --seeds 1000                 no lawful server of a thousand is accused
  cargo xtask lab --circumstances              nor with other traffic on its keys, or earlier bans
  cargo xtask lab --faults --seeds 30          each fault is caught, whatever the seed of the judge
  cargo xtask lab --faults=quota. --seeds 30   those whose name contains `quota.`
  cargo xtask lab --faults=quota. --start-at seed --seeds 60   at every second of the minute
  cargo xtask lab --two-keys                   the same for a judge with a second key, also with --faults

Exit codes: 0 every lawful server conforms, or every fault is caught; 1 otherwise.

Judge and server share a simulated clock, so no run waits in real time. `--release` after
`cargo` makes it several times faster: cargo run --release --package xtask-lab"
)]
struct Options {
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
    #[arg(long, value_name = "TIME", value_parser = start_at)]
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
fn main() -> anyhow::Result<ExitCode> {
    let options = Options::parse();
    match &options.faults {
        Some(text) => faults::run(&options, text),
        None => lawful::run(&options),
    }
}

/// The time at which the clock of a server starts, on the first day of the laboratory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Start {
    /// At this time of day.
    At(Time),
    /// At the second of the minute after noon that the seed of the run chooses.
    OfSeed,
}

/// Parses the value of `--start-at`.
fn start_at(text: &str) -> anyhow::Result<Start> {
    let time = match (text, text.parse()) {
        ("seed", _) => return Ok(Start::OfSeed),
        (_, Ok(second)) => Time::new(12, 0, second, 0),
        (_, Err(_)) => text.parse(),
    };
    time.map(Start::At).map_err(|_| anyhow!("neither a second of the minute (6) nor a time of day (23:59:30)"))
}

impl Start {
    /// The time at which the run of a seed starts.
    fn time(self, seed: u64) -> String {
        let time = match self {
            Start::At(time) => time,
            Start::OfSeed => Time::constant(12, 0, (seed % 60) as i8, 0),
        };
        format!("2026-06-01T{time}Z")
    }
}

impl Options {
    /// Does `work` for each number below `count`, several at a time, until the time is over. Returns the results in no order.
    fn for_each<T: Send>(
        &self,
        count: u64,
        work: impl AsyncFn(u64) -> anyhow::Result<T> + Sync,
    ) -> anyhow::Result<Vec<T>> {
        let jobs = match self.jobs {
            _ if self.verbose => 1,
            Some(jobs) => jobs.max(1),
            None => thread::available_parallelism().map_or(2, usize::from),
        };
        let until = Instant::now() + Duration::from_secs(self.max_duration);
        let next = AtomicU64::new(0);
        let worker = || {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            let mut done = Vec::new();
            while Instant::now() < until {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    break;
                }
                done.push(runtime.block_on(work(number))?);
            }
            anyhow::Ok(done)
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(worker)).collect();
            let mut all = Vec::new();
            for worker in workers {
                all.extend(worker.join().map_err(|_| anyhow!("a worker panicked"))??);
            }
            Ok(all)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_a_second_of_the_minute_or_a_time_of_day() {
        let time = |text| start_at(text).map(|start| start.time(67)).map_err(drop);
        assert_eq!(time("6"), Ok("2026-06-01T12:00:06Z".to_owned()));
        assert_eq!(time("23:59:30"), Ok("2026-06-01T23:59:30Z".to_owned()));
        assert_eq!(time("seed"), Ok("2026-06-01T12:00:07Z".to_owned()));
        for text in ["", "60", "24:00:00", "23:60:00", "noon"] {
            assert_eq!(time(text), Err(()), "{text}");
        }
    }
}
