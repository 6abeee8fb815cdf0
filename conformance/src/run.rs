//! The whole pipeline: options, probes, trace, rules, verdicts, report.

mod notes;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;

use crate::events::{Event, Listener};
use crate::http::client::{Client, ClientError};
use crate::http::clock::Clock;
use crate::interrupt::Interrupt;
use crate::options::Options;
use crate::probes;
use crate::probes::preflight;
use crate::probes::session::{Session, Stop};
use crate::probes::target::UnusableTarget;
use crate::recorded;
use crate::redaction::redactor;
use crate::report::{self, Presentation, Remarks, Report, Since, TrafficCounts, commands};
use animal_store_rules::catalogue::plan::Plan;
use animal_store_rules::catalogue::scope::Scope;
use animal_store_rules::facts::Facts;
use animal_store_rules::history::History;
use animal_store_rules::limits::Limiter;
use animal_store_rules::trace::answerer;
use animal_store_rules::trace::knowledge::Extent;
use animal_store_rules::trace::{Context, LeftOut, Trace};
use animal_store_rules::transcript::Transcript;
use animal_store_rules::verdict::{self, Verdict};

/// Judges one target.
///
/// In a test of your own, where `base_url` and `key` are those of your server:
///
/// ```
/// use animal_store_conformance::{Judge, Options, Profile, Verdict};
/// # use animal_store_reference::{Embedded, EmbeddedOptions, Plan, clock::Clock};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = Embedded::start(EmbeddedOptions::new(Plan::Business, Clock::system())).await?;
/// # let (base_url, key) = (server.base_url(), server.api_key());
/// let mut options = Options::new(base_url, key)?;
/// options.judging.scope.profile = Profile::Functional; // creates animals, and does not exhaust the key
/// options.judging.strict = true;
/// let report = Judge::new(options).run().await?;
/// assert_eq!(report.verdict, Verdict::Conforms, "{report}");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Judge {
    options: Options,
    listener: Option<Arc<Listener>>,
    clock: Clock,
    interrupt: Interrupt,
}

/// An error that prevents a verdict.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The options are not valid: nothing was sent.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The scope selects no requirement, so a verdict would say nothing: nothing was sent.
    #[error("the scope selects no requirement")]
    NothingSelected,
    /// The target cannot be judged.
    #[error(transparent)]
    Unusable(#[from] UnusableTarget),
    /// The plan that was named is not that of the key: nothing after the first response was sent.
    #[error("{0}\n  Leave --plan out to learn the plan from the responses, or name the plan of the key.")]
    AnotherPlan(String),
    /// The run ended before anything could be judged.
    #[error("nothing could be judged: {0}")]
    Stopped(Stop),
}

impl Judge {
    /// A judge with these options.
    pub fn new(options: Options) -> Judge {
        Judge { options, listener: None, clock: Clock::system(), interrupt: Interrupt::default() }
    }

    /// Sends the events of the run to this listener.
    #[must_use]
    pub fn listener(mut self, listener: impl Fn(&Event) + Send + Sync + 'static) -> Judge {
        self.listener = Some(Arc::new(listener));
        self
    }

    /// Uses this clock. A stepping clock is for tests whose candidate uses the same one: the windows of any other candidate
    /// would not end.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Judge {
        self.clock = clock;
        self
    }

    /// Ends the run when this interrupt is raised. The requests sent until then are judged.
    #[must_use]
    pub fn interrupted_by(mut self, interrupt: Interrupt) -> Judge {
        self.interrupt = interrupt;
        self
    }

    /// Probes the target and judges the responses.
    ///
    /// # Errors
    ///
    /// [`RunError`] when there is nothing to judge. A defective response is not an error but leads to a verdict.
    pub async fn run(&self) -> Result<Report, RunError> {
        self.probe_and_judge().await.map(|(.., report)| report)
    }

    /// Probes the target, judges the responses, and returns the report with the recording of the run: JSON Lines without keys, which
    /// `conform judge` judges again.
    ///
    /// # Errors
    ///
    /// As [`Judge::run`].
    pub async fn run_and_record(&self) -> Result<(Report, String), RunError> {
        let (trace, ended_early, took, report) = self.probe_and_judge().await?;
        Ok((report, recorded::record(&trace, &self.options, ended_early.as_deref(), Some(took))))
    }

    /// Returns the trace, the reason why the run ended early, the duration of the run, and the report.
    async fn probe_and_judge(&self) -> Result<(Trace, Option<String>, Duration, Report), RunError> {
        let begun = self.clock.instant();
        let (trace, ended_early) = self.probe().await?;
        let took = self.clock.instant().duration_since(begun);
        let limited =
            History::without_bodies(&trace).entries.iter().all(|entry| entry.key().is_none() || entry.is_limited());
        let reason = ended_early.clone().unwrap_or_default();
        let report = conclude(&trace, &self.options, ended_early.clone(), Some(took));
        // A 429 from the start may be due to earlier use of the key. One that breaks a rule is a violation.
        if limited && report.verdict == Verdict::Incomplete {
            return Err(UnusableTarget::Limited(reason).into());
        }
        Ok((trace, ended_early, took, report))
    }

    /// Probes the target, and returns the trace with the reason why the run ended early, if it did. [`conclude`] judges the trace.
    ///
    /// # Errors
    ///
    /// [`RunError`] when there is nothing to judge.
    pub async fn probe(&self) -> Result<(Trace, Option<String>), RunError> {
        let options = &self.options;
        if !options.judging.scope.selects_any_of(options.judging.scope.side) {
            return Err(RunError::NothingSelected);
        }
        let listener: &Listener = self.listener.as_deref().unwrap_or(&|_: &Event| {});
        let client = Client::new(options.transport.clone())?;
        if !options.budget.wait.is_zero() {
            tokio::select! {
                () = self.interrupt.raised() => return Err(RunError::Stopped(Stop::Interrupted)),
                () = preflight::await_server(&client, options, listener) => {}
            }
        }
        let (clock, interrupt) = (self.clock.clone(), self.interrupt.clone());
        let mut session = Session::new(options, context(options), &client, listener, clock, interrupt);
        let stop = match preflight::run(&mut session).await {
            Ok(()) => {
                match notes::unlike_plan(&Limiter::new(&History::without_bodies(&session.trace)), options) {
                    Some((unlike, true)) => return Err(RunError::AnotherPlan(unlike)),
                    Some((unlike, false)) => listener(&Event::Note(unlike)),
                    None => {}
                }
                let mut known = BTreeSet::new();
                // This takes as long as judging the run, so it is done only if a listener or the run itself uses it.
                let is_asked_for = self.listener.is_some() || options.budget.fail_fast;
                let after_each = |session: &Session<'_>| {
                    if is_asked_for { report_broken(session, &mut known) } else { Ok(()) }
                };
                probes::run(&mut session, after_each).await.err()
            }
            Err(stop) if session.trace.exchanges.is_empty() => return Err(RunError::Stopped(stop)),
            Err(stop) => Some(stop),
        };
        if matches!(stop, Some(Stop::Exhausted(_) | Stop::StaysLimited(_))) {
            // The run has stopped for a reason that is reported; a further one adds nothing to it.
            let _also_stopped = probes::over_the_limit(&mut session).await;
            let _also_stopped = probes::without_a_key(&mut session).await;
        }
        if let Some(Stop::Unusable(unusable)) = stop {
            return Err(unusable.invoked(&options.invoked).redacted(&redactor(options)).into());
        }
        let mut trace = session.trace;
        answerer::end_run(&mut trace);
        // What the run has sent in vain is not judged.
        let end = History::without_bodies(&trace).access.end().filter(|_| stop.is_none());
        let stop = stop.or_else(|| end.map(Stop::Access));
        if end.is_some() {
            trace.context.unfinished.push("the last requests".into());
        }
        if let Some(stop) = &stop {
            trace.context.left_out.push(LeftOut { requirements: "".into(), reason: stop.to_string() });
        }
        // The reason why the run sent fewer requests than planned, with the fixed parts that it did not send completely.
        let unfinished = trace.context.unfinished.join(", ");
        let unsent = (!unfinished.is_empty()).then(|| format!("not sent completely: {unfinished}"));
        let reasons: Vec<String> = stop.map(|stop| stop.to_string()).into_iter().chain(unsent).collect();
        Ok((trace, (!reasons.is_empty()).then(|| reasons.join("; "))))
    }
}

/// Reports the requirements that are broken so far, each once. With [`Budget::fail_fast`](crate::options::Budget::fail_fast), the first one ends the run.
fn report_broken(session: &Session<'_>, known: &mut BTreeSet<&'static str>) -> Result<(), Stop> {
    let options = session.options;
    for verdict in verdict::judge(&session.trace, &options.judging.scope) {
        let requirement = verdict.requirement;
        let id = requirement.id.as_str();
        if verdict.is_violation(options.judging.strict)
            && options.judging.known_failing.entry(id).is_none()
            && known.insert(id)
        {
            session.tell(&Event::Broken { id, title: &requirement.title });
        }
    }
    match known.first().copied().filter(|_| options.budget.fail_fast) {
        Some(id) => Err(Stop::FailFast(id)),
        None => Ok(()),
    }
}

/// Judges a trace and assembles the report on a run that took this long, if it is known: no exchange shows a wait at the end of the run.
pub fn conclude(trace: &Trace, options: &Options, ended_early: Option<String>, took: Option<Duration>) -> Report {
    let history = History::new(trace);
    let facts = Facts::new(&history);
    let scope = Scope { reports_new_failures: options.judging.earlier.is_some(), ..options.judging.scope.clone() };
    let mut conclusion = animal_store_diagnose::conclude(&facts, &scope);
    if let Some(first) = trace.exchanges.first() {
        options.judging.known_failing.apply(&mut conclusion.verdicts, first.sent_at.to_zoned(TimeZone::UTC).date());
    }
    let notes = [
        notes::unlike_plan(&facts.limiter, options).map(|(unlike, _)| unlike),
        notes::undecided_by_others(&facts.limiter),
        notes::unknown_category(&history),
        notes::lost_with_connections(&trace.exchanges),
        notes::transient_failures(&trace.exchanges),
        notes::unreadable_bodies(&trace.exchanges),
        notes::mended(&conclusion.verdicts, options),
        notes::unsent_near_misses(trace, options),
    ];
    let presentation = Presentation::of_run(trace, options);
    let remarks = Remarks {
        notes: notes.into_iter().flatten().collect(),
        transcript_diff: Transcript::new(&history).difference(),
        ended_early,
        counting: report::counting::of_keys(&facts.limiter),
        seed: options.seed,
        rerun_command: commands::rerun_command(options, &presentation.redactor),
        options: commands::given_options(options, &presentation.redactor),
    };
    let counts = TrafficCounts::of(&trace.exchanges, &trace.context);
    let mut report = report::assemble(&presentation, &conclusion, &options.judging, remarks, counts);
    if let Some(earlier) = &options.judging.earlier {
        let since = Since::of(earlier, &report.requirements);
        report.notes.insert(0, since.to_string());
        report.since = Some(since);
    }
    if let Some(took) = took {
        report.duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    }
    report
}

/// The context of a trace, as known before the first request.
pub fn context(options: &Options) -> Context {
    Context {
        replicas: options.transport.replicas.clone(),
        keys: options.keys().cloned().collect(),
        plan_limits: options.judging.plan.as_ref().and_then(Plan::plan_limits),
        category_id: options.category_id.unwrap_or(Options::CATEGORY_ID),
        vouches_for_category: options.category_id.is_some(),
        exclusive_key: options.exclusive_key,
        ..Context::new(Extent::Run, &options.transport.base_url)
    }
}
