//! The reference server conforms, on every plan.

use std::collections::BTreeSet;

use animal_store_conformance::http::Clock;
use animal_store_conformance::report::Report;
use animal_store_conformance::report::text::{self, Detail};
use animal_store_conformance::{ApiKey, Judge, Options, RunPlan};
use animal_store_lab::Variation;
use animal_store_lab::faults::faults;
use animal_store_reference::{Embedded, EmbeddedOptions, Plan};
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::history::History;
use animal_store_rules::near_misses;
use animal_store_rules::trace::Trace;
use animal_store_rules::trace::exchange::Exchange;
use animal_store_rules::transcript::Transcript;
use animal_store_rules::verdict::{Status, Verdict};

use crate::host::Host;
use crate::laboratory::beside;
use crate::{broken, options};

/// A reference server that starts at a time, on the judge's clock.
async fn reference(plan: Plan, start_at: &str) -> Host {
    Host::start_at(plan, Variation::default(), Clock::stepping(), start_at).await
}

/// Judges a reference server that starts at a time.
async fn verdict_on(plan: Plan, stated: &str, profile: Profile, start_at: &str) -> Report {
    let host = reference(plan, start_at).await;
    let options = strictly(&host.base_url, &host.key, stated, profile);
    Judge::new(options).clock(host.clock.clone()).run().await.expect("a verdict")
}

fn strictly(base_url: &str, key: &str, stated: &str, profile: Profile) -> Options {
    let mut options = options(base_url, profile);
    options.api_key = ApiKey::new(key).expect("a usable key");
    options.judging.plan = Some(stated.parse().expect("a plan"));
    options.judging.strict = true;
    options
}

// The one that waits, and that goes over TCP: what a stepping clock and Unix sockets show elsewhere is what they show here.
#[tokio::test(flavor = "multi_thread")]
async fn the_reference_conforms_on_a_free_key_within_its_budget() {
    let clock = beside(&Clock::system(), "2026-06-01T12:00:45Z");
    let embedded = EmbeddedOptions::new(Plan::Free, clock);
    let server = Embedded::start(embedded).await.expect("a server");
    let options = strictly(server.base_url(), server.api_key(), "free", Profile::Full);
    let report = Judge::new(options).run().await.expect("a verdict");
    server.shutdown().await;
    assert_eq!(report.verdict, Verdict::Conforms, "{:#?}", broken(&report));
    assert!(report.requests_with_key <= 172, "{} requests with the key", report.requests_with_key);
    let without = report.requests - report.requests_with_key;
    assert!(without <= 145, "{without} requests without the key");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reference_conforms_on_every_plan_and_a_run_sends_no_more_than_its_plan_announces() {
    for (plan, stated) in [(Plan::Free, "free"), (Plan::Pro, "pro"), (Plan::Business, "business")] {
        let mut announced = options("http://127.0.0.1:1/v1", Profile::Full);
        announced.judging.plan = Some(stated.parse().expect("a plan"));
        let announced = RunPlan::of(&announced);
        let report = verdict_on(plan, stated, Profile::Full, "2026-06-01T12:00:45Z").await;
        assert_eq!(report.verdict, Verdict::Conforms, "{stated}: {:#?}", broken(&report));
        let without = report.requests - report.requests_with_key;
        assert!(report.requests_with_key <= announced.keyed, "{stated}: {} of {announced:?}", report.requests_with_key);
        assert!(without <= announced.keyless, "{stated}: {without} without a key, of {announced:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_key_makes_a_run_shorter_and_leaves_room_for_more_near_misses() {
    let run = |has_two_keys: bool| async move {
        let host = reference(Plan::Free, "2026-06-01T12:00:45Z").await;
        let mut options = options(&host.base_url, Profile::Full);
        options.api_key = ApiKey::new(&host.key).expect("a usable key");
        options.quota_key = has_two_keys.then(|| ApiKey::new(&host.quota_key).expect("a usable key"));
        let report = Judge::new(options).clock(host.clock.clone()).run().await.expect("a verdict");
        assert_eq!(report.verdict, Verdict::Conforms, "{:#?}", broken(&report));
        let steps = report.exchanges.iter().filter_map(|exchange| near_misses::index_of_step(&exchange.step));
        (report.duration_ms, steps.collect::<BTreeSet<usize>>().len())
    };
    let ((one, sent_with_one), (two, sent_with_two)) = (run(false).await, run(true).await);
    assert!(two < one, "{two} ms with two keys, {one} ms with one");
    assert!(sent_with_two > sent_with_one + 20, "near misses: {sent_with_two} with two keys, {sent_with_one} with one");
}

#[tokio::test(flavor = "multi_thread")]
async fn on_an_enterprise_key_only_the_exhaustion_stays_out_of_reach() {
    let report = verdict_on(Plan::Enterprise, "enterprise", Profile::Full, "2026-06-01T12:00:45Z").await;
    assert_eq!(report.verdict, Verdict::Incomplete, "{:#?}", broken(&report));
    let missed = report.requirements.iter().filter(|requirement| requirement.status == Status::NotExercised);
    let missed: Vec<_> = missed.filter(|requirement| !requirement.id.starts_with("versioning.")).collect();
    let ids: Vec<&str> = missed.iter().map(|requirement| requirement.id.as_str()).collect();
    assert!(!ids.is_empty() && ids.iter().all(|id| id.starts_with("quota.")), "{ids:?}");
    let enforced = missed.iter().find(|requirement| requirement.id == "quota.enforced").expect("not exercised");
    let reason = enforced.reason.as_deref().unwrap_or_default();
    assert!(reason.contains("--max-requests"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reference_conforms_after_the_removal_as_well() {
    for start_at in ["2030-12-04T23:59:58Z", "2030-12-06T12:00:00Z"] {
        let report = verdict_on(Plan::Pro, "pro", Profile::Functional, start_at).await;
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
    let host = reference(Plan::Pro, "2026-06-01T12:00:00Z").await;
    let mut options = options(&host.base_url, Profile::Functional);
    options.api_key = ApiKey::new(&host.key).expect("a usable key");
    options.seed = seed;
    Judge::new(options).clock(host.clock.clone()).probe().await.expect("a trace").0
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
    // The key and the ids, in whatever base they are written, are the server's; the time in the names is the run's own.
    let shape = |trace: Trace| -> Vec<String> {
        let text = |exchange: &Exchange| {
            let body = exchange.request.body.as_ref().map_or("".into(), |body| String::from_utf8_lossy(&body.bytes));
            let path: String = exchange.request.path.chars().filter(|c| !c.is_ascii_hexdigit()).collect();
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

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_that_shows_only_with_a_header_field_of_some_clients_names_it() {
    for (fault, id, field) in [
        ("headers.limit.lost-with-gzip", "headers.limit", "accept-encoding"),
        ("pet.status-values.translated", "pet.status-values", "accept-language: de-DE, de;q=0.8, *;q=0.1"),
        ("list.success.one-media-type", "list.success", "accept"),
    ] {
        let fault = faults().into_iter().find(|known| known.name == fault).expect("a fault");
        let host = Host::start(Plan::Pro, fault.variation()).await;
        let mut options = options(&host.base_url, Profile::Functional);
        options.api_key = ApiKey::new(&host.key).expect("a usable key");
        options.seed = 1;
        let report = Judge::new(options).clock(host.clock.clone()).run().await.expect("a report");
        let broken = report.requirements.iter().find(|requirement| requirement.id == id).expect("a requirement");
        let finding = broken.findings();
        assert!(finding.contains("; only with ") && finding.contains(field), "{finding}");
    }
}

#[tokio::test]
async fn what_a_plan_cannot_show_is_on_the_first_screen_with_what_shows_it() {
    for (plan, expected) in [
        (Plan::Free, &["list.limit-maximum", "quota.enforced", "versioning.lifetime"][..]),
        (Plan::Pro, &["quota.enforced", "versioning.lifetime"]),
    ] {
        let report = verdict_on(plan, plan.name(), Profile::Full, "2026-06-01T12:00:45Z").await;
        let unseen: Vec<(&str, &str)> =
            report.requirements.iter().filter_map(|r| Some((r.id.as_str(), r.unseen()?))).collect();
        assert_eq!(unseen.iter().map(|(id, _)| *id).collect::<Vec<_>>(), expected, "{unseen:?}");
        let text = text::render(&report, Detail::Normal, 100).to_string();
        let first_screen: String = text.lines().take(24).collect::<Vec<_>>().join("\n");
        for (id, unseen) in unseen {
            assert!(unseen.contains(" shows "), "{id}: {unseen}");
            assert!(first_screen.contains(id), "{id} is not in {first_screen}");
        }
    }
}
