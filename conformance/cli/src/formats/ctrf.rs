//! The requirements as test results in the Common Test Report Format.
//!
//! A requirement is a test, unless it is open or not selected. A stated requirement that was not exercised is `other`: it neither
//! passed nor was it skipped on purpose, and makes the run incomplete.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use super::summary::{headline, lines, sentence};
use animal_store_conformance::report::{Report, RequirementReport};
use animal_store_rules::catalogue::Level;
use animal_store_rules::verdict::{Status, Verdict};

/// The version of the format.
const SPECIFICATION: &str = "1.0.0";

/// The report in CTRF.
#[must_use]
pub fn render(report: &Report) -> String {
    let tests: Vec<Test<'_>> =
        report.requirements.iter().filter(|r| r.selected && r.level != Level::Open).map(|r| test(report, r)).collect();
    let start = report.started_at.as_ref().and_then(|time| time.parse::<Timestamp>().ok());
    let start = start.map_or(0, Timestamp::as_millisecond);
    let count = |status: &str| tests.iter().filter(|test| test.status == status).count();
    let results = Results {
        tool: Tool { name: &report.tool.name, version: &report.tool.version },
        summary: Summary {
            tests: tests.len(),
            passed: count(PASSED),
            failed: count(FAILED),
            skipped: count(SKIPPED),
            pending: 0,
            other: count(OTHER),
            suites: report.coverage.len(),
            start,
            stop: start.saturating_add_unsigned(report.duration_ms),
            duration: report.duration_ms,
        },
        environment: Environment {
            report_name: headline(report),
            app_name: &report.target.base_url,
            healthy: report.verdict == Verdict::Conforms && report.part().is_none(),
        },
        extra: BTreeMap::from([
            ("verdict", report.verdict.as_str().into()),
            ("selection", report.part().into()),
            ("seed", report.seed.into()),
            ("profile", report.profile.as_str().into()),
            ("side", report.side.as_str().into()),
            ("strict", report.strict.into()),
            ("requests", report.requests.into()),
            ("refused", report.refused.into()),
            ("created", report.created.into()),
            ("causes", report.causes.iter().map(|cause| cause.sentence.as_str()).collect()),
            ("identity", report.identity().into_iter().collect()),
        ]),
        tests,
    };
    let document = Document {
        report_format: "CTRF",
        spec_version: SPECIFICATION,
        timestamp: report.started_at.as_deref(),
        generated_by: &report.tool.name,
        results,
    };
    super::json::pretty(&document)
}

const PASSED: &str = "passed";
const FAILED: &str = "failed";
const SKIPPED: &str = "skipped";
const OTHER: &str = "other";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'r> {
    report_format: &'static str,
    spec_version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<&'r str>,
    generated_by: &'r str,
    results: Results<'r>,
}

#[derive(Serialize)]
struct Results<'r> {
    tool: Tool<'r>,
    summary: Summary,
    tests: Vec<Test<'r>>,
    environment: Environment<'r>,
    extra: BTreeMap<&'static str, serde_json::Value>,
}

#[derive(Serialize)]
struct Tool<'r> {
    name: &'r str,
    version: &'r str,
}

#[derive(Serialize)]
struct Summary {
    tests: usize,
    passed: usize,
    failed: usize,
    skipped: usize,
    pending: usize,
    other: usize,
    suites: usize,
    start: i64,
    stop: i64,
    duration: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Environment<'r> {
    report_name: String,
    app_name: &'r str,
    healthy: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Test<'r> {
    name: String,
    status: &'static str,
    /// The time of the exchanges that the requirement was judged on, in milliseconds.
    duration: u64,
    suite: [&'r str; 1],
    raw_status: &'static str,
    tags: [&'static str; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<String>,
}

fn test<'r>(report: &Report, requirement: &'r RequirementReport) -> Test<'r> {
    let (status, raw_status) = match requirement.status {
        Status::Pass | Status::Observed => (PASSED, "pass"),
        Status::Fail if requirement.violation => (FAILED, "fail"),
        Status::Fail => (PASSED, "warning"),
        Status::StaleKnownFailing => (FAILED, "stale-known-failing"),
        Status::KnownFailing => (SKIPPED, "known-failing"),
        Status::NotExercised if requirement.level == Level::Stated => (OTHER, "not-exercised"),
        Status::NotExercised => (SKIPPED, "not-exercised"),
    };
    let held = requirement.status == Status::Pass;
    Test {
        name: format!("{}: {}", requirement.id, requirement.title),
        status,
        duration: requirement.duration_ms,
        suite: [&requirement.section],
        raw_status,
        tags: [requirement.level.as_str()],
        message: if held { requirement.unseen().map(str::to_owned) } else { Some(sentence(requirement)) },
        trace: (!requirement.evidence.is_empty()).then(|| lines(report, requirement)),
    }
}
