//! Every rule can fail: for each requirement there is a server that breaks it, and the rule for it says so.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::catalogue::{Level, catalogue};
use animal_store_rules::verdict::Verdict;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::candidate::{Candidate, Nature};
use crate::faults::{FAULTS, Fault};
use crate::{broken, options};

/// How much of a fault shows only on a used-up key.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Depth {
    /// Nothing: ordinary traffic shows it.
    Functional,
    /// The refusal shows it; there is no need to wait for the window's end.
    Refusal,
    /// The next window shows it.
    Recovery,
}

fn depth(fault: Fault, id: &str) -> Depth {
    match fault {
        Fault::NeverRecovers
        | Fault::CreatesAlthoughLimited
        | Fault::WindowsOfSeconds
        | Fault::NothingRemains
        | Fault::LimitsOneEarly => Depth::Recovery,
        _ if id.starts_with("quota.") && id != "quota.every-operation" => Depth::Refusal,
        _ => Depth::Functional,
    }
}

/// Judges a server with one fault; what is wrong with the verdict, if anything.
async fn check(fault: Fault, id: &'static str) -> Option<String> {
    let depth = depth(fault, id);
    let candidate = Candidate::start(Nature {
        fault: Some(fault),
        limit: if depth == Depth::Functional { 100_000 } else { 90 },
        first_window: if depth == Depth::Recovery { 15 } else { 60 },
        stock: if fault == Fault::NoMaximum { 150 } else { 0 },
        base_path: if fault == Fault::AnotherPath { "/v2" } else { "/v1" },
        ..Nature::default()
    })
    .await;
    let profile = if depth == Depth::Functional { Profile::Functional } else { Profile::Full };
    let mut options = options(&candidate.base_url, profile);
    // The fixed part of a run must catch every fault by itself: generated requests come on top.
    options.cases = Some(0);
    options.max_duration = Duration::from_secs(if depth == Depth::Refusal { 45 } else { 180 });
    options.strict = true;
    if fault == Fault::LimitOfNoPlan {
        options.plan = "enterprise=100000,100000".parse().ok();
    }
    let report = match candidate.judge(options).await {
        Ok(report) => report,
        Err(error) => return Some(format!("{fault:?}: no verdict: {error}")),
    };
    let caught = report.requirements.iter().any(|requirement| requirement.id == id && requirement.failures > 0);
    (!caught || report.verdict != Verdict::Violates)
        .then(|| format!("{fault:?} is not caught by {id}: {:?}, broken: {:#?}", report.verdict, broken(&report)))
}

/// As many servers are judged at once as keep a small machine busy.
const AT_ONCE: usize = 4;

async fn check_all(depths: &[Depth]) {
    let (mut checks, places) = (JoinSet::new(), Arc::new(Semaphore::new(AT_ONCE)));
    for &(fault, id) in FAULTS.iter().filter(|(fault, id)| depths.contains(&depth(*fault, id))) {
        let places = Arc::clone(&places);
        checks.spawn(async move {
            let _place = places.acquire().await.expect("the semaphore is never closed");
            check(fault, id).await
        });
    }
    let problems: Vec<String> = checks.join_all().await.into_iter().flatten().collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_is_caught_by_the_rule_that_is_there_for_it() {
    check_all(&[Depth::Functional, Depth::Refusal]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_that_shows_in_the_next_window_is_caught_by_the_rule_that_is_there_for_it() {
    check_all(&[Depth::Recovery]).await;
}

#[test]
fn every_stated_and_inferred_requirement_has_a_fault() {
    let covered: HashSet<&str> = FAULTS.iter().map(|(_, id)| *id).collect();
    for requirement in catalogue().requirements.iter().filter(|requirement| requirement.level != Level::Open) {
        assert!(covered.contains(requirement.id.as_str()), "no fault for {}", requirement.id);
    }
}
