//! No lawful server is accused, however unlike the reference it is.

use animal_store_conformance::http::Clock;
use animal_store_conformance::{Judge, Options};
use animal_store_lab::Variation;
use animal_store_reference::Plan;
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::verdict::{Status, Verdict};

use crate::candidate::{Candidate, Nature, PER_DAY};
use crate::host::Host;
use crate::{broken, options};

#[tokio::test]
async fn a_server_that_shares_no_code_with_the_reference_conforms() {
    let plain = Nature { limit: 90, first_window: 15, ..Nature::default() };
    for (name, nature) in [
        ("plain", plain),
        // Random order, ids all over int64, windows from the first request, Retry-After as a date, an empty 429, a default status,
        // further members, reads that lag, clamped limits, orders not implemented, an anonymous allowance.
        ("every other lawful choice", Nature { odd: true, ..plain }),
        ("new animals on no page", Nature { odd: true, stock: 5_000, ..plain }),
        ("every other read lags", Nature { replicas_lag: true, ..plain }),
        ("others change and remove animals", Nature { is_busy: true, stock: 60, ..plain }),
        ("a ban with 403 after a second refusal", Nature { bans_with_403: true, ..plain }),
    ] {
        let candidate = Candidate::start(nature).await;
        let mut options = options(&candidate.base_url, Profile::Full);
        options.judging.plan = Some(format!("enterprise={},{PER_DAY}", nature.limit).parse().expect("a plan"));
        options.judging.strict = true;
        // As by default: a ban is waited for.
        options.budget.max_duration = Options::MAX_DURATION;
        let report = candidate.judge(options).await.expect("a verdict");
        let missed = report.requirements.iter().filter(|requirement| requirement.status == Status::NotExercised);
        let missed: Vec<_> = missed.map(|requirement| (&requirement.id, &requirement.reason)).collect();
        let broken = broken(&report);
        assert_eq!(report.verdict, Verdict::Conforms, "{name}: broken: {broken:#?}, not exercised: {missed:#?}");
    }
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
            // Pauses between requests and between two refusals, and the slack of clocks after each end.
            let most = 60 * windows - second + 16;
            assert!(report.duration_ms < 1_000 * most, "{profile:?} at second {second}: {} ms", report.duration_ms);
        }
    }
}
