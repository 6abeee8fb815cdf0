//! Reruns judge the broken requirements of a report again, and a file lists the requirements that are known to fail.

use std::path::PathBuf;

use animal_store_conformance::http::Clock;
use animal_store_lab::faults::faults;
use animal_store_reference::Plan;

use crate::candidate::{Candidate, KEY, Nature};
use crate::command_line::{conform, text};
use crate::faults::Fault;
use crate::host::Host;
use crate::sockets;

fn file(name: &str) -> PathBuf {
    [env!("CARGO_TARGET_TMPDIR"), name].iter().collect()
}

#[tokio::test]
async fn a_rerun_judges_what_was_broken_and_what_is_known_to_fail_is_written_down() {
    let broken = Candidate::start(Nature { fault: Some(Fault::TakesSuffixes), ..Nature::default() }).await;
    let (report, known) = (file("rerun.json"), file("rerun-known.toml"));
    let _not_there = std::fs::remove_file(&known);
    let (report, known) = (report.display().to_string(), known.display().to_string());
    let to_report = format!("json={report}");
    let args = ["--base-url", &broken.base_url, "--api-key", KEY, "--profile", "functional"];
    let first = [&args[..], &["--report", &to_report, "--write-known-failing", &known, "--seed", "7"]].concat();
    let output = conform(&first).await;
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("✗ auth.exact-key: "), "failures are shown as they are found");

    let again = conform(&[&args[..], &["--rerun", &report, "--format", "json"]].concat()).await;
    assert_eq!(again.status.code(), Some(1), "{}", text(&again.stderr));
    let judged: serde_json::Value = serde_json::from_slice(&again.stdout).expect("JSON");
    let requirements = judged["requirements"].as_array().expect("requirements");
    let selected: Vec<&str> =
        requirements.iter().filter(|r| r["selected"] == true).filter_map(|r| r["id"].as_str()).collect();
    assert_eq!((judged["seed"].as_u64(), selected.contains(&"auth.exact-key")), (Some(7), true), "{selected:?}");
    assert!(!selected.contains(&"list.success"), "{selected:?}");

    // Address and selection are those of the report.
    let socket = broken.own_socket().expect("a socket").display().to_string();
    let again = conform(&["--rerun", &report, "--api-key", KEY, "--unix-socket", &socket, "--format", "json"]).await;
    let judged: serde_json::Value = serde_json::from_slice(&again.stdout).expect("JSON");
    let since = &judged["since"];
    assert_eq!((again.status.code(), &judged["profile"]), (Some(1), &"functional".into()), "{}", text(&again.stderr));
    let nothing = serde_json::json!([]);
    assert_eq!((&since["fixed"], &since["new"], &since["not_exercised"]), (&nothing, &nothing, &nothing), "{since}");
    assert!(since["still_broken"].as_array().is_some_and(|ids| ids.contains(&"auth.exact-key".into())), "{since}");

    // While the server is down, nothing is lost.
    let down = ["--rerun", &report, "--report", &to_report, "--api-key", KEY, "--unix-socket", "none.sock"];
    assert_eq!(conform(&down).await.status.code(), Some(3));

    // A server that was mended, and broken elsewhere.
    let other = Candidate::start(Nature { fault: Some(Fault::ReusesIds), ..Nature::default() }).await;
    let socket = other.own_socket().expect("a socket").display().to_string();
    let there = ["--rerun", &report, "--api-key", KEY, "--base-url", &other.base_url, "--unix-socket", &socket];
    let mended = conform(&there).await;
    let out = text(&mended.stdout);
    let line = out.lines().find(|line| line.contains("fixed: ")).unwrap_or_else(|| panic!("{out}"));
    assert!(line.contains(", still broken: 0, new: ") && !line.contains("fixed: 0"), "{line}");
    assert!(out.contains(&format!(" --rerun {report})")), "{out}");

    // What it selects together with the other options must be something, or the run would conform without a request.
    let nothing = conform(&[&args[..], &["--rerun", &report, "--skip", "auth"]].concat()).await;
    assert_eq!(nothing.status.code(), Some(2), "{}", text(&nothing.stderr));
    assert!(text(&nothing.stderr).contains("no requirement is selected"), "{}", text(&nothing.stderr));
    let both = conform(&[&args[..], &["--rerun", &report, "--only", "list"]].concat()).await;
    assert_eq!(both.status.code(), Some(2), "{}", text(&both.stderr));

    let excused = conform(&[&args[..], &["--known-failing", &known, "--seed", "7"]].concat()).await;
    assert_eq!(excused.status.code(), Some(0), "{}", text(&excused.stdout));

    let fast = conform(&[&args[..], &["--fail-fast", "--seed", "7"]].concat()).await;
    assert_eq!(fast.status.code(), Some(1));
    assert!(text(&fast.stdout).contains("(--fail-fast)"), "{}", text(&fast.stdout));
}

#[tokio::test]
async fn a_report_in_which_nothing_is_broken_cannot_be_rerun() {
    let (empty, junk) = (file("rerun-none.json"), file("rerun-junk.json"));
    std::fs::write(&junk, "{}").expect("a file");
    for path in [&empty, &junk] {
        let args = ["--base-url", "http://127.0.0.1:1/v1", "--api-key", KEY, "--rerun", &path.display().to_string()];
        let output = conform(&args).await;
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        assert!(text(&output.stderr).starts_with("error: cannot rerun "), "{}", text(&output.stderr));
    }
}

#[tokio::test]
async fn the_plan_of_a_dry_run_can_be_read_by_a_program() {
    let args = ["--base-url", "http://127.0.0.1:1/v1", "--api-key", KEY, "--dry-run", "--format", "json"];
    let output = conform(&args).await;
    let plan: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(plan["requests"].as_u64().is_some_and(|requests| requests > 8) && plan["probes"].is_array(), "{plan}");
}

#[tokio::test]
async fn with_fail_fast_the_tour_is_sent_and_judged_before_the_run_waits_for_a_window() {
    let nature = Nature { fault: Some(Fault::FailsOnList), limit: 60, ..Nature::default() };
    let candidate = Candidate::start(nature).await;
    let output = conform(&["--base-url", &candidate.base_url, "--api-key", KEY, "--fail-fast"]).await;
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{out}{err}");
    assert!(out.contains("(--fail-fast)") && !err.contains("waiting "), "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rerun_repeats_every_probe_that_showed_a_failure() {
    let mut faults = faults().into_iter();
    let fault = faults.find(|fault| fault.name == "create.extended-json.control-characters").expect("a fault");
    let host = Host::start_with(Plan::Business, fault.variation(), Clock::system()).await;
    let socket = sockets::of(&host.base_url).expect("a socket").display().to_string();
    let report = file("rerun-bodies.json").display().to_string();
    let target = ["--base-url", &host.base_url, "--unix-socket", &socket, "--api-key", &host.key];
    let to_report = format!("json={report}");
    let functional = ["--plan", "business", "--profile", "functional", "--strict", "--report", &to_report];
    let first = conform(&[&target[..], &functional].concat()).await;
    assert_eq!(first.status.code(), Some(1), "{}", text(&first.stderr));
    let again = conform(&["--rerun", &report, "--unix-socket", &socket, "--api-key", &host.key]).await;
    let out = text(&again.stdout);
    assert!(out.contains("fixed: 0, still broken: 2, new: 0"), "it shows in the probe of near misses alone: {out}");
}
