//! Records the traces anew: `cargo test -p animal-store-conform --test it record_the_traces -- --ignored`.

use animal_store_conformance::http::Clock;
use animal_store_conformance::{Judge, Options, Verdict};
use animal_store_lab::Variation;
use animal_store_reference::Plan;
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::trace::keys::ApiKey;
use animal_store_traffic::{Head, lines};
use jiff::Timestamp;
use serde_json::Value;

use crate::candidate::{Candidate, Nature, PER_DAY};
use crate::host::Host;
use crate::support::root;
use crate::{broken, options};

/// The address that stands in every file.
const BASE_URL: &str = "http://127.0.0.1:8080/v1";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "writes into fixtures/traces"]
async fn record_the_traces() {
    // Fifteen seconds before the end of a minute, so that a run sees two windows begin.
    let late = "2026-06-01T12:00:45Z";
    reference("free", Plan::Free, Profile::Full, None, late).await;
    reference("pro", Plan::Pro, Profile::Functional, Some(45), late).await;
    reference("removed", Plan::Pro, Profile::Functional, Some(0), "2030-12-06T12:00:00Z").await;
    let small = Nature { limit: 90, first_window: 15, ..Nature::default() };
    candidate("odd", Nature { odd: true, ..small }).await;
    // At noon, at whatever time it is recorded: a day that ends in some hours.
    let minute = Timestamp::now().as_second().div_euclid(60) * 60;
    let clock_off = 12 * 3_600 - minute.rem_euclid(24 * 3_600);
    candidate("day", Nature { reports_day: true, clock_off, ..small }).await;
}

async fn reference(name: &str, plan: Plan, profile: Profile, cases: Option<usize>, start_at: &str) {
    let host = Host::start_at(plan, Variation::default(), Clock::stepping(), start_at).await;
    let mut options = options(&host.base_url, profile);
    options.api_key = ApiKey::new(&host.key).expect("a usable key");
    options.judging.plan = Some(plan.name().parse().expect("a plan"));
    options.budget.cases = cases;
    record(name, options, host.clock.clone()).await;
}

async fn candidate(name: &str, nature: Nature) {
    let candidate = Candidate::start(nature).await;
    let mut options = options(&candidate.base_url, Profile::Full);
    options.judging.plan = Some(format!("enterprise={},{PER_DAY}", nature.limit).parse().expect("a plan"));
    record(name, options, candidate.clock()).await;
}

/// Records a run, with the same address in every file.
async fn record(name: &str, mut options: Options, clock: Clock) {
    // Always the same, so that recording again changes no more than the probes have; and one with which even nine generated requests
    // are of many kinds.
    options.seed = 17;
    let (report, recording) = Judge::new(options).clock(clock).run_and_record().await.expect("a verdict");
    assert_eq!(report.verdict, Verdict::Conforms, "{name}: {:#?}", broken(&report));
    let (head, exchanges) = recording.split_once('\n').expect("a first line");
    let mut head: Head = serde_json::from_str(head).expect("a head");
    BASE_URL.clone_into(&mut head.context.base_url);
    head.options["options"]["transport"]["unix_socket"] = Value::Null;
    let path = root().join("fixtures/traces").join(format!("{name}.jsonl"));
    std::fs::write(path, lines::head_line(&head) + exchanges).expect("a writable folder");
}
