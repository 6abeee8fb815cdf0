//! The judge notices readers that take a near miss for a valid request, and the near misses that come first are those that the faults of
//! the laboratory need.

use std::collections::{BTreeMap, BTreeSet};

use animal_store_conformance::{ApiKey, Judge};
use animal_store_lab::faults::{Fault, faults, readers};
use animal_store_reference::Plan;
use animal_store_rules::Profile;
use animal_store_rules::facts::Facts;
use animal_store_rules::history::History;
use animal_store_rules::near_misses::{self, near_misses};
use animal_store_rules::rules::rules;

use crate::host::Host;
use crate::options;

/// The near misses that show a fault, by their places in the table; none if other requests of any run show it as well.
async fn showing(fault: Fault) -> Option<BTreeSet<usize>> {
    let host = Host::start(Plan::Business, fault.variation()).await;
    let mut options = options(&host.base_url, Profile::Functional);
    options.api_key = ApiKey::new(&host.key).expect("a usable key");
    options.judging.plan = "business".parse().ok();
    (options.budget.cases, options.seed) = (Some(0), 1);
    let (trace, _) = Judge::new(options).clock(host.clock.clone()).probe().await.expect("a trace");
    let history = History::new(&trace);
    let facts = Facts::new(&history);
    let mut rows = BTreeSet::new();
    for rule in rules().into_iter().filter(|rule| fault.targets.contains(&rule.id)) {
        for failure in rule.judge(&facts).failures {
            let shown = failure.exchanges.first().map(|number| &trace.exchanges[number - 1])?;
            match near_misses::index_of_step(&shown.step) {
                Some(row) => rows.insert(row),
                None if ["full page", "second look"].contains(&&*shown.probe) => false,
                None => return None,
            };
        }
    }
    (!rows.is_empty()).then_some(rows)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: cargo xtask test --all"]
async fn the_first_rows_show_every_fault_that_only_near_misses_show() {
    let is_of_limits = |name: &str| ["headers.", "quota."].iter().any(|area| name.starts_with(area));
    let mut uncovered: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for fault in faults().into_iter().filter(|fault| !is_of_limits(&fault.name)) {
        let name = fault.name.clone();
        uncovered.extend(showing(fault).await.map(|rows| (name, rows)));
    }
    println!("{} faults are shown by near misses alone", uncovered.len());
    uncovered.retain(|_, rows| !rows.iter().any(|row| near_misses()[*row].is_first));
    // The smallest set that a greedy choice finds.
    let mut missing = Vec::new();
    while !uncovered.is_empty() {
        let count = |row: usize| uncovered.values().filter(|rows| rows.contains(&row)).count();
        let best = (0..near_misses().len()).max_by_key(|row| (count(*row), near_misses()[*row].weight)).expect("rows");
        let shown: Vec<String> =
            uncovered.iter().filter(|(_, rows)| rows.contains(&best)).map(|(name, _)| name.clone()).collect();
        uncovered.retain(|name, _| !shown.contains(name));
        missing.push(format!("{}: {}", near_misses()[best].step(near_misses::Target::List), shown.join(", ")));
    }
    assert!(missing.is_empty(), "mark these rows as `first`:\n{}", missing.join("\n"));
}

/// The names of those readers that a run on a Business key does not notice.
async fn unnoticed(readers: Vec<Fault>) -> Vec<String> {
    let mut unnoticed = Vec::new();
    for reader in readers {
        let name = reader.name.clone();
        let host = Host::start(Plan::Business, reader.variation()).await;
        let mut options = options(&host.base_url, Profile::Functional);
        options.api_key = ApiKey::new(&host.key).expect("a usable key");
        options.judging.plan = "business".parse().ok();
        // A run of one requirement about identifiers sends a few of them only.
        if !reader.targets[0].starts_with("get.") {
            options.judging.scope.only = vec![reader.targets[0].to_owned()];
        }
        let report = Judge::new(options).clock(host.clock.clone()).run().await.expect("a report");
        let broken = report.requirements.iter().filter(|requirement| requirement.failures > 0);
        if !broken.map(|requirement| requirement.id.as_str()).any(|id| reader.targets.contains(&id)) {
            unnoticed.push(name);
        }
    }
    unnoticed
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_that_take_a_near_miss_for_a_valid_request_are_noticed() {
    let mut readers = readers();
    assert!(readers.len() > 400, "{}", readers.len());
    fastrand::Rng::with_seed(51).shuffle(&mut readers);
    readers.truncate(16);
    assert_eq!(unnoticed(readers).await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: cargo xtask test --all"]
async fn every_reader_that_takes_a_near_miss_for_a_valid_request_is_noticed() {
    assert_eq!(unnoticed(readers()).await, [""; 0]);
}
