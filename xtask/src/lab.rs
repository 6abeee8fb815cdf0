//! `cargo xtask lab`: judges the reference with the lawful choices of many seeds, strictly. None may be accused.

use std::collections::HashSet;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use animal_store_conformance::http::clock::Clock;
use animal_store_conformance::report::RequirementReport;
use animal_store_conformance::{Judge, Options as JudgeOptions, Verdict};
use animal_store_reference::lab::choices::{Build, Choice, Drawn, Maker, choices, lawful};
use animal_store_reference::rate_limit::BanPolicy;
use animal_store_reference::{Embedded, EmbeddedOptions, Plan};
use animal_store_rules::catalogue::Level;
use animal_store_rules::verdict::Status;
use clap::Args;

/// The clock that the judge's own tests share with the servers that they judge.
#[path = "../../conformance/tests/it/laboratory.rs"]
mod laboratory;

/// Late in a minute, so that a run sees one end early.
const START_AT: &str = "2026-06-01T12:00:45Z";

/// The arguments of `cargo xtask lab`.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 every seed conforms, 1 one is accused.

Each seed is judged in the time that computing takes: judge and server share a clock on which nothing is waited for.")]
pub(crate) struct Options {
    /// How many seeds
    #[arg(long, value_name = "COUNT", default_value_t = 1_000)]
    seeds: u64,

    /// The first seed
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    from: u64,

    /// Servers to judge at a time [default: the number of processors]
    #[arg(long, value_name = "COUNT")]
    jobs: Option<usize>,

    /// Begin no further seed after so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 3_600)]
    max_duration: u64,

    /// Report the fewest choices of a seed that show a problem, which takes many more runs
    #[arg(long)]
    simplify: bool,
}

/// Judges the seeds.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let jobs = options.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(2, usize::from)).max(1);
    let begun = Instant::now();
    let end = options.from.saturating_add(options.seeds);
    let next = Arc::new(AtomicU64::new(options.from));
    let until = begun + Duration::from_secs(options.max_duration);
    let simplify = options.simplify;
    let workers = (0..jobs).map(|_| {
        let next = Arc::clone(&next);
        std::thread::spawn(move || work(&next, end, until, simplify))
    });
    let workers: Vec<_> = workers.collect();
    let (mut judged, mut accused) = (Vec::new(), Vec::new());
    for worker in workers {
        let (seeds, problems) = worker.join().map_err(|_| anyhow::anyhow!("a worker panicked"))??;
        judged.extend(seeds);
        accused.extend(problems);
    }
    accused.sort();
    for problem in &accused {
        println!("{problem}\n");
    }
    let covered = coverage(&judged);
    println!(
        "{} of {} seeds were judged in {:.0} s; {} were accused",
        judged.len(),
        options.seeds,
        begun.elapsed().as_secs_f64(),
        accused.len()
    );
    println!(
        "pairs of choices on different axes: {} of {} ({:.1} %)",
        covered.found,
        covered.all,
        100.0 * covered.found as f64 / covered.all as f64
    );
    Ok(if accused.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The seeds that were judged, and what is wrong with the verdicts on some of them.
type Outcome = (Vec<u64>, Vec<String>);

fn work(next: &AtomicU64, end: u64, until: Instant, simplify: bool) -> anyhow::Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut judged, mut accused) = (Vec::new(), Vec::new());
    while Instant::now() < until {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= end {
            break;
        }
        let choices = lawful(seed, Drawn::ChoicesAndCircumstances);
        judged.push(seed);
        let Some(problem) = runtime.block_on(judge(seed, &choices))? else { continue };
        let (choices, problem) =
            if simplify { runtime.block_on(simplest(seed, choices, problem))? } else { (choices, problem) };
        accused.push(describe(seed, &choices, &problem));
    }
    Ok((judged, accused))
}

/// The plan of a seed's key.
fn plan(seed: u64) -> Plan {
    if seed.is_multiple_of(2) { Plan::Free } else { Plan::Pro }
}

/// Judges the server of a seed strictly; what is wrong with the verdict, if anything.
async fn judge(seed: u64, choices: &[Choice]) -> anyhow::Result<Option<String>> {
    let clock = Clock::stepping();
    let mut variation = Build::new(choices).finish();
    variation.setting.ban.get_or_insert(BanPolicy { after: 0, seconds: 0 });
    let server_clock = laboratory::beside(&clock, variation.setting.start_at.unwrap_or(START_AT));
    let embedded = EmbeddedOptions { plan: plan(seed), clock: server_clock };
    let server = Embedded::start_as(embedded, variation).await?;
    let mut options = JudgeOptions::new(server.base_url(), server.api_key())?;
    options.plan = Some(plan(seed).name().parse()?);
    options.strict = true;
    options.seed = seed;
    // A slow server with a ban takes its time, which is none here.
    options.max_duration = Duration::from_hours(1);
    let outcome = Judge::new(options).clock(clock).run().await;
    server.shutdown().await;
    let report = match outcome {
        Ok(report) => report,
        Err(error) => return Ok(Some(format!("no verdict: {error}"))),
    };
    if report.verdict == Verdict::Conforms {
        return Ok(None);
    }
    let unseen = |requirement: &&RequirementReport| {
        requirement.status == Status::NotExercised && requirement.level == Level::Stated
    };
    let broken = report.requirements.iter().filter(|requirement| requirement.failures > 0).map(|requirement| {
        let sentence = requirement.evidence.first().map_or("", |evidence| evidence.sentence.as_str());
        format!("{}: {sentence}", requirement.id)
    });
    let unseen = report.requirements.iter().filter(unseen).map(|requirement| {
        format!("{} not exercised: {}", requirement.id, requirement.reason.as_deref().unwrap_or_default())
    });
    let unfinished = (!report.unfinished.is_empty()).then(|| format!("unfinished: {}", report.unfinished.join(", ")));
    let ended = report.ended_early.as_ref().map(|reason| format!("ended early: {reason}"));
    let found: Vec<String> = broken.chain(unseen).chain(unfinished).chain(ended).collect();
    Ok(Some(format!("{:?}\n    {}", report.verdict, found.join("\n    "))))
}

/// Choices of these without any of which the verdict is another, and what is wrong with it. Halves are left out before single ones.
async fn simplest(seed: u64, choices: Vec<Choice>, problem: String) -> anyhow::Result<(Vec<Choice>, String)> {
    let differs = |choice: &Choice| choice.maker != Maker::Reference;
    let (mut kept, mut problem): (Vec<Choice>, String) = (choices.into_iter().filter(differs).collect(), problem);
    let kind = |problem: &str| problem.lines().next().map(str::to_owned);
    let mut size = kept.len().div_ceil(2);
    loop {
        let mut at = 0;
        while at < kept.len() {
            let fewer = [&kept[..at], &kept[kept.len().min(at + size)..]].concat();
            match judge(seed, &fewer).await? {
                Some(still) if kind(&still) == kind(&problem) => (kept, problem) = (fewer, still),
                _ => at += size,
            }
        }
        if size <= 1 {
            return Ok((kept, problem));
        }
        size = size.div_ceil(2);
    }
}

fn describe(seed: u64, choices: &[Choice], problem: &str) -> String {
    let names: Vec<String> =
        choices.iter().filter(|choice| choice.maker != Maker::Reference).map(Choice::name).collect();
    format!("seed {seed} on a {} key: {problem}\n    {}", plan(seed), names.join(" "))
}

/// How many pairs of choices on different axes there are, and how many of them some seed has made together.
struct Coverage {
    found: usize,
    all: usize,
}

fn coverage(seeds: &[u64]) -> Coverage {
    let table = choices();
    let mut all = 0;
    for (at, one) in table.iter().enumerate() {
        all += table[at + 1..].iter().filter(|other| other.axis() != one.axis()).count();
    }
    let mut found = HashSet::new();
    for seed in seeds {
        let names: Vec<String> = lawful(*seed, Drawn::ChoicesAndCircumstances).iter().map(Choice::name).collect();
        for (at, one) in names.iter().enumerate() {
            found.extend(names[at + 1..].iter().map(|other| (one.clone(), other.clone())));
        }
    }
    Coverage { found: found.len(), all }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_seeds_cover_more_pairs_and_a_thousand_nearly_all() {
        let covered = |seeds: u64| coverage(&(0..seeds).collect::<Vec<_>>());
        let (few, many) = (covered(5), covered(1_000));
        assert!(few.found < many.found && few.all == many.all && many.found <= many.all);
        assert!(many.found * 100 > many.all * 95, "{} of {}", many.found, many.all);
    }
}
