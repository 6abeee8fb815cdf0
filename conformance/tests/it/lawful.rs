//! No lawful server is accused, however unlike the reference it is.

use std::time::Duration;

use animal_store_conformance::http::Clock;
use animal_store_conformance::{Judge, Options};
use animal_store_lab::Variation;
use animal_store_reference::Plan;
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::verdict::{Status, Verdict};

use crate::candidate::{Candidate, Nature, PER_DAY};
use crate::faults::Fault;
use crate::host::Host;
use crate::{broken, judge, options};

/// A limit that the tour nearly exhausts, late enough in a window to see it end.
fn small(nature: Nature) -> Nature {
    Nature { limit: 90, first_window: 15, ..nature }
}

async fn conforms(nature: Nature) {
    let plan = format!("enterprise={},{PER_DAY}", nature.limit);
    let candidate = Candidate::start(nature).await;
    let mut options = options(&candidate.base_url, Profile::Full);
    options.plan = Some(plan.parse().expect("a plan"));
    options.strict = true;
    // As by default: a ban is waited for.
    options.max_duration = Options::MAX_DURATION;
    let report = candidate.judge(options).await.expect("a verdict");
    let missed: Vec<_> =
        report.requirements.iter().filter(|r| r.status == Status::NotExercised).map(|r| (&r.id, &r.reason)).collect();
    assert_eq!(report.verdict, Verdict::Conforms, "broken: {:#?}, not exercised: {missed:#?}", broken(&report));
}

#[tokio::test]
async fn a_plain_server_conforms() {
    conforms(small(Nature::default())).await;
}

#[tokio::test]
async fn a_server_with_a_large_catalogue_conforms() {
    conforms(small(Nature { stock: 500, ..Nature::default() })).await;
}

// Random order, ids all over int64, windows from the first request, Retry-After as a date, an empty 429, a default status,
// further members, reads that lag, clamped limits, orders not implemented, an anonymous allowance.
#[tokio::test]
async fn a_server_that_makes_every_other_lawful_choice_conforms() {
    conforms(small(Nature { odd: true, ..Nature::default() })).await;
}

#[tokio::test]
async fn a_server_that_shows_new_animals_on_no_page_conforms() {
    conforms(small(Nature { odd: true, stock: 5_000, ..Nature::default() })).await;
}

#[tokio::test]
async fn a_server_whose_headers_tell_the_day_conforms() {
    conforms(small(Nature { reports_day: true, ..Nature::default() })).await;
}

#[tokio::test]
async fn a_server_that_tells_remaining_before_it_counts_conforms() {
    conforms(small(Nature { counts_late: true, ..Nature::default() })).await;
}

#[tokio::test]
async fn a_server_with_a_replica_that_lags_conforms() {
    conforms(small(Nature { replicas_lag: true, ..Nature::default() })).await;
    let candidate = Candidate::start(Nature { replicas_lag: true, ..Nature::default() }).await;
    let report = candidate.judge(options(&candidate.base_url, Profile::Functional)).await.expect("a verdict");
    assert_eq!(report.verdict, Verdict::Conforms, "{:#?}", broken(&report));
}

#[tokio::test]
async fn a_server_whose_other_animals_change_and_go_conforms() {
    conforms(small(Nature { is_busy: true, stock: 60, ..Nature::default() })).await;
}

#[tokio::test]
async fn a_server_that_bans_after_a_second_refusal_conforms() {
    // Read before counting, Remaining leaves open which request is the last, so there a second one goes over the limit.
    for counts_late in [false, true] {
        for status in [403, 429] {
            conforms(small(Nature { bans_with: Some(status), counts_late, ..Nature::default() })).await;
        }
    }
}

#[tokio::test]
async fn a_server_that_counts_no_failed_request_conforms() {
    conforms(small(Nature { failures_are_free: true, ..Nature::default() })).await;
}

#[tokio::test]
async fn a_server_whose_fetches_lag_its_lists_conforms() {
    conforms(small(Nature { fetches_lag: true, ..Nature::default() })).await;
}

#[tokio::test]
async fn a_server_whose_clock_is_an_hour_off_conforms() {
    conforms(small(Nature { clock_off: -3_600, ..Nature::default() })).await;
    conforms(small(Nature { clock_off: 3_600, odd: true, ..Nature::default() })).await;
}

#[tokio::test]
async fn a_server_that_answers_one_request_at_a_time_is_not_sent_more_than_it_answers_in_time() {
    let candidate =
        Candidate::start(Nature { one_by_one: Some(Duration::from_millis(120)), ..Nature::default() }).await;
    let mut options = options(&candidate.base_url, Profile::Functional);
    // A burst of creations would take longer.
    options.transport.timeout = Duration::from_secs(1);
    options.cases = Some(0);
    let report = judge(options).await.expect("a verdict");
    assert_eq!(report.verdict, Verdict::Conforms, "{:#?}", broken(&report));
}

#[tokio::test]
async fn after_the_removal_a_server_must_have_removed_the_operation() {
    let beyond = (jiff::Timestamp::from_second(1_922_832_000).expect("2030-12-07").as_second()
        - jiff::Timestamp::now().as_second())
        + 60;
    let candidate = Candidate::start(Nature { clock_off: beyond, ..Nature::default() }).await;
    let report = candidate.judge(options(&candidate.base_url, Profile::Functional)).await.expect("a verdict");
    assert_eq!(report.verdict, Verdict::Violates);
    assert!(broken(&report).iter().all(|line| line.starts_with("versioning.lifetime")), "{:#?}", broken(&report));

    let gone = Nature { clock_off: beyond, fault: Some(Fault::RemovedEarly), ..Nature::default() };
    let candidate = Candidate::start(gone).await;
    let report = candidate.judge(options(&candidate.base_url, Profile::Functional)).await.expect("a verdict");
    assert_eq!(report.verdict, Verdict::Conforms, "{:#?}", broken(&report));
}

#[tokio::test]
async fn a_limit_beyond_the_budget_leaves_the_run_incomplete_and_says_why() {
    let candidate = Candidate::start(Nature::default()).await;
    let report = candidate.judge(options(&candidate.base_url, Profile::Full)).await.expect("a verdict");
    assert_eq!(report.verdict, Verdict::Incomplete, "{:#?}", broken(&report));
    let enforced = report.requirements.iter().find(|r| r.id == "quota.enforced").expect("in the catalogue");
    assert_eq!(enforced.status, Status::NotExercised);
    let reason = enforced.reason.as_deref().expect("a reason");
    assert!(reason.contains("--max-requests"), "{reason}");
}

#[tokio::test]
async fn the_read_only_profile_creates_nothing_and_says_what_it_could_not_see() {
    let candidate = Candidate::start(Nature { stock: 30, ..Nature::default() }).await;
    let report = candidate.judge(options(&candidate.base_url, Profile::ReadOnly)).await.expect("a verdict");
    assert_eq!((report.verdict, report.created), (Verdict::Conforms, 0), "{:#?}", broken(&report));
    let empty = Candidate::start(Nature::default()).await;
    let report = empty.judge(options(&empty.base_url, Profile::ReadOnly)).await.expect("a verdict");
    assert_eq!((report.verdict, report.created), (Verdict::Incomplete, 0), "{:#?}", broken(&report));
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_free_key_a_run_waits_for_no_more_ends_of_windows_than_its_requests_need() {
    for (profile, windows) in [(Profile::Functional, 1), (Profile::Full, 2)] {
        for second in (0..60).step_by(5) {
            let start_at = format!("2026-06-01T12:00:{second:02}Z");
            let host = Host::start_at(Plan::Free, Variation::default(), Clock::stepping(), &start_at).await;
            let mut options = options(&host.base_url, profile);
            options.api_key = ApiKey::new(&host.key).expect("a usable key");
            let report = Judge::new(options).clock(host.clock.clone()).run().await.expect("a verdict");
            assert_eq!(report.verdict, Verdict::Conforms);
            // Pauses between requests, and the slack of clocks after each end.
            let most = 60 * windows - second + 10;
            assert!(report.duration_ms < 1_000 * most, "{profile:?} at second {second}: {} ms", report.duration_ms);
        }
    }
}
