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
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use tokio::task::JoinSet;

use crate::config::ChallengeArgs;
use animal_store_reference::Plan;
use animal_store_reference::cli::{Failure, print};
use animal_store_reference::clock::Clock;
use animal_store_reference::{Embedded, EmbeddedOptions};
use command::{Ended, Suite};
use report::{Report, Trial, Verdict};
use subject::{Chosen, Subject};

pub(crate) fn run(args: &ChallengeArgs) -> Result<(), Failure> {
    let chosen = Chosen { seeds: args.lawful, choices: &args.choose, faults: &args.fault };
    let mut subjects: VecDeque<Subject> = chosen.subjects().map_err(Failure::Usage)?.into();
    // Opened before the work, so that no result is lost to a mistyped path.
    let mut files: Vec<Opened<'_>> = Vec::new();
    for path in &args.report {
        let file = Opened::new(path)?;
        if files.iter().any(|other| other.id == file.id) {
            files.iter().for_each(Opened::give_up);
            return Err(Failure::Usage(format!("two reports would be written to {}", path.display())));
        }
        files.push(file);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::cannot_start)?;
    let report = match runtime.block_on(challenge(args, &mut subjects)) {
        Ok(report) => report,
        Err(failure) => {
            files.iter().for_each(Opened::give_up);
            return Err(failure);
        }
    };
    files.iter_mut().try_for_each(|file| file.write(&report))?;
    print(report.text().as_str())?;
    match report.shortcoming() {
        _ if report.interrupted => Err(Failure::Unfinished("interrupted: the report has what was known".to_owned())),
        Some(shortcoming) => Err(Failure::Failed(shortcoming)),
        None => Ok(()),
    }
}

/// A file for a report. An earlier report stays in it until there is a new one.
struct Opened<'a> {
    path: &'a Path,
    file: File,
    is_new: bool,
    /// The device and the number of the file, which differ between any two files.
    id: (u64, u64),
}

impl Opened<'_> {
    fn new(path: &Path) -> Result<Opened<'_>, Failure> {
        let is_new = !path.exists();
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|error| cannot_write(path, &error))?;
        let id = file.metadata().map(|file| (file.dev(), file.ino())).map_err(|error| cannot_write(path, &error))?;
        Ok(Opened { path, file, is_new, id })
    }

    fn write(&mut self, report: &Report) -> Result<(), Failure> {
        let is_regular = self.file.metadata().is_ok_and(|metadata| metadata.is_file());
        let emptied = if is_regular { self.file.set_len(0) } else { Ok(()) };
        let written = emptied.and_then(|()| self.file.write_all(report.json().as_bytes()));
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

async fn challenge(args: &ChallengeArgs, subjects: &mut VecDeque<Subject>) -> Result<Report, Failure> {
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

    let jobs = args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(2, usize::from));
    let mut report = Report::new(bench.suite.line(), args.fast_windows, plan, &plain);
    let mut running = JoinSet::new();
    let (servers, mut tried) = (subjects.len(), 0);
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
                    tried += 1;
                    let (name, verdict) = (trial.subject.name(), trial.verdict);
                    // Nothing else can be done when standard error is closed.
                    let _ = writeln!(std::io::stderr(), "{tried} of {servers}: {name}: the command {verdict}");
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
