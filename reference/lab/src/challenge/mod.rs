//! `animal-lab challenge`: which faults does a user's test suite notice?
//!
//! The suite, which is any command, is run against the plain reference, against other lawful servers, and against every broken one.
//! Each is a server of its own in this process, with its own port, database and key. Where the command ends with exit code 0, it has
//! accepted the server: right for the lawful ones, and a fault missed for the others.

mod command;
mod html;
mod report;
mod subject;
mod words;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use tokio::task::JoinSet;

use crate::config::{ChallengeArgs, ReportFile, ReportFormat};
use crate::printable::print;
use animal_store_reference::Plan;
use animal_store_reference::cli::Failure;
use animal_store_reference::clock::Clock;
use animal_store_reference::{Embedded, EmbeddedOptions};
use command::{Ended, Suite};
use report::{Report, Trial, Verdict};
use subject::Subject;

pub(crate) fn run(args: &ChallengeArgs) -> Result<(), Failure> {
    let mut subjects: VecDeque<Subject> = subject::subjects(args.lawful, &args.fault).map_err(Failure::Usage)?.into();
    // Opened before the work, so that no result is lost to a mistyped path.
    let mut files = Vec::new();
    for report in &args.report {
        let file = File::create(&report.path)
            .map_err(|error| Failure::CannotStart(format!("cannot write {}: {error}", report.path.display())))?;
        files.push((report, file));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::cannot_start)?;
    let report = runtime.block_on(challenge(args, &mut subjects))?;
    for (ReportFile { format, path }, file) in &mut files {
        let text = match format {
            ReportFormat::Json => report.json(),
            ReportFormat::Html => html::page(&report),
        };
        file.write_all(text.as_bytes())
            .map_err(|error| Failure::CannotStart(format!("cannot write {}: {error}", path.display())))?;
    }
    print(&report.text())?;
    match report.shortcoming() {
        _ if report.interrupted => Err(Failure::Unfinished("interrupted: the report has what was known".to_owned())),
        Some(shortcoming) => Err(Failure::Failed(shortcoming)),
        None => Ok(()),
    }
}

/// What all trials share.
struct Bench {
    suite: Suite,
    plan: Plan,
    fast_windows: Option<u32>,
}

async fn challenge(args: &ChallengeArgs, subjects: &mut VecDeque<Subject>) -> Result<Report, Failure> {
    let plan = args.plan.plan();
    let bench =
        Arc::new(Bench { suite: Suite::new(&args.command, args.timeout), plan, fast_windows: args.fast_windows });
    let interrupted = command::interrupted().map_err(Failure::cannot_start)?;
    tokio::pin!(interrupted);
    let plain = tokio::select! {
        plain = trial(Arc::clone(&bench), Subject::plain()) => plain?,
        () = &mut interrupted => return Err(Failure::Unfinished("interrupted before anything was known".to_owned())),
    };
    if plain.verdict != Verdict::Accepted {
        return Err(Failure::Failed(format!(
            "COMMAND {} on the plain reference, so it could not distinguish a broken server from it (its key is on the {plan} \
             plan, {} requests a minute; --plan gives it another). Its output:\n{}",
            plain.verdict,
            plan.limits().per_minute,
            plain.output
        )));
    }

    let jobs = args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(2, usize::from));
    let bar = progress_bar(subjects.len());
    let mut report = Report::new(bench.suite.line().shown.clone(), args.fast_windows, plan, &plain);
    let mut running = JoinSet::new();
    loop {
        while running.len() < jobs
            && let Some(subject) = subjects.pop_front()
        {
            running.spawn(trial(Arc::clone(&bench), subject));
        }
        tokio::select! {
            ended = running.join_next() => match ended {
                None => break,
                Some(ended) => {
                    let trial = ended.map_err(Failure::failed)??;
                    bar.inc(1);
                    bar.set_message(trial.subject.name());
                    report.add(trial);
                }
            },
            () = &mut interrupted => {
                // What is still running is killed as it is dropped.
                running.shutdown().await;
                report.interrupted = true;
                break;
            }
        }
    }
    bar.finish_and_clear();
    report.sort();
    Ok(report)
}

/// Runs the suite against one server.
async fn trial(bench: Arc<Bench>, subject: Subject) -> Result<Trial, Failure> {
    let mut variation = subject.vector.variation();
    variation.setting.window = bench.fast_windows;
    let start_at = variation.setting.start_at.and_then(|time| time.parse().ok());
    let options = EmbeddedOptions::new(bench.plan, Clock::from_start(start_at));
    let server = Embedded::start_with(options, variation).await.map_err(Failure::cannot_start)?;
    let begun = Instant::now();
    let (ended, output) = bench.suite.run(server.base_url(), server.api_key()).await.map_err(Failure::CannotStart)?;
    let verdict = match ended {
        Ended::WithCode(0) => Verdict::Accepted,
        Ended::WithCode(code) => Verdict::Refused { code },
        Ended::BySignal => Verdict::Crashed,
        Ended::TooLate => Verdict::TimedOut,
    };
    Ok(Trial { subject, verdict, took: begun.elapsed(), output })
}

/// Shown where somebody watches.
fn progress_bar(length: usize) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} [{bar:30}] {pos}/{len}, {eta} left  {wide_msg}");
    let bar = ProgressBar::new(length as u64).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(125));
    bar
}
