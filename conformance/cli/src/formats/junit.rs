//! The requirements as JUnit XML, for the dashboards of CI systems: a suite for each section of the specification.
//!
//! | requirement | test case |
//! |---|---|
//! | held | passed |
//! | broken, and a violation | failure |
//! | broken, and a warning | passed, with the defect as its output |
//! | stated and not exercised | error: a dashboard must not be green when the run is incomplete |
//! | inferred and not exercised | skipped |
//! | known to fail | skipped, with the reason |
//! | with an expired known failure | failure |
//! | open | none: the candidate's choice is a property of the suite |
//! | not selected | none |
//!
//! Elements and attributes are those that both the reports of Maven Surefire and the schema of Jenkins' xUnit plugin have.

use askama::Template;

use super::summary;
use animal_store_conformance::report::{Outcome, Report, RequirementReport};
use animal_store_rules::catalogue::Level;

/// The report as JUnit XML.
pub fn render(report: &Report) -> String {
    let mut suites = Vec::new();
    for section in report.outline() {
        let selected: Vec<&RequirementReport> = section.requirements.into_iter().filter(|r| r.selected).collect();
        let cases: Vec<&RequirementReport> = selected.iter().copied().filter(|r| r.level != Level::Open).collect();
        if cases.is_empty() {
            continue;
        }
        // The format has properties of suites only, so those of the whole report are in the first suite.
        let mut properties = if suites.is_empty() { report.identity() } else { Vec::new() };
        properties.extend(selected.iter().filter_map(|r| Some((r.id.as_str(), r.observed.clone()?))));
        let milliseconds = cases.iter().map(|requirement| requirement.duration_ms).sum();
        suites.push(Suite { name: section.name, milliseconds, properties, cases });
    }
    let cases = suites.iter().flat_map(|suite| &suite.cases).copied().collect();
    // Every value is a string or a number, and writing to a String cannot fail.
    Document { report, cases, suites }.render().unwrap_or_default() + "\n"
}

#[derive(Template)]
#[template(path = "report/junit.xml")]
struct Document<'r> {
    report: &'r Report,
    cases: Vec<&'r RequirementReport>,
    suites: Vec<Suite<'r>>,
}

/// A section of the specification.
struct Suite<'r> {
    name: &'r str,
    milliseconds: u64,
    properties: Vec<(&'r str, String)>,
    /// The requirements that can fail.
    cases: Vec<&'r RequirementReport>,
}

/// The element of a test case that did not pass.
fn element(requirement: &RequirementReport) -> &'static str {
    match requirement.outcome() {
        Outcome::Held | Outcome::Warning => "",
        Outcome::Violated | Outcome::StaleKnownFailing => "failure",
        Outcome::Gap => "error",
        _ => "skipped",
    }
}

/// The number of test cases with an element.
fn number(cases: &[&RequirementReport], name: &str) -> usize {
    cases.iter().filter(|requirement| element(requirement) == name).count()
}

/// The output of a test case.
fn output(report: &Report, requirement: &RequirementReport) -> String {
    match requirement.outcome() {
        Outcome::KnownFailing => summary::lines(report, requirement),
        Outcome::Warning => format!("warning: {}", summary::lines(report, requirement)),
        _ => {
            let times = if requirement.judged == 1 { "once" } else { &format!("{} times", requirement.judged) };
            let unseen = requirement.unseen().map_or_else(String::new, |unseen| format!("; {unseen}"));
            format!("{} ({}); judged {times}{unseen}", requirement.title, requirement.level.as_str())
        }
    }
}

/// Milliseconds as seconds with three digits after the point.
fn seconds(milliseconds: u64) -> String {
    format!("{}.{:03}", milliseconds / 1_000, milliseconds % 1_000)
}
