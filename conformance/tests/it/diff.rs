//! `diff`: what changed between two reports, and what a pipeline stops for.

use std::path::{Path, PathBuf};

use animal_store_conform::diff;
use animal_store_conform::formats::json;
use animal_store_conformance::report::Report;
use animal_store_rules::verdict::{Status, Verdict};

use crate::command_line::{conform, text};
use crate::sample;
use crate::support::check;

/// The sample report, mended.
fn mended() -> Report {
    let mut report = sample::report();
    report.target.base_url = "https://staging.example/v1".to_owned();
    report.verdict = Verdict::Conforms;
    for requirement in report.requirements.iter_mut().filter(|r| r.selected && r.status != Status::Observed) {
        (requirement.status, requirement.violation, requirement.failures) = (Status::Pass, false, 0);
        requirement.reason = None;
        requirement.evidence.clear();
    }
    report.gap_profile[0].observed = Some("https".to_owned());
    let codes = report.gap_profile.iter_mut().find(|choice| choice.id == "errors.codes").expect("a choice");
    codes.observed = Some("400 bad, 401 no, ".repeat(8));
    report
}

fn written(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("a file");
    path
}

async fn diff_of(before: &Path, after: &Path, more: &[&str]) -> (Option<i32>, String, String) {
    let files = [before, after].map(|path| path.to_str().expect("UTF-8"));
    let output = conform(&[&["diff"], &files[..], more].concat()).await;
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_difference_is_told_as_reviewed_within_80_columns() {
    let mut worse = sample::report();
    worse.requirements.iter_mut().filter(|r| r.id.starts_with("auth")).for_each(|r| r.selected = false);
    let shown = |before: &Report, after: &Report| {
        anstream::adapter::strip_str(diff::render(&diff::compare(before, after)).as_str()).to_string()
    };
    let text = shown(&mended(), &worse);
    for line in text.lines() {
        assert!(line.chars().count() <= 80 && !line.chars().any(char::is_control), "{line:?}");
    }
    check("diff-worse", &text);
    check("diff-better", &shown(&worse, &mended()));
}

#[tokio::test]
async fn a_regression_gets_exit_code_1_and_the_way_back_0() {
    let before = written("diff-before.json", &json::render(&mended()));
    let after = written("diff-after.json", &json::render(&sample::report()));
    let (code, out, _) = diff_of(&before, &after, &[]).await;
    assert!(code == Some(1) && out.contains("REGRESSION") && out.contains("✗ list.limit-minimum"), "{out}");
    let (code, out, _) = diff_of(&after, &before, &[]).await;
    assert!(code == Some(0) && out.contains("NO REGRESSION"), "{out}");
    let (code, out, _) = diff_of(&before, &before, &["--format", "json"]).await;
    let difference: serde_json::Value = serde_json::from_str(&out).expect("JSON and nothing else");
    assert_eq!(
        (code, &difference["regression"], &difference["requirements"]),
        (Some(0), &false.into(), &serde_json::json!([]))
    );
}

#[tokio::test]
async fn a_file_that_cannot_be_compared_gets_exit_code_2_and_the_reason() {
    let good = written("diff-good.json", &json::render(&mended()));
    let later = json::render(&mended()).replacen("\"schema_version\": 1", "\"schema_version\": 2", 1);
    for (name, content, hint) in [
        ("diff-later.json", later.as_str(), "report schema version 2"),
        ("diff-other.json", "{\"openapi\": \"3.1.0\"}", "is not a JSON report"),
        ("diff-text.json", "CONFORMS", "is not a JSON report"),
    ] {
        let (code, out, err) = diff_of(&good, &written(name, content), &[]).await;
        assert!(code == Some(2) && out.is_empty() && err.contains(hint), "{name}: {err}");
    }
    let (code, _, err) = diff_of(&good, Path::new("no-such-report.json"), &[]).await;
    assert!(code == Some(2) && err.contains("no-such-report.json"), "{err}");
}
