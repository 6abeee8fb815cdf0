//! The documentation page: the interface description as one HTML page that needs no network and no script.

use std::fmt::Write;

use axum::response::{Html, IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderValue, header};
use serde_json::Value;

use crate::respond;

const HEAD: &str = "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<title>Animal Store API</title>
<style>
  :root { color-scheme: light dark; }
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 54rem; margin: 2rem auto; padding: 0 1rem; }
  code, pre { font: 14px/1.5 ui-monospace, monospace; }
  pre { overflow-x: auto; padding: .75rem; border: 1px solid #8885; border-radius: .4rem; }
  section { border-top: 1px solid #8885; margin-top: 2rem; }
  table { border-collapse: collapse; width: 100%; }
  th, td { text-align: left; padding: .25rem .75rem .25rem 0; vertical-align: top; border-bottom: 1px solid #8883; }
  .mark { border: 1px solid; border-radius: .4rem; padding: 0 .4rem; font-size: .8rem; }
</style>
";

/// The page may use its own style and nothing else: whatever found a way into its text could not run or be loaded.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The page, as a response.
pub(crate) struct Page(pub(crate) Bytes);

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        let mut response = Html(self.0).into_response();
        respond::protect(response.headers_mut());
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
        response
    }
}

/// Renders a description that [`crate::openapi::document`] made.
#[must_use]
pub(crate) fn page(document: &Value) -> String {
    let mut out = String::from(HEAD);
    let base = text(document, "/servers/0/url");
    heading(&mut out, document, base);
    for (path, operations) in members(document, "/paths") {
        for (method, operation) in members(operations, "") {
            self::operation(&mut out, base, path, method, operation);
        }
    }
    out.push_str("<section><h2>Shapes</h2>\n");
    for (name, schema) in members(document, "/components/schemas") {
        let _ = write!(out, "<h3>{}</h3>\n<pre>{}</pre>\n", escape(name), escape(&format!("{schema:#}")));
    }
    out.push_str("</section>\n</html>\n");
    out
}

fn heading(out: &mut String, document: &Value, base: &str) {
    let _ = write!(
        out,
        "<h1>{} {}</h1>\n<p>{}</p>\n<p>All paths are below <code>{}</code>. Every request needs a key: \
         <code>Authorization: Bearer &lt;API key&gt;</code>. The machine-readable form of this page is \
         <a href=\"/openapi.json\">/openapi.json</a>.</p>\n",
        escape(text(document, "/info/title")),
        escape(text(document, "/info/version")),
        escape(text(document, "/info/description")),
        escape(base),
    );
}

fn operation(out: &mut String, base: &str, path: &str, method: &str, operation: &Value) {
    let _ = write!(
        out,
        "<section id=\"{}\">\n<h2><code>{} {}</code></h2>\n<p>{}. {}",
        escape(text(operation, "/operationId")),
        method.to_uppercase(),
        escape(path),
        escape(text(operation, "/summary")),
        escape(text(operation, "/description")),
    );
    if operation["deprecated"] == true {
        out.push_str(" <span class=\"mark\">deprecated</span>");
    }
    if let Some(stability) = operation["x-stability"].as_str() {
        let _ = write!(out, " <span class=\"mark\">{}</span>", escape(stability));
    }
    out.push_str("</p>\n");
    let body = if method == "post" {
        " \\\n  -H 'Content-Type: application/json' -d '{\"name\":\"Rex\",\"categoryId\":1,\"status\":\"available\"}'"
    } else {
        ""
    };
    let example = path.replace("{petId}", "1");
    let base = base.trim_end_matches('/');
    let _ = writeln!(
        out,
        "<pre>curl -i -H \"Authorization: Bearer $KEY\" $ORIGIN{}{body}</pre>",
        escape(&format!("{base}{example}"))
    );
    parameters(out, operation);
    out.push_str("<table><tr><th>Status<th>When<th>Headers\n");
    for (status, response) in members(operation, "/responses") {
        let headers: Vec<&str> = members(response, "/headers").map(|(name, _)| name.as_str()).collect();
        let description = escape(text(response, "/description"));
        let _ = writeln!(out, "<tr><td>{status}<td>{description}<td>{}", escape(&headers.join(", ")));
    }
    out.push_str("</table>\n</section>\n");
}

fn parameters(out: &mut String, operation: &Value) {
    let Some(parameters) = operation["parameters"].as_array() else { return };
    out.push_str("<table><tr><th>Parameter<th>Meaning<th>Values\n");
    for parameter in parameters {
        let _ = writeln!(
            out,
            "<tr><td><code>{}</code> ({})<td>{}<td><code>{}</code>",
            escape(text(parameter, "/name")),
            escape(text(parameter, "/in")),
            escape(text(parameter, "/description")),
            escape(&parameter["schema"].to_string()),
        );
    }
    out.push_str("</table>\n");
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn members<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    value.pointer(pointer).and_then(Value::as_object).into_iter().flatten()
}

pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_shows_every_operation_and_loads_nothing() {
        let page = page(&crate::openapi::document("/v1"));
        for operation in ["listPets", "createPet", "getPet", "listOrders"] {
            assert!(page.contains(&format!("<section id=\"{operation}\">")), "{operation}");
        }
        assert!(page.contains("<h1>") && page.contains("<code>/v1</code>"));
        assert_eq!(page.matches("deprecated</span>").count(), 1);
        assert_eq!(page.matches("-d '{").count(), 1, "one example has a body");
        assert!(page.contains("experimental</span>") && page.contains("<code>limit</code> (query)"));
        assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("<script"));
    }
}
