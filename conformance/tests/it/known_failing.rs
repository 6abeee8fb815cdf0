//! Known failures from a file: set apart while they last, and never quietly out of date.

use std::path::PathBuf;
use std::process::Output;

use serde_json::Value;

use crate::candidate::{Candidate, KEY, Nature};
use crate::command_line::{conform, text};
use crate::faults::Fault;

/// Writes a list and judges a server that returns 50 animals where 20 are the default, by two rules of lists.
async fn judged(name: &str, list: &str, more: &[&str]) -> Output {
    let nature = Nature { fault: Some(Fault::Defaults50), stock: 60, ..Nature::default() };
    let candidate = Candidate::start(nature).await;
    let path: PathBuf = [env!("CARGO_TARGET_TMPDIR"), name].iter().collect();
    std::fs::write(&path, list).expect("a file");
    let path = path.display().to_string();
    let mut args = vec!["--base-url", &candidate.base_url, "--api-key", KEY, "--profile", "read-only"];
    args.extend(["--only", "list.limit-default", "--only", "list.array", "--known-failing", &path]);
    args.extend(more);
    conform(&args).await
}

fn status(output: &Output, id: &str) -> String {
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let requirements = report["requirements"].as_array().expect("an array").iter();
    requirements.filter(|r| r["id"] == id).map(|r| r["status"].as_str().expect("a string")).collect()
}

const KNOWN: &str = "[[known-failing]]\nid = \"list.limit-default\"\nreason = \"ticket 4711\"\n";

#[tokio::test]
async fn a_known_failure_is_judged_and_reported_apart_and_is_no_violation() {
    let output = judged("known.toml", KNOWN, &["--format", "json"]).await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(status(&output, "list.limit-default"), "known-failing");
    let output = judged("known.toml", KNOWN, &[]).await;
    let shown = text(&output.stdout);
    assert!(shown.contains("Known to fail\n  ~ list.limit-default  ticket 4711\n"), "{shown}");
    assert!(shown.contains("1 known to fail"), "{shown}");
}

#[tokio::test]
async fn a_run_that_only_improved_is_green_with_a_hint_and_one_whose_entry_has_expired_is_not() {
    let holds = KNOWN.replace("limit-default", "array");
    let output = judged("holds.toml", &(holds + KNOWN), &["--format", "json"]).await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(status(&output, "list.array"), "pass");
    assert_eq!(status(&output, "list.limit-default"), "known-failing");
    let hint = "list.array holds now, although known to fail: remove the entry, or let --write-known-failing do it";
    assert!(text(&output.stdout).contains(hint), "{}", text(&output.stdout));

    let expired = format!("{KNOWN}expires = \"2020-12-31\"\n");
    let output = judged("expired.toml", &expired, &[]).await;
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(shown.contains("known to fail (ticket 4711), but the entry expired after 2020-12-31"), "{shown}");
    assert!(shown.contains("expected  at most 20 animals"), "{shown}");
}

#[tokio::test]
async fn an_entry_that_the_run_does_not_select_is_neither_stale_nor_a_violation() {
    let elsewhere = KNOWN.replace("list.limit-default", "orders.exists");
    let output = judged("elsewhere.toml", &elsewhere, &["--skip", "list.limit-default", "--format", "json"]).await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(status(&output, "orders.exists"), "not-exercised");
}

#[tokio::test]
async fn an_update_removes_what_holds_and_the_next_run_conforms() {
    let path: PathBuf = [env!("CARGO_TARGET_TMPDIR"), "updated.toml"].iter().collect();
    let path = path.display().to_string();
    let holds = KNOWN.replace("limit-default", "array");
    let elsewhere = KNOWN.replace("list.limit-default", "orders.exists");
    let expired = format!("{elsewhere}expires = \"2020-12-31\"\n");
    let list = format!("# The old shop.\n\n{KNOWN}\n{expired}\n# Mended long ago.\n{holds}");
    let output = judged("updated.toml", &list, &["--write-known-failing", &path]).await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = format!("{path}: removed list.array, because these requirements hold");
    assert!(text(&output.stderr).contains(&said), "{}", text(&output.stderr));
    let left = std::fs::read_to_string(&path).expect("a file");
    assert_eq!(left, format!("# The old shop.\n\n{KNOWN}\n{expired}"));

    let cut_short = ["--write-known-failing", &path, "--max-requests", "1"];
    let output = judged("updated.toml", &holds, &cut_short).await;
    let said = text(&output.stderr);
    assert!(said.contains("removed nothing, because the run did not send everything"), "{said}");
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), holds);
}

#[tokio::test]
async fn a_list_that_cannot_be_read_is_wrong_usage_with_its_place() {
    let output = judged("near.toml", &KNOWN.replace("default", "defualt"), &[]).await;
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(
        said.contains("near.toml, line 2, column 6: ") && said.contains("did you mean list.limit-default?"),
        "{said}"
    );
    let output = conform(&["--base-url", "http://h/v1", "--api-key", KEY, "--known-failing", "no-such.toml"]).await;
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--known-failing no-such.toml"), "{}", text(&output.stderr));
}

#[tokio::test]
async fn a_baseline_of_a_broken_server_makes_the_next_run_green() {
    // Lists that fail hide what would be in them.
    let candidate = Candidate::start(Nature { fault: Some(Fault::FailsOnList), ..Nature::default() }).await;
    let path: PathBuf = [env!("CARGO_TARGET_TMPDIR"), "baseline.toml"].iter().collect();
    let _not_there = std::fs::remove_file(&path);
    let path = path.display().to_string();
    let args = ["--base-url", &candidate.base_url, "--api-key", KEY, "--profile", "functional", "--seed", "1"];
    let output = conform(&[&args[..], &["--write-known-failing", &path]].concat()).await;
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let written = std::fs::read_to_string(&path).expect("a file");
    assert!(written.contains("hides = ["), "{written}");
    let output = conform(&[&args[..], &["--known-failing", &path]].concat()).await;
    assert_eq!(output.status.code(), Some(0), "{written}\n{}", text(&output.stdout));
}
