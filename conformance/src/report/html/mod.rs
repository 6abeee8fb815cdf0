//! The report as one self-contained HTML file: it needs no network, no other file, and no JavaScript to be read.
//!
//! What the candidate sent is text: askama escapes every value of a template, and no value is in a script or a style. The
//! Content-Security-Policy of the page is a second line of defence.

mod body;
mod labels;
mod requests;
mod timeline;
mod view;

use askama::Template;

use super::Report;
use view::Page;

const STYLE: &str = include_str!("../../../templates/report/style.css");
const SCRIPT: &str = include_str!("../../../templates/report/script.js");

/// Nothing may be loaded. The only style and the only script are those with these SHA-256 digests in base64, which a test
/// verifies.
const POLICY: &str = "default-src 'none'; \
    style-src 'sha256-0SXyJPP8qMNOPZebVT1J5X39eKVLc2imD03a/Cv5Afc='; \
    script-src 'sha256-uf8Ll1O1ooBmw9femB0dk53rY+50iewrqg7BNYdstwE='; \
    img-src data:; base-uri 'none'; form-action 'none'";

/// The whole page.
#[must_use]
pub fn render(report: &Report) -> String {
    // Every value is a string or a number, and writing to a String cannot fail.
    Page::new(report).render().unwrap_or_default()
}
