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

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::summary::{lines, sentence};
use animal_store_conformance::report::{Outcome, Report, RequirementReport, Section};
use animal_store_rules::catalogue::Level;

type Xml = Writer<Vec<u8>>;

/// The report as JUnit XML.
#[must_use]
pub fn render(report: &Report) -> String {
    let mut xml = Writer::new_with_indent(Vec::new(), b' ', 4);
    // The document is written to memory, and every text is UTF-8 without characters that XML forbids: neither step can fail.
    let _infallible = write(&mut xml, report);
    String::from_utf8(xml.into_inner()).unwrap_or_default() + "\n"
}

fn write(xml: &mut Xml, report: &Report) -> io::Result<()> {
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let mut suites = report.outline();
    for suite in &mut suites {
        suite.requirements.retain(|requirement| requirement.selected);
    }
    suites.retain(|suite| suite.requirements.iter().any(|requirement| requirement.level != Level::Open));
    let all: Vec<&RequirementReport> = suites.iter().flat_map(|suite| &suite.requirements).copied().collect();
    let part = report.part().map_or_else(String::new, |part| format!(" ({part})"));
    let name = format!("Animal Store API at {}{part}", report.target.base_url);
    xml.create_element("testsuites")
        .with_attribute(("name", name.as_str()))
        .with_attribute(("tests", cases(&all).count().to_string().as_str()))
        .with_attribute(("failures", number(&all, "failure").as_str()))
        .with_attribute(("errors", number(&all, "error").as_str()))
        .with_attribute(("time", seconds(report.duration_ms).as_str()))
        .write_inner_content(|xml| {
            suites.iter().enumerate().try_for_each(|(index, section)| {
                // The format has properties of suites only, so those of the whole report are in the first suite.
                let common = if index == 0 { report.identity() } else { Vec::new() };
                suite(xml, report, section, &common)
            })
        })?;
    Ok(())
}

/// The requirements that are test cases.
fn cases<'r>(requirements: &[&'r RequirementReport]) -> impl Iterator<Item = &'r RequirementReport> {
    requirements.iter().copied().filter(|requirement| requirement.level != Level::Open)
}

/// The element of a test case that did not pass.
fn element(requirement: &RequirementReport) -> Option<&'static str> {
    match requirement.outcome() {
        Outcome::Held | Outcome::Warning => None,
        Outcome::Violated | Outcome::StaleKnownFailing => Some("failure"),
        Outcome::Gap => Some("error"),
        _ => Some("skipped"),
    }
}

/// The number of test cases with an element.
fn number(requirements: &[&RequirementReport], name: &str) -> String {
    cases(requirements).filter(|requirement| element(requirement) == Some(name)).count().to_string()
}

fn suite(xml: &mut Xml, report: &Report, section: &Section<'_>, common: &[(&'static str, String)]) -> io::Result<()> {
    let requirements = &section.requirements;
    let milliseconds = cases(requirements).map(|requirement| requirement.duration_ms).sum();
    let mut suite = xml
        .create_element("testsuite")
        .with_attribute(("name", section.name))
        .with_attribute(("tests", cases(requirements).count().to_string().as_str()))
        .with_attribute(("failures", number(requirements, "failure").as_str()))
        .with_attribute(("errors", number(requirements, "error").as_str()))
        .with_attribute(("skipped", number(requirements, "skipped").as_str()))
        .with_attribute(("time", seconds(milliseconds).as_str()));
    if let Some(started) = report.started_at {
        suite = suite.with_attribute(("timestamp", format!("{started:.3}").as_str()));
    }
    suite.write_inner_content(|xml| {
        let choices = requirements.iter().filter_map(|r| Some((r.id.as_str(), r.observed.as_deref()?)));
        let common = common.iter().map(|(name, value)| (*name, value.as_str()));
        let properties: Vec<(&str, &str)> = common.chain(choices).collect();
        if !properties.is_empty() {
            xml.create_element("properties").write_inner_content(|xml| {
                properties.iter().try_for_each(|(name, value)| {
                    let property = xml.create_element("property");
                    property.with_attribute(("name", *name)).with_attribute(("value", *value)).write_empty().map(drop)
                })
            })?;
        }
        cases(requirements).try_for_each(|requirement| case(xml, report, requirement))
    })?;
    Ok(())
}

fn case(xml: &mut Xml, report: &Report, requirement: &RequirementReport) -> io::Result<()> {
    xml.create_element("testcase")
        .with_attribute(("name", requirement.id.as_str()))
        .with_attribute(("classname", requirement.section.as_str()))
        .with_attribute(("time", seconds(requirement.duration_ms).as_str()))
        .write_inner_content(|xml| {
            let level = requirement.level.as_str();
            if let Some(name) = element(requirement) {
                let (kind, message) = match name {
                    "failure" => (Some(level), sentence(requirement)),
                    "error" => (Some("not-exercised"), sentence(requirement)),
                    _ => (None, requirement.reason.clone().unwrap_or_default()),
                };
                let mut element = xml.create_element(name);
                if let Some(kind) = kind {
                    element = element.with_attribute(("type", kind));
                }
                element = element.with_attribute(("message", message.as_str()));
                if name == "failure" {
                    element.write_text_content(BytesText::new(&lines(report, requirement)))?;
                } else {
                    element.write_empty()?;
                }
            }
            let details = match requirement.outcome() {
                Outcome::KnownFailing => lines(report, requirement),
                Outcome::Warning => format!("warning: {}", lines(report, requirement)),
                _ => {
                    let unseen = requirement.unseen().map_or_else(String::new, |unseen| format!("; {unseen}"));
                    format!("{} ({level}); judged {}{unseen}", requirement.title, times(requirement.judged))
                }
            };
            xml.create_element("system-out").write_text_content(BytesText::new(&details))?;
            Ok(())
        })?;
    Ok(())
}

fn times(count: usize) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// Milliseconds as seconds with three digits after the point.
fn seconds(milliseconds: u64) -> String {
    format!("{}.{:03}", milliseconds / 1_000, milliseconds % 1_000)
}
