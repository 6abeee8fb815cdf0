//! Servers that are hostile, broken below HTTP, or hopeless: the judge ends by itself, says what it met, keeps its memory small,
//! and passes nothing on that could act on a terminal or a reader.

use std::path::PathBuf;
use std::pin::pin;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use libtest_mimic::Trial;
use serde_json::Value;
use tokio::process::Command;

use crate::sockets;
use crate::support::KEY;
use crate::trials::{Outcome, Table, block_on, plain};

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
    /// In KiB; none where the system does not report it.
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
        .envs(sockets::of(&server.base_url()).map(|socket| ("CONFORM_UNIX_SOCKET", socket)))
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
    let sentence = sentence.replace(&server.authority, "HOST");
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

/// The most memory that a process has held, in KiB, where the system reports it.
fn most_memory(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok())
}

/// Judges a server, and says how the run ended: with a sentence, in bounded memory, and without passing on what it was sent.
async fn ends_well(case: &Case) -> Outcome {
    let run = run(case).await;
    let acts = run.output.chars().find(|c| c.is_control() && *c != '\n' || is_direction(*c));
    let problem = if ![1, 3].contains(&run.exit) {
        format!("exit code {}", run.exit)
    } else if run.sentence.is_empty() {
        "nothing is said".to_owned()
    } else if run.output.contains("panicked") {
        "a panic".to_owned()
    } else if run.output.contains(KEY) {
        "the key is shown".to_owned()
    } else if let Some(acts) = acts {
        format!("{acts:?} is passed on")
    } else if run.memory.is_some_and(|memory| memory > MOST_MEMORY) {
        format!("{:?} KiB of memory", run.memory)
    } else {
        return Ok(format!("{}\n    exit {}: {}\n", case.name, run.exit, start(&run.sentence)));
    };
    Err(format!("{problem}\n{}", start(&run.output)))
}

/// A test for each server, and for each kind of servers one of what the runs said.
pub(crate) fn trials() -> Vec<Trial> {
    let kinds = [
        ("hostile-connections", cases::connections()),
        ("hostile-messages", cases::messages()),
        ("hostile-bodies", cases::bodies()),
        ("hostile-refusals", cases::refusals()),
        ("hostile-text", cases::text()),
    ];
    let mut trials: Vec<Trial> = Vec::new();
    for (snapshot, cases) in kinds {
        let named = cases.into_iter().map(|case| (case.name.to_owned(), case));
        let table = Table::new("hostile", named, |case| block_on(ends_well(case)));
        trials.extend(table.trials());
        trials.push(table.snapshot(snapshot));
    }
    trials.push(plain!("hostile", a_redirect_to_another_origin_is_not_followed));
    trials
}

fn is_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The beginning of a text: what hostile servers make of messages may be long.
fn start(text: &str) -> String {
    text.chars().take(220).collect()
}

/// Every request goes to one socket, so that a redirect to another origin would lead to the same server.
fn a_redirect_to_another_origin_is_not_followed() {
    for (name, lawful) in [("redirects to another origin", 0), ("redirects to another origin after three answers", 3)] {
        let followed = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&followed);
        let behaviour: Arc<server::Behaviour> = Arc::new(move |asked, peer| {
            seen.fetch_or(asked.target.starts_with("/elsewhere"), Ordering::Relaxed);
            if asked.before < lawful {
                peer.answer("200 OK", "", "[]")
            } else {
                peer.answer("308 Permanent Redirect", "location: http://other.example/elsewhere\r\n", "")
            }
        });
        let run = block_on(run(&Case { name, timeout: "1", behaviour }));
        assert_eq!(run.exit, if lawful == 0 { 3 } else { 1 }, "{}", start(&run.output));
        assert!(!followed.load(Ordering::Relaxed), "{name}");
    }
}
