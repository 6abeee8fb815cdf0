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
//! | no longer known to fail | failure |
//! | open | none: the candidate's choice is a property of the suite |
//! | not selected | none |

use std::time::Duration;

use quick_junit::{NonSuccessKind, Property, Report as Junit, TestCase, TestCaseStatus, TestSuite};

use super::summary::{lines, sentence};
use super::{Report, RequirementReport};
use animal_store_rules::catalogue::Level;
use animal_store_rules::verdict::Status;

/// The report as JUnit XML.
#[must_use]
pub fn render(report: &Report) -> String {
    let mut junit = Junit::new(format!("Animal Store API at {}", report.target.base_url));
    junit.timestamp = report.started_at.as_ref().and_then(|time| time.parse().ok());
    junit.set_time(Duration::from_millis(report.duration_ms));
    for section in &report.coverage {
        let suite = suite(report, &section.section);
        if !suite.test_cases.is_empty() {
            junit.add_test_suite(suite);
        }
    }
    // It is written to memory, and every text is UTF-8 without what XML forbids: neither can fail.
    junit.to_string().unwrap_or_default()
}

fn suite(report: &Report, section: &str) -> TestSuite {
    let mut suite = TestSuite::new(section);
    suite.timestamp = report.started_at.as_ref().and_then(|time| time.parse().ok());
    for requirement in report.requirements.iter().filter(|r| r.selected && r.section == section) {
        if requirement.level != Level::Open {
            suite.add_test_case(case(requirement));
        } else if let Some(observed) = &requirement.observed {
            suite.add_property(Property::new(&requirement.id, observed));
        }
    }
    suite
}

fn case(requirement: &RequirementReport) -> TestCase {
    let mut case = TestCase::new(&requirement.id, status(requirement));
    case.set_classname(&requirement.section).set_assertions(requirement.judged);
    case.add_property(Property::new("title", &requirement.title));
    case.add_property(Property::new("level", requirement.level.as_str()));
    if requirement.is_warning() {
        case.set_system_out(format!("warning: {}", lines(requirement)));
    } else if requirement.status == Status::KnownFailing {
        case.set_system_out(lines(requirement));
    }
    case
}

fn status(requirement: &RequirementReport) -> TestCaseStatus {
    let mut status = match requirement.status {
        Status::Pass | Status::Observed => return TestCaseStatus::success(),
        Status::Fail if !requirement.violation => return TestCaseStatus::success(),
        Status::Fail | Status::StaleKnownFailing => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Status::NotExercised if requirement.is_gap() => TestCaseStatus::non_success(NonSuccessKind::Error),
        Status::NotExercised | Status::KnownFailing => TestCaseStatus::skipped(),
    };
    match requirement.status {
        Status::Fail | Status::StaleKnownFailing => {
            status.set_type(requirement.level.as_str());
            status.set_message(sentence(requirement)).set_description(lines(requirement));
        }
        Status::NotExercised => {
            status.set_type("not-exercised");
            status.set_message(sentence(requirement));
        }
        _ => {
            status.set_message(requirement.reason.as_deref().unwrap_or_default());
        }
    }
    status
}
