//! The report as one self-contained HTML file: it needs no network, no other file, and no JavaScript to be read.
//!
//! All data of the candidate is text: askama escapes every value of a template, and no value is in a script or a style. The
//! Content-Security-Policy of the page is a second line of defence.

mod labels;
mod timeline;
mod view;

use askama::Template;

use animal_store_conformance::report::Report;
use view::Page;

const STYLE: &str = include_str!("../../../templates/report/style.css");
const SCRIPT: &str = include_str!("../../../templates/report/script.js");

/// The SHA-256 digests of the style and of the script in base64, which a test verifies.
const STYLE_DIGEST: &str = "sha256-PJM/byo8ahMeVBjghuubS2g0+GGCxxj2Gr8NmCoFxsY=";
const SCRIPT_DIGEST: &str = "sha256-NznkBwNPrABquE0OUvPrbf+YIjNF4uiB6NaZPq3IuRM=";

/// The Content-Security-Policy of the page: nothing may be loaded, and the only style and script are those with these digests.
fn policy() -> String {
    format!(
        "default-src 'none'; style-src '{STYLE_DIGEST}'; script-src '{SCRIPT_DIGEST}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
}

/// The whole page.
pub fn render(report: &Report) -> String {
    // Every value is a string or a number, and writing to a String cannot fail.
    Page::new(report).render().unwrap_or_default()
}
