//! JSON Schemas, as far as the description uses them, in words and tables.

use std::fmt::Write;

use serde_json::Value;

use super::{columns, escape, members, text};

/// The shapes of bodies, each with a heading of its own.
pub(super) fn section(out: &mut String, document: &Value) {
    out.push_str("<section id=\"shapes\" aria-labelledby=\"shapes-title\">\n<h2 id=\"shapes-title\">Shapes</h2>\n");
    for (name, schema) in members(document, "/components/schemas") {
        shape(out, &escape(name), schema);
    }
    out.push_str("</section>\n");
}

fn shape(out: &mut String, name: &str, schema: &Value) {
    let _ = writeln!(out, "<h3 id=\"shape-{name}\">{name}</h3>");
    let description = text(schema, "/description");
    if !description.is_empty() {
        let _ = writeln!(out, "<p>{}</p>", escape(description));
    }
    if schema.get("properties").is_none() {
        let _ = writeln!(out, "<p>{}</p>", kind(schema));
        return;
    }
    let _ = writeln!(out, "<table>\n<caption>Members of {name}</caption>");
    columns(out, &["Member", "Values", "Meaning"]);
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (member, schema) in members(schema, "/properties") {
        let need = if required.iter().any(|name| name == member) { "required" } else { "optional" };
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\"><code>{}</code><small>{need}</small></th><td>{}</td><td>{}</td></tr>",
            escape(member),
            kind(schema),
            escape(text(schema, "/description"))
        );
    }
    out.push_str("</tbody>\n</table>\n");
}

/// What a schema admits, in words; nothing for no schema.
pub(super) fn kind(schema: &Value) -> String {
    if let Some(name) = text(schema, "/$ref").strip_prefix("#/components/schemas/") {
        return format!("<a href=\"#shape-{0}\">{0}</a>", escape(name));
    }
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<String> =
            values.iter().map(|value| format!("<code>{}</code>", escape(&plain(value)))).collect();
        return format!("one of {}", values.join(", "));
    }
    let mut words = escape(text(schema, "/type"));
    if let Some(items) = schema.get("items") {
        words += &format!(" of {}", kind(items));
    }
    if let Some(format) = schema["format"].as_str() {
        words += &format!(" ({})", escape(format));
    }
    let bound = |name: &str, format: i64| schema[name].as_i64().filter(|bound| *bound != format);
    words += &match (bound("minimum", i64::MIN), bound("maximum", i64::MAX)) {
        (Some(least), Some(most)) => format!(", {least} to {most}"),
        (Some(least), None) => format!(", at least {least}"),
        (None, Some(most)) => format!(", at most {most}"),
        (None, None) => String::new(),
    };
    match schema["maxItems"].as_u64() {
        Some(0) => words += ", always empty",
        Some(most) => words += &format!(", at most {most}"),
        None => {}
    }
    if let Some(default) = schema.get("default") {
        words += &format!(", {} by default", escape(&plain(default)));
    }
    words
}

/// A value as people write it.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_is_told_in_words() {
        for (schema, words) in [
            (json!(null), ""),
            (json!({"type": "string"}), "string"),
            (
                json!({"type": "integer", "format": "int64", "minimum": i64::MIN, "maximum": i64::MAX}),
                "integer (int64)",
            ),
            (
                json!({"type": "integer", "minimum": 1, "maximum": 100, "default": 20}),
                "integer, 1 to 100, 20 by default",
            ),
            (json!({"type": "integer", "minimum": 0}), "integer, at least 0"),
            (json!({"enum": ["a<", "b"]}), "one of <code>a&lt;</code>, <code>b</code>"),
            (json!({"type": "array", "maxItems": 0}), "array, always empty"),
            (
                json!({"type": "array", "maxItems": 100, "items": {"$ref": "#/components/schemas/Pet"}}),
                "array of <a href=\"#shape-Pet\">Pet</a>, at most 100",
            ),
        ] {
            assert_eq!(kind(&schema), words);
        }
    }
}
