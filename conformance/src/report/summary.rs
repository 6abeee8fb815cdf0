//! Failures as plain text, for formats that contain text.

use super::{Evidence, Report, RequirementReport, Tally};
use animal_store_rules::catalogue::Level;
use animal_store_rules::verdict::Status;

impl Report {
    /// The requirements of one level, counted over all sections.
    #[must_use]
    pub fn total(&self, level: Level) -> Tally {
        let mut total = Tally::new(level);
        for tally in self.coverage.iter().flat_map(|section| &section.tallies).filter(|tally| tally.level == level) {
            total.add(tally);
        }
        total
    }
}

impl RequirementReport {
    /// Whether it is broken without being a violation.
    #[must_use]
    pub fn is_warning(&self) -> bool {
        self.selected && self.status == Status::Fail && !self.violation
    }

    /// Whether it makes the run incomplete.
    #[must_use]
    pub fn is_gap(&self) -> bool {
        self.selected && self.status == Status::NotExercised && self.level == Level::Stated
    }
}

/// The verdict in a line: `violates: 2 of 60 stated requirements broken, 58 held; 1 inferred broken`.
pub(super) fn headline(report: &Report) -> String {
    let (stated, inferred) = (report.total(Level::Stated), report.total(Level::Inferred));
    let selected = stated.requirements - stated.not_selected;
    let mut parts = vec![format!("{} of {selected} stated requirements held", stated.pass)];
    for (count, what) in [
        (stated.fail, "broken"),
        (stated.not_exercised, "not exercised"),
        (stated.known_failing + inferred.known_failing, "known to fail"),
        (stated.stale_known_failing + inferred.stale_known_failing, "no longer known to fail"),
        (inferred.fail, "inferred broken"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    format!("{}: {}", report.verdict.as_str(), parts.join(", "))
}

/// What the run cost, in a line.
pub(super) fn cost(report: &Report) -> String {
    let animals = if report.created == 1 { "animal" } else { "animals" };
    format!(
        "{} requests, {} {animals} created, {:.1} s",
        report.requests,
        report.created,
        std::time::Duration::from_millis(report.duration_ms).as_secs_f64()
    )
}

/// The first failure of a requirement, in a sentence.
pub(super) fn sentence(requirement: &RequirementReport) -> String {
    let reason = requirement.reason.as_deref();
    match (requirement.evidence.first(), reason) {
        (Some(evidence), _) => evidence.sentence.clone(),
        (None, Some(reason)) => reason.to_owned(),
        (None, None) => requirement.title.clone(),
    }
}

/// The failures of a requirement, in lines: what was expected, what was found, and how to repeat it.
pub(super) fn lines(requirement: &RequirementReport) -> String {
    let mut lines = vec![format!("{} ({}, {})", requirement.title, requirement.section, requirement.level.as_str())];
    lines.extend(requirement.reason.clone());
    requirement.evidence.iter().for_each(|evidence| lines.extend(evidence_lines(evidence)));
    if requirement.failures > requirement.evidence.len() && !requirement.evidence.is_empty() {
        lines.push(format!("and {} more", requirement.failures - requirement.evidence.len()));
    }
    lines.push(format!("explain   conform rules {}", requirement.id));
    lines.join("\n")
}

fn evidence_lines(evidence: &Evidence) -> Vec<String> {
    let mut lines = vec![format!("expected  {}", evidence.expected), format!("found     {}", evidence.found)];
    if let Some(exchange) = evidence.exchanges.first() {
        lines.push(format!("repeat    {}", exchange.curl));
        lines.extend(exchange.replay.as_ref().map(|options| format!("replay    {options}")));
    }
    lines
}

/// The text, truncated between characters when it is longer than this many bytes.
pub(super) fn at_most(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(bytes)])
}
