//! The report as one HTML file that needs nothing else: no network, no other file, and no JavaScript to be read.
//!
//! Whatever the candidate sent is text here: askama escapes every value of a template, and no value stands in a script or a
//! style. The Content-Security-Policy of the page would stop what got through.

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

/// Nothing may be loaded from anywhere. The one style and the one script are those with these digests: SHA-256 in base64,
/// which a test computes again.
const POLICY: &str = "default-src 'none'; \
    style-src 'sha256-0SXyJPP8qMNOPZebVT1J5X39eKVLc2imD03a/Cv5Afc='; \
    script-src 'sha256-uf8Ll1O1ooBmw9femB0dk53rY+50iewrqg7BNYdstwE='; \
    img-src data:; base-uri 'none'; form-action 'none'";

/// The whole page.
#[must_use]
pub fn render(report: &Report) -> String {
    // Every value is a text or a number that can be written, and writing to a String cannot fail.
    Page::new(report).render().unwrap_or_default()
}
