//! Reports and other documents as JSON. The JSON Schema of a report is `fixtures/report.schema.json`.

use serde::Serialize;

/// A document as indented JSON with a trailing line break.
pub fn render(document: &impl Serialize) -> String {
    // Every member is a string, a number or a list of those, which serde_json cannot fail to write.
    let mut text = serde_json::to_string_pretty(document).unwrap_or_default();
    text.push('\n');
    text
}
