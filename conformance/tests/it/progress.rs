//! What is reported during a run, and how a run ends that is interrupted.

use std::path::PathBuf;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::candidate::{Candidate, KEY, Nature};
use crate::command_line::{command, conform, text};
use crate::preflight::silent_port;

#[tokio::test]
async fn where_no_terminal_is_each_probe_gets_a_line() {
    let candidate = Candidate::start(Nature::default()).await;
    let args = ["--base-url", &candidate.base_url, "--api-key", KEY, "--profile", "functional", "--cases", "3"];
    let output = conform(&args).await;
    let stderr = text(&output.stderr);
    let begin = [
        "preflight",
        "tour 1/6 · 1/",
        "near misses 2/6 · ",
        "credentials 3/6 · ",
        "properties 4/6 · ",
        "sequence 5/6 · ",
        "full page 6/6 · ",
    ];
    assert_eq!(stderr.lines().count(), begin.len(), "{stderr}");
    for (line, begin) in stderr.lines().zip(begin) {
        assert!(line.starts_with(begin), "{stderr}");
    }
}

#[tokio::test]
async fn a_program_that_reads_the_report_and_whoever_wants_quiet_hears_nothing_else() {
    let candidate = Candidate::start(Nature::default()).await;
    for more in [&["--format", "json"][..], &["-q"]] {
        let mut args = vec!["--base-url", &candidate.base_url, "--api-key", KEY, "--profile", "read-only"];
        args.extend(more);
        let output = conform(&args).await;
        assert_eq!(text(&output.stderr), "", "{more:?}");
    }
}

/// Starts a full run against a server with a small limit, and waits until the run does.
async fn until_it_waits(candidate: &Candidate, report: &str) -> (Child, String) {
    let args = ["--base-url", &candidate.base_url, "--api-key", KEY, "--report", report, "--seed", "7"];
    let mut child = command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let mut stderr = String::new();
    while let Some(line) = lines.next_line().await.expect("UTF-8") {
        stderr.push_str(&line);
        stderr.push('\n');
        if line.starts_with("waiting") {
            break;
        }
    }
    // The rest is for whoever reads on.
    child.stderr = Some(lines.into_inner().into_inner());
    (child, stderr)
}

#[tokio::test]
async fn an_interrupted_run_judges_what_it_has_and_exits_as_interrupted_programs_do() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let candidate = Candidate::start(Nature { limit: 70, ..Nature::default() }).await;
        let path: PathBuf = [env!("CARGO_TARGET_TMPDIR"), &format!("interrupted-{signal}.json")].iter().collect();
        let (mut child, stderr) = until_it_waits(&candidate, &format!("json={}", path.display())).await;
        let number = child.id().expect("it runs").to_string();
        let sent = Command::new("sh").args(["-c", &format!("kill -{signal} {number}")]).status().await;
        assert!(sent.expect("a shell").success());
        let mut rest = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut rest).await.expect("UTF-8");
        let output = child.wait_with_output().await.expect("it ends");
        assert_eq!(output.status.code(), Some(code), "{stderr}{rest}");
        assert!(rest.starts_with("interrupted: ") && rest.contains("requests were sent"), "{stderr}{rest}");
        let shown = text(&output.stdout);
        assert!(shown.contains("INCOMPLETE") && shown.contains("the run was interrupted"), "{shown}");
        let report = std::fs::read(&path).expect("a report");
        let report: serde_json::Value = serde_json::from_slice(&report).expect("a whole report");
        assert_eq!(
            report["ended_early"].as_str().and_then(|reason| reason.split(';').next()),
            Some("the run was interrupted")
        );
    }
}

#[tokio::test]
async fn a_run_that_is_interrupted_while_it_waits_for_a_server_says_that_nothing_was_judged() {
    let (_taken, nobody) = silent_port();
    let base_url = format!("http://{nobody}/v1");
    let args = ["--base-url", &base_url, "--api-key", KEY, "--wait", "600"];
    let mut child = command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let first = lines.next_line().await.expect("UTF-8").expect("a line");
    assert!(first.starts_with("no response yet"), "{first}");
    let number = child.id().expect("it runs").to_string();
    Command::new("sh").args(["-c", &format!("kill -INT {number}")]).status().await.expect("a shell");
    let mut rest = String::new();
    lines.into_inner().read_to_string(&mut rest).await.expect("UTF-8");
    assert_eq!(child.wait().await.expect("it ends").code(), Some(130), "{rest}");
    assert!(rest.contains("nothing could be judged: the run was interrupted"), "{rest}");
}
