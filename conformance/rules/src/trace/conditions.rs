//! Header fields that ask for a response other than the usual one.
//!
//! The judge sends none of them. Clients do, and RFC 9110 allows answers to them that the specification does not describe: 304 to a
//! conditional request, 206 to one for a range, 406 where JSON is not acceptable. `Upgrade` differs: a server that ignores it answers as
//! usual (RFC 9110 section 7.8), so only the status code shows whether it changed the answer.

use crate::trace::exchange::Request;

/// Header fields that allow another response, in lower case: those of RFC 9110 sections 10.1.1, 13.1 and 14.2, the preferences of RFC 7240,
/// and the common extensions that replace the method or the path.
pub const FIELDS: [&str; 14] = [
    "expect",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "prefer",
    "range",
    UPGRADE,
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-url",
    "x-rewrite-url",
];

const UPGRADE: &str = "upgrade";

/// The header field with the media types that the client accepts, in lower case.
pub const ACCEPT: &str = "accept";

/// Whether header fields of a request allow responses that the specification does not describe. The status code is that of the response, if
/// there is one.
pub(crate) fn change_the_answer(request: &Request, status: Option<u16>) -> bool {
    request.headers.iter().any(|(name, value)| match name.to_ascii_lowercase().as_str() {
        UPGRADE => matches!(status, None | Some(101 | 426)),
        ACCEPT => !accepts_json(value),
        name => FIELDS.contains(&name),
    })
}

/// Whether an `Accept` field admits `application/json`. A range with the weight 0 admits nothing, and may be meant to exclude it.
fn accepts_json(value: &str) -> bool {
    let mut admits = value.trim().is_empty();
    for range in value.split(',') {
        let mut parts = range.split(';').map(|part| part.trim().to_ascii_lowercase());
        let is_json = matches!(parts.next().as_deref(), Some("application/json" | "application/*" | "*/*"));
        let weight = parts.find_map(|part| part.strip_prefix("q=")?.trim().parse::<f32>().ok());
        match weight {
            Some(weight) if weight <= 0.0 => return false,
            _ => admits |= is_json,
        }
    }
    admits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_for_another_answer_than_the_usual_is_recognised() {
        let with =
            |name: &str, value: &str| change_the_answer(&Request::new("GET", "/pets").header(name, value), Some(200));
        for (name, value) in [
            ("If-None-Match", "\"a\""),
            ("Range", "bytes=0-9"),
            ("Accept", "text/html"),
            ("Accept", "application/json;q=0, */*"),
            ("accept", "text/*, application/xml;q=0.9"),
            ("X-HTTP-Method-Override", "DELETE"),
            ("X-Original-URL", "/v1/store/orders"),
            ("Prefer", "return=minimal"),
        ] {
            assert!(with(name, value), "{name}: {value}");
        }
        for (name, value) in [
            ("Accept", "application/json"),
            ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8"),
            ("Accept", ""),
            ("Accept", "Application/JSON;q=0.5"),
            ("User-Agent", "curl"),
            ("Content-Encoding", "gzip"),
        ] {
            assert!(!with(name, value), "{name}: {value}");
        }
    }

    #[test]
    fn an_upgrade_that_the_server_ignores_changes_nothing() {
        let request = Request::new("GET", "/pets").header("Upgrade", "h2c");
        assert!(!change_the_answer(&request, Some(200)) && !change_the_answer(&request, Some(400)));
        assert!(change_the_answer(&request, Some(101)) && change_the_answer(&request, Some(426)));
        assert!(change_the_answer(&request, None), "the server may have closed the connection");
    }
}
