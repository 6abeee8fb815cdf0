//! The report as JSON. Its JSON Schema is `fixtures/report.schema.json`.

use serde::Serialize;

use animal_store_conformance::report::Report;

/// The whole report, indented, with a trailing line break.
#[must_use]
pub fn render(report: &Report) -> String {
    pretty(report)
}

/// A document as indented JSON with a trailing line break.
pub(crate) fn pretty(document: &impl Serialize) -> String {
    // Every member is a string, a number or a list of those, which serde_json cannot fail to write.
    let mut text = serde_json::to_string_pretty(document).unwrap_or_default();
    text.push('\n');
    text
}
