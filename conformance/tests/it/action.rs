//! The step of the GitHub action that judges, with the files that a runner gives it.

use std::path::{Path, PathBuf};
use std::process::Output;

use animal_store_conformance::cli;
use tokio::process::Command;

use crate::candidate::{Candidate, KEY, Nature};
use crate::command_line::text;
use crate::faults::Fault;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

/// Runs the step as a runner does: every input is a variable, and those that were not given are empty.
async fn step(base_url: &str) -> (Output, String, String) {
    let runner = tempfile::tempdir().expect("a folder");
    let (outputs, summary) = (runner.path().join("outputs"), runner.path().join("summary"));
    let mut command = Command::new("bash");
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CONFORM_")) {
        command.env_remove(name);
    }
    let output = command
        .arg(root().join(".ci/action"))
        .envs([("CONFORM_BASE_URL", base_url), ("CONFORM_API_KEY", KEY), ("CONFORM_PROFILE", "functional")])
        .envs([("CONFORM_PLAN", ""), ("CONFORM_KNOWN_FAILING", ""), ("CONFORM_STRICT", "false")])
        .env("CONFORM_PROGRAM", env!("CARGO_BIN_EXE_conform"))
        .envs([("RUNNER_TEMP", runner.path()), ("GITHUB_OUTPUT", &outputs), ("GITHUB_STEP_SUMMARY", &summary)])
        .output()
        .await
        .expect("bash starts");
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let outputs = read(&outputs);
    let report = outputs.lines().find_map(|line| line.strip_prefix("report=")).expect("the report's path").to_owned();
    let tells_a_verdict = read(Path::new(&report)).contains("\"verdict\"");
    assert_eq!(tells_a_verdict, output.status.code() != Some(3), "{}", text(&output.stderr));
    (output, outputs, read(&summary))
}

#[tokio::test]
async fn the_action_tells_a_good_verdict_in_outputs_summary_and_exit_code() {
    let candidate = Candidate::start(Nature::default()).await;
    let (output, outputs, summary) = step(&candidate.base_url).await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(outputs.starts_with("verdict=conforms\nreport="), "{outputs}");
    assert!(summary.to_lowercase().contains("conforms"), "{summary}");
    assert!(!text(&output.stdout).contains("::error"), "{}", text(&output.stdout));
}

#[tokio::test]
async fn the_action_annotates_what_is_broken_outside_of_what_a_server_says() {
    let candidate = Candidate::start(Nature { fault: Some(Fault::TakesSuffixes), ..Nature::default() }).await;
    let (output, outputs, summary) = step(&candidate.base_url).await;
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(outputs.starts_with("verdict=violates\n") && summary.contains("auth.exact-key"), "{outputs}{summary}");
    let printed = text(&output.stdout);
    let token = printed.strip_prefix("::stop-commands::").and_then(|rest| rest.lines().next()).expect("a token");
    let (report, annotations) = printed.split_once(&format!("\n::{token}::\n")).expect("commands are taken again");
    assert!(report.contains("✗ auth.exact-key") && annotations.starts_with("::error"), "{printed}");
}

#[tokio::test]
async fn the_action_says_so_when_there_is_no_verdict() {
    let (output, outputs, summary) = step("http://127.0.0.1:1/v1").await;
    assert_eq!((output.status.code(), summary.as_str()), (Some(3), ""));
    assert!(outputs.starts_with("verdict=could-not-run\n"), "{outputs}");
    assert!(text(&output.stdout).contains("::error title="), "{}", text(&output.stdout));
}

#[test]
fn the_action_and_the_examples_name_only_options_that_exist() {
    let definition = cli::command();
    let variables: Vec<&str> = definition.get_arguments().filter_map(|arg| arg.get_env()?.to_str()).collect();
    let options: Vec<&str> = definition.get_arguments().filter_map(clap::Arg::get_long).collect();
    for name in ["action.yml", ".ci/action", "fixtures/ci/gitlab.yml", "fixtures/ci/kubernetes-job.yaml"] {
        let file = std::fs::read_to_string(root().join(name)).expect("a file");
        let words = file.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-');
        for variable in words.clone().filter(|word| word.starts_with("CONFORM_") && *word != "CONFORM_") {
            assert!(variable == "CONFORM_PROGRAM" || variables.contains(&variable), "{name}: {variable}");
        }
        let judging = file.split("conform ").skip(1).filter_map(|rest| rest.lines().next());
        for option in judging.flat_map(str::split_whitespace).filter_map(|word| word.strip_prefix("--")) {
            let option = option.split('=').next().unwrap_or_default();
            assert!(options.contains(&option), "{name}: --{option}");
        }
    }
}
