//! `--only`: a run sends what the selected requirements need, and no more.

use animal_store_conformance::{Judge, RunPlan};
use animal_store_lab::{Setting, Variation};
use animal_store_reference::Plan;
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::catalogue::{Level, Party, catalogue};
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::verdict::{Status, Verdict};

use crate::candidate::{Candidate, Nature, PER_DAY};
use crate::faults::Fault;
use crate::host::Host;
use crate::{broken, options};

/// What a run that selects these requirements reports.
async fn judged(nature: Nature, only: &str) -> animal_store_conformance::report::Report {
    let plan = format!("enterprise={},{PER_DAY}", nature.limit);
    let candidate = Candidate::start(nature).await;
    let mut options = options(&candidate.base_url, Profile::Full);
    options.judging.plan = Some(plan.parse().expect("a plan"));
    options.judging.scope.only = vec![only.to_owned()];
    candidate.judge(options).await.expect("a verdict")
}

#[tokio::test]
async fn one_requirement_costs_at_most_eight_requests() {
    for stock in [0, 5] {
        let report = judged(Nature { stock, ..Nature::default() }, "get.not-found").await;
        assert_eq!(report.verdict, Verdict::Conforms, "{:#?}", broken(&report));
        assert!(report.requests <= 8, "{} requests", report.requests);
        let is_read = |sent: &animal_store_conformance::report::ReportedExchange| sent.request.method == "GET";
        assert!(report.exchanges.iter().all(is_read), "nothing is created");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forecast_is_close_to_what_a_run_costs() {
    use {Plan::Free, Plan::Pro, Profile::Full, Profile::Functional, Profile::ReadOnly};
    for (plan, profile, skip) in [
        (Free, Full, ""),
        (Free, Full, "auth"),
        (Free, Full, "quota"),
        (Free, ReadOnly, ""),
        (Pro, Full, ""),
        (Pro, Functional, ""),
        (Pro, Functional, "create"),
        (Pro, ReadOnly, ""),
    ] {
        let setting = Setting { stock: 30, ..Setting::default() };
        let host = Host::start(plan, Variation { setting, ..Variation::default() }).await;
        let mut options = options(&host.base_url, profile);
        options.api_key = ApiKey::new(&host.key).expect("a usable key");
        options.judging.plan = plan.name().parse().ok();
        options.judging.scope.skip.extend((!skip.is_empty()).then(|| skip.to_owned()));
        let forecast = RunPlan::of(&options);
        let report = Judge::new(options).clock(host.clock.clone()).run().await.expect("a verdict");
        let keyless = report.requests - report.requests_with_key;
        for (what, expected, sent) in [
            ("with the key", forecast.keyed, report.requests_with_key),
            ("without it", forecast.keyless, keyless),
            ("animals", forecast.animals, report.created),
        ] {
            let is_close = expected.abs_diff(sent) <= 15 + expected / 4;
            assert!(is_close, "{plan} {profile} --skip {skip}: {sent} {what}, and {expected} were foreseen");
        }
    }
}

#[tokio::test]
async fn a_run_that_selects_one_requirement_exercises_it() {
    let everything = ["service", "errors", "headers", "quota", "versioning.sunset", "versioning.deprecation-header"];
    let reduced = catalogue()
        .of(Party::Server)
        .filter(|found| found.level != Level::Open && !everything.iter().any(|whole| found.id.starts_with(whole)));
    for requirement in reduced {
        let report = judged(Nature { limit: 90, first_window: 15, ..Nature::default() }, &requirement.id).await;
        let found = report.requirements.iter().find(|found| found.id == requirement.id).expect("it is reported");
        let hint = match found.status {
            Status::NotExercised => "; if the default candidate cannot exercise it, add it to `everything` above",
            _ => "",
        };
        let (id, reason, unfinished) = (&requirement.id, &found.reason, &report.unfinished);
        assert_eq!(found.status, Status::Pass, "{id}: {reason:?} {unfinished:?}{hint}");
        assert_eq!(report.verdict, Verdict::Conforms, "{}: {:#?}", requirement.id, broken(&report));
    }
}

#[tokio::test]
async fn what_is_broken_is_found_with_its_requirement_alone() {
    for (fault, id) in [
        (Fault::Defaults50, "list.limit-default"),
        (Fault::RefusesSold, "create.success"),
        (Fault::GetsAnotherAnimal, "get.agrees"),
        (Fault::NoOrders, "orders.exists"),
        (Fault::TakesSuffixes, "auth.exact-key"),
        (Fault::RemovedEarly, "versioning.lifetime"),
    ] {
        let report = judged(Nature { fault: Some(fault), ..Nature::default() }, id).await;
        assert_eq!(report.verdict, Verdict::Violates, "{fault:?} by {id} alone");
    }
}

#[test]
fn the_cost_of_each_requirement_alone_is_known() {
    let mut table =
        String::from("# requirement, and with --only: requests with a Free key, without a key, new animals\n");
    for requirement in catalogue().of(Party::Server).filter(|found| found.level != Level::Open) {
        let mut options = options("http://127.0.0.1:1/v1", Profile::Full);
        options.judging.plan = Some("free".parse().expect("a plan"));
        options.judging.scope.only = vec![requirement.id.clone()];
        let RunPlan { keyed, keyless, animals, .. } = RunPlan::of(&options);
        table.push_str(&format!("{:<30} {keyed:>4} {keyless:>4} {animals:>4}\n", requirement.id));
    }
    crate::support::check("costs", &table);
}
