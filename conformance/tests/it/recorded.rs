//! Recorded traffic: a recorded run gives the verdicts of the run again, and what others recorded is judged as far as it goes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use animal_store_conform::formats::{har, json};
use animal_store_conformance::recorded::{Terms, judge};
use animal_store_conformance::report::Report;
use animal_store_conformance::{Judge, Verdict};
use animal_store_rules::catalogue::scope::{Profile, Scope, Side};
use animal_store_rules::verdict::Status;

use crate::candidate::{Candidate, KEY, Nature};
use crate::options;
use crate::support::root;

/// A run against the candidate, functional, with its recording.
async fn run(nature: Nature) -> (Report, String) {
    let candidate = Candidate::start(nature).await;
    let mut options = options(&candidate.base_url, Profile::Full);
    options.budget.cases = Some(20);
    Judge::new(options).clock(candidate.clock()).run_and_record().await.expect("a verdict")
}

pub(crate) fn written(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a writable folder");
    path
}

pub(crate) fn statuses(report: &Report) -> BTreeMap<&str, (Status, usize, usize)> {
    let of = |r: &animal_store_conformance::report::RequirementReport| (r.status, r.judged, r.failures);
    report.requirements.iter().map(|requirement| (requirement.id.as_str(), of(requirement))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_run_gives_the_same_report_and_contains_no_key_and_its_archive_accuses_nobody() {
    for nature in [Nature::default(), Nature { odd: true, ..Nature::default() }] {
        let (report, trace) = run(nature).await;
        assert!(!trace.contains(KEY), "the trace contains the key");
        let folder = tempfile::tempdir().expect("a folder");
        let trace = written(folder.path(), "run.jsonl", &trace);
        let again = judge(std::slice::from_ref(&trace), &Terms::default()).expect("a report");
        assert_eq!(json::render(&again), json::render(&report));
        let archive = written(folder.path(), "run.har", &har::render(&report));
        let sample = judge(&[archive], &Terms { strict: Some(true), ..Terms::default() }).expect("a report");
        assert_eq!((crate::broken(&sample), statuses(&sample)["list.array"].0), (Vec::new(), Status::Pass));
    }
}

#[test]
fn the_recorded_runs_of_lawful_servers_conform() {
    for name in ["free", "pro", "removed", "odd", "day"] {
        let trace = root().join("fixtures/traces").join(format!("{name}.jsonl"));
        let report = judge(&[trace], &Terms::default()).expect("a report");
        assert_eq!(report.verdict, Verdict::Conforms, "{name}: {:#?}", crate::broken(&report));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_that_lacks_lines_is_incomplete_and_one_with_lines_of_another_is_refused() {
    let (_, trace) = run(Nature::default()).await;
    let folder = tempfile::tempdir().expect("a folder");
    let judged = |text: String| judge(&[written(folder.path(), "run.jsonl", &text)], &Terms::default());
    let lines: Vec<&str> = trace.lines().collect();
    let without = |missing: std::ops::Range<usize>| {
        let kept = lines.iter().enumerate().filter(|(at, _)| !missing.contains(at));
        kept.map(|(_, line)| format!("{line}\n")).collect::<String>()
    };
    for missing in [lines.len() - 60..lines.len(), 1..30, 40..41] {
        let count = lines.len() - 1 - missing.len();
        let report = judged(without(missing)).expect("a report");
        let notes = report.notes.join("\n");
        assert!(notes.contains(&format!("{count} of the {} recorded exchanges", lines.len() - 1)), "{notes}");
        assert_eq!(report.verdict, Verdict::Incomplete);
    }
    let refused = |text: String| judged(text).expect_err("several recordings").to_string();
    assert!(refused(trace.repeat(2)).contains("a second recording begins here"));
    assert!(refused(format!("{trace}{}\n", lines[7])).contains("lines of another one are among them"));
}

#[tokio::test(flavor = "multi_thread")]
async fn recordings_of_two_services_are_not_judged_together() {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = |name: &str, host: &str| {
        let text = SESSION.replace("STATUS", "sold").replace("api.example.com", host);
        written(folder.path(), name, &text)
    };
    let [one, same, other] = [("one.har", "a.example"), ("same.har", "a.example"), ("other.har", "b.example")]
        .map(|(name, host)| archive(name, host));
    judge(&[one.clone(), same], &Terms::default()).expect("one service");
    let error = judge(&[one, other], &Terms::default()).expect_err("two services").to_string();
    assert!(error.contains("https://a.example/v1 and of https://b.example/v1"), "{error}");
}

/// An archive as a browser writes one: a sign-in page, then requests with a key.
const SESSION: &str = r#"{"log": {"version": "1.2", "creator": {"name": "WebInspector"}, "entries": [
{"startedDateTime": "2026-06-01T12:00:00.000Z", "time": 20, "request": {"method": "GET", "url": "https://shop.example.com/"},
 "response": {"status": 200, "headers": [], "content": {}}, "cache": {}},
{"startedDateTime": "2026-06-01T12:00:01.000Z", "time": 20,
 "request": {"method": "GET", "url": "https://api.example.com/v1/pets?limit=1", "httpVersion": "h2", "headers": [
  {"name": ":authority", "value": "api.example.com"}, {"name": "authorization", "value": "Bearer live-4711-secret"}]},
 "response": {"status": 200, "headers": [{"name": "date", "value": "Mon, 01 Jun 2026 12:00:01 GMT"},
  {"name": "content-type", "value": "application/json"}, {"name": "x-ratelimit-limit", "value": "60"},
  {"name": "x-ratelimit-remaining", "value": "59"}, {"name": "x-ratelimit-reset", "value": "1780315260"}],
  "content": {"mimeType": "application/json", "size": 59, "text": "[{\"id\":1,\"name\":\"Rex\",\"categoryId\":1,\"status\":\"STATUS\"}]"}},
 "cache": {}}
]}}"#;

#[test]
fn an_archive_of_a_browser_is_judged_as_far_as_it_goes() {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = |status: &str| {
        let text =
            SESSION.replace("STATUS", status).replace("\"size\": 59", &format!("\"size\": {}", 50 + status.len()));
        let file = written(folder.path(), "session.har", &text);
        judge(&[file], &Terms::default()).expect("a report")
    };
    let lawful = archive("sold");
    assert_eq!(lawful.verdict, Verdict::Incomplete);
    assert_eq!((lawful.requests, lawful.target.base_url.as_str()), (1, "https://api.example.com/v1"));
    assert!(lawful.notes[0].ends_with("1 of 2 entries left out: 1 sent to another address"), "{:?}", lawful.notes);
    assert_eq!(statuses(&lawful)["list.limit-minimum"], (Status::Pass, 1, 0));
    assert_eq!(statuses(&lawful)["quota.not-exceeded"].0, Status::NotExercised);
    let broken = archive("Sold");
    assert_eq!(broken.verdict, Verdict::Violates);
    let text = json::render(&broken);
    assert!(statuses(&broken)["pet.status-values"].0 == Status::Fail && !text.contains("live-4711"), "{text}");
}

#[test]
fn exports_of_other_programs_accuse_nobody_and_show_what_is_broken() {
    let folder = tempfile::tempdir().expect("a folder");
    let archives = root().join("fixtures/archives");
    for (name, requests) in [("mitmproxy.har", 12), ("playwright-chromium.har", 9)] {
        let lawful = judge(&[archives.join(name)], &Terms::default()).expect("a report");
        let broken: Vec<_> = lawful.requirements.iter().filter(|requirement| requirement.failures > 0).collect();
        assert!(broken.is_empty(), "{name}: {broken:#?}");
        assert_eq!((lawful.verdict, lawful.requests, lawful.created), (Verdict::Incomplete, requests, 2), "{name}");
        for id in ["list.array", "list.status-filter", "create.echo", "create.category-required", "get.not-found"] {
            assert_eq!(statuses(&lawful)[id].0, Status::Pass, "{name}: {id}");
        }
        for id in ["orders.exists", "auth.missing-key", "errors.shape", "headers.limit", "versioning.lifetime"] {
            assert_eq!(statuses(&lawful)[id].0, Status::Pass, "{name}: {id}");
        }
        assert!(!json::render(&lawful).contains("sk-test-key-4711"), "{name}: the report contains the key");
        let text = std::fs::read_to_string(archives.join(name)).expect("a readable file");
        let shouted = text.replace(
            r#"31,\"name\":\"Rex\",\"categoryId\":1,\"status\":\"sold\""#,
            r#"31,\"name\":\"Rex\",\"categoryId\":1,\"status\":\"Sold\""#,
        );
        let broken = judge(&[written(folder.path(), name, &shouted)], &Terms::default()).expect("a report");
        assert_eq!(statuses(&broken)["pet.status-values"].0, Status::Fail, "{name}");
    }
}

#[test]
fn of_an_archive_the_side_is_judged_that_was_asked_for() {
    let refused = r#", {"startedDateTime": "2026-06-01T12:00:02.000Z", "time": 20,
 "request": {"method": "GET", "url": "https://api.example.com/v1/pets?limit=500&key=live-4711-secret", "httpVersion": "h2", "headers": [
  {"name": ":authority", "value": "api.example.com"}, {"name": "authorization", "value": "Bearer live-4711-secret"}]},
 "response": {"status": 400, "headers": [{"name": "date", "value": "Mon, 01 Jun 2026 12:00:02 GMT"}], "content": {}}, "cache": {}}"#;
    let again = refused.replace("12:00:02", "12:00:07");
    let text = SESSION.replace("STATUS", "sold").replace("\"size\": 59", "\"size\": 54");
    let text = text.replace("\n]}}", &format!("{refused}{again}\n]}}}}"));
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(folder.path(), "session.har", &text);
    let judged = |side, only: &str| {
        let scope = (!only.is_empty()).then(|| Scope { only: vec![only.to_owned()], ..Scope::default() });
        judge(std::slice::from_ref(&file), &Terms { side, scope, ..Terms::default() })
    };
    let clients = judged(Some(Side::Client), "").expect("a report");
    assert_eq!((clients.side, clients.verdict), (Side::Client, Verdict::Violates));
    assert_eq!(statuses(&clients)["client.key-in-header"].0, Status::Fail);
    assert_eq!(statuses(&clients)["client.list-parameters"].0, Status::Pass, "it is repeated once");
    assert!(!statuses(&clients).contains_key("list.array") && !json::render(&clients).contains("live-4711"));
    let waits = clients.requirements.iter().find(|r| r.id == "client.retry-after-date").expect("a verdict");
    let reason = waits.reason.as_deref().unwrap_or_default();
    assert!(waits.status == Status::NotExercised && reason.contains("received no 429"), "{reason}");
    let server = judged(None, "").expect("a report");
    assert!(server.side == Side::Server && !statuses(&server).contains_key("client.key-in-header"));
    assert!(server.notes.iter().any(|note| note.starts_with("judged: the server;")), "{:?}", server.notes);
    let both = judged(Some(Side::Both), "").expect("a report");
    assert!(statuses(&both).contains_key("client.key-in-header") && statuses(&both).contains_key("list.array"));
    let nothing = judged(None, "client").expect_err("nothing to judge").to_string();
    assert!(nothing.contains("no requirement of the side `server`"), "{nothing}");
}

/// Recordings of lawful servers by real recorders, and in shapes that exporters give them: `fixtures/archives/lawful`.
fn lawful_archives() -> Vec<PathBuf> {
    let folder = root().join("fixtures/archives/lawful");
    let mut files: Vec<PathBuf> =
        folder.read_dir().expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

#[test]
fn recordings_of_lawful_servers_accuse_nobody() {
    let mut table = String::new();
    for file in lawful_archives() {
        let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
        let row = match judge(std::slice::from_ref(&file), &Terms::default()) {
            Ok(report) => {
                assert_eq!(crate::broken(&report), Vec::<String>::new(), "{name}");
                let held = report.requirements.iter().filter(|requirement| requirement.status == Status::Pass).count();
                let left_out = report.notes.iter().find_map(|note| note.split("left out: ").nth(1));
                format!("{name}: {held} held; left out: {}", left_out.unwrap_or("nothing"))
            }
            Err(error) => format!("{name}: {}", error.to_string().rsplit(": ").next().unwrap_or_default()),
        };
        table.push_str(&row);
        table.push('\n');
    }
    crate::support::check("lawful_archives", &table);
}

/// Changes a member of an archive.
type Deform = fn(&mut serde_json::Value);

/// The deformations, each with its name.
const DEFORMATIONS: [(&str, Deform); 6] = [
    ("null", |value| *value = serde_json::Value::Null),
    ("emptied", |value| {
        *value = match value {
            serde_json::Value::String(_) => "".into(),
            serde_json::Value::Array(_) => serde_json::json!([]),
            serde_json::Value::Object(_) => serde_json::json!({}),
            _ => 0.into(),
        };
    }),
    ("redacted", |value| *value = "[redacted]".into()),
    ("as text", |value| {
        if !value.is_string() {
            *value = value.to_string().into();
        }
    }),
    ("halved", |value| match value {
        serde_json::Value::String(text) => {
            *value = text.chars().take(text.chars().count() / 2).collect::<String>().into();
        }
        serde_json::Value::Array(items) => items.truncate(items.len() / 2),
        _ => {}
    }),
    ("rounded", |value| {
        if let Some(number) = value.as_f64() {
            *value = number.round().into();
        }
    }),
];

/// The members of an entry, as JSON pointers.
fn pointers(value: &serde_json::Value, at: &str, found: &mut Vec<String>) {
    let children: Vec<(String, &serde_json::Value)> = match value {
        serde_json::Value::Object(members) => members.iter().map(|(name, value)| (name.clone(), value)).collect(),
        serde_json::Value::Array(items) => {
            items.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    for (name, child) in children {
        let path = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
        pointers(child, &path, found);
        found.push(path);
    }
}

/// One member of one entry is deformed at a time. What no reader can notice is excepted: half of the header fields, or half of the name
/// or value of one.
#[test]
fn a_deformed_member_of_a_lawful_recording_accuses_nobody() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut rng = fastrand::Rng::with_seed(20_260_601);
    let (mut tried, mut accused) = (0, Vec::new());
    for file in lawful_archives() {
        let text = std::fs::read_to_string(&file).expect("a readable file");
        // Half a surrogate pair is no string of this reader.
        let Ok(archive) = serde_json::from_str::<serde_json::Value>(&text) else { continue };
        for _ in 0..150 {
            let mut archive = archive.clone();
            let entries = archive["log"]["entries"].as_array_mut().expect("entries");
            let at = rng.usize(..entries.len());
            let entry = &mut entries[at];
            let mut found = Vec::new();
            pointers(entry, "", &mut found);
            let pointer = &found[rng.usize(..found.len())];
            let (what, deform) = DEFORMATIONS[rng.usize(..DEFORMATIONS.len())];
            if what == "halved" && pointer.contains("/headers") {
                continue;
            }
            deform(entry.pointer_mut(pointer).expect("a member"));
            let deformed = written(folder.path(), "deformed.har", &archive.to_string());
            tried += 1;
            if let Ok(report) = judge(&[deformed], &Terms::default()) {
                let name = file.file_stem().expect("a name").to_string_lossy();
                accused.extend(
                    crate::broken(&report).into_iter().map(|finding| format!("{name} {pointer} {what}: {finding}")),
                );
            }
        }
    }
    assert!(accused.is_empty(), "{} of {tried}:\n{}", accused.len(), accused.join("\n"));
}
