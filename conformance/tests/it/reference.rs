//! The reference server conforms, on every plan.

use animal_store_conformance::options::Profile;
use animal_store_conformance::report::Report;
use animal_store_conformance::verdict::{Status, Verdict};
use animal_store_conformance::wire::secret::ApiKey;
use animal_store_reference::{Embedded, EmbeddedOptions, Plan};
use jiff::Timestamp;

use crate::{broken, judge, options};

/// Judges an embedded reference server whose clock begins five seconds before the end of a minute.
async fn verdict_on(plan: Plan, told: &str, profile: Profile, start_at: &str) -> Report {
    let start_at: Timestamp = start_at.parse().expect("a time");
    let server = Embedded::start(EmbeddedOptions { plan, start_at: Some(start_at) }).await.expect("a server");
    let mut options = options(server.base_url(), profile);
    options.api_key = ApiKey::new(server.api_key()).expect("a usable key");
    options.plan = Some(told.parse().expect("a plan"));
    options.strict = true;
    let report = judge(options).await.expect("a verdict");
    server.shutdown().await;
    report
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reference_conforms_on_a_free_key_within_its_budget() {
    let report = verdict_on(Plan::Free, "free", Profile::Full, "2026-06-01T12:00:55Z").await;
    assert_eq!(report.verdict, Verdict::Conforms, "{:#?}", broken(&report));
    assert!(report.requests <= 150, "{} requests", report.requests);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reference_conforms_on_a_pro_and_on_a_business_key() {
    for (plan, told) in [(Plan::Pro, "pro"), (Plan::Business, "business")] {
        let report = verdict_on(plan, told, Profile::Full, "2026-06-01T12:00:55Z").await;
        assert_eq!(report.verdict, Verdict::Conforms, "{told}: {:#?}", broken(&report));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn on_an_enterprise_key_only_the_exhaustion_stays_out_of_reach() {
    let report = verdict_on(Plan::Enterprise, "enterprise", Profile::Full, "2026-06-01T12:00:55Z").await;
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
        let report = verdict_on(Plan::Pro, "pro", Profile::Functional, start_at).await;
        assert_eq!(report.verdict, Verdict::Conforms, "{start_at}: {:#?}", broken(&report));
    }
}
