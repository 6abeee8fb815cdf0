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

use jiff::Timestamp;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::summary::{lines, sentence};
use animal_store_conformance::report::{Outcome, Report, RequirementReport};
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
    let suites: Vec<(&str, Vec<&RequirementReport>)> = report
        .coverage
        .iter()
        .map(|section| (section.section.as_str(), of_section(report, &section.section)))
        .filter(|(_, requirements)| requirements.iter().any(|requirement| requirement.level != Level::Open))
        .collect();
    let all: Vec<&RequirementReport> = suites.iter().flat_map(|(_, requirements)| requirements).copied().collect();
    let counts = Counts::of(&all);
    let part = report.part().map_or_else(String::new, |part| format!(" ({part})"));
    let name = format!("Animal Store API at {}{part}", report.target.base_url);
    xml.create_element("testsuites")
        .with_attribute(("name", name.as_str()))
        .with_attribute(("tests", counts.tests.to_string().as_str()))
        .with_attribute(("failures", counts.failures.to_string().as_str()))
        .with_attribute(("errors", counts.errors.to_string().as_str()))
        .with_attribute(("time", seconds(report.duration_ms).as_str()))
        .write_inner_content(|xml| {
            suites.iter().enumerate().try_for_each(|(index, (name, requirements))| {
                // The format has properties of suites only, so those of the whole report are in the first suite.
                let common = if index == 0 { report.identity() } else { Vec::new() };
                suite(xml, report, name, requirements, &common)
            })
        })?;
    Ok(())
}

/// The selected requirements of a section.
fn of_section<'r>(report: &'r Report, section: &str) -> Vec<&'r RequirementReport> {
    report.requirements.iter().filter(|r| r.selected && r.section == section).collect()
}

/// The numbers of test cases of a suite, or of all suites, by outcome.
#[derive(Default)]
struct Counts {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
    milliseconds: u64,
}

impl Counts {
    fn of(requirements: &[&RequirementReport]) -> Counts {
        let mut counts = Counts::default();
        for requirement in requirements.iter().filter(|requirement| requirement.level != Level::Open) {
            counts.tests += 1;
            counts.milliseconds += requirement.duration_ms;
            match requirement.outcome() {
                Outcome::Held | Outcome::Warning => {}
                Outcome::Violated | Outcome::StaleKnownFailing => counts.failures += 1,
                Outcome::Gap => counts.errors += 1,
                _ => counts.skipped += 1,
            }
        }
        counts
    }
}

fn suite(
    xml: &mut Xml,
    report: &Report,
    name: &str,
    requirements: &[&RequirementReport],
    common: &[(&'static str, String)],
) -> io::Result<()> {
    let counts = Counts::of(requirements);
    let started = report.started_at.as_ref().and_then(|time| time.parse::<Timestamp>().ok());
    let mut suite = xml
        .create_element("testsuite")
        .with_attribute(("name", name))
        .with_attribute(("tests", counts.tests.to_string().as_str()))
        .with_attribute(("failures", counts.failures.to_string().as_str()))
        .with_attribute(("errors", counts.errors.to_string().as_str()))
        .with_attribute(("skipped", counts.skipped.to_string().as_str()))
        .with_attribute(("time", seconds(counts.milliseconds).as_str()));
    if let Some(started) = started {
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
        let judged = requirements.iter().filter(|requirement| requirement.level != Level::Open);
        judged.into_iter().try_for_each(|requirement| case(xml, report, requirement))
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
            match requirement.outcome() {
                Outcome::Held | Outcome::Warning => {}
                Outcome::Violated | Outcome::StaleKnownFailing => {
                    let failure = xml.create_element("failure").with_attribute(("type", level));
                    failure
                        .with_attribute(("message", sentence(requirement).as_str()))
                        .write_text_content(BytesText::new(&lines(report, requirement)))?;
                }
                Outcome::Gap => {
                    let error = xml.create_element("error").with_attribute(("type", "not-exercised"));
                    error.with_attribute(("message", sentence(requirement).as_str())).write_empty()?;
                }
                _ => {
                    let reason = requirement.reason.as_deref().unwrap_or_default();
                    xml.create_element("skipped").with_attribute(("message", reason)).write_empty()?;
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
