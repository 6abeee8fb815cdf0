//! Judges recorded traffic.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

use animal_store_rules::catalogue::plan::Plan;
use animal_store_rules::catalogue::scope::{Scope, Side};
use animal_store_rules::trace::Trace;
use animal_store_rules::trace::knowledge::Extent;
use animal_store_rules::trace::recording::{self, Format, Unreadable, har, lines};
use animal_store_rules::verdict::known_failing::KnownFailing;

use super::conclusion::Conclusion;
use super::parts::Parts;
use crate::options::Options;
use crate::redaction::Redactor;
use crate::report::Report;
use crate::report::shell::word;
use crate::run::judge::conclude_run;

/// What recorded traffic is judged by. What is not given is as in the run that was recorded, if one was.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// The base URL of the service, where an archive has requests to several.
    pub base_url: Option<String>,
    /// The plan of the keys.
    pub plan: Option<Plan>,
    /// The requirements to judge.
    pub scope: Option<Scope>,
    /// The side to judge: that of the server, of its clients, or both. Of traffic that nobody said it of, that of the server.
    pub side: Option<Side>,
    /// Whether a broken inferred requirement is a violation.
    pub strict: Option<bool>,
    /// The requirements that are known to fail, and the file that lists them.
    pub known_failing: Option<(KnownFailing, PathBuf)>,
    /// The program, for the rerun command.
    pub program: String,
}

/// Why recorded traffic cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// A file cannot be opened.
    #[error("{0}: {1}\n  Name a file that exists and can be read, or `-` for standard input.")]
    File(String, std::io::Error),
    /// A file cannot be read.
    #[error("{0}: {1}\n  Nothing was judged.")]
    Unreadable(String, Unreadable),
    /// A run in a recording does not say what it was asked for.
    #[error("{0}: the options of the recorded run cannot be read: {1}\n  Nothing was judged.")]
    Options(String, String),
    /// What was asked for is not judged of this side.
    #[error("no requirement of the side `{0}` is selected by --only and --skip\n  Choose another side with --side.")]
    NothingSelected(&'static str),
    /// There is nothing to judge.
    #[error("{0}: no request to an Animal Store was recorded{1}")]
    Nothing(String, String),
}

impl From<Unreadable> for Unusable {
    fn from(error: Unreadable) -> Unusable {
        // The name is added where it is known.
        Unusable::Unreadable(String::new(), error)
    }
}

/// Judges recorded traffic: traces that `--record` wrote, and HTTP Archives. `-` is standard input.
///
/// # Errors
///
/// [`Unusable`], when a file cannot be read to its end: then nothing is judged.
pub fn judge(files: &[PathBuf], terms: &Terms) -> Result<Report, Unusable> {
    let mut conclusion = Conclusion::new(terms.clone());
    let mut report = None;
    for file in files {
        let whole = read(&mut conclusion, file)?;
        match whole {
            // One recorded run gives the report that the run gave.
            Some(run) if files.len() == 1 => report = Some(run.conclude(terms)),
            Some(run) => drop(conclusion.add(run.trace)),
            None => {}
        }
    }
    let report = report.unwrap_or_else(|| conclusion.report(rerun_command(files, terms)));
    if report.requirements.iter().any(|requirement| requirement.selected) {
        Ok(report)
    } else {
        Err(Unusable::NothingSelected(report.side.as_str()))
    }
}

/// A run that was recorded.
pub(super) struct Run {
    pub(super) trace: Trace,
    pub(super) options: Options,
    pub(super) ended_early: Option<String>,
    pub(super) took: Option<Duration>,
}

impl Run {
    fn conclude(mut self, terms: &Terms) -> Report {
        apply(&mut self.options, terms);
        conclude_run(&self.trace, &self.options, self.ended_early, self.took)
    }
}

/// Puts what was asked for in place of what the run was asked for.
pub(super) fn apply(options: &mut Options, terms: &Terms) {
    let side = terms.side.unwrap_or(options.scope.side);
    options.scope = Scope { side, ..terms.scope.clone().unwrap_or_else(|| options.scope.clone()) };
    options.strict = terms.strict.unwrap_or(options.strict);
    options.plan = terms.plan.clone().or_else(|| options.plan.clone());
    if let Some((known_failing, path)) = &terms.known_failing {
        options.known_failing = known_failing.clone();
        options.invoked.known_failing = Some(path.clone());
    }
}

/// Reads a file, and judges what is no run. A run is returned.
fn read(conclusion: &mut Conclusion, path: &Path) -> Result<Option<Run>, Unusable> {
    let name = if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() };
    let named = |error: Unusable| match error {
        Unusable::Unreadable(_, error) => Unusable::Unreadable(name.clone(), error),
        other => other,
    };
    let opened: Box<dyn BufRead> = if path == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        let file = std::fs::File::open(path).map_err(|error| Unusable::File(name.clone(), error))?;
        Box::new(BufReader::with_capacity(1 << 16, file))
    };
    let before = conclusion.exchanges();
    let run = read_text(conclusion, opened, &name).map_err(named)?;
    if run.as_ref().is_none_or(|run| run.trace.exchanges.is_empty()) && conclusion.exchanges() == before {
        let hint = conclusion.latest_note().map(|note| format!("\n  {note}")).unwrap_or_default();
        return Err(Unusable::Nothing(name, hint));
    }
    Ok(run)
}

fn read_text(conclusion: &mut Conclusion, mut text: Box<dyn BufRead>, name: &str) -> Result<Option<Run>, Unusable> {
    let format = recording::format(&mut text)?;
    let mut parts = Parts::new(conclusion);
    let (head, context) = match format {
        Format::Lines => {
            let head = lines::read(&mut text, |head, exchange| parts.take(Some(head), &head.base_url, exchange))?;
            let context = head.context()?;
            (Some(head), context)
        }
        Format::Har => {
            let chosen = parts.conclusion().terms().base_url.clone();
            let summary = har::read(text, chosen.as_deref(), |summary, exchange| {
                let base_url = summary.base_url.as_deref().unwrap_or_default();
                parts.take(summary.head.as_ref(), base_url, exchange)
            })?;
            describe(parts.conclusion(), &summary, name);
            let context = match &summary.head {
                Some(head) => head.context()?,
                None => {
                    let base_url = summary.base_url.as_deref().unwrap_or_default();
                    parts.conclusion().context(base_url, Extent::Sample)
                }
            };
            (summary.head, context)
        }
    };
    parts.conclusion().recorded_at(&context.base_url);
    match head.filter(|head| head.extent == Extent::Run && !parts.is_divided()) {
        Some(head) => parts.run(&head, context, name).map(Some),
        None => {
            parts.judge(&context);
            Ok(None)
        }
    }
}

/// Notes how much of an archive was left out, and why.
fn describe(conclusion: &mut Conclusion, summary: &har::Summary, name: &str) {
    if summary.left_out.is_empty() {
        return;
    }
    let reasons: Vec<String> =
        summary.left_out.iter().map(|(reason, count)| format!("{count} {}", reason.as_str())).collect();
    let left_out: usize = summary.left_out.values().sum();
    conclusion.note(format!("{name}: {left_out} of {} entries left out: {}", summary.entries, reasons.join(", ")));
}

/// The command that judges the same files on the same side.
pub(crate) fn rerun_command(files: &[PathBuf], terms: &Terms) -> String {
    let redactor = Redactor::default();
    let files = files.iter().map(|file| word(&file.display().to_string(), &redactor));
    let side = terms.side.map(|side| format!("--side {}", side.as_str()));
    let command = [terms.program.clone(), "judge".to_owned()];
    command.into_iter().chain(files).chain(side).collect::<Vec<_>>().join(" ")
}
