//! The in-toto statement, checked against the rules that the published types define: Statement v1, ResourceDescriptor v1 and the
//! predicate Test Result v0.1.

use animal_store_conform::formats::in_toto;
use animal_store_conformance::report::Report;
use animal_store_rules::catalogue::Level;
use animal_store_rules::verdict::{Status, Verdict};
use serde_json::Value;

use crate::command_line::{conform, text};
use crate::sample;

const DIGEST: &str = "sha256:0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f";

fn sample() -> Report {
    let mut report = sample::report();
    report.target.implementation.name = Some("Pets".to_owned());
    report.target.implementation.digest = DIGEST.parse().ok();
    report
}

/// A report in which everything that was selected held.
fn mended() -> Report {
    let mut report = sample();
    report.verdict = Verdict::Conforms;
    for requirement in report.requirements.iter_mut().filter(|r| r.selected && r.level != Level::Open) {
        (requirement.status, requirement.violation) = (Status::Pass, false);
    }
    report
}

/// The statement, once it follows the rules of its types.
fn statement(report: &Report) -> Value {
    let statement: Value = serde_json::from_str(&in_toto::render(report)).expect("JSON");
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(statement["predicateType"], "https://in-toto.io/attestation/test-result/v0.1");
    let members: Vec<&str> = statement.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(members, ["_type", "predicate", "predicateType", "subject"]);
    for subject in statement["subject"].as_array().expect("an array") {
        assert!(is_digest_set(&subject["digest"]), "each subject has a digest: {subject}");
        is_resource_descriptor(subject);
    }
    let predicate = statement["predicate"].as_object().expect("an object");
    assert!(["PASSED", "WARNED", "FAILED"].contains(&predicate["result"].as_str().expect("a string")));
    let configuration = predicate["configuration"].as_array().expect("required, an array");
    configuration.iter().for_each(is_resource_descriptor);
    for (name, value) in predicate {
        match name.as_str() {
            "result" | "configuration" => {}
            "passedTests" | "warnedTests" | "failedTests" => {
                assert!(value.as_array().expect("an array").iter().all(Value::is_string), "{name}");
            }
            other => panic!("the predicate has no member {other}"),
        }
    }
    statement
}

fn is_resource_descriptor(value: &Value) {
    let descriptor = value.as_object().expect("an object");
    assert!(["uri", "digest", "content"].iter().any(|member| descriptor.contains_key(*member)), "{value}");
    for (name, value) in descriptor {
        let valid = match name.as_str() {
            "digest" => is_digest_set(value),
            "annotations" => value.is_object(),
            // It should be shorter than a kilobyte, before its encoding.
            "content" => value.as_str().is_some_and(|content| content.len() <= 1024 * 4 / 3),
            "name" | "uri" | "downloadLocation" | "mediaType" => value.is_string(),
            _ => false,
        };
        assert!(valid, "{name}: {value}");
    }
}

fn is_digest_set(value: &Value) -> bool {
    let hex = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    value.as_object().is_some_and(|set| !set.is_empty() && set.values().all(|digest| digest.as_str().is_some_and(hex)))
}

fn tests(statement: &Value, list: &str) -> Vec<String> {
    let list = statement["predicate"][list].as_array().expect("a list");
    list.iter().map(|name| name.as_str().expect("a name").to_owned()).collect()
}

#[test]
fn the_statement_is_about_the_artifact_and_lists_each_judged_requirement_once() {
    let report = sample();
    let statement = statement(&report);
    assert_eq!(statement["subject"][0]["digest"]["sha256"], DIGEST.trim_start_matches("sha256:"));
    assert_eq!(statement["subject"][0]["name"], "Pets 1.2.0");
    assert_eq!(statement["predicate"]["result"], "FAILED");
    let mut listed: Vec<String> =
        ["passedTests", "warnedTests", "failedTests"].into_iter().flat_map(|list| tests(&statement, list)).collect();
    let mut judged: Vec<&str> = report
        .requirements
        .iter()
        .filter(|r| r.selected && r.level != Level::Open)
        .filter(|r| r.level == Level::Stated || r.status != Status::NotExercised)
        .map(|r| r.id.as_str())
        .collect();
    listed.sort();
    judged.sort_unstable();
    assert_eq!(listed, judged);
}

#[test]
fn only_a_complete_run_without_a_defect_has_passed() {
    assert_eq!(statement(&mended())["predicate"]["result"], "PASSED");

    let mut incomplete = mended();
    incomplete.verdict = Verdict::Incomplete;
    let gap = incomplete.requirements.iter_mut().find(|r| r.selected && r.level == Level::Stated).expect("one");
    gap.status = Status::NotExercised;
    let (gap, statement_of_gap) = (gap.id.clone(), statement(&incomplete));
    assert_eq!(statement_of_gap["predicate"]["result"], "FAILED");
    assert_eq!(tests(&statement_of_gap, "failedTests"), [gap]);

    // Nothing was left out that a requirement shows, and yet the run is incomplete.
    let mut cut_short = mended();
    cut_short.verdict = Verdict::Incomplete;
    assert_eq!(statement(&cut_short)["predicate"]["result"], "FAILED");

    let mut warned = mended();
    let warning = warned.requirements.iter_mut().find(|r| r.selected && r.level == Level::Inferred).expect("one");
    warning.status = Status::Fail;
    let (warning, statement_of_warning) = (warning.id.clone(), statement(&warned));
    assert_eq!(statement_of_warning["predicate"]["result"], "WARNED");
    assert_eq!(tests(&statement_of_warning, "warnedTests"), [warning]);
}

#[tokio::test]
async fn a_statement_needs_the_digest_of_what_is_judged_before_anything_is_sent() {
    let target = ["--base-url", "http://127.0.0.1:1/v1", "--api-key", "k"];
    for output in [["--report", "in-toto=statement.json"], ["--format", "in-toto"]] {
        let output = conform(&[&target[..], &output].concat()).await;
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("--implementation-digest"), "{}", text(&output.stderr));
    }
    let output = conform(&[&target[..], &["--format", "in-toto", "--implementation-digest", DIGEST]].concat()).await;
    assert_eq!(output.status.code(), Some(3), "nobody is there: {}", text(&output.stderr));
}
