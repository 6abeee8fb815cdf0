//! The documentation page: the interface description as one HTML page that needs no network and no script.

mod shapes;

use std::fmt::Write;

use axum::response::{Html, IntoResponse, Response};
use http::{HeaderMap, HeaderValue, header};
use serde_json::Value;

use crate::respond;

const STYLE: &str = include_str!("style.css");

/// A paw. Without it, browsers ask for a file that is not there.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16' fill='%230969da'%3E\
    %3Ccircle cx='3' cy='7' r='1.8'/%3E%3Ccircle cx='6' cy='3.5' r='1.8'/%3E%3Ccircle cx='10' cy='3.5' r='1.8'/%3E\
    %3Ccircle cx='13' cy='7' r='1.8'/%3E%3Cellipse cx='8' cy='11' rx='4' ry='3.4'/%3E%3C/svg%3E";

/// The page may use its own style and icon and nothing else: whatever found a way into its text could not run or be loaded.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// Stands for the address of the server, which is another for each client; no text of the description has this character.
const ORIGIN: &str = "\u{1a}";

/// In the extensions of a request: it came over TLS.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Encrypted;

/// The page, without the address of the server.
pub(crate) struct Docs(String);

impl Docs {
    /// Renders a description that [`crate::openapi::document`] made.
    #[must_use]
    pub(crate) fn new(document: &Value) -> Self {
        Self(page(document))
    }

    /// The page for a client that knows the server by this address.
    pub(crate) fn page(&self, headers: &HeaderMap, encrypted: bool) -> Page {
        Page(self.0.replace(ORIGIN, &escape(&origin(headers, encrypted))))
    }
}

/// The address of the server as the client knows it. Commands on the page contain it, so a name that a shell could read
/// something into is not repeated, though HTTP allows it.
fn origin(headers: &HeaderMap, encrypted: bool) -> String {
    let is_plain = |host: &&str| {
        !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte))
    };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).filter(is_plain);
    format!("{}://{}", if encrypted { "https" } else { "http" }, host.unwrap_or("localhost"))
}

/// The page, as a response.
pub(crate) struct Page(String);

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        let mut response = Html(self.0).into_response();
        respond::protect(response.headers_mut());
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
        response
    }
}

fn page(document: &Value) -> String {
    let title = format!("{} API", text(document, "/info/title"));
    let mut out = head(&title, "");
    out.push_str("<body>\n<a class=\"skip\" href=\"#operations\">Skip to the operations</a>\n");
    let base = text(document, "/servers/0/url").trim_end_matches('/');
    heading(&mut out, document, base);
    contents(&mut out, document);
    out.push_str("<main id=\"operations\">\n");
    for (path, operations) in members(document, "/paths") {
        for (method, operation) in members(operations, "") {
            self::operation(&mut out, base, path, method, operation);
        }
    }
    shapes::section(&mut out, document);
    headers(&mut out, document);
    out.push_str("</main>\n<footer>This page needs no network and no script.</footer>\n</body>\n</html>\n");
    out
}

/// The beginning of a page, up to its body: its title, elements that follow it in the head, the icon and the style.
#[must_use]
pub fn head(title: &str, elements: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n{elements}\
         <link rel=\"icon\" href=\"{ICON}\">\n<style>\n{STYLE}</style>\n</head>\n",
        escape(title)
    )
}

fn heading(out: &mut String, document: &Value, base: &str) {
    let _ = write!(
        out,
        "<header>\n<h1>{} {}</h1>\n<p>{}</p>\n<dl>\n\
         <dt>Address</dt><dd><code>{ORIGIN}{}</code></dd>\n\
         <dt>Key</dt><dd><code>Authorization: Bearer &lt;API key&gt;</code>, on every request</dd>\n\
         <dt>For programs</dt><dd><a href=\"/openapi.json\">{ORIGIN}/openapi.json</a> (OpenAPI 3.1)</dd>\n\
         <dt>Health</dt><dd><a href=\"/healthz\">{ORIGIN}/healthz</a></dd>\n</dl>\n</header>\n",
        escape(text(document, "/info/title")),
        escape(text(document, "/info/version")),
        escape(text(document, "/info/description")),
        escape(base),
    );
}

fn contents(out: &mut String, document: &Value) {
    out.push_str("<nav aria-label=\"Contents\">\n<ul>\n");
    for (path, operations) in members(document, "/paths") {
        for (method, operation) in members(operations, "") {
            let _ = writeln!(
                out,
                "<li><a href=\"#{}\"><code>{} {}</code></a></li>",
                escape(text(operation, "/operationId")),
                method.to_uppercase(),
                escape(path)
            );
        }
    }
    for (name, _) in members(document, "/components/schemas") {
        let _ = writeln!(out, "<li><a href=\"#shape-{0}\">{0}</a></li>", escape(name));
    }
    out.push_str("<li><a href=\"#headers\">Header fields</a></li>\n</ul>\n</nav>\n");
}

fn operation(out: &mut String, base: &str, path: &str, method: &str, operation: &Value) {
    let id = escape(text(operation, "/operationId"));
    let _ = write!(
        out,
        "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h2 id=\"{id}-title\"><code>{} {}</code> {}</h2>\n<p>{}",
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
    let target = format!("{base}{}", path.replace("{petId}", "1"));
    // It scrolls, so a keyboard has to reach it.
    let _ = writeln!(
        out,
        "<pre tabindex=\"0\" role=\"group\" aria-label=\"Example of {id}\"><code>curl -i -H \"Authorization: Bearer $KEY\" \
         {ORIGIN}{}{}</code></pre>",
        escape(&target),
        escape(body)
    );
    parameters(out, &id, operation);
    request_body(out, operation);
    responses(out, &id, operation);
    out.push_str("</section>\n");
}

fn parameters(out: &mut String, id: &str, operation: &Value) {
    let Some(parameters) = operation["parameters"].as_array() else { return };
    table(out, "Parameters", id, &["Name", "Values", "Meaning"]);
    for parameter in parameters {
        let need = if parameter["required"] == true { "required" } else { "optional" };
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\"><code>{}</code><small>{}, {need}</small></th><td>{}</td><td>{}</td></tr>",
            escape(text(parameter, "/name")),
            escape(text(parameter, "/in")),
            shapes::kind(&parameter["schema"]),
            escape(text(parameter, "/description")),
        );
    }
    out.push_str("</tbody>\n</table>\n");
}

fn request_body(out: &mut String, operation: &Value) {
    let Some(body) = operation.get("requestBody") else { return };
    let schema = body.pointer("/content/application~1json/schema").unwrap_or(&Value::Null);
    let _ = writeln!(
        out,
        "<h3>Body</h3>\n<p><code>application/json</code>: {}. {}.</p>",
        shapes::kind(schema),
        escape(text(body, "/description"))
    );
}

fn responses(out: &mut String, id: &str, operation: &Value) {
    table(out, "Responses", id, &["Status", "When", "Body"]);
    for (status, response) in members(operation, "/responses") {
        let names: Vec<String> = members(response, "/headers").map(|(name, _)| escape(name)).collect();
        let schema = response.pointer("/content/application~1json/schema").unwrap_or(&Value::Null);
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{}<small>{}</small></td><td>{}</td></tr>",
            escape(status),
            escape(text(response, "/description")),
            names.join(", "),
            shapes::kind(schema),
        );
    }
    out.push_str("</tbody>\n</table>\n");
}

fn headers(out: &mut String, document: &Value) {
    out.push_str(
        "<section id=\"headers\" aria-labelledby=\"headers-title\">\n<h2 id=\"headers-title\">Header fields</h2>\n",
    );
    out.push_str("<table>\n<caption>Header fields of responses</caption>\n");
    columns(out, &["Name", "Values", "Meaning"]);
    for (name, header) in members(document, "/components/headers") {
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>",
            escape(name),
            shapes::kind(&header["schema"]),
            escape(text(header, "/description"))
        );
    }
    out.push_str("</tbody>\n</table>\n</section>\n");
}

/// A heading and the beginning of a table, whose caption names what it is about.
fn table(out: &mut String, title: &str, about: &str, names: &[&str]) {
    let _ = writeln!(out, "<h3>{title}</h3>\n<table>\n<caption>{title} of {about}</caption>");
    columns(out, names);
}

fn columns(out: &mut String, names: &[&str]) {
    let names: String = names.iter().map(|name| format!("<th scope=\"col\">{name}</th>")).collect();
    let _ = writeln!(out, "<thead><tr>{names}</tr></thead>\n<tbody>");
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn members<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    value.pointer(pointer).and_then(Value::as_object).into_iter().flatten()
}

/// A text as HTML shows it, in elements and in attributes.
#[must_use]
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests;
