//! Requests that may be refused before the service sees them.
//!
//! An intermediary, or the HTTP library of the server, may refuse a request for its form. It knows neither the keys nor the Error of the
//! service, so any 4xx status code with any body is lawful, with a valid key and without one. It never serves the request.

use percent_encoding::percent_decode_str;

use crate::trace::exchange::Request;

/// The length in bytes above which a URL may be refused with 414. RFC 9110 section 4.1 recommends to accept 8,000, and common gateways
/// accept 2,048 in a query.
const MODEST_TARGET: usize = 2 * 1024;

/// The length in bytes above which a segment of a path may be refused.
const MODEST_SEGMENT: usize = 255;

/// The length in bytes above which a header field may be refused with 431.
const MODEST_FIELD: usize = 4 * 1024;

/// The length in bytes above which all header fields together may be refused with 431.
const MODEST_HEAD: usize = 8 * 1024;

/// The number of header fields above which a request may be refused with 431.
const MODEST_FIELDS: usize = 64;

/// The size in bytes above which intermediaries refuse a body with 413 by default.
const MODEST_UPLOAD: usize = 1024 * 1024;

/// Header fields that a request has once (RFC 9110 section 5.3). The credential of a request says whether `Authorization` is repeated.
const SINGLE: [&str; 4] = ["content-length", "content-type", "host", "transfer-encoding"];

/// The fields by which proxies name their clients. An edge may refuse a client that sends one, whatever address it names.
const FORWARDED: [&str; 2] = ["x-forwarded-for", "x-real-ip"];

/// Returns true if an intermediary or an HTTP library may refuse the request for its form, whatever its key is.
pub fn may_be_refused_at_edge(request: &Request) -> bool {
    let query = request.query.as_deref().unwrap_or("");
    let body = request.body.as_ref();
    let uploads = body.map_or(0, |body| body.bytes.len());
    is_doubtful_path(&request.path)
        || !is_plain(query)
        || decoded(query).is_none_or(|text| text.contains(char::is_control))
        || request.path.len() + query.len() > MODEST_TARGET
        || has_doubtful_fields(request)
        || uploads > MODEST_UPLOAD
        // Content in a GET has no meaning, and may lead to a refusal (RFC 9110 section 9.3.1).
        || uploads > 0 && request.method == "GET"
}

/// Returns true if a path has a long segment, a character that URLs do not allow, or a part that readers of URLs take for different things:
/// parameters, doubled slashes, and encoded separators.
fn is_doubtful_path(path: &str) -> bool {
    let is_doubtful = |text: &str| text.contains(|char: char| char.is_control() || ";\\%".contains(char));
    !is_plain(path)
        || path.contains("//")
        || path.split('/').any(|segment| {
            segment.len() > MODEST_SEGMENT
                || decoded(segment).is_none_or(|text| text.contains('/') || is_doubtful(&text))
        })
}

/// Returns true if a part of a URL has only the characters that RFC 3986 allows in a path or a query.
fn is_plain(text: &str) -> bool {
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let is_allowed = match byte {
            b'%' => (0..2).all(|_| rest.next().is_some_and(|digit| digit.is_ascii_hexdigit())),
            byte => byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/?".contains(&byte),
        };
        if !is_allowed {
            return false;
        }
    }
    true
}

/// The text without percent-encoding. `None` if it is not UTF-8.
fn decoded(text: &str) -> Option<String> {
    percent_decode_str(text).decode_utf8().ok().map(Into::into)
}

/// Returns true if the header fields are many or long, if a field is malformed, repeated or forged, or if a value is beyond printable ASCII.
fn has_doubtful_fields(request: &Request) -> bool {
    let fields = request.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let credential = request.authorization.as_deref().map(|value| ("Authorization", value));
    let media_type = request.body.as_ref().map(|body| ("Content-Type", body.content_type.as_str()));
    let fields: Vec<(&str, &str)> =
        fields.chain(credential).chain(media_type.filter(|(_, value)| !value.is_empty())).collect();

    let size = |(name, value): &(&str, &str)| name.len() + value.len();
    let is_token = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
    };
    let is_text = |value: &str| value.chars().all(|char| char == '\t' || (' '..='~').contains(&char));
    fields.len() > MODEST_FIELDS
        || fields.iter().map(size).sum::<usize>() > MODEST_HEAD
        || fields.iter().any(|field| size(field) > MODEST_FIELD || !is_token(field.0) || !is_text(field.1))
        || fields.iter().any(|(name, _)| FORWARDED.iter().any(|forwarded| name.eq_ignore_ascii_case(forwarded)))
        || SINGLE.iter().any(|single| fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case(single)).count() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_in_a_usual_form_reaches_the_service() {
        let list = || Request::new("GET", "/pets");
        let create = || Request::new("POST", "/pets").json(r#"{"name":"Rex","categoryId":1}"#);
        for (what, request) in [
            ("a list", list().query("limit=5&status=sold").authorization("Bearer sk-Key1")),
            ("percent-encoded text", list().query("status=%73old&x=a%20b%C3%A9")),
            ("an encoded digit", Request::new("GET", "/pets/%37")),
            ("a text for an id", Request::new("GET", "/pets/abc~1.5,x")),
            ("a token that nobody issued", list().authorization(format!("Bearer {}", "x".repeat(1_000)))),
            ("a body in bytes that are no text", create().json(b"\xff\x00".to_vec())),
            ("a body of 100 KiB", create().json(vec![b' '; 100 * 1024])),
            ("a body in chunks", create().chunked()),
            ("another media type", create().body("text/plain; charset=\"x\"", "{}")),
        ] {
            assert!(!may_be_refused_at_edge(&request), "{what}");
        }
    }

    #[test]
    fn a_request_in_a_doubtful_form_may_not_reach_the_service() {
        let get = |path: &str| Request::new("GET", path);
        let list = || get("/pets");
        let create = || Request::new("POST", "/pets").json("{}");
        let long = |length: usize| "x".repeat(length);
        let mut many = list();
        for number in 0..=MODEST_FIELDS {
            many = many.header(&format!("X-Field-{number}"), "1");
        }
        for (what, request) in [
            ("a long query", list().query(long(3_000))),
            ("a long segment", get(&format!("/pets/{}", long(300)))),
            ("a long token", list().authorization(format!("Bearer {}", long(5_000)))),
            ("many long fields", list().header("A", long(3_000)).header("B", long(3_000)).header("C", long(3_000))),
            ("many fields", many),
            ("a broken percent sign in the query", list().query("status=%zz")),
            ("half a percent sign in the query", list().query("limit=5%2")),
            ("a broken percent sign in the path", get("/pets/%")),
            ("a bracket in the query", list().query("status[]=sold")),
            ("a blank in the query", list().query("status=sold x")),
            ("a letter beyond ASCII in the query", list().query("status=sold\u{e9}")),
            ("an encoded zero byte in the query", list().query("status=sold%00")),
            ("encoded bytes that are no text in the query", list().query("status=%FF")),
            ("an encoded zero byte in the path", get("/pets/7%00")),
            ("an encoded line break in the path", get("/pets/7%0A")),
            ("encoded bytes that are no text in the path", get("/pets/%FF")),
            ("an encoded slash", get("/pets%2F7")),
            ("an encoded percent sign", get("/pets/%2537")),
            ("a parameter of the path", get("/pets/7;x=1")),
            ("an encoded parameter of the path", get("/pets/7%3Bx=1")),
            ("a backslash", get("/pets/7\\")),
            ("a doubled slash", get("//pets")),
            ("a control character in a field", list().header("X-Note", "a\u{1}b")),
            ("a letter beyond ASCII in a field", list().authorization("Bearer sk-Ke\u{e9}1")),
            ("a blank in the name of a field", list().header("X Note", "a")),
            ("a forged field of a proxy", list().header("X-Forwarded-For", "127.0.0.1")),
            ("the address of nobody", list().header("X-Forwarded-For", "203.0.113.77")),
            ("two media types", create().header("content-type", "text/plain")),
            ("two hosts", list().header("Host", "a").header("host", "b")),
            ("a body with a GET", list().json("{}")),
            ("a body of 2 MiB", create().json(vec![b' '; 2 * 1024 * 1024])),
        ] {
            assert!(may_be_refused_at_edge(&request), "{what}");
        }
    }
}
