//! The whole pipeline: options, probes, trace, rules, verdicts, report.

use std::sync::Arc;

use jiff::tz::TimeZone;

use crate::events::{Event, Listener};
use crate::http::client::{Client, ClientError};
use crate::http::clock::Clock;
use crate::interrupt::Interrupt;
use crate::options::Options;
use crate::probes::preflight::{self, Abort, Unusable};
use crate::probes::session::{Budget, Session, Stop};
use crate::probes::{self};
use crate::redaction::redactor;
use crate::report::{self, Remarks, Report};
use crate::run::notes::notes;
use animal_store_rules::facts::Facts;
use animal_store_rules::history::History;
use animal_store_rules::limiter::Limiter;
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
/// # let server = Embedded::start(EmbeddedOptions { plan: Plan::Pro, clock: Clock::system() }).await?;
/// # let (base_url, key) = (server.base_url(), server.api_key());
/// let mut options = Options::new(base_url, key)?;
/// options.scope.profile = Profile::Functional; // creates animals, and does not use the key up
/// options.strict = true;
/// let report = Judge::new(options).run().await?;
/// assert_eq!(report.verdict, Verdict::Conforms, "{report}");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Judge {
    options: Options,
    listener: Arc<Listener>,
    clock: Clock,
    interrupt: Interrupt,
}

/// Why there is no verdict.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The options cannot be used: nothing was sent.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// Judging would be meaningless.
    #[error(transparent)]
    Unusable(#[from] Unusable),
    /// The budget ended before anything could be judged.
    #[error("nothing could be judged: {0}")]
    Stopped(Stop),
}

impl Judge {
    /// A judge with these options.
    #[must_use]
    pub fn new(options: Options) -> Judge {
        Judge { options, listener: Arc::new(|_: &Event| {}), clock: Clock::system(), interrupt: Interrupt::default() }
    }

    /// Tells somebody what happens while it runs.
    #[must_use]
    pub fn listener(mut self, listener: impl Fn(&Event) + Send + Sync + 'static) -> Judge {
        self.listener = Arc::new(listener);
        self
    }

    /// Goes by this clock. A stepping one is for tests whose candidate goes by the same one: any other candidate's windows
    /// would not end while nobody waits.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Judge {
        self.clock = clock;
        self
    }

    /// Ends the run when this is raised: what was sent until then is judged all the same.
    #[must_use]
    pub fn interrupted_by(mut self, interrupt: Interrupt) -> Judge {
        self.interrupt = interrupt;
        self
    }

    /// Probes the target and judges what came back.
    ///
    /// # Errors
    ///
    /// [`RunError`] when there is nothing to judge. A candidate that answers badly is no error but a verdict.
    pub async fn run(&self) -> Result<Report, RunError> {
        let (trace, ended_early) = self.probe().await?;
        let limited = trace.exchanges.iter().all(|exchange| exchange.status() == Some(429));
        let reason = ended_early.clone().unwrap_or_default();
        let report = conclude(&trace, &self.options, ended_early);
        // A 429 from the start may be the fault of whoever used the key before. One that breaks a rule is not.
        if limited && report.verdict == Verdict::Incomplete {
            return Err(Unusable::Limited { reason }.into());
        }
        Ok(report)
    }

    /// Probes the target, and leaves the judging to [`conclude`]: the trace, and why it is shorter than planned, if it is.
    ///
    /// # Errors
    ///
    /// [`RunError`] when there is nothing to judge.
    pub async fn probe(&self) -> Result<(Trace, Option<String>), RunError> {
        let options = &self.options;
        let client = Client::new(options.transport.clone())?;
        if !options.wait.is_zero() {
            tokio::select! {
                () = self.interrupt.raised() => return Err(RunError::Stopped(Stop::Interrupted)),
                () = preflight::await_server(&client, options.wait, &*self.listener) => {}
            }
        }
        let budget = Budget { requests: options.max_requests, time: options.max_duration };
        let mut session = Session::new(
            &client,
            &*self.listener,
            self.clock.clone(),
            context(options),
            redactor(options),
            budget,
            options.seed,
        )
        .interrupted_by(self.interrupt.clone());
        let stop = match preflight::run(&mut session, options.wait).await {
            Ok(()) => {
                notes(&Limiter::new(&History::without_bodies(&session.trace)), options)
                    .into_iter()
                    .for_each(|note| (self.listener)(&Event::Note(note)));
                probes::run(&mut session, options).await.err()
            }
            Err(Abort::Unusable(unusable)) => return Err(unusable.into()),
            Err(Abort::Stop(stop)) if session.trace.exchanges.is_empty() => return Err(RunError::Stopped(stop)),
            Err(Abort::Stop(stop)) => Some(stop),
        };
        let mut trace = session.trace;
        if let Some(stop) = &stop {
            trace.context.left_out.push(LeftOut { requirements: "", reason: stop.to_string() });
        }
        let ended_early = ended_early(stop.as_ref(), &trace.context.unfinished);
        Ok((trace, ended_early))
    }
}

/// Why a run sent less than it should have, and what of its fixed part it did not send.
fn ended_early(stop: Option<&Stop>, unfinished: &[&str]) -> Option<String> {
    let unsent = (!unfinished.is_empty()).then(|| format!("not sent to the end: {}", unfinished.join(", ")));
    match (stop.map(ToString::to_string), unsent) {
        (Some(stop), Some(unsent)) => Some(format!("{stop}; {unsent}")),
        (stop, unsent) => stop.or(unsent),
    }
}

/// Judges a trace and puts the report together.
#[must_use]
pub fn conclude(trace: &Trace, options: &Options, ended_early: Option<String>) -> Report {
    let history = History::new(trace);
    let facts = Facts::new(&history);
    let mut verdicts = verdict::judge_facts(&facts, &options.scope);
    if let Some(first) = trace.exchanges.first() {
        options.known_failing.apply(&mut verdicts, first.sent_at.to_zoned(TimeZone::UTC).date());
    }
    let remarks = Remarks {
        notes: notes(&facts.limiter, options),
        transcript_diff: Transcript::new(&history).difference(),
        ended_early,
    };
    report::assemble(trace, &verdicts, options, remarks)
}

/// What the judge knows before it has sent anything.
#[must_use]
pub fn context(options: &Options) -> Context {
    Context {
        base_url: options.transport.base_url.clone(),
        keys: std::iter::once(&options.api_key).chain(&options.quota_key).cloned().collect(),
        plan_limits: options.plan.as_ref().and_then(animal_store_rules::catalogue::plan::Plan::plan_limits),
        category_id: options.category_id,
        assumed_date: options.assumed_date,
        left_out: Vec::new(),
        unfinished: Vec::new(),
    }
}
