//! Servers that are hostile, broken below HTTP, or hopeless: the judge ends by itself, says what it met, keeps its memory small,
//! and passes nothing on that could act on a terminal or a reader.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::pin::pin;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use serde_json::Value;
use tokio::process::Command;

use crate::candidate::KEY;
use crate::rendering::check;

mod cases;
mod server;

use cases::Case;
use server::Server;

/// However hostile, a run with a timeout of some seconds ends by itself well before this.
const FAR_TOO_LONG: Duration = Duration::from_secs(90);

/// The most memory that a run may ever have held, in KiB.
const MOST_MEMORY: u64 = 256 * 1024;

/// What a run left behind.
struct Run {
    exit: i32,
    output: String,
    /// What it says that it met.
    sentence: String,
    /// In KiB; none where the system does not tell.
    memory: Option<u64>,
}

async fn run(case: &Case) -> Run {
    let server = Server::start(Arc::clone(&case.behaviour));
    let slug: String = case.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let report: PathBuf = [env!("CARGO_TARGET_TMPDIR"), &format!("hostile-{slug}.json")].iter().collect();
    // One from an earlier run would be taken for this one's.
    let _none_there = std::fs::remove_file(&report);
    let mut command = Command::new(env!("CARGO_BIN_EXE_conform"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CONFORM_")) {
        command.env_remove(name);
    }
    let child = command
        .args(["--base-url", &server.base_url(), "--api-key", KEY, "--seed", "7", "-v"])
        .args(["--timeout", case.timeout, "--max-duration", "30", "--max-requests", "200"])
        .args(["--report", &format!("json={}", report.display())])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the program starts");
    let process = child.id().expect("a running process");
    let mut memory = None;
    let mut look = tokio::time::interval(Duration::from_millis(10));
    let mut output = pin!(tokio::time::timeout(FAR_TOO_LONG, child.wait_with_output()));
    let output = loop {
        tokio::select! {
            output = &mut output => break output,
            _ = look.tick() => memory = most_memory(process).max(memory),
        }
    };
    let output = output.unwrap_or_else(|_| panic!("`{}`: the run does not end", case.name)).expect("its output");
    let written = std::fs::read(&report).unwrap_or_default();
    let utf8 = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let (out, err, written) = (utf8(output.stdout), utf8(output.stderr), utf8(written));
    let sentence = match serde_json::from_str::<Value>(&written) {
        Ok(report) => first_violation(&report),
        Err(_) => err.split("error: ").nth(1).unwrap_or_default().lines().next().unwrap_or_default().to_owned(),
    };
    let sentence = sentence.replace(&server.address.to_string(), "HOST");
    Run {
        exit: output.status.code().expect("ended by itself"),
        output: [out, err, written].join("\n"),
        sentence,
        memory,
    }
}

/// The first thing that a report holds against the candidate.
fn first_violation(report: &Value) -> String {
    let requirements = report["requirements"].as_array().expect("requirements");
    let broken = requirements.iter().find(|requirement| requirement["violation"] == true);
    let sentence = broken.map(|broken| {
        let sentence = broken["evidence"][0]["sentence"].as_str().unwrap_or_default();
        format!("{}: {sentence}", broken["id"].as_str().unwrap_or_default())
    });
    sentence.unwrap_or_default()
}

/// The most memory that a process has held, in KiB, where the system tells.
fn most_memory(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok())
}

/// Judges every server of a table, a few at a time, and tells what the runs said: for a snapshot.
async fn table(cases: Vec<Case>) -> String {
    let runs = stream::iter(&cases).map(async |case| (case, run(case).await)).buffered(6);
    let mut table = String::new();
    let mut most = 0;
    for (case, run) in runs.collect::<Vec<_>>().await {
        let name = case.name;
        assert!([1, 3].contains(&run.exit), "`{name}`: exit code {}\n{}", run.exit, start(&run.output));
        assert!(!run.sentence.is_empty(), "`{name}`: nothing is said\n{}", start(&run.output));
        assert!(!run.output.contains("panicked"), "`{name}`: a panic\n{}", start(&run.output));
        assert!(!run.output.contains(KEY), "`{name}`: the key is shown");
        let acts = run.output.chars().find(|c| c.is_control() && *c != '\n' || is_direction(*c));
        assert_eq!(acts, None, "`{name}`: passed through");
        assert!(run.memory.is_none_or(|memory| memory <= MOST_MEMORY), "`{name}`: {:?} KiB", run.memory);
        most = run.memory.unwrap_or_default().max(most);
        writeln!(table, "{name}\n    exit {}: {}", run.exit, start(&run.sentence)).expect("a text");
    }
    eprintln!("most memory of {} runs: {} MiB", cases.len(), most / 1024);
    table
}

fn is_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The beginning of a text: what hostile servers make of messages may be long.
fn start(text: &str) -> String {
    text.chars().take(220).collect()
}

#[tokio::test]
async fn whatever_a_server_does_to_its_connections_the_run_ends_and_says_what_it_met() {
    check("hostile-connections", &table(cases::connections()).await);
}

#[tokio::test]
async fn what_is_no_http_or_lies_about_itself_is_met_with_a_sentence() {
    check("hostile-messages", &table(cases::messages()).await);
}

#[tokio::test]
async fn bodies_that_a_reader_might_choke_on_are_met_with_a_sentence_in_little_memory() {
    check("hostile-bodies", &table(cases::bodies()).await);
}

#[tokio::test]
async fn endless_refusals_and_lying_headers_end_the_run_early() {
    check("hostile-refusals", &table(cases::refusals()).await);
}

#[tokio::test]
async fn awkward_text_reaches_no_terminal_and_no_report() {
    check("hostile-text", &table(cases::text()).await);
}

#[tokio::test]
async fn a_redirect_to_another_origin_is_not_followed_and_the_key_stays() {
    let other = Server::start(Arc::new(|_, peer| peer.answer("200 OK", "", "[]")));
    let location = format!("location: {}/pets\r\n", other.base_url());
    for (name, lawful) in [("redirects to another origin", 0), ("redirects to another origin after three answers", 3)] {
        let location = location.clone();
        let behaviour: Arc<server::Behaviour> = Arc::new(move |asked, peer| {
            if asked.before < lawful {
                peer.answer("200 OK", "", "[]")
            } else {
                peer.answer("308 Permanent Redirect", &location, "")
            }
        });
        let run = run(&Case { name, timeout: "1", behaviour }).await;
        assert_eq!(run.exit, if lawful == 0 { 3 } else { 1 }, "{}", start(&run.output));
    }
    assert_eq!(other.requests(), 0);
}
