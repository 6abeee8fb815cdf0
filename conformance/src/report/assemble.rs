//! Puts the report together: what the trace and the verdicts hold, without secrets and control characters.

use super::model::{
    Choice, Evidence, RecordedExchange, Report, ReportedExchange, RequirementReport, SCHEMA_VERSION, SectionCoverage,
    Tally, Target, Tool, WindowPoint,
};
use super::presentation::Presentation;
use super::rerun_command;
use crate::options::Options;
use animal_store_rules::catalogue::{Level, catalogue};
use animal_store_rules::rules::Failure;
use animal_store_rules::trace::Trace;
use animal_store_rules::trace::exchange::Exchange;
use animal_store_rules::trace::rate_limit;
use animal_store_rules::verdict::{RequirementVerdict, Status, overall};

/// No more failures of one requirement are told in full; all are counted.
const MAX_EVIDENCE: usize = 3;

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
    let presentation = Presentation::of_run(trace, options);
    let exchanges: Vec<RecordedExchange> =
        trace.exchanges.iter().map(|exchange| presentation.exchange(exchange)).collect();
    let requirements: Vec<RequirementReport> =
        verdicts.iter().map(|verdict| requirement(&exchanges, &presentation, verdict, options.strict)).collect();
    let created = trace.exchanges.iter().filter(|e| e.request.method == "POST" && e.status() == Some(201)).count();
    Report {
        schema_version: SCHEMA_VERSION,
        tool: Tool { name: env!("CARGO_PKG_NAME").to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() },
        verdict: overall(verdicts, options.strict, trace.context.unfinished.is_empty()),
        target: Target {
            base_url: presentation.text(&trace.context.base_url),
            image: None,
            plan: options.plan.as_ref().map(ToString::to_string),
        },
        seed: options.seed,
        again: rerun_command::command(options, presentation.redactor()),
        profile: options.scope.profile,
        strict: options.strict,
        started_at: first.map(|time| time.to_string()),
        requests: trace.exchanges.len(),
        created,
        duration_ms: u64::try_from(duration).unwrap_or_default(),
        unfinished: trace.context.unfinished.iter().map(|part| (*part).to_owned()).collect(),
        ended_early: remarks.ended_early,
        notes: remarks.notes,
        transcript_diff: remarks.transcript_diff.map(|diff| presentation.text(&diff)),
        candidate_log: None,
        gap_profile: requirements.iter().filter_map(choice).collect(),
        coverage: coverage(&requirements),
        requirements,
        timeline: trace.exchanges.iter().filter_map(|exchange| window_point(&presentation, exchange)).collect(),
        exchanges,
    }
}

fn requirement(
    recorded: &[RecordedExchange],
    presentation: &Presentation<'_>,
    verdict: &RequirementVerdict,
    strict: bool,
) -> RequirementReport {
    let numbered = |number: usize| recorded.get(number.checked_sub(1)?);
    let hide = |text: &str| presentation.sentence(text);
    // The smallest request first: where cases were made simpler, that is the counterexample to read.
    let mut failures: Vec<&Failure> = verdict.failures.iter().collect();
    failures.sort_by_key(|failure| {
        let decisive = failure.exchanges.first().and_then(|number| numbered(*number));
        decisive.map(|exchange| exchange.request_body.as_ref().map_or(0, |body| body.size) + exchange.url.len())
    });
    let evidence = failures
        .into_iter()
        .take(MAX_EVIDENCE)
        .map(|failure| {
            let exchanges: Vec<ReportedExchange> =
                failure.exchanges.iter().filter_map(|number| numbered(*number)).map(ReportedExchange::from).collect();
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

fn choice(requirement: &RequirementReport) -> Option<Choice> {
    (requirement.selected && requirement.level == Level::Open).then(|| Choice {
        id: requirement.id.clone(),
        title: requirement.title.clone(),
        observed: requirement.observed.clone(),
    })
}

/// What an answer tells about the window, if it tells anything.
fn window_point(presentation: &Presentation<'_>, exchange: &Exchange) -> Option<WindowPoint> {
    let response = exchange.response()?;
    let headers = rate_limit::read(response);
    let (limit, remaining, reset) = (headers.limit.integer(), headers.remaining.integer(), headers.reset.integer());
    limit.or(remaining).or(reset)?;
    Some(WindowPoint {
        exchange: exchange.number,
        at: exchange.received_at.to_string(),
        key: presentation.key_alias(exchange),
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
