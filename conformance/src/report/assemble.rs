//! Puts the report together: what the trace and the verdicts hold, without secrets and control characters.

use super::exchanges::{printable, recorded, reported};
use super::model::{
    Choice, Evidence, KeyAlias, RecordedExchange, Report, ReportedExchange, RequirementReport, SCHEMA_VERSION,
    SectionCoverage, Tally, Target, Tool, WindowPoint,
};
use crate::again;
use crate::catalogue::{Level, catalogue};
use crate::options::Options;
use crate::rules::meaning::{Access, Lack, access};
use crate::rules::{Failure, rate};
use crate::verdict::{RequirementVerdict, Status, overall};
use crate::wire::exchange::Exchange;
use crate::wire::secret::Redactor;
use crate::wire::trace::Trace;

/// No more failures of one requirement are told in full; all are counted.
const MAX_EVIDENCE: usize = 3;

/// No more characters of a sentence are told: a candidate can make one as long as an answer.
const MAX_SENTENCE: usize = 1_000;

/// What there is to tell about a run beside its verdicts.
#[derive(Clone, Debug, Default)]
pub struct Remarks {
    /// What the reader should know about how the run was asked for.
    pub notes: Vec<String>,
    /// How the tour's transcript differs from that of every lawful server, if it does.
    pub transcript_diff: Option<String>,
    /// Why the run ended before its plan did, if it did.
    pub ended_early: Option<String>,
}

/// Puts a report together.
#[must_use]
pub fn assemble(trace: &Trace, verdicts: &[RequirementVerdict], options: &Options, remarks: Remarks) -> Report {
    let first = trace.exchanges.first().map(|exchange| exchange.sent_at);
    let last = trace.exchanges.last().map(|exchange| exchange.received_at);
    let duration = first.zip(last).map_or(0, |(first, last)| last.duration_since(first).as_millis());
    let requirements: Vec<RequirementReport> =
        verdicts.iter().map(|verdict| requirement(trace, verdict, options)).collect();
    let created = trace.exchanges.iter().filter(|e| e.request.method == "POST" && e.status() == Some(201)).count();
    Report {
        schema_version: SCHEMA_VERSION,
        tool: Tool { name: env!("CARGO_PKG_NAME").to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() },
        verdict: overall(verdicts, options.strict),
        target: Target {
            base_url: printable(&trace.context.redactor.redact(&trace.context.base_url)),
            image: None,
            plan: options.plan.as_ref().map(ToString::to_string),
        },
        seed: options.seed,
        again: again::command(options, &trace.context.redactor),
        profile: options.scope.profile,
        strict: options.strict,
        started_at: first.map(|time| time.to_string()),
        requests: trace.exchanges.len(),
        created,
        duration_ms: u64::try_from(duration).unwrap_or_default(),
        ended_early: remarks.ended_early,
        notes: remarks.notes,
        transcript_diff: remarks.transcript_diff.map(|diff| printable(&trace.context.redactor.redact(&diff))),
        candidate_log: None,
        gap_profile: requirements.iter().filter_map(choice).collect(),
        coverage: coverage(&requirements),
        requirements,
        timeline: trace.exchanges.iter().filter_map(|exchange| window_point(trace, exchange)).collect(),
        exchanges: trace.exchanges.iter().map(|exchange| run_exchange(trace, exchange, options.seed)).collect(),
    }
}

fn requirement(trace: &Trace, verdict: &RequirementVerdict, options: &Options) -> RequirementReport {
    let (strict, seed) = (options.strict, options.seed);
    let hide = |text: &str| sentence(text, &trace.context.redactor);
    // The smallest request first: where cases were made simpler, that is the counterexample to read.
    let mut failures: Vec<&Failure> = verdict.failures.iter().collect();
    failures.sort_by_key(|failure| {
        let decisive = failure.exchanges.first().and_then(|number| trace.exchanges.get(number.checked_sub(1)?));
        decisive.map(|exchange| {
            let body = exchange.request.body.as_ref().map_or(0, |body| body.bytes.len());
            body + exchange.request.target().len()
        })
    });
    let evidence = failures
        .into_iter()
        .take(MAX_EVIDENCE)
        .map(|failure| {
            let exchanges: Vec<ReportedExchange> = failure
                .exchanges
                .iter()
                .filter_map(|number| trace.exchanges.get(number.checked_sub(1)?))
                .map(|exchange| ReportedExchange { replay: replay(exchange, seed), ..reported(trace, exchange) })
                .collect();
            let (expected, found) = (hide(&failure.expected), hide(&failure.found));
            Evidence { sentence: format!("expected {expected}; found {found}"), expected, found, exchanges }
        })
        .collect();
    RequirementReport {
        id: verdict.requirement.id.clone(),
        level: verdict.requirement.level,
        section: verdict.requirement.section.clone(),
        title: verdict.requirement.title.clone(),
        text: verdict.requirement.text.clone(),
        statements: catalogue().statements_behind(&verdict.requirement.id).map(|s| s.gist.clone()).collect(),
        from: verdict.requirement.from.clone(),
        breaks: verdict.requirement.breaks.clone(),
        selected: verdict.selected,
        violation: verdict.is_violation(strict),
        status: verdict.status,
        judged: verdict.judged,
        failures: verdict.failures.len(),
        reason: verdict.reason.as_deref().map(hide),
        observed: verdict.observed.as_deref().map(hide),
        evidence,
    }
}

/// A sentence without secrets, printable, and no longer than a reader reads.
fn sentence(text: &str, redactor: &Redactor) -> String {
    let (beginning, more) = redactor.redact_beginning(text.as_bytes(), MAX_SENTENCE);
    let told = printable(&String::from_utf8_lossy(&beginning));
    if more { format!("{}…", told.trim_end_matches('\u{fffd}')) } else { told }
}

fn choice(requirement: &RequirementReport) -> Option<Choice> {
    (requirement.selected && requirement.level == Level::Open).then(|| Choice {
        id: requirement.id.clone(),
        title: requirement.title.clone(),
        observed: requirement.observed.clone(),
    })
}

fn replay(exchange: &Exchange, seed: u64) -> Option<String> {
    exchange.case.map(|case| format!("--seed {seed} --replay {case}"))
}

fn run_exchange(trace: &Trace, exchange: &Exchange, seed: u64) -> RecordedExchange {
    RecordedExchange { replay: replay(exchange, seed), key: key_alias(trace, exchange), ..recorded(trace, exchange) }
}

fn key_alias(trace: &Trace, exchange: &Exchange) -> KeyAlias {
    match access(&exchange.request, &trace.context) {
        Access::Valid(0) => KeyAlias::Main,
        Access::Valid(_) => KeyAlias::Quota,
        Access::Lacking(Lack::Absent) => KeyAlias::None,
        Access::Debatable | Access::Banned | Access::Lacking(_) => KeyAlias::Other,
    }
}

/// What an answer tells about the window, if it tells anything.
fn window_point(trace: &Trace, exchange: &Exchange) -> Option<WindowPoint> {
    let response = exchange.response()?;
    let headers = rate::read(response);
    let (limit, remaining, reset) = (headers.limit.integer(), headers.remaining.integer(), headers.reset.integer());
    limit.or(remaining).or(reset)?;
    Some(WindowPoint {
        exchange: exchange.number,
        at: exchange.received_at.to_string(),
        key: key_alias(trace, exchange),
        status: response.status,
        limit,
        remaining,
        reset,
    })
}

fn coverage(requirements: &[RequirementReport]) -> Vec<SectionCoverage> {
    let mut coverage: Vec<SectionCoverage> = Vec::new();
    for requirement in requirements {
        if coverage.last().is_none_or(|last| last.section != requirement.section) {
            coverage.push(SectionCoverage { section: requirement.section.clone(), tallies: Vec::new() });
        }
        let Some(last) = coverage.last_mut() else { continue };
        if !last.tallies.iter().any(|tally| tally.level == requirement.level) {
            last.tallies.push(Tally::new(requirement.level));
        }
        last.tallies
            .iter_mut()
            .filter(|tally| tally.level == requirement.level)
            .for_each(|tally| count(tally, requirement));
    }
    coverage
}

fn count(tally: &mut Tally, requirement: &RequirementReport) {
    tally.requirements += 1;
    *match requirement.status {
        _ if !requirement.selected => &mut tally.not_selected,
        Status::Pass => &mut tally.pass,
        Status::Fail => &mut tally.fail,
        Status::KnownFailing => &mut tally.known_failing,
        Status::StaleKnownFailing => &mut tally.stale_known_failing,
        Status::NotExercised => &mut tally.not_exercised,
        Status::Observed => &mut tally.observed,
    } += 1;
}
