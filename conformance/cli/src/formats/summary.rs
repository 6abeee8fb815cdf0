//! Failures as plain text, for formats that contain text.

use animal_store_conformance::layout::counted;
use animal_store_conformance::report::{Evidence, Report, RequirementReport};
use animal_store_rules::catalogue::Level;

/// The verdict in a line: `violates: 58 of 60 stated requirements held, 2 broken, 1 inferred broken`.
pub(super) fn headline(report: &Report) -> String {
    let (stated, inferred) = (report.total(Level::Stated), report.total(Level::Inferred));
    let selected = stated.selected();
    let mut parts = vec![format!("{} of {selected} stated requirements held", stated.pass)];
    for (count, what) in [
        (stated.fail, "broken"),
        (stated.not_exercised, "not exercised"),
        (stated.known_failing + inferred.known_failing, "known to fail"),
        (stated.stale_known_failing + inferred.stale_known_failing, "with an expired known failure"),
        (inferred.fail, "inferred broken"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    parts.extend(report.missing_occasion().map(str::to_owned));
    format!("{}: {}", report.verdict_shown(), parts.join(", "))
}

/// The cost of the run in a line: requests, refusals, animals and time.
pub(super) fn cost(report: &Report) -> String {
    format!(
        "{} requests, {} refused with 429, {} created, {:.1} s",
        report.requests,
        report.refused,
        counted(report.created, "animal"),
        std::time::Duration::from_millis(report.duration_ms).as_secs_f64()
    )
}

/// The worst failure of a requirement, in a sentence.
pub(super) fn sentence(requirement: &RequirementReport) -> String {
    match requirement.evidence.first() {
        Some(evidence) => format!("expected {}; found {}", evidence.expected, requirement.findings()),
        None => requirement.findings(),
    }
}

/// The failures of a requirement, in lines: the likely cause, the expectation, the finding, and the command that repeats it.
pub(super) fn lines(report: &Report, requirement: &RequirementReport) -> String {
    let mut lines = vec![format!("{} ({}, {})", requirement.title, requirement.section, requirement.level.as_str())];
    lines.extend(requirement.reason.clone());
    lines.extend(report.cause_of(&requirement.id).map(|cause| format!("cause     {}", cause.sentence)));
    let mut expected = "";
    for evidence in &requirement.evidence {
        if evidence.expected != expected {
            lines.push(format!("expected  {}", evidence.expected));
            expected = &evidence.expected;
        }
        lines.extend(evidence_lines(report, requirement, evidence));
    }
    if requirement.further_failures() > 0 {
        lines.push(format!("and {} more", requirement.further_failures()));
    }
    lines.push(format!("explain   conform rules {}", requirement.id));
    lines.join("\n")
}

fn evidence_lines(report: &Report, requirement: &RequirementReport, evidence: &Evidence) -> Vec<String> {
    let mut lines = vec![format!("found     {}", evidence.finding())];
    if requirement.concerns_limits() {
        lines.extend(evidence.limits_shown(report).iter().map(|shown| format!("exchange  {shown}")));
    }
    if let Some(exchange) = evidence.exchanges.first() {
        lines.extend(exchange.ids().map(|ids| format!("ids       {ids}")));
        lines.push(format!("repeat    {}", exchange.curl));
    }
    lines
}
