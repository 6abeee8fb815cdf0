//! `--only`: a run sends what the selected requirements need, and no more.

use animal_store_conformance::Forecast;
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::catalogue::{Level, Party, catalogue};
use animal_store_rules::verdict::{Status, Verdict};

use crate::candidate::{Candidate, Nature, PER_DAY};
use crate::faults::Fault;
use crate::{broken, options};

/// What a run that selects these requirements reports.
async fn judged(nature: Nature, only: &str) -> animal_store_conformance::report::Report {
    let plan = format!("enterprise={},{PER_DAY}", nature.limit);
    let candidate = Candidate::start(nature).await;
    let mut options = options(&candidate.base_url, Profile::Full);
    options.plan = Some(plan.parse().expect("a plan"));
    options.scope.only = vec![only.to_owned()];
    candidate.judge(options).await.expect("a verdict")
}

#[tokio::test]
async fn one_requirement_costs_at_most_eight_requests() {
    for stock in [0, 5] {
        let report = judged(Nature { stock, ..Nature::default() }, "get.not-found").await;
        assert_eq!(report.verdict, Verdict::Conforms, "{:#?}", broken(&report));
        assert!(report.requests <= 8, "{} requests", report.requests);
        let is_read = |sent: &animal_store_conformance::report::RecordedExchange| sent.method == "GET";
        assert!(report.exchanges.iter().all(is_read), "nothing is created");
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
        options.plan = Some("free".parse().expect("a plan"));
        options.scope.only = vec![requirement.id.clone()];
        let Forecast { keyed, keyless, animals, .. } = Forecast::of(&options);
        table.push_str(&format!("{:<30} {keyed:>4} {keyless:>4} {animals:>4}\n", requirement.id));
    }
    crate::support::check("costs", &table);
}
