//! The pages of the judge in a real browser, where there is one: filters, links, policy, width, contrast, and axe.

#[path = "browser/chromium.rs"]
mod chromium;

use std::time::Duration;

use animal_store_conform::formats::html;

use crate::candidate::Nature;
use crate::compare::mended;
use crate::faults::Fault;
use crate::{fleet, sample};
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
