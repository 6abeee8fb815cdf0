//! A verdict says what it covers: no output of a run of some requirements is taken for one of all, and nothing holds without evidence.

use animal_store_conform::formats::{FORMATS, json, named};
use animal_store_conformance::recorded::{Terms, judge};
use animal_store_conformance::report::Report;
use animal_store_conformance::report::text::{self, Detail};
use animal_store_conformance::{Judge, Profile, Scope, Side, Status, Verdict};
use axum::Router;
use axum::body::Body;
use axum::response::Response;
use serde_json::Value;

use crate::candidate::{self, Candidate, Nature};
use crate::options;

async fn run(profile: Profile, only: &[&str], skip: &[&str]) -> Report {
    let candidate = Candidate::start(Nature::default()).await;
    let mut options = options(&candidate.base_url, profile);
    options.judging.scope.only = only.iter().map(|id| (*id).to_owned()).collect();
    options.judging.scope.skip = skip.iter().map(|id| (*id).to_owned()).collect();
    options.budget.cases = Some(0);
    Judge::new(options).clock(candidate.clock()).run().await.expect("a report")
}

fn rendered(report: &Report, format: &str) -> String {
    named(format).expect("a format").render(report).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_some_requirements_says_so_in_every_format() {
    for (profile, only, skip, by) in [
        (Profile::Full, &["orders.exists"][..], &[][..], "by --only orders.exists"),
        (Profile::Functional, &[], &["list.complete"], "by --profile functional --skip list.complete"),
        (Profile::Functional, &[], &[], "by --profile functional"),
        (Profile::ReadOnly, &["auth"], &["auth.exact-key"], "by --profile read-only --only auth --skip auth.exact-key"),
    ] {
        let report = run(profile, only, skip).await;
        assert_eq!(report.verdict, Verdict::Conforms, "{by}");
        let part = report.part().expect("a part");
        assert!(part.ends_with(by) && part.contains(" requirements selected, "), "{part}");
        let (selected, requirements) = (report.selection.selected, report.selection.requirements);
        assert!(part.starts_with(&format!("{selected} of {requirements} ")) && selected < requirements, "{part}");
        let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
        let text = text::render(&report, Detail::Quiet, 200).to_string();
        assert!(first(&text).contains(&format!("({part})")), "{text}");
        assert!(first(&rendered(&report, "markdown")).contains(&part));
        for format in FORMATS.iter().filter(|format| !["json", "sarif"].contains(&format.name)) {
            let text = rendered(&report, format.name);
            assert!(text.contains(&part), "{} does not show {part:?}: {}", format.name, &text[..text.len().min(400)]);
        }
        let parsed = |format: &str| serde_json::from_str::<Value>(&rendered(&report, format)).expect("JSON");
        assert_eq!(parsed("json")["selection"]["selected"], selected);
        assert_eq!(parsed("sarif")["runs"][0]["properties"]["selection"]["requirements"], requirements);
    }
    let whole = run(Profile::Full, &[], &[]).await;
    assert_eq!((whole.part(), whole.selection.by.len()), (None, 0));
}

/// A server that answers everything with this status.
fn always(status: u16) -> String {
    let app = Router::new().fallback(move || async move {
        let body = format!(r#"{{"code":"no","message":"no","status":{status}}}"#);
        let response = Response::builder().status(status).header("content-type", "application/json");
        let response = response.header("x-ratelimit-limit", 60).header("x-ratelimit-remaining", 59);
        response.header("x-ratelimit-reset", 4_000_000_000_u64).body(Body::from(body)).expect("a response")
    });
    candidate::serve(app)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_accepts_nothing_shows_neither_that_a_key_is_valid_nor_that_orders_exist() {
    for status in [400, 403, 407, 500, 503] {
        for only in [vec!["auth.valid-key"], vec!["orders.exists"], Vec::new()] {
            let mut options = options(&always(status), Profile::ReadOnly);
            options.judging.scope.only = only.iter().map(|id| (*id).to_owned()).collect();
            options.budget.max_requests = 60;
            let report = Judge::new(options).run().await.expect("a report");
            assert_ne!(report.verdict, Verdict::Conforms, "{status} {only:?}");
            for id in ["auth.valid-key", "orders.exists"] {
                let requirement = report.requirement(id).expect("a requirement");
                assert_ne!(requirement.status, Status::Pass, "{status} {only:?}: {id}");
            }
        }
    }
}

#[test]
fn traffic_that_shows_nothing_of_what_was_asked_for_does_not_conform() {
    let archive = serde_json::json!({"log": {"version": "1.2", "creator": {"name": "test"}, "entries": [{
        "startedDateTime": "2026-06-01T12:00:00.000Z", "time": 20,
        "request": {"method": "GET", "url": "https://shop.example.com/v1/pets", "httpVersion": "HTTP/1.1",
            "headers": [{"name": "host", "value": "shop.example.com"}, {"name": "authorization", "value": "Bearer sk-1"}]},
        "response": {"status": 200, "headers": [{"name": "date", "value": "Mon, 01 Jun 2026 12:00:00 GMT"},
            {"name": "content-type", "value": "application/json"}], "content": {"text": "[]"}}
    }]}});
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("traffic.har");
    std::fs::write(&path, archive.to_string()).expect("a writable folder");
    for (side, only) in [
        (Side::Client, "client.retry-after-seconds"),
        (Side::Client, "client.backoff"),
        (Side::Server, "versioning.sunset"),
    ] {
        let scope = Scope { only: vec![only.to_owned()], side, ..Scope::default() };
        let terms = Terms { side: Some(side), scope: Some(scope), strict: Some(true), ..Terms::default() };
        let report = judge(std::slice::from_ref(&path), &terms).expect("a report");
        assert_eq!(report.verdict, Verdict::Incomplete, "{only}");
        let text = text::render(&report, Detail::Normal, 200).to_string();
        assert!(!text.contains('✓'), "{text}");
        assert!(json::render(&report).contains("\"incomplete\""));
    }
}
