//! The pages of the judge in a real browser, where there is one: filters, links, policy, width, contrast, and axe.

#[path = "browser/chromium.rs"]
mod chromium;

use animal_store_conformance::compare;
use animal_store_conformance::report::html;

use crate::compare::{broken, inputs, mended};
use crate::sample;
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
