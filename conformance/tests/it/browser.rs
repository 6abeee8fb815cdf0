//! The pages of the judge in a real browser, where there is one: filters, links, policy, width, contrast, and axe.

#[path = "browser/chromium.rs"]
mod chromium;

use std::time::Duration;

use animal_store_conform::compare;
use animal_store_conform::formats::html;
use animal_store_conformance::Judge;
use animal_store_conformance::report::Report;
use animal_store_lab::Variation;
use animal_store_lab::choices::{Build, Drawn, lawful};
use animal_store_lab::faults::faults;
use animal_store_reference::Plan;
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::trace::keys::ApiKey;

use crate::candidate::Nature;
use crate::compare::{broken, inputs, mended};
use crate::faults::Fault;
use crate::host::Host;
use crate::{fleet, options, sample};
use chromium::Browser;

#[test]
fn the_report_of_a_violation_works_in_a_browser() {
    let Some(browser) = Browser::find("the HTML report") else { return };
    let mut report = sample::report();
    // An exchange that shows two failures stands on the page once, with a link to it.
    let mut failed = report.requirements.iter_mut().filter(|requirement| !requirement.evidence.is_empty());
    let shared = failed.next().expect("a failure").evidence[0].exchanges[0].clone();
    failed.next().expect("another failure").evidence[0].exchanges.push(shared);
    browser.look("violates", &html::render(&report), include_str!("browser/report.js"));
}

#[test]
fn the_report_of_a_server_that_conforms_can_be_read_in_a_browser() {
    let Some(browser) = Browser::find("the HTML report of a server that conforms") else { return };
    let report = mended("Pets", "1", "2026-06-01T12:00:00Z");
    browser.look("conforms", &html::render(&report), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_report_of_a_fleet_works_in_a_browser() {
    let Some(browser) = Browser::find("the HTML report of a fleet") else { return };
    let small = fleet::small();
    let lagging = Nature { lag_of_others: Duration::from_secs(3), ..small };
    let mut report = fleet::report_on(&[
        small,
        Nature { fault: Some(Fault::NoReset), ..lagging },
        Nature { counts_apart: true, ..small },
        Nature { stores_apart: true, ..small },
    ])
    .await;
    let long =
        "https://pets-7d9f8b6c5-x2x4z.pets-headless.staging.svc.cluster.eu-central-1.internal.example.com:8443/v1";
    report.replicas[3].base_url = long.to_owned();
    browser.look("fleet", &html::render(&report), include_str!("browser/fleet.js"));
    let conforms = fleet::report_on(&[small, lagging]).await;
    browser.look("fleet-conforms", &html::render(&conforms), include_str!("browser/fleet.js"));
}

#[test]
fn the_comparison_works_in_a_browser() {
    let Some(browser) = Browser::find("the page of a comparison") else { return };
    let reports = [
        broken("Pets", "1", "2026-06-01T12:00:00Z"),
        mended("Pets", "2", "2026-06-02T12:00:00Z"),
        mended("A shelter with a long name, so that the head of its column is cut", "7", "2026-06-01T12:00:00Z"),
        broken("Zoo", "1", "2026-06-01T12:00:00Z"),
    ];
    let page = compare::html(&compare::compare(inputs(&reports)));
    browser.look("comparison", &page, include_str!("browser/compare.js"));
}

/// One fault of six sections.
const FAULTS: [&str; 6] = [
    "auth.exact-key.prefixes",
    "create.echo.title-case",
    "errors.shape.no-message",
    "headers.reset-time.milliseconds",
    "list.complete.filter-after-limit",
    "quota.not-exceeded.ten-late",
];

#[tokio::test(flavor = "multi_thread")]
async fn the_comparison_of_thirteen_servers_works_in_a_browser() {
    let Some(browser) = Browser::find("the page of a comparison of thirteen servers") else { return };
    let mut reports = vec![report_on("The reference", Variation::default()).await];
    for seed in 1..=6 {
        let choices = lawful(seed, Drawn::Choices);
        reports.push(report_on(&format!("Lawful seed {seed}"), Build::new(&choices).finish()).await);
    }
    for fault in faults().into_iter().filter(|fault| FAULTS.contains(&fault.name.as_str())) {
        reports.push(report_on(&fault.name, fault.variation).await);
    }
    assert_eq!(reports.len(), 7 + FAULTS.len());
    let page = compare::html(&compare::compare(inputs(&reports)));
    browser.look("comparison-of-thirteen", &page, include_str!("browser/compare.js"));
}

/// The report on a variation of the reference.
async fn report_on(name: &str, variation: Variation) -> Report {
    let host = Host::start(Plan::Free, variation).await;
    let mut options = options(&host.base_url, Profile::Full);
    options.api_key = ApiKey::new(&host.key).expect("a usable key");
    options.quota_key = Some(ApiKey::new(&host.quota_key).expect("a usable key"));
    options.plan = Some(Plan::Free.name().parse().expect("a plan"));
    options.max_duration = Duration::from_hours(1);
    options.implementation.name = Some(name.to_owned());
    Judge::new(options).clock(host.clock.clone()).run().await.expect("a verdict")
}
