//! Reports as files of the program: asked for by name, written whole, never at the cost of what was there.

use std::path::{Path, PathBuf};

use animal_store_conform::formats::FORMATS;

use crate::candidate::{Candidate, KEY, Nature};
use crate::command_line::{command, conform, text};

/// A folder of the test's own, in which nothing stands.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _not_there = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

#[tokio::test]
async fn every_format_is_written_to_its_file() {
    let candidate = Candidate::start(Nature::default()).await;
    let folder = scratch("every-format");
    let path = |name: &str| folder.join(format!("report.{name}"));
    let run = ["--base-url", &candidate.base_url, "--api-key", KEY, "--profile", "read-only"];
    let reports: Vec<String> = FORMATS
        .iter()
        .flat_map(|f| ["--report".to_owned(), format!("{}={}", f.name, path(f.name).display())])
        .collect();
    let args: Vec<&str> = run.iter().copied().chain(reports.iter().map(String::as_str)).collect();
    let output = conform(&args).await;
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("INCOMPLETE"), "the text for people is printed as well");
    assert!(FORMATS.iter().all(|format| path(format.name).exists()));
    assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), FORMATS.len(), "nothing else is left behind");
}

#[tokio::test]
async fn a_run_that_cannot_be_judged_leaves_no_report_that_could_be_taken_for_its_own() {
    let folder = scratch("cannot-start");
    let (old, new) = (folder.join("old.json"), folder.join("new.json"));
    let foreign = folder.join("package.json");
    std::fs::write(&old, r#"{"tool": {"name": "animal-store-conformance"}}"#).expect("a file");
    std::fs::write(&foreign, r#"{"name": "pets"}"#).expect("a file");
    let (old_report, new_report) = (format!("json={}", old.display()), format!("json={}", new.display()));
    let foreign_report = format!("sarif={}", foreign.display());
    let mut args = vec!["--base-url", "http://127.0.0.1:1/v1", "--api-key", KEY, "--report", &old_report];
    args.extend(["--report", &new_report, "--report", &foreign_report]);
    let output = conform(&args).await;
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(!old.exists() && !new.exists());
    assert!(foreign.exists(), "a file of another program is not deleted");
}

#[tokio::test]
async fn the_summary_of_a_job_keeps_what_other_steps_wrote() {
    let folder = scratch("job-summary");
    let summary = folder.join("summary.md");
    std::fs::write(&summary, "# Build\n").expect("a file");
    let report = format!("markdown={}", summary.display());
    let candidate = Candidate::start(Nature::default()).await;
    let run = async |base_url: &str| {
        let args = ["--base-url", base_url, "--api-key", KEY, "--only", "list.array", "--report", &report];
        let output = command(&args).env("GITHUB_STEP_SUMMARY", &summary).output().await.expect("the program starts");
        (output.status.code(), std::fs::read_to_string(&summary).expect("a summary"))
    };
    assert_eq!(run("http://127.0.0.1:1/v1").await, (Some(3), "# Build\n".to_owned()));
    let (code, once) = run(&candidate.base_url).await;
    assert!(code == Some(0) && once.starts_with("# Build\n") && once.contains("## Conforms"), "{once}");
    let (_, twice) = run(&candidate.base_url).await;
    assert!(twice.starts_with(&once) && twice.len() > once.len(), "{twice}");
}

#[tokio::test]
async fn a_report_is_written_to_a_new_directory_or_to_standard_output_alone() {
    let candidate = Candidate::start(Nature::default()).await;
    let folder = scratch("new-directory");
    let path = folder.join("a/b/report.json");
    let report = format!("json={}", path.display());
    let args = ["--base-url", &candidate.base_url, "--api-key", KEY, "--profile", "read-only"];
    let output = conform(&[&args[..], &["--report", &report, "--report", "junit=-"]].concat()).await;
    assert!(path.exists(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("<?xml"), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("INCOMPLETE"), "the text for people is on standard error");
}

#[tokio::test]
async fn two_reports_in_one_file_are_refused_before_anything_is_sent() {
    let folder = scratch("one-file");
    let report = format!("json={}", folder.join("r").display());
    let args = ["--base-url", "http://127.0.0.1:1/v1", "--api-key", KEY, "--report", &report, "--report", &report];
    let output = conform(&args).await;
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("is written to the same file"), "{}", text(&output.stderr));
}
