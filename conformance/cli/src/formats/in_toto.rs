//! The verdict as an in-toto statement with a [test result], to be signed and attached to the artifact that was judged.
//!
//! | requirement | list |
//! |---|---|
//! | held | `passedTests` |
//! | broken, and a violation; with an expired known failure | `failedTests` |
//! | stated and not exercised | `failedTests`: nothing that was not seen to hold may pass |
//! | broken, and a warning; known to fail | `warnedTests` |
//! | inferred and not exercised, open, not selected | none |
//!
//! [test result]: https://github.com/in-toto/attestation/blob/main/spec/predicates/test-result.md

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

use animal_store_conformance::report::{Report, RequirementReport};
use animal_store_rules::catalogue::Level;
use animal_store_rules::verdict::{Status, Verdict};

/// The type of the statement.
const STATEMENT: &str = "https://in-toto.io/Statement/v1";

/// The type of the predicate.
const PREDICATE: &str = "https://in-toto.io/attestation/test-result/v0.1";

/// The statement. Its subject is the artifact with the [`digest`](animal_store_conformance::report::Implementation::digest) of the report.
/// Without a digest it has no subject, so the command line asks for one before it writes this format.
#[must_use]
pub fn render(report: &Report) -> String {
    super::json::pretty(&json!({
        "_type": STATEMENT,
        "subject": subject(report).into_iter().collect::<Vec<_>>(),
        "predicateType": PREDICATE,
        "predicate": {
            "result": result(report),
            "configuration": configuration(report),
            "passedTests": tests(report, "passed"),
            "warnedTests": tests(report, "warned"),
            "failedTests": tests(report, "failed"),
        },
    }))
}

fn subject(report: &Report) -> Option<Value> {
    let implementation = &report.target.implementation;
    let digest = implementation.digest.as_ref()?;
    let name = report.target.image.clone().or_else(|| implementation.title());
    let name = name.unwrap_or_else(|| report.target.base_url.clone());
    Some(json!({"name": name, "digest": {digest.algorithm.as_str(): digest.hex}}))
}

/// The result, which is passed only for a complete run of all requirements without a defect. A selection of requirements gives a warning at
/// best, because a policy may read nothing but the result.
fn result(report: &Report) -> &'static str {
    match report.verdict {
        Verdict::Conforms if tests(report, "warned").is_empty() && report.part().is_none() => "PASSED",
        Verdict::Conforms => "WARNED",
        Verdict::Violates | Verdict::Incomplete => "FAILED",
    }
}

/// The configuration of the judgement: the catalogue of requirements, and the run.
fn configuration(report: &Report) -> [Value; 2] {
    let mut run: Map<String, Value> = report
        .identity()
        .into_iter()
        .map(|(name, value)| (name.replace(' ', "_").to_lowercase(), value.into()))
        .collect();
    run.extend([
        ("verdict".to_owned(), report.verdict.as_str().into()),
        ("target".to_owned(), report.target.base_url.clone().into()),
        ("selection".to_owned(), report.part().unwrap_or_else(|| "all requirements".to_owned()).into()),
        ("profile".to_owned(), report.profile.as_str().into()),
        ("side".to_owned(), report.side.as_str().into()),
        ("strict".to_owned(), report.strict.into()),
        ("seed".to_owned(), report.seed.into()),
        ("started_at".to_owned(), report.started_at.clone().into()),
    ]);
    let part = report.part().map_or_else(String::new, |part| format!(" ({part})"));
    let strict = if report.strict { " strict" } else { "" };
    let scope = format!("{} {}{strict}{part}", report.tool.name, report.profile.as_str());
    [
        json!({
            "name": "requirements",
            "digest": {"sha256": report.catalogue.digest},
            "annotations": {"version": report.catalogue.version, "specification": report.specification},
        }),
        json!({
            "name": "run",
            "content": BASE64_STANDARD.encode(scope),
            "mediaType": "text/plain",
            "annotations": run,
        }),
    ]
}

/// The requirements in a list, by identifier.
fn tests<'r>(report: &'r Report, list: &str) -> Vec<&'r str> {
    let judged = report.requirements.iter().filter(|requirement| requirement.selected);
    judged.filter(|requirement| outcome(requirement) == Some(list)).map(|requirement| requirement.id.as_str()).collect()
}

fn outcome(requirement: &RequirementReport) -> Option<&'static str> {
    match requirement.status {
        Status::Pass => Some("passed"),
        Status::Fail if requirement.violation => Some("failed"),
        Status::Fail | Status::KnownFailing => Some("warned"),
        Status::StaleKnownFailing => Some("failed"),
        Status::NotExercised if requirement.level == Level::Stated => Some("failed"),
        Status::NotExercised | Status::Observed => None,
    }
}
