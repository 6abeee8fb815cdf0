//! Failures as plain text, for formats that contain text.

use animal_store_conformance::report::{Report, RequirementReport};

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
        lines.push(format!("found     {}", evidence.finding()));
        if requirement.concerns_limits() {
            lines.extend(evidence.limits_shown(report).iter().map(|shown| format!("exchange  {shown}")));
        }
        if let Some(exchange) = evidence.exchanges.first() {
            lines.extend(exchange.ids().map(|ids| format!("ids       {ids}")));
            lines.push(format!("repeat    {}", exchange.curl));
        }
    }
    if requirement.further_failures() > 0 {
        lines.push(format!("and {} more", requirement.further_failures()));
    }
    lines.push(format!("explain   conform rules {}", requirement.id));
    lines.join("\n")
}
