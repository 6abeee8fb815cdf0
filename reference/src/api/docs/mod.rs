//! The documentation page: the interface description for people, as one HTML page that needs no network and no script.
//!
//! `page.html` is written by hand beside `openapi.json`; a test compares the two.

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{Html, IntoResponse, Response};

use crate::api::respond;

const STYLE: &str = include_str!("style.css");

/// The page below its head. `@ORIGIN@` stands for the address of the server as the client knows it, and `@BASE@` for the base path.
const PAGE: &str = include_str!("page.html");

/// The icon of the page, a paw. Without an icon, browsers ask for a file that does not exist.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16' fill='%230969da'%3E\
    %3Ccircle cx='3' cy='7' r='1.8'/%3E%3Ccircle cx='6' cy='3.5' r='1.8'/%3E%3Ccircle cx='10' cy='3.5' r='1.8'/%3E\
    %3Ccircle cx='13' cy='7' r='1.8'/%3E%3Cellipse cx='8' cy='11' rx='4' ry='3.4'/%3E%3C/svg%3E";

/// The content security policy of the page. The page may use its own style and icon only, so that text injected into it could neither
/// run nor load anything.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// The mark of a request that came over TLS, in the extensions of the request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Encrypted;

/// The page, without the address of the server.
pub(crate) struct Docs(String);

impl Docs {
    /// The page of a server whose API lives below `base_path`.
    #[must_use]
    pub(crate) fn new(base_path: &str) -> Self {
        Self(head("Animal Store API", "") + &PAGE.replace("@BASE@", &escape(base_path)))
    }

    /// The page for a client that knows the server by this address.
    pub(crate) fn page(&self, headers: &HeaderMap, encrypted: bool) -> Page {
        Page(self.0.replace("@ORIGIN@", &escape(&origin(headers, encrypted))))
    }
}

/// The address of the server as the client knows it. Commands on the page contain the address, so a host name with characters that a
/// shell could interpret is replaced by `localhost`, although HTTP allows such names.
fn origin(headers: &HeaderMap, encrypted: bool) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).filter(|host| {
        !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte))
    });
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

/// A text as HTML shows it, in elements and in attributes.
#[must_use]
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests;
