//! Records the traces anew: `cargo test -p animal-store-conform --test it record_the_traces -- --ignored`.

#[path = "../../rules/tests/edits/recording/format.rs"]
mod format;

use animal_store_conformance::Judge;
use animal_store_conformance::Options;
use animal_store_conformance::http::Clock;
use animal_store_lab::Variation;
use animal_store_reference::Plan;
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::trace::Trace;
use animal_store_rules::trace::exchange::{Connection, Exchange, Request};
use animal_store_rules::trace::keys::ApiKey;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;

use crate::candidate::{Candidate, Nature, PER_DAY};
use crate::host::Host;
use crate::options;
use format::{Answered, Asked, FORMAT, Head, Line};

/// The key that stands in every file.
const KEY: &str = "sk-Recorded-Key-0001";

/// The address that stands in every file.
const BASE_URL: &str = "http://127.0.0.1:8080/v1";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "writes into fixtures/traces"]
async fn record_the_traces() {
    // Fifteen seconds before the end of a minute, so that a run sees two windows begin.
    let late = "2026-06-01T12:00:45Z";
    let reference = |plan, stated, profile, cases, start_at| reference(plan, stated, profile, cases, start_at);
    save("free", "the reference, Free", reference(Plan::Free, "free", Profile::Full, None, late).await);
    save(
        "pro",
        "the reference, Pro, functional",
        reference(Plan::Pro, "pro", Profile::Functional, Some(45), late).await,
    );
    let removed = "2030-12-06T12:00:00Z";
    save(
        "removed",
        "the reference after the removal of GET /pets/{petId}, Pro, functional",
        reference(Plan::Pro, "pro", Profile::Functional, Some(0), removed).await,
    );
    let small = Nature { limit: 90, first_window: 15, ..Nature::default() };
    save("odd", "every other lawful choice", candidate(Nature { odd: true, ..small }).await);
    // At noon, at whatever time it is recorded: a day that ends in some hours.
    let minute = Timestamp::now().as_second().div_euclid(60) * 60;
    let clock_off = 12 * 3_600 - minute.rem_euclid(24 * 3_600);
    save("day", "headers that report the day", candidate(Nature { reports_day: true, clock_off, ..small }).await);
}

async fn reference(plan: Plan, stated: &str, profile: Profile, cases: Option<usize>, start_at: &str) -> Trace {
    let host = Host::start_at(plan, Variation::default(), Clock::stepping(), start_at).await;
    let mut options = options(&host.base_url, profile);
    options.api_key = ApiKey::new(&host.key).expect("a usable key");
    options.plan = Some(stated.parse().expect("a plan"));
    options.cases = cases;
    probe(options, host.clock.clone()).await
}

async fn candidate(nature: Nature) -> Trace {
    let candidate = Candidate::start(nature).await;
    let mut options = options(&candidate.base_url, Profile::Full);
    options.plan = Some(format!("enterprise={},{PER_DAY}", nature.limit).parse().expect("a plan"));
    probe(options, candidate.clock()).await
}

async fn probe(mut options: Options, clock: Clock) -> Trace {
    // Always the same, so that recording again changes no more than the probes have; and one with which even nine generated requests
    // are of many kinds.
    options.seed = 17;
    let (trace, ended_early) = Judge::new(options).clock(clock).probe().await.expect("a trace");
    assert_eq!(ended_early, None);
    trace
}

/// Writes a trace down, with the same key and address in every file.
fn save(name: &str, about: &str, mut trace: Trace) {
    let forms = forms(trace.context.keys[0].reveal());
    trace.context.base_url = BASE_URL.to_owned();
    let mut text = text(&trace, about);
    for (from, to) in forms {
        text = text.replace(&from, &to);
    }
    std::fs::write(format::path(name), text).expect("a writable folder");
}

/// The forms in which a run sends its key, each with that of [`KEY`].
fn forms(key: &str) -> [(String, String); 8] {
    [
        (key.to_owned(), KEY.to_owned()),
        (toggle_case(key), toggle_case(KEY)),
        (key.to_ascii_lowercase(), KEY.to_ascii_lowercase()),
        (key.to_ascii_uppercase(), KEY.to_ascii_uppercase()),
        (basic(key), basic(KEY)),
        (basic_user(key), basic_user(KEY)),
        (key[..key.len() - 1].to_owned(), KEY[..KEY.len() - 1].to_owned()),
        (key[1..].to_owned(), KEY[1..].to_owned()),
    ]
}

fn toggle_case(key: &str) -> String {
    key.chars().map(|c| if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }).collect()
}

fn basic(key: &str) -> String {
    BASE64_STANDARD.encode(format!("{key}:{key}"))
}

fn basic_user(key: &str) -> String {
    BASE64_STANDARD.encode(format!("{key}:"))
}

/// A trace as the text of a file.
fn text(trace: &Trace, about: &str) -> String {
    let context = &trace.context;
    let figures = context.plan_limits.expect("a stated plan");
    let head = Head {
        format: FORMAT.to_owned(),
        about: about.to_owned(),
        base_url: context.base_url.clone(),
        keys: context.keys.iter().map(|key| key.reveal().to_owned()).collect(),
        per_minute: figures.per_minute,
        per_day: figures.per_day,
        category_id: context.category_id,
        name_mark: context.name_mark.clone(),
    };
    let mut text = serde_json::to_string(&head).expect("plain data") + "\n";
    for exchange in &trace.exchanges {
        text += &serde_json::to_string(&line(exchange)).expect("plain data");
        text.push('\n');
    }
    text
}

fn line(exchange: &Exchange) -> Line {
    let Request { method, path, query, authorization, headers, body, connection, replica: _ } =
        exchange.request.clone();
    let response = exchange.response().expect("a lawful server answers");
    let (content_type, bytes) = body.map(|body| (body.content_type, body.bytes)).unzip();
    let (body, body_base64) = match bytes.map(String::from_utf8) {
        Some(Ok(text)) => (Some(text), None),
        Some(Err(error)) => (None, Some(BASE64_STANDARD.encode(error.into_bytes()))),
        None => (None, None),
    };
    Line {
        step: exchange.step.clone(),
        sent_at: exchange.sent_at.to_string(),
        received_at: exchange.received_at.to_string(),
        request: Asked {
            method,
            path,
            query,
            authorization,
            headers,
            content_type,
            body,
            body_base64,
            kept: connection == Connection::Kept,
        },
        response: Answered {
            status: response.status,
            headers: response.headers.clone(),
            body: String::from_utf8(response.body.clone()).expect("a lawful server answers in UTF-8"),
        },
    }
}
