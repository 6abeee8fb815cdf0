//! `animal-lab challenge`: shows which faults a user's test suite notices.
//!
//! The suite, which is any command, is run against the plain reference, against other lawful servers, and against every broken one.
//! Each is a server of its own in this process, with its own port, database and key. Where the command ends with exit code 0, it has
//! accepted the server: right for the lawful ones, and a fault missed for the others.

mod command;
mod report;
mod showing;
mod subject;

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{collections::VecDeque, io::Write, num::NonZeroUsize, os::unix::fs::MetadataExt, sync::Arc};

use tokio::task::JoinSet;

use crate::config::{ChallengeArgs, Format};
use animal_store_reference::cli::{Failure, print};
use animal_store_reference::clock::Clock;
use animal_store_reference::{Embedded, EmbeddedOptions};
use report::{Report, Tried, Verdict};
use subject::{Chosen, Subject};

/// The number of lawful servers that make many choices, unless `--lawful` or `--quick` is given.
const SEEDS: u64 = 10;

/// The number of lines about the progress.
const LINES_OF_PROGRESS: usize = 10;

pub(crate) fn run(args: &Arc<ChallengeArgs>) -> Result<(), Failure> {
    let seeds = args.lawful.unwrap_or(if args.quick { 0 } else { SEEDS });
    let chosen = Chosen { seeds, choices: &args.choose, faults: &args.fault };
    let subjects = chosen.subjects().map_err(Failure::Usage)?;
    // Opened before the work, so that no result is lost to a mistyped path.
    let mut files: Vec<Opened> = Vec::new();
    for (format, path) in &args.report {
        let file = Opened::new(*format, path)?;
        if files.iter().any(|other| other.id == file.id) {
            return Err(Failure::Usage(format!("two reports would be written to {}", path.display())));
        }
        files.push(file);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::cannot_start)?;
    let report = runtime.block_on(challenge(args, subjects))?;
    files.iter_mut().try_for_each(|file| file.write(&report))?;
    print(report.text(false).as_str())?;
    match report.shortcoming(args.at_least) {
        _ if report.interrupted => Err(Failure::Unfinished("interrupted: the report has what was known".to_owned())),
        Some(shortcoming) => Err(Failure::Failed(shortcoming)),
        None => Ok(()),
    }
}

/// A file for a report. An earlier report stays in it until there is a new one. Dropping it removes a file that was made for no report.
struct Opened {
    format: Format,
    path: PathBuf,
    file: File,
    is_new: bool,
    /// The device and the number of the file, which differ between any two files.
    id: (u64, u64),
}

impl Opened {
    fn new(format: Format, path: &Path) -> Result<Opened, Failure> {
        let is_new = !path.exists();
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|error| cannot_write(path, &error))?;
        let id = file.metadata().map(|file| (file.dev(), file.ino())).map_err(|error| cannot_write(path, &error))?;
        Ok(Opened { format, path: path.to_owned(), file, is_new, id })
    }

    fn write(&mut self, report: &Report) -> Result<(), Failure> {
        let text = match self.format {
            Format::Text => report.text(true).to_string(),
            Format::Json => report.json(),
        };
        self.is_new = false;
        let is_regular = self.file.metadata().is_ok_and(|metadata| metadata.is_file());
        let emptied = if is_regular { self.file.set_len(0) } else { Ok(()) };
        let written = emptied.and_then(|()| self.file.write_all(text.as_bytes()));
        written.map_err(|error| cannot_write(&self.path, &error))
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if self.is_new {
            // A file that cannot be removed does no harm.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::CannotStart(format!("cannot write {}: {error}", path.display()))
}

async fn challenge(args: &Arc<ChallengeArgs>, mut subjects: Vec<Subject>) -> Result<Report, Failure> {
    let plan = args.plan;
    let interrupted = command::interrupted().map_err(Failure::cannot_start)?;
    tokio::pin!(interrupted);
    let plain = tokio::select! {
        plain = trial(Arc::clone(args), Subject::default()) => plain?,
        () = &mut interrupted => return Err(Failure::Unfinished("interrupted before anything was known".to_owned())),
    };
    if let Some(output) = plain.output {
        return Err(Failure::Failed(format!(
            "COMMAND {} on the plain reference, so it could not distinguish a broken server from it (its key is on the {plan} \
             plan, {} requests a minute; --plan gives it another). Its output:\n{output}",
            plain.verdict,
            plan.limits().per_minute
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
    let mut report = Report::new(args, plain.seconds);
    let mut running = JoinSet::new();
    let (servers, begun) = (subjects.len(), Instant::now());
    let estimate = plain.seconds * servers.div_ceil(jobs) as f64;
    say(&format!("{servers} servers to try, {jobs} at a time: about {}", rounded(estimate)));
    let mut subjects = VecDeque::from(subjects);
    loop {
        while running.len() < jobs
            && let Some(subject) = subjects.pop_front()
        {
            running.spawn(trial(Arc::clone(args), subject));
        }
        tokio::select! {
            ended = running.join_next() => match ended {
                None => break,
                Some(ended) => {
                    report.add(ended.map_err(Failure::failed)??);
                    show_progress(servers - subjects.len() - running.len(), servers, begun.elapsed());
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

/// Writes a line after each tenth of all servers.
fn show_progress(tried: usize, servers: usize, elapsed: Duration) {
    let tenths = |tried: usize| tried * LINES_OF_PROGRESS / servers;
    if tenths(tried) > tenths(tried - 1) && tried < servers {
        let left = elapsed.as_secs_f64() * (servers - tried) as f64 / tried as f64;
        say(&format!("{tried} of {servers} servers tried, about {} left", rounded(left)));
    }
}

/// Writes a line to standard error. Nothing else can be done when that is closed.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// A number of seconds as an estimate, or of minutes from two minutes on.
fn rounded(seconds: f64) -> String {
    if seconds < 120.0 { format!("{:.0} s", seconds.ceil()) } else { format!("{:.0} minutes", (seconds / 60.0).ceil()) }
}

/// Runs the suite against one server.
async fn trial(args: Arc<ChallengeArgs>, subject: Subject) -> Result<Tried, Failure> {
    let mut variation = subject.vector.variation();
    variation.setting.window = args.fast_windows;
    let start_at = variation.setting.start_at.and_then(|time| time.parse().ok());
    let options = EmbeddedOptions::new(args.plan, start_at.map_or_else(Clock::system, Clock::starting_at));
    let server = Embedded::start_with(options, variation).await.map_err(Failure::cannot_start)?;
    let begun = Instant::now();
    let run = command::run(&args.command, args.timeout, server.base_url(), server.api_key());
    let (verdict, output) = run.await.map_err(Failure::CannotStart)?;
    let took = begun.elapsed();
    let missed = subject.vector.faults.first().filter(|_| verdict == Verdict::Accepted);
    let shown_by = match missed {
        Some(fault) => Some(showing::how_to_show(fault).await.map_err(Failure::cannot_start)?),
        None => None,
    };
    Ok(Tried::new(&subject, verdict, took, output, shown_by))
}
