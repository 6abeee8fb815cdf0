//! A run that could not send everything is never a green one.

use animal_store_conformance::Judge;
use animal_store_conformance::http::Client;
use animal_store_conformance::http::Clock;
use animal_store_conformance::report::Report;
use animal_store_lab::faults::faults;
use animal_store_lab::{Layer, Request as Asked, Response, ServerState, Variation};
use animal_store_reference::Plan;
use animal_store_rules::catalogue::Level;
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::trace::exchange::Request;
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::verdict::Verdict;
use std::sync::Mutex;
use std::time::Duration;

use crate::host::Host;
use crate::support::{broken, options};

/// Judges a reference server with a Free key of whose day so many requests have been used.
async fn judged_after(used: usize) -> Report {
    judged_as(used, Variation::default()).await
}

/// The same of a variation of the reference.
async fn judged_as(used: usize, variation: Variation) -> Report {
    let host = Host::start_at(Plan::Free, variation, Clock::stepping(), "2026-06-01T12:00:00Z").await;
    let mut options = options(&host.base_url, Profile::Full);
    options.api_key = ApiKey::new(&host.key).expect("a usable key");
    // Each wait is over at once.
    options.budget.max_duration = Duration::from_mins(10);
    let client = Client::new(options.transport.clone()).expect("a client");
    let request = Request::new("GET", "/pets").authorization(format!("Bearer {}", host.key));
    for sent in 0..used {
        if sent % 50 == 0 {
            host.clock.sleep(Duration::from_mins(1)).await;
        }
        client.send(&request).await;
    }
    host.clock.sleep(Duration::from_mins(1)).await;
    Judge::new(options).clock(host.clock.clone()).run().await.expect("a report")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_day_that_ends_in_the_middle_of_a_run_leaves_it_incomplete_and_names_what_was_not_sent() {
    // Enough is left for the tour and for the first exhaustion, which exercise every stated requirement.
    let report = judged_after(883).await;
    assert_eq!(report.verdict, Verdict::Incomplete, "{:#?}", broken(&report));
    assert_eq!(
        report.unfinished,
        ["the near misses", "the requests without a valid key", "the second exhaustion of the key"]
    );
    let reason = report.ended_early.unwrap_or_default();
    assert!(
        reason.ends_with(
            "not sent completely: the near misses, the requests without a valid key, the second exhaustion of the key"
        ),
        "{reason}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_day_that_has_room_for_the_whole_run_leaves_nothing_unsent() {
    let report = judged_after(828).await;
    assert_eq!(report.verdict, Verdict::Conforms, "{:#?}", broken(&report));
    assert_eq!(report.unfinished, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_day_that_is_exhausted_before_the_run_could_exhaust_a_minute_is_asked_for_one_more() {
    let lawful = judged_after(965).await;
    assert_eq!(lawful.verdict, Verdict::Incomplete, "{:#?}", broken(&lawful));
    let limited = lawful.exchanges.iter().filter(|sent| sent.response.as_ref().is_some_and(|got| got.status == 429));
    assert_eq!(limited.count(), 1, "{:?}", lawful.ended_early);

    let fault = faults().into_iter().find(|fault| fault.name == "quota.enforced.never-refuses").expect("this fault");
    let unlimited = judged_as(965, fault.variation()).await;
    assert_eq!(unlimited.verdict, Verdict::Violates, "{:?}", unlimited.ended_early);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_day_that_ends_during_the_tour_leaves_the_requests_without_a_key_of_the_tour() {
    let report = judged_after(965).await;
    let stated = report.requirements.iter().filter(|one| one.id.starts_with("auth.") && one.level == Level::Stated);
    // A list with the key would show what was stored.
    let stated = stated.filter(|one| one.id != "auth.refused-stores-nothing");
    for requirement in stated {
        assert!(requirement.judged > 0, "{}: {:?}", requirement.id, requirement.reason);
    }
}

/// Refuses callers without a key for the rest of a minute in which they have sent so many requests.
fn allowing(most: u64) -> Layer {
    const MINUTE: i64 = 60;
    let used = Mutex::new((0, 0));
    Layer::default().after(move |_: &Asked, response: &mut Response, server: &ServerState| {
        if response.status != 401 {
            return;
        }
        let end = server.now() - server.now().rem_euclid(MINUTE) + MINUTE;
        let mut used = used.lock().expect("nobody panics with it");
        *used = if used.0 == end { (end, used.1 + 1) } else { (end, 1) };
        if used.1 > most {
            response.refuse(429);
            response.set("retry-after", end - server.now());
        }
        response.set("x-ratelimit-limit", most);
        response.set("x-ratelimit-remaining", most.saturating_sub(used.1));
        response.set("x-ratelimit-reset", end);
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allowance_without_a_key_that_is_too_small_for_the_run_leaves_it_incomplete() {
    let with = |most| Variation { layers: vec![allowing(most)], ..Variation::default() };
    let small = judged_as(0, with(5)).await;
    assert_eq!(small.verdict, Verdict::Incomplete, "{:#?}", broken(&small));
    let first = small.unfinished.first().map(String::as_str).unwrap_or_default();
    assert!(first.starts_with("the requests without a key (callers without a key have an allowance"), "{first}");
    let enough = judged_as(0, with(40)).await;
    assert_eq!(enough.verdict, Verdict::Conforms, "{:?} {:?}", enough.unfinished, enough.ended_early);
    assert!(!enough.notes.iter().any(|note| note.contains("an allowance")), "{:?}", enough.notes);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allowance_without_a_key_that_is_too_small_for_what_the_seed_draws_leaves_only_that_unsent() {
    let report = judged_as(0, Variation { layers: vec![allowing(8)], ..Variation::default() }).await;
    assert_eq!(report.verdict, Verdict::Conforms, "{:?} {:?}", report.unfinished, report.ended_early);
    let note = report.notes.iter().find(|note| note.starts_with("near misses: ")).expect("the note on near misses");
    assert!(
        note.contains(" sent (callers without a key have an allowance of their own, which was exhausted);"),
        "{note}"
    );
}
