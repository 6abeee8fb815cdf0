//! The page of the server in a real browser, where there is one: width, contrast, what a keyboard reaches, and axe.

#[path = "../../../conformance/tests/it/browser/chromium.rs"]
mod chromium;

use crate::support::Server;
use chromium::Browser;

#[test]
fn the_documentation_can_be_read_in_a_browser() {
    let Some(browser) = Browser::find("the page at /docs") else { return };
    let server = Server::start(&["--db", ":memory:"]);
    let page = server.ask("GET", "/docs", "").body;
    browser.look("docs", &page, "");
    server.stop();
}
