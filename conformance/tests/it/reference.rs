//! The reference server conforms, on every plan.

use animal_store_conformance::Judge;
use animal_store_conformance::http::clock::Clock;
use animal_store_conformance::probes::plan;
use animal_store_conformance::report::Report;
use animal_store_reference::{Embedded, EmbeddedOptions, Plan};
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::history::History;
use animal_store_rules::trace::Trace;
use animal_store_rules::trace::exchange::Exchange;
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::transcript::Transcript;
use animal_store_rules::verdict::{Status, Verdict};

use crate::laboratory::beside;
use crate::{broken, options};

/// Judges an embedded reference server that starts at a time.
async fn verdict_on(plan: Plan, stated: &str, profile: Profile, start_at: &str, clock: Clock) -> Report {
    let embedded = EmbeddedOptions { plan, clock: beside(&clock, start_at) };
    let server = Embedded::start(embedded).await.expect("a server");
    let mut options = options(server.base_url(), profile);
    options.api_key = ApiKey::new(server.api_key()).expect("a usable key");
    options.plan = Some(stated.parse().expect("a plan"));
    options.strict = true;
    let report = Judge::new(options).clock(clock).run().await.expect("a verdict");
    server.shutdown().await;
    report
}

// The one that waits: what a stepping clock shows elsewhere is what real time shows here.
#[tokio::test(flavor = "multi_thread")]
async fn the_reference_conforms_on_a_free_key_within_its_budget() {
    let report = verdict_on(Plan::Free, "free", Profile::Full, "2026-06-01T12:00:45Z", Clock::system()).await;
    assert_eq!(report.verdict, Verdict::Conforms, "{:#?}", broken(&report));
    assert!(report.requests_with_key <= 150, "{} requests with the key", report.requests_with_key);
    let without = report.requests - report.requests_with_key;
    assert!(without <= 87, "{without} requests without the key");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_sends_no_more_than_its_plan_announces() {
    for (plan, stated) in [(Plan::Free, "free"), (Plan::Pro, "pro"), (Plan::Business, "business")] {
        let mut announced = options("http://127.0.0.1:1/v1", Profile::Full);
        announced.plan = Some(stated.parse().expect("a plan"));
        let limits = announced.plan.as_ref().and_then(animal_store_conformance::Plan::plan_limits);
        let announced = plan::plan(&announced, limits, None);
        let report = verdict_on(plan, stated, Profile::Full, "2026-06-01T12:00:45Z", Clock::stepping()).await;
        let without = report.requests - report.requests_with_key;
        assert!(report.requests_with_key <= announced.keyed, "{stated}: {} of {announced:?}", report.requests_with_key);
        assert!(without <= announced.keyless, "{stated}: {without} without a key, of {announced:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_key_makes_a_run_shorter() {
    let run = |has_two_keys: bool| async move {
        let clock = Clock::stepping();
        let embedded = EmbeddedOptions { plan: Plan::Free, clock: beside(&clock, "2026-06-01T12:00:45Z") };
        let server = Embedded::start(embedded).await.expect("a server");
        let mut options = options(server.base_url(), Profile::Full);
        options.api_key = ApiKey::new(server.api_key()).expect("a usable key");
        options.quota_key = has_two_keys.then(|| ApiKey::new(server.second_api_key()).expect("a usable key"));
        let report = Judge::new(options).clock(clock).run().await.expect("a verdict");
        server.shutdown().await;
        assert_eq!(report.verdict, Verdict::Conforms, "{:#?}", broken(&report));
        report.duration_ms
    };
    let (one, two) = (run(false).await, run(true).await);
    assert!(two < one, "{two} ms with two keys, {one} ms with one");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reference_conforms_on_a_pro_and_on_a_business_key() {
    for (plan, stated) in [(Plan::Pro, "pro"), (Plan::Business, "business")] {
        let report = verdict_on(plan, stated, Profile::Full, "2026-06-01T12:00:45Z", Clock::stepping()).await;
        assert_eq!(report.verdict, Verdict::Conforms, "{stated}: {:#?}", broken(&report));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn on_an_enterprise_key_only_the_exhaustion_stays_out_of_reach() {
    let report =
        verdict_on(Plan::Enterprise, "enterprise", Profile::Full, "2026-06-01T12:00:45Z", Clock::stepping()).await;
    assert_eq!(report.verdict, Verdict::Incomplete, "{:#?}", broken(&report));
    let gaps = report
        .requirements
        .iter()
        .filter(|r| r.status == Status::NotExercised && r.id.split('.').next() != Some("versioning"));
    assert!(
        gaps.clone().count() > 0 && gaps.clone().all(|r| r.id.starts_with("quota.")),
        "{:?}",
        gaps.map(|r| &r.id).collect::<Vec<_>>()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reference_conforms_after_the_removal_as_well() {
    for start_at in ["2030-12-04T23:59:58Z", "2030-12-06T12:00:00Z"] {
        let report = verdict_on(Plan::Pro, "pro", Profile::Functional, start_at, Clock::stepping()).await;
        let missed: Vec<_> = report.requirements.iter().filter(|r| r.status == Status::NotExercised).collect();
        let missed: Vec<_> = missed.into_iter().map(|r| (&r.id, &r.reason)).collect();
        let unfinished = &report.unfinished;
        assert_eq!(
            report.verdict,
            Verdict::Conforms,
            "{start_at}: {:#?}, not exercised: {missed:#?}, unfinished: {unfinished:?}",
            broken(&report)
        );
    }
}

/// What a run against a reference server sends and gets.
async fn trace_of(seed: u64) -> Trace {
    let clock = Clock::stepping();
    let embedded = EmbeddedOptions { plan: Plan::Pro, clock: beside(&clock, "2026-06-01T12:00:00Z") };
    let server = Embedded::start(embedded).await.expect("a server");
    let mut options = options(server.base_url(), Profile::Functional);
    options.api_key = ApiKey::new(server.api_key()).expect("a usable key");
    options.seed = seed;
    let (trace, _) = Judge::new(options).clock(clock).probe().await.expect("a trace");
    server.shutdown().await;
    trace
}

#[tokio::test(flavor = "multi_thread")]
async fn the_transcript_of_the_tour_is_the_reviewed_one() {
    let trace = trace_of(1).await;
    let transcript = Transcript::new(&History::new(&trace));
    insta::with_settings!({ snapshot_path => "../../../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("tour", transcript.text());
    });
    assert_eq!(transcript.difference(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_runs_with_one_seed_send_the_same_requests_in_the_same_order() {
    // The key and the ids are the server's, and the time in the names is the run's own.
    let shape = |trace: Trace| -> Vec<String> {
        let text = |exchange: &Exchange| {
            let body = exchange.request.body.as_ref().map_or("".into(), |body| String::from_utf8_lossy(&body.bytes));
            let path: String = exchange.request.path.chars().filter(|c| !c.is_ascii_digit()).collect();
            let query = exchange.request.query.clone().unwrap_or_default();
            format!("{} {path} {query} {body}", exchange.request.method).replace(trace.context.keys[0].reveal(), "KEY")
        };
        let texts: Vec<String> = trace.exchanges.iter().map(text).collect();
        let stamp = trace.context.name_mark.as_deref().expect("names of the run's own");
        texts.iter().map(|text| text.replace(stamp, "TIME")).collect()
    };
    let (first, again, other) = (shape(trace_of(5).await), shape(trace_of(5).await), shape(trace_of(6).await));
    let differs = first.iter().zip(&again).find(|(first, again)| first != again);
    assert!(differs.is_none() && first.len() == again.len(), "{differs:?}");
    assert!(first != other, "another seed sends the same");
}
