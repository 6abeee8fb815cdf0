//! The requirements as test results in the Common Test Report Format.
//!
//! A requirement is a test, unless it is open or not selected. A stated requirement that was not exercised is `other`: it neither
//! passed nor was it skipped on purpose, and makes the run incomplete.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::summary::{headline, lines, sentence};
use animal_store_conformance::report::{Report, RequirementReport};
use animal_store_rules::catalogue::Level;
use animal_store_rules::verdict::{Status, Verdict};

/// The version of the format.
const SPECIFICATION: &str = "1.0.0";

const PASSED: &str = "passed";
const FAILED: &str = "failed";
const SKIPPED: &str = "skipped";
const OTHER: &str = "other";

/// The report in CTRF.
#[must_use]
pub fn render(report: &Report) -> String {
    let requirements = report.requirements.iter().filter(|r| r.selected && r.level != Level::Open);
    let tests: Vec<Value> = requirements.map(|requirement| test(report, requirement)).collect();
    let start = report.started_at.as_ref().and_then(|time| time.parse::<Timestamp>().ok());
    let start = start.map_or(0, Timestamp::as_millisecond);
    let count = |status: &str| tests.iter().filter(|test| test["status"] == status).count();
    let mut document = json!({
        "reportFormat": "CTRF",
        "specVersion": SPECIFICATION,
        "generatedBy": report.tool.name,
        "results": {
            "tool": {"name": report.tool.name, "version": report.tool.version},
            "summary": {
                "tests": tests.len(),
                "passed": count(PASSED),
                "failed": count(FAILED),
                "skipped": count(SKIPPED),
                "pending": 0,
                "other": count(OTHER),
                "suites": report.coverage.len(),
                "start": start,
                "stop": start.saturating_add_unsigned(report.duration_ms),
                "duration": report.duration_ms,
            },
            "tests": tests,
            "environment": {
                "reportName": headline(report),
                "appName": report.target.base_url,
                "healthy": report.verdict == Verdict::Conforms && report.part().is_none(),
            },
            "extra": {
                "verdict": report.verdict.as_str(),
                "selection": report.part(),
                "seed": report.seed,
                "profile": report.profile.as_str(),
                "side": report.side.as_str(),
                "strict": report.strict,
                "requests": report.requests,
                "refused": report.refused,
                "created": report.created,
                "causes": report.causes.iter().map(|cause| cause.sentence.as_str()).collect::<Vec<_>>(),
                "identity": report.identity().into_iter().collect::<BTreeMap<_, _>>(),
            },
        },
    });
    if let Some(time) = &report.started_at {
        document["timestamp"] = json!(time);
    }
    super::json::pretty(&document)
}

fn test(report: &Report, requirement: &RequirementReport) -> Value {
    let (status, raw_status) = match requirement.status {
        Status::Pass | Status::Observed => (PASSED, "pass"),
        Status::Fail if requirement.violation => (FAILED, "fail"),
        Status::Fail => (PASSED, "warning"),
        Status::StaleKnownFailing => (FAILED, "stale-known-failing"),
        Status::KnownFailing => (SKIPPED, "known-failing"),
        Status::NotExercised if requirement.level == Level::Stated => (OTHER, "not-exercised"),
        Status::NotExercised => (SKIPPED, "not-exercised"),
    };
    let mut test = json!({
        "name": format!("{}: {}", requirement.id, requirement.title),
        "status": status,
        "duration": requirement.duration_ms,
        "suite": [requirement.section],
        "rawStatus": raw_status,
        "tags": [requirement.level.as_str()],
    });
    let held = requirement.status == Status::Pass;
    if let Some(message) = if held { requirement.unseen().map(str::to_owned) } else { Some(sentence(requirement)) } {
        test["message"] = json!(message);
    }
    if !requirement.evidence.is_empty() {
        test["trace"] = json!(lines(report, requirement));
    }
    test
}
