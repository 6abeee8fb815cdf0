//! Assembles the report from the trace and the verdicts, without secrets and control characters.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::counting::Counting;
use super::fleet;
use super::model::{
    CatalogueVersion, Choice, Evidence, GivenOption, Implementation, Report, ReportedExchange, RequirementReport,
    SCHEMA_VERSION, Selection, Target, WindowPoint, writer,
};
use super::presentation::Presentation;
use super::traffic::TrafficCounts;
use crate::layout::at_most;
use crate::options::Judging;
use animal_store_diagnose::Conclusion;
use animal_store_diagnose::causes::Cause;
use animal_store_rules::catalogue::{About, Level, Requirement, catalogue};
use animal_store_rules::near_misses;
use animal_store_rules::trace::exchange::Exchange;
use animal_store_rules::trace::knowledge::Extent;
use animal_store_rules::trace::rate_limit;
use animal_store_rules::verdict::findings::Finding;
use animal_store_rules::verdict::{RequirementVerdict, overall};

/// The maximum number of kinds of failures of a requirement that are reported with an example; all are counted.
const MAX_EVIDENCE: usize = 4;

/// The number of known faults that each requirement catches, if it can fail. The tests of the project judge servers with one fault each, and
/// keep the numbers in this file.
static FAULTS_CAUGHT: LazyLock<BTreeMap<String, usize>> = LazyLock::new(|| {
    serde_json::from_str(include_str!(env!("CONFIDENCE"))).unwrap_or_else(|error| panic!("confidence.json: {error}"))
});

/// The contents of a report in addition to the exchanges and the verdicts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Remarks {
    /// Notes about the options of the run.
    pub notes: Vec<String>,
    /// The difference between the tour's transcript and that of every conforming server, if there is one.
    pub transcript_diff: Option<String>,
    pub ended_early: Option<String>,
    /// The way of counting of each key.
    pub counting: Vec<Counting>,
    /// The seed of a run.
    pub seed: u64,
    /// The command that repeats the run, or judges the recording again.
    pub rerun_command: String,
    /// The options of the command that a report keeps.
    pub options: Vec<GivenOption>,
}

/// Assembles the report on the exchanges that are presented, which may be only some of those that were counted.
pub(crate) fn assemble(
    presentation: &Presentation<'_>,
    conclusion: &Conclusion,
    judging: &Judging,
    remarks: Remarks,
    counts: TrafficCounts,
) -> Report {
    let (trace, verdicts) = (presentation.trace, &conclusion.verdicts);
    let exchanges: Vec<ReportedExchange> =
        trace.exchanges.iter().map(|exchange| presentation.exchange(exchange)).collect();
    let requirements: Vec<RequirementReport> = verdicts
        .iter()
        .map(|verdict| requirement(&exchanges, presentation, conclusion, verdict, judging.strict))
        .collect();
    let text = |text: &Option<String>| text.as_deref().map(|text| presentation.text(text));
    let presented = |cause: &Cause| Cause { sentence: presentation.sentence(&cause.sentence), ..cause.clone() };
    Report {
        schema_version: SCHEMA_VERSION,
        tool: writer(),
        verdict: overall(verdicts, judging.strict, trace.context.unfinished.is_empty()),
        specification: catalogue().specification.clone(),
        catalogue: CatalogueVersion { version: catalogue().version.clone(), digest: catalogue().digest().to_owned() },
        selection: selection(verdicts, judging),
        target: Target {
            base_url: presentation.own(&trace.context.base_url),
            environment: judging.environment.as_deref().map(|name| presentation.own(name)),
            implementation: Implementation {
                name: text(&judging.implementation.name),
                version: text(&judging.implementation.version),
            },
            image: None,
            plan: judging.plan.as_ref().map(ToString::to_string),
        },
        seed: remarks.seed,
        rerun_command: remarks.rerun_command,
        options: remarks.options,
        since: None,
        profile: judging.scope.profile,
        side: judging.scope.side,
        strict: judging.strict,
        started_at: counts.first,
        requests: counts.requests,
        requests_with_key: counts.with_key,
        refused: counts.refused,
        duration_ms: counts.duration_ms(),
        real_duration_ms: None,
        answerers: counts.answerers.renamed(|name| presentation.text(name)),
        created: counts.created,
        created_ids: match trace.context.extent {
            Extent::Run => trace.exchanges.iter().filter_map(Exchange::created_id).collect(),
            _ => Vec::new(),
        },
        unfinished: trace.context.unfinished.iter().map(|part| part.to_string()).collect(),
        ended_early: remarks.ended_early.map(|reason| presentation.own(&reason)),
        notes: presentation.notes(&remarks.notes),
        transcript_diff: remarks.transcript_diff.map(|diff| presentation.own(&diff)),
        candidate_log: None,
        replicas: fleet::replicas(presentation, conclusion.fleet.as_ref(), verdicts),
        causes: conclusion.causes.iter().map(presented).collect(),
        gap_profile: gap_profile(&requirements),
        requirements,
        counting: remarks.counting,
        timeline: trace.exchanges.iter().filter_map(|exchange| window_point(presentation, exchange)).collect(),
        exchanges,
    }
}

/// The choices of the server in what the specification leaves open.
fn gap_profile(requirements: &[RequirementReport]) -> Vec<Choice> {
    let open = requirements.iter().filter(|one| one.selected && one.level == Level::Open);
    let choice = |one: &RequirementReport| Choice {
        id: one.id.clone(),
        title: one.title.clone(),
        observed: one.observed.clone(),
    };
    open.map(choice).collect()
}

/// The window that a response reports, if it has one of the rate-limit fields.
fn window_point(presentation: &Presentation<'_>, exchange: &Exchange) -> Option<WindowPoint> {
    let response = exchange.response()?;
    let headers = rate_limit::read(response);
    let (limit, remaining, reset) = (headers.limit.integer(), headers.remaining.integer(), headers.reset.integer());
    limit.or(remaining).or(reset)?;
    let key = presentation.key_alias(exchange);
    let (number, at, status) = (exchange.number, exchange.received_at, response.status);
    Some(WindowPoint { exchange: number, at, key, status, limit, remaining, reset })
}

/// The selection of the requirements that the verdict is about, with the options that made it.
fn selection(verdicts: &[RequirementVerdict], judging: &Judging) -> Selection {
    let can_fail = || verdicts.iter().filter(|verdict| verdict.requirement.level != Level::Open);
    let (selected, requirements) = (can_fail().filter(|verdict| verdict.selected).count(), can_fail().count());
    let scope = &judging.scope;
    let mut by = Vec::new();
    if selected < requirements {
        by.extend((!scope.profile.exhausts()).then(|| format!("--profile {}", scope.profile.as_str())));
        match &judging.earlier {
            Some(earlier) => by.push(format!("--rerun {}", earlier.report)),
            None => by.extend(scope.only.iter().map(|id| format!("--only {id}"))),
        }
        by.extend(scope.skip.iter().map(|id| format!("--skip {id}")));
    }
    Selection { selected, requirements, by }
}

fn requirement(
    recorded: &[ReportedExchange],
    presentation: &Presentation<'_>,
    conclusion: &Conclusion,
    verdict: &RequirementVerdict,
    strict: bool,
) -> RequirementReport {
    let hide = |text: &str| presentation.sentence(text);
    let exchanges = &presentation.trace.exchanges;
    let failing = verdict.failures.iter().flat_map(|failure| &failure.exchanges);
    let failing = failing.filter_map(|number| presentation.index_of(*number));
    let shown_in: BTreeSet<&str> = failing.map(|index| &*exchanges[index].probe).collect();
    let judged_on = verdict.exchanges.iter().filter_map(|number| presentation.index_of(*number));
    let judged_on = judged_on.map(|index| &recorded[index]);
    let duration = judged_on.map(|exchange| exchange.elapsed_us).sum::<u64>() / 1_000;
    let findings = verdict.findings.iter().take(MAX_EVIDENCE);
    let mut evidence: Vec<Evidence> =
        findings.map(|finding| evidence(presentation, verdict.requirement, finding)).collect();
    // A failure may be due to an earlier request on the same connection: to its key, or to its body.
    let id = &*verdict.requirement.id;
    let is_explained = |cause: &Cause| cause.id == "unread-body" && cause.requirements.iter().any(|known| known == id);
    if verdict.requirement.about == About::Keys || conclusion.causes.iter().any(is_explained) {
        for shown in evidence.iter_mut().filter_map(|evidence| evidence.exchanges.first_mut()) {
            if let Some(curl) = presentation.curl_on_kept_connection(shown.number) {
                shown.curl = curl;
            }
        }
    }
    RequirementReport {
        id: verdict.requirement.id.clone(),
        level: verdict.requirement.level,
        section: verdict.requirement.section.clone(),
        title: verdict.requirement.title.clone(),
        text: verdict.requirement.text.clone(),
        statements: catalogue().statements_behind(&verdict.requirement.id).map(|s| s.gist.clone()).collect(),
        from: verdict.requirement.from.clone(),
        breaks: verdict.requirement.breaks.clone(),
        faults_caught: FAULTS_CAUGHT.get(&verdict.requirement.id).copied(),
        selected: verdict.selected,
        violation: verdict.is_violation(strict),
        status: verdict.status,
        judged: verdict.judged,
        failures: verdict.failures.len(),
        reason: verdict.reason.as_deref().map(hide),
        observed: verdict.observed.as_deref().map(hide),
        duration_ms: duration,
        shown_in: shown_in.into_iter().map(str::to_owned).collect(),
        evidence,
    }
}

/// The evidence for failures of one kind: the expectation, the finding, and the exchanges of the example.
fn evidence(presentation: &Presentation<'_>, requirement: &Requirement, finding: &Finding) -> Evidence {
    let example = &finding.example;
    let (expected, found) =
        (presentation.sentence(&example.expected.to_string()), presentation.sentence(&example.found.to_string()));
    let exchanges = example.exchanges.iter().filter_map(|number| presentation.index_of(*number));
    // Requests of any kind show limits.
    let is_of_request = !matches!(requirement.about, About::Limits | About::Refusals);
    let decisive = exchanges.clone().next().filter(|_| is_of_request);
    let near_miss = decisive.and_then(|index| near_misses::of_step(&presentation.trace.exchanges[index].step));
    Evidence {
        sentence: format!("expected {expected}; found {found}"),
        expected,
        found,
        count: finding.count,
        subjects: finding.subjects.iter().map(|text| at_most(&presentation.text(text), MAX_SUBJECT)).collect(),
        reader: near_miss.map(|near_miss| near_miss.reader.to_owned()),
        intermittent: finding.intermittent,
        only_with: finding.only_with.clone(),
        attribution: finding.attribution.clone().map(|by| by.presented(|text| presentation.own(text))),
        exchanges: exchanges.map(|index| presentation.evidence(&presentation.trace.exchanges[index])).collect(),
    }
}

/// The maximum length of a subject in bytes.
const MAX_SUBJECT: usize = 60;
