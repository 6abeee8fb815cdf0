//! `animal-lab challenge`: shows which faults a user's test suite notices.
//!
//! The suite, which is any command, is run against the plain reference, against other lawful servers, and against every broken one.
//! Each is a server of its own in this process, with its own port, database and key. Where the command ends with exit code 0, it has
//! accepted the server: right for the lawful ones, and a fault missed for the others.

mod command;
mod report;
mod showing;
mod subject;

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::num::NonZeroUsize;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::config::{ChallengeArgs, ReportFormat};
use animal_store_reference::Plan;
use animal_store_reference::cli::{Failure, print};
use animal_store_reference::clock::Clock;
use animal_store_reference::{Embedded, EmbeddedOptions};
use command::{Ended, Suite};
use report::{Report, Trial, Verdict};
use subject::{Chosen, Subject};

/// The number of lawful servers that make many choices, unless `--lawful` or `--quick` is given.
const SEEDS: u64 = 10;

/// The number of lines about the progress.
const LINES_OF_PROGRESS: usize = 10;

pub(crate) fn run(args: &ChallengeArgs) -> Result<(), Failure> {
    let seeds = args.lawful.unwrap_or(if args.quick { 0 } else { SEEDS });
    let chosen = Chosen { seeds, choices: &args.choose, faults: &args.fault };
    let subjects = chosen.subjects().map_err(Failure::Usage)?;
    // Opened before the work, so that no result is lost to a mistyped path.
    let mut files: Vec<Opened<'_>> = Vec::new();
    for (format, path) in &args.report {
        let file = Opened::new(*format, path)?;
        if files.iter().any(|other| other.id == file.id) {
            files.iter().for_each(Opened::give_up);
            return Err(Failure::Usage(format!("two reports would be written to {}", path.display())));
        }
        files.push(file);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::cannot_start)?;
    let report = match runtime.block_on(challenge(args, subjects)) {
        Ok(report) => report,
        Err(failure) => {
            files.iter().for_each(Opened::give_up);
            return Err(failure);
        }
    };
    files.iter_mut().try_for_each(|file| file.write(&report))?;
    print(report.summary().as_str())?;
    match report.shortcoming(args.at_least) {
        _ if report.interrupted => Err(Failure::Unfinished("interrupted: the report has what was known".to_owned())),
        Some(shortcoming) => Err(Failure::Failed(shortcoming)),
        None => Ok(()),
    }
}

/// A file for a report. An earlier report stays in it until there is a new one.
struct Opened<'a> {
    format: ReportFormat,
    path: &'a Path,
    file: File,
    is_new: bool,
    /// The device and the number of the file, which differ between any two files.
    id: (u64, u64),
}

impl Opened<'_> {
    fn new(format: ReportFormat, path: &Path) -> Result<Opened<'_>, Failure> {
        let is_new = !path.exists();
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|error| cannot_write(path, &error))?;
        let id = file.metadata().map(|file| (file.dev(), file.ino())).map_err(|error| cannot_write(path, &error))?;
        Ok(Opened { format, path, file, is_new, id })
    }

    fn write(&mut self, report: &Report) -> Result<(), Failure> {
        let text = match self.format {
            ReportFormat::Text => report.text().to_string(),
            ReportFormat::Json => report.json(),
        };
        let is_regular = self.file.metadata().is_ok_and(|metadata| metadata.is_file());
        let emptied = if is_regular { self.file.set_len(0) } else { Ok(()) };
        let written = emptied.and_then(|()| self.file.write_all(text.as_bytes()));
        written.map_err(|error| cannot_write(self.path, &error))
    }

    /// Removes the file if it did not exist before.
    fn give_up(&self) {
        if self.is_new {
            // A file that cannot be removed does no harm.
            let _ = std::fs::remove_file(self.path);
        }
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::CannotStart(format!("cannot write {}: {error}", path.display()))
}

/// The settings that all trials share.
struct Bench {
    suite: Suite,
    plan: Plan,
    fast_windows: Option<u32>,
}

async fn challenge(args: &ChallengeArgs, mut subjects: Vec<Subject>) -> Result<Report, Failure> {
    let plan = args.plan;
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

    if args.quick {
        subjects = subject::one_of_each(subjects).await.map_err(Failure::cannot_start)?;
    }
    let faults = subjects.iter().filter(|subject| !subject.vector.faults.is_empty()).count();
    if let Some(least) = args.at_least.filter(|least| *least > faults) {
        return Err(Failure::Usage(format!("--at-least {least}: only {faults} faults are tried")));
    }
    let jobs = args.jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(2, NonZeroUsize::get);
    let mut report = Report::new(bench.suite.line(), args.fast_windows, plan, &plain);
    let mut running = JoinSet::new();
    let mut progress = Progress::begin(subjects.len(), plain.took, jobs);
    let mut subjects = VecDeque::from(subjects);
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
                    progress.advance();
                    report.add(trial);
                }
            },
            () = &mut interrupted => {
                // Trials that are still running are killed as they are dropped.
                running.shutdown().await;
                report.interrupted = true;
                break;
            }
        }
    }
    report.sort();
    Ok(report)
}

/// The progress of a challenge on standard error, in about ten lines.
struct Progress {
    servers: usize,
    tried: usize,
    begun: Instant,
}

impl Progress {
    /// Says how long the challenge will take, if the suite takes as long on each server as on the plain reference.
    fn begin(servers: usize, on_plain: Duration, jobs: usize) -> Progress {
        let estimate = on_plain * u32::try_from(servers.div_ceil(jobs)).unwrap_or(u32::MAX);
        say(&format!("{servers} servers to try, {jobs} at a time: about {}", rounded(estimate)));
        Progress { servers, tried: 0, begun: Instant::now() }
    }

    /// Counts a server that was tried, and writes a line after each tenth of all servers.
    fn advance(&mut self) {
        let tenths = |tried: usize| tried * LINES_OF_PROGRESS / self.servers;
        self.tried += 1;
        if tenths(self.tried) > tenths(self.tried - 1) && self.tried < self.servers {
            let left = self.begun.elapsed().mul_f64((self.servers - self.tried) as f64 / self.tried as f64);
            say(&format!("{} of {} servers tried, about {} left", self.tried, self.servers, rounded(left)));
        }
    }
}

/// Writes a line to standard error. Nothing else can be done when that is closed.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// A duration as an estimate: in seconds, or in minutes from two minutes on.
fn rounded(time: Duration) -> String {
    match time.as_secs_f64().ceil() {
        seconds if seconds < 120.0 => format!("{seconds:.0} s"),
        seconds => format!("{:.0} minutes", (seconds / 60.0).ceil()),
    }
}

/// Runs the suite against one server.
async fn trial(bench: Arc<Bench>, subject: Subject) -> Result<Trial, Failure> {
    let mut variation = subject.vector.variation();
    variation.setting.window = bench.fast_windows;
    let start_at = variation.setting.start_at.and_then(|time| time.parse().ok());
    let options = EmbeddedOptions::new(bench.plan, start_at.map_or_else(Clock::system, Clock::starting_at));
    let server = Embedded::start_with(options, variation).await.map_err(Failure::cannot_start)?;
    let begun = Instant::now();
    let (ended, output) = bench.suite.run(server.base_url(), server.api_key()).await.map_err(Failure::CannotStart)?;
    let verdict = match ended {
        Ended::WithCode(0) => Verdict::Accepted,
        Ended::WithCode(code) => Verdict::Refused { code },
        Ended::BySignal => Verdict::Crashed,
        Ended::TooLate => Verdict::TimedOut,
    };
    let took = begun.elapsed();
    let missed = subject.vector.faults.first().filter(|_| verdict == Verdict::Accepted);
    let shown_by = match missed {
        Some(fault) => Some(showing::how_to_show(fault).await.map_err(Failure::cannot_start)?),
        None => None,
    };
    Ok(Trial { subject, verdict, took, output, shown_by })
}
