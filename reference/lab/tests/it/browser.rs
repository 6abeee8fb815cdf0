//! The report of a challenge in a real browser, where there is one: width, contrast, what a keyboard reaches, and axe.

#[path = "../../../../conformance/tests/it/browser/chromium.rs"]
mod chromium;

use crate::challenge::run;
use crate::support::Folder;
use chromium::Browser;

#[test]
fn the_report_of_a_challenge_can_be_read_in_a_browser() {
    let Some(browser) = Browser::find("the HTML report of a challenge") else { return };
    let folder = Folder::new();
    let html = folder.path().join("challenge.html");
    let report = format!("html={}", html.display());
    // The suite expects to find no animals, which not every lawful server grants.
    let args = ["--lawful", "2", "--fault", "list.limit-default", "--fault", "create.success.created-is-200"];
    let (code, _, stderr) = run(&[&args[..], &["--report", &report]].concat(), "suite_of_page_sizes");
    assert_eq!(code, Some(1), "{stderr}");
    let page = std::fs::read_to_string(html).expect("a report");
    assert!(page.contains("Faults that were missed"), "{page}");
    browser.look("challenge", &page, "");
}
