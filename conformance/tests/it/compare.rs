//! `compare`: any number of reports, by implementation.

use std::path::{Path, PathBuf};

use animal_store_conform::compare::{self, Comparison, Input};
use animal_store_conform::diff;
use animal_store_conform::formats::json;
use animal_store_conformance::report::{Outcome, Report};
use animal_store_rules::catalogue::Level;
use animal_store_rules::verdict::{Status, Verdict};

use crate::command_line::{conform, text};
use crate::sample;

/// The sample report, as that of an implementation of this name and version, at this time.
fn broken(name: &str, version: &str, started_at: &str) -> Report {
    let mut report = sample::report();
    report.target.implementation.name = Some(name.to_owned());
    report.target.implementation.version = Some(version.to_owned());
    report.started_at = started_at.parse().ok();
    report
}

/// The same, with everything that was selected mended, and another choice.
pub(crate) fn mended(name: &str, version: &str, started_at: &str) -> Report {
    let mut report = broken(name, version, started_at);
    report.verdict = Verdict::Conforms;
    for requirement in report.requirements.iter_mut().filter(|r| r.selected && r.level != Level::Open) {
        (requirement.status, requirement.violation, requirement.failures) = (Status::Pass, false, 0);
        requirement.reason = None;
        requirement.evidence.clear();
    }
    let choice = report.gap_profile.iter_mut().find(|choice| choice.observed.is_some()).expect("a choice");
    choice.observed = Some("another one".to_owned());
    report
}

fn inputs(reports: &[Report]) -> Vec<Input> {
    let named = reports.iter().enumerate();
    named.map(|(number, report)| Input { file: format!("{number}.json"), report: report.clone() }).collect()
}

fn compared(reports: &[Report]) -> Comparison {
    compare::compare(inputs(reports))
}

#[test]
fn the_order_of_the_reports_does_not_matter() {
    let reports = [
        broken("Pets", "1", "2026-06-01T12:00:00Z"),
        mended("Pets", "2", "2026-06-02T12:00:00Z"),
        mended("Animals", "7", "2026-06-01T12:00:00Z"),
        broken("Zoo", "1", "2026-06-01T12:00:00Z"),
    ];
    let sorted = inputs(&reports);
    let expected = json::render(&compare::compare(sorted.clone()));
    for turn in 1..sorted.len() {
        let mut turned = sorted.clone();
        turned.rotate_left(turn);
        assert_eq!(json::render(&compare::compare(turned.clone())), expected);
        turned.reverse();
        assert_eq!(json::render(&compare::compare(turned)), expected);
    }
}

#[test]
fn the_requirements_of_two_implementations_differ_as_diff_says() {
    let (one, other) = (broken("A", "1", "2026-06-01T12:00:00Z"), mended("B", "1", "2026-06-01T12:00:00Z"));
    let comparison = compared(&[other.clone(), one.clone()]);
    let difference = diff::compare(&one, &other);
    let changed: Vec<&str> = difference.requirements.iter().map(|change| change.id.as_str()).collect();
    assert!(changed.len() > 3, "{changed:?}");
    for row in &comparison.requirements {
        // A comes before B.
        let [a, b] = [&row.cells[0], &row.cells[1]];
        if row.differs {
            assert!(changed.contains(&row.id.as_str()) && b.outcome == Outcome::Held, "{}", row.id);
        }
        assert_eq!(b.reason, None, "{}", row.id);
        assert_eq!(a.outcome == Outcome::Violated, one.requirements.iter().any(|r| r.id == row.id && r.violation));
    }
    let chosen: Vec<&str> = comparison.choices.iter().filter(|row| row.differs).map(|row| row.id.as_str()).collect();
    assert_eq!(chosen, difference.choices.iter().map(|choice| choice.id.as_str()).collect::<Vec<_>>());
}

#[test]
fn of_several_reports_of_one_implementation_the_latest_is_compared() {
    let (first, second) = (broken("Pets", "1", "2026-06-01T12:00:00Z"), mended("Pets", "1", "2026-06-01T12:00:00.5Z"));
    let comparison = compared(&[second.clone(), first.clone()]);
    assert_eq!(comparison.implementations.len(), 1);
    assert_eq!(comparison.implementations[0].verdict, Verdict::Conforms, "the latest");

    // Another version is another column.
    let comparison = compared(&[first, second, mended("Pets", "2", "2026-06-03T12:00:00Z")]);
    assert_eq!(comparison.implementations.len(), 2);
    assert!(comparison.implementations.iter().any(|column| column.title == "Pets 2"));
}

#[test]
fn reports_of_different_catalogues_are_marked() {
    let mut other = mended("B", "1", "2026-06-01T12:00:00Z");
    let alike = compared(&[broken("A", "1", "2026-06-01T12:00:00Z"), other.clone()]);
    assert_eq!(alike.catalogues.len(), 1);
    assert!(!compare::markdown(&alike).contains("different catalogues"));
    other.catalogue.digest = "0".repeat(64);
    let mixed = compared(&[broken("A", "1", "2026-06-01T12:00:00Z"), other]);
    assert_eq!(mixed.catalogues.len(), 2);
    assert_ne!(mixed.implementations[0].catalogue, mixed.implementations[1].catalogue);
    assert!(compare::markdown(&mixed).contains("different catalogues"));
}

#[test]
fn a_requirement_that_a_catalogue_lacks_is_not_judged_there() {
    let mut old = mended("Old", "1", "2026-06-01T12:00:00Z");
    let missing = old.requirements.iter().position(|r| r.level == Level::Stated && r.selected).expect("one");
    let missing = old.requirements.remove(missing).id;
    let comparison = compared(&[old, mended("New", "1", "2026-06-01T12:00:00Z")]);
    let row = comparison.requirements.iter().find(|row| row.id == missing).expect("a row");
    assert_eq!([row.cells[0].outcome, row.cells[1].outcome], [Outcome::Held, Outcome::NotSelected]);
    assert!(!row.differs);
}

#[test]
fn what_candidates_say_is_text() {
    let mut awkward = broken(sample::AWKWARD, "1", "2026-06-01T12:00:00Z");
    awkward.requirements[0].id = "`</code>|<img src=x> @everyone".to_owned();
    let page = animal_store_conform::formats::markdown::render(&awkward);
    assert!(!page.contains("<img") && !page.contains("@everyone"), "{page}");
    let markdown = compare::markdown(&compared(&[awkward, mended("B", "1", "2026-06-01T12:00:00Z")]));
    assert!(!markdown.contains("<img") && !markdown.contains("@everyone"), "{markdown}");
}

#[tokio::test]
async fn the_command_writes_each_format() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("a.json"), json::render(&broken("A", "1", "2026-06-01T12:00:00Z"))).expect("a file");
    std::fs::write(path("b.json"), json::render(&mended("B", "1", "2026-06-01T12:00:00Z"))).expect("a file");
    let (a, b) = (path("a.json"), path("b.json"));
    let reports = ["markdown", "json"].map(|format| format!("{format}={}", path(format)));
    let mut line = vec!["compare", &a, &b];
    line.extend(reports.iter().flat_map(|report| ["--report", report.as_str()]));
    let output = conform(&line).await;
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), String::new()), "{}", text(&output.stderr));
    let read = |name: &str| std::fs::read_to_string(path(name)).expect(name);
    assert!(read("markdown").contains("| 1 | A 1 |"));
    let comparison: serde_json::Value = serde_json::from_str(&read("json")).expect("JSON");
    assert_eq!(comparison["implementations"][1]["title"], "B 1");

    let output = conform(&["compare", &a]).await;
    assert!(text(&output.stdout).starts_with("# Animal Store API"), "Markdown by default");
}

#[tokio::test]
async fn a_file_that_is_no_report_is_named() {
    let missing: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-such-report.json");
    let output = conform(&["compare", missing.to_str().expect("UTF-8")]).await;
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("no-such-report.json"), "{}", text(&output.stderr));
}
