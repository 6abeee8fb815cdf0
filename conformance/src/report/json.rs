//! The report as JSON, for machines.

use super::Report;

/// The whole report, indented, with a line break at its end.
#[must_use]
pub fn render(report: &Report) -> String {
    // Every member is a string, a number or a list of those, which serde_json cannot fail to write.
    let mut text = serde_json::to_string_pretty(report).unwrap_or_default();
    text.push('\n');
    text
}
