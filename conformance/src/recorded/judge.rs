//! Judges recorded traffic.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

use animal_store_rules::catalogue::plan::Plan;
use animal_store_rules::catalogue::scope::Scope;
use animal_store_rules::trace::exchange::Exchange;
use animal_store_rules::trace::json::{MAX_VALUES, count_values};
use animal_store_rules::trace::knowledge::Extent;
use animal_store_rules::trace::recording::sample::{self, Pseudonyms};
use animal_store_rules::trace::recording::{self, Format, Head, Unreadable, har, lines};
use animal_store_rules::trace::{Context, Trace};
use animal_store_rules::verdict::known_failing::KnownFailing;
use jiff::tz::TimeZone;

use super::options::RunOptions;
use super::totals::{Totals, size};
use crate::options::Options;
use crate::redaction::Redactor;
use crate::report::shell::word;
use crate::report::{self, Recording, Remarks, Report};
use crate::run::judge::conclude_run;

/// So much of a recording is judged at once, in bytes of memory. A run receives no more than it can judge at once; of a longer recording,
/// the parts are samples, and so is each part of a sample.
const PART: usize = 16 * 1024 * 1024;

/// A run that was recorded is judged as a whole up to this size.
const WHOLE_RUN: usize = 512 * 1024 * 1024;

/// So many exchanges of a sample are judged at once: the time that rules take grows faster than their number.
const PART_EXCHANGES: usize = 1_000;

/// What recorded traffic is judged by. What is not given is as in the run that was recorded, if one was.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// The base URL of the service, where an archive has requests to several.
    pub base_url: Option<String>,
    /// The plan of the keys.
    pub plan: Option<Plan>,
    /// The requirements to judge.
    pub scope: Option<Scope>,
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
    let mut session = Session { terms, files, totals: Totals::default(), notes: Vec::new(), base_urls: Vec::new() };
    let mut report = None;
    for file in files {
        let whole = session.read(file)?;
        match whole {
            // One recorded run gives the report that the run gave.
            Some(run) if files.len() == 1 => report = Some(run.conclude(terms)),
            Some(run) => {
                let scope = session.scope();
                session.totals.add(run.trace, &scope);
            }
            None => {}
        }
    }
    Ok(report.unwrap_or_else(|| session.report()))
}

/// A run that was recorded.
struct Run {
    trace: Trace,
    options: Options,
    ended_early: Option<String>,
    took: Option<Duration>,
}

impl Run {
    fn conclude(mut self, terms: &Terms) -> Report {
        apply(&mut self.options, terms);
        conclude_run(&self.trace, &self.options, self.ended_early, self.took)
    }
}

/// Puts what was asked for in place of what the run was asked for.
fn apply(options: &mut Options, terms: &Terms) {
    options.scope = terms.scope.clone().unwrap_or_else(|| options.scope.clone());
    options.strict = terms.strict.unwrap_or(options.strict);
    options.plan = terms.plan.clone().or_else(|| options.plan.clone());
    if let Some((known_failing, path)) = &terms.known_failing {
        options.known_failing = known_failing.clone();
        options.invoked.known_failing = Some(path.clone());
    }
}

struct Session<'t> {
    terms: &'t Terms,
    files: &'t [PathBuf],
    totals: Totals,
    notes: Vec<String>,
    base_urls: Vec<String>,
}

impl Session<'_> {
    fn scope(&self) -> Scope {
        self.terms.scope.clone().unwrap_or_default()
    }

    /// Reads a file, and judges what is no run. A run is returned.
    fn read(&mut self, path: &Path) -> Result<Option<Run>, Unusable> {
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
        let before = self.totals.exchanges;
        let run = self.read_text(opened, &name).map_err(named)?;
        if run.as_ref().is_none_or(|run| run.trace.exchanges.is_empty()) && self.totals.exchanges == before {
            let hint = self.notes.last().map(|note| format!("\n  {note}")).unwrap_or_default();
            return Err(Unusable::Nothing(name, hint));
        }
        Ok(run)
    }

    fn read_text(&mut self, mut text: Box<dyn BufRead>, name: &str) -> Result<Option<Run>, Unusable> {
        let format = recording::format(&mut text)?;
        let mut parts =
            Parts { session: self, pending: Vec::new(), bytes: 0, is_divided: false, pseudonyms: pseudonyms() };
        let (head, context) = match format {
            Format::Lines => {
                let head = lines::read(&mut text, |head, exchange| parts.take(Some(head), &head.base_url, exchange))?;
                let context = head.context()?;
                (Some(head), context)
            }
            Format::Har => {
                let chosen = parts.session.terms.base_url.clone();
                let summary = har::read(text, chosen.as_deref(), |summary, exchange| {
                    let base_url = summary.base_url.as_deref().unwrap_or_default();
                    parts.take(summary.head.as_ref(), base_url, exchange)
                })?;
                parts.session.describe(&summary, name);
                let context = match &summary.head {
                    Some(head) => head.context()?,
                    None => parts.session.context(summary.base_url.as_deref().unwrap_or_default()),
                };
                (summary.head, context)
            }
        };
        parts.session.base_urls.push(context.base_url.clone());
        match head.filter(|head| head.extent == Extent::Run && !parts.is_divided) {
            Some(head) => parts.run(&head, context, name).map(Some),
            None => {
                parts.judge(&context);
                Ok(None)
            }
        }
    }

    /// The context of traffic of which nothing else is known.
    fn context(&self, base_url: &str) -> Context {
        Context {
            extent: Extent::Sample,
            base_url: base_url.to_owned(),
            replicas: Vec::new(),
            keys: Vec::new(),
            plan_limits: self.terms.plan.as_ref().and_then(Plan::plan_limits),
            category_id: Options::CATEGORY_ID,
            name_mark: None,
            assumed_date: None,
            left_out: Vec::new(),
            unfinished: Vec::new(),
        }
    }

    /// Notes how much of an archive was left out, and why.
    fn describe(&mut self, summary: &har::Summary, name: &str) {
        if summary.left_out.is_empty() {
            return;
        }
        let reasons: Vec<String> =
            summary.left_out.iter().map(|(reason, count)| format!("{count} {}", reason.as_str())).collect();
        let left_out: usize = summary.left_out.values().sum();
        self.notes.push(format!("{name}: {left_out} of {} entries left out: {}", summary.entries, reasons.join(", ")));
    }

    fn rerun_command(&self) -> String {
        let redactor = Redactor::default();
        let files = self.files.iter().map(|file| word(&file.display().to_string(), &redactor));
        let command = [self.terms.program.clone(), "judge".to_owned()];
        command.into_iter().chain(files).collect::<Vec<_>>().join(" ")
    }

    fn report(mut self) -> Report {
        let base_url = self.base_urls.first().cloned().unwrap_or_default();
        if self.base_urls.iter().any(|other| *other != base_url) {
            self.notes.push(format!("recordings of several addresses: {}", self.base_urls.join(", ")));
        }
        if self.totals.is_thinned() {
            self.notes
                .push("the recording is long: the report contains only the exchanges that show a failure".to_owned());
        }
        self.notes.push(
            "recorded traffic of which requests may be missing: what cannot be judged of it is not exercised"
                .to_owned(),
        );
        // Nothing of it is sent, and no rerun command shows it.
        let mut options = Options::new("http://recorded.invalid/v1", "recorded-traffic")
            .unwrap_or_else(|_| unreachable!("a constant address and a constant key"));
        options.transport.base_url.clone_from(&base_url);
        options.seed = 0;
        options.invoked.program.clone_from(&self.terms.program);
        apply(&mut options, self.terms);
        let first = self.totals.first;
        let mut recording = Recording {
            requests: self.totals.exchanges,
            requests_with_key: self.totals.with_key,
            created: self.totals.created,
            first: self.totals.first,
            last: self.totals.last,
            dropped: BTreeMap::new(),
            rerun_command: self.rerun_command(),
        };
        let context = self.context(&base_url);
        let (mut verdicts, exchanges, dropped) = self.totals.into_parts();
        recording.dropped = dropped;
        if let Some(first) = first {
            options.known_failing.apply(&mut verdicts, first.to_zoned(TimeZone::UTC).date());
        }
        let trace = Trace { context, exchanges };
        let remarks = Remarks { notes: self.notes, ..Remarks::default() };
        report::assemble_recorded(&trace, &verdicts, &options, remarks, recording)
    }
}

/// The parts of one file.
struct Parts<'s, 't> {
    session: &'s mut Session<'t>,
    pending: Vec<Exchange>,
    bytes: usize,
    is_divided: bool,
    pseudonyms: Pseudonyms,
}

impl Parts<'_, '_> {
    /// Takes an exchange; judges what has come together, once it is much.
    fn take(&mut self, head: Option<&Head>, base_url: &str, exchange: Exchange) -> Result<(), Unusable> {
        let values = exchange.response().map_or(0, |response| count_values(&response.body).min(MAX_VALUES));
        self.bytes += size(&exchange) + 64 * values;
        self.pending.push(exchange);
        let is_run = head.is_some_and(|head| head.extent == Extent::Run) && !self.is_divided;
        let is_much =
            if is_run { self.bytes > WHOLE_RUN } else { self.bytes > PART || self.pending.len() >= PART_EXCHANGES };
        if is_much {
            self.is_divided = true;
            let context = match head {
                Some(head) => head.context()?,
                None => self.session.context(base_url),
            };
            self.judge(&context);
        }
        Ok(())
    }

    /// Judges what has come together as a sample, or as what it is if nothing else has come.
    fn judge(&mut self, context: &Context) {
        let mut context = context.clone();
        if self.is_divided {
            context.extent = Extent::Sample;
        }
        if !self.pending.is_empty() {
            let trace = sample::trace(context, std::mem::take(&mut self.pending), &mut self.pseudonyms);
            self.bytes = 0;
            let scope = self.session.scope();
            self.session.totals.add(trace, &scope);
        }
    }

    /// The run that was recorded.
    fn run(self, head: &Head, context: Context, name: &str) -> Result<Run, Unusable> {
        let wrong = |problem: String| Unusable::Options(name.to_owned(), problem);
        let options: RunOptions =
            serde_json::from_value(head.options.clone()).map_err(|error| wrong(error.to_string()))?;
        let (ended_early, took) = (options.ended_early.clone(), options.took());
        let options = options.restore(&context).map_err(wrong)?;
        let exchanges = super::pseudonyms::restored(self.pending, &options);
        Ok(Run { trace: Trace { context, exchanges }, options, ended_early, took })
    }
}

/// Pseudonyms that differ from those of other recordings.
fn pseudonyms() -> Pseudonyms {
    let mut rng = fastrand::Rng::new();
    Pseudonyms::new((0..4).map(|_| rng.lowercase()).collect::<String>())
}
