//! The requests of a run: their identifiers, their rate, and their number where responses are slow.

use std::collections::HashSet;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use animal_store_conformance::http::Client;
use animal_store_conformance::report::Report;
use animal_store_conformance::report::text::{self, Detail};
use animal_store_conformance::{Judge, Options};
use animal_store_lab::{Layer, Request, Response, Variation};
use animal_store_reference::Plan;
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::trace::exchange::{self, Outcome};
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::verdict::{Status, Verdict};
use jiff::Timestamp;

use crate::host::Host;
use crate::proxy::raw_server;
use crate::{broken, options};

async fn judge(variation: Variation, profile: Profile, change: impl FnOnce(&mut Options)) -> Report {
    let host = Host::start(Plan::Free, variation).await;
    let mut options = options(&host.base_url, profile);
    options.api_key = ApiKey::new(&host.key).expect("a usable key");
    options.budget.max_duration = Duration::from_mins(20);
    change(&mut options);
    Judge::new(options).clock(host.clock.clone()).run().await.expect("a verdict")
}

fn with(layer: Layer) -> Variation {
    Variation { layers: vec![layer], ..Variation::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_request_has_an_identifier_which_a_finding_shows_beside_that_of_the_response() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let received = Arc::clone(&seen);
    let layer = Layer::default().after(move |request: &Request, response: &mut Response, _| {
        received.lock().expect("no panic").push(request.header("x-request-id").to_owned());
        response.set("x-request-id", format!("of-server-{}", request.number));
        if request.is_orders() && response.status == 200 {
            response.refuse(404);
        }
    });
    let report = judge(with(layer), Profile::Functional, |_| {}).await;
    let sent = seen.lock().expect("no panic").clone();
    let different: HashSet<&String> = sent.iter().collect();
    assert!(sent.len() == report.requests && different.len() == sent.len(), "{} of {}", different.len(), sent.len());
    assert!(sent.iter().all(|id| id.starts_with("conform-")), "{sent:?}");
    let orders = report.requirement("orders.exists").expect("a requirement");
    assert_eq!(orders.status, Status::Fail);
    let shown = text::render(&report, Detail::Normal, 200).to_string();
    let ids = shown.lines().find(|line| line.contains(", response of-server-")).unwrap_or_else(|| panic!("{shown}"));
    assert!(sent.iter().any(|id| ids.contains(&format!("request {id}, "))), "{ids}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_report_has_the_identifier_of_each_created_animal() {
    let stored = Arc::new(Mutex::new(Vec::new()));
    let created = Arc::clone(&stored);
    let layer = Layer::default().after(move |_, response, _| {
        let id = response.json().filter(|_| response.status == 201).and_then(|pet| pet["id"].as_i64());
        created.lock().expect("no panic").extend(id);
    });
    let report = judge(with(layer), Profile::Functional, |_| {}).await;
    let mut stored = stored.lock().expect("no panic").clone();
    let mut reported = report.created_ids.clone();
    stored.sort_unstable();
    reported.sort_unstable();
    assert!(stored.len() > 10 && reported == stored, "{reported:?}, not {stored:?}");
    assert_eq!(report.created, stored.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_sends_no_more_requests_in_a_second_than_its_rate_allows() {
    let report =
        judge(Variation::default(), Profile::Functional, |options| options.budget.rate = NonZeroU32::new(4)).await;
    assert_eq!(report.verdict, Verdict::Conforms, "{:?}", broken(&report));
    let mut sent: Vec<Timestamp> = report.exchanges.iter().map(|exchange| exchange.sent_at).collect();
    sent.sort_unstable();
    // Times are rounded to milliseconds, and the readings of the simulated clock take some.
    let too_many = sent.windows(5).find(|five| five[4].duration_since(five[0]).as_millis() < 950);
    assert_eq!(too_many, None);
}

/// Judges a server on a Free key. Each of its responses takes this time.
async fn slowly(millis: u64, seed: u64) -> Report {
    let slow = Layer::default().after(move |_, response, _| response.delay += Duration::from_millis(millis));
    let report = judge(with(slow), Profile::Full, |options| options.seed = seed).await;
    let missed = report.requirements.iter().filter(|requirement| requirement.status == Status::NotExercised);
    let missed: Vec<_> = missed.map(|requirement| (&requirement.id, &requirement.reason)).collect();
    let broken = broken(&report);
    assert_eq!(report.verdict, Verdict::Conforms, "{millis} ms, seed {seed}: {broken:?}, not exercised: {missed:?}");
    report
}

/// The number of requests with a Free key that a run may take.
const MOST_ON_FREE: usize = 150;

#[tokio::test(flavor = "multi_thread")]
async fn slow_responses_do_not_make_a_run_on_a_free_key_more_expensive() {
    let mut too_many = Vec::new();
    for millis in [400, 600, 900] {
        for seed in 0..8 {
            let sent = slowly(millis, seed).await.requests_with_key;
            println!("{sent} requests with the key at {millis} ms, seed {seed}");
            if sent > MOST_ON_FREE {
                too_many.push((millis, seed, sent));
            }
        }
    }
    assert!(too_many.is_empty(), "response time, seed, and requests with the key: {too_many:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn slower_responses_make_a_run_more_expensive_within_bounds() {
    let sent = slowly(1_200, 0).await.requests_with_key;
    assert!(sent < 250, "{sent} requests with the key");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_whose_chunks_have_long_extensions_is_left_out_and_its_head_is_judged() {
    const SHORT: &[u8] =
        b"HTTP/1.1 200 OK\r\nX-RateLimit-Limit: 60\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\n[]\r\n0\r\n\r\n";
    let long: &[u8] = String::from_utf8_lossy(SHORT).replace("a=b", &"a".repeat(17 * 1024)).leak().as_bytes();
    for (response, is_read) in [(SHORT, true), (long, false)] {
        let (base_url, received) = raw_server(response).await;
        let client = Client::new(options(&base_url, Profile::Full).transport).expect("a client");
        let outcome = client.send(&exchange::Request::new("GET", "/pets").query("END")).await;
        let Outcome::Response(response) = outcome else { panic!("no response: {outcome:?}") };
        let body: &[u8] = if is_read { b"[]" } else { b"" };
        assert_eq!((response.header("x-ratelimit-limit"), &response.body[..]), (Some("60"), body));
        assert_eq!(response.is_too_long(), !is_read);
        received.await.expect("no panic");
    }
}
