//! Header fields that concern one connection only, and the duties of intermediaries in RFC 9110 section 7.6. Everything else is passed
//! on unchanged.

use hyper::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue, MAX_FORWARDS, TE, TRANSFER_ENCODING,
    UPGRADE, VIA,
};
use hyper::http::request;
use hyper::http::uri::Authority;
use hyper::{Method, Response, StatusCode, Uri, Version};

/// The fields that concern one connection, in addition to those that `Connection` names.
const OF_CONNECTION: [&str; 6] = ["connection", "http2-settings", "keep-alive", "proxy-connection", "te", "upgrade"];

/// The fields that are passed on although `Connection` names them, because client and server need them or they delimit the body.
const OF_WHOLE_WAY: [&str; 5] = ["authorization", "cache-control", "content-length", "host", "transfer-encoding"];

/// The name of the proxy in `Via`.
const RECEIVED_BY: &str = "conform-proxy";

/// A response of the proxy itself, to a request that is not passed on.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) sentence: String,
}

/// Removes the fields about the connection of a message, and returns the protocol that the message upgrades to, if any.
fn without_connection(headers: &mut HeaderMap) -> Option<HeaderValue> {
    let options: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|option| HeaderName::from_bytes(option.trim().as_bytes()).ok())
        .collect();
    let protocol = options.contains(&UPGRADE).then(|| headers.get(UPGRADE).cloned()).flatten();
    for name in options.iter().map(HeaderName::as_str).filter(|name| !OF_WHOLE_WAY.contains(name)).chain(OF_CONNECTION)
    {
        headers.remove(name);
    }
    // RFC 9112 section 6.3: the transfer coding overrides the length, which must not be passed on beside it. The coding itself is passed
    // on: chunks are made anew, and any coding below them is left as it is.
    if headers.contains_key(TRANSFER_ENCODING) {
        headers.remove(CONTENT_LENGTH);
    }
    // The proxy speaks HTTP/1.1 on both sides.
    protocol.filter(|protocol| !protocol.as_bytes().to_ascii_lowercase().starts_with(b"h2"))
}

/// Turns a request to the proxy into one to the server at this authority, and returns true if it asks to change the protocol. `is_own`
/// returns true if an authority that a client names is that of the proxy or of the server.
///
/// # Errors
///
/// The response, if the request ends at the proxy.
pub(super) fn to_server(
    parts: &mut request::Parts,
    authority: &HeaderValue,
    is_own: impl Fn(&Authority) -> bool,
) -> Result<bool, Refusal> {
    if parts.method == Method::CONNECT {
        let sentence = "this proxy opens no tunnel, because it can judge only requests that it can read. Use the base URL that the \
                        proxy printed at its start instead of an HTTPS address; HTTPS_PROXY is not needed";
        return Err(Refusal { status: StatusCode::NOT_IMPLEMENTED, sentence: sentence.to_owned() });
    }
    if let Some(foreign) = parts.uri.authority().filter(|authority| !is_own(authority)) {
        let sentence = format!("this proxy passes requests on to one server only, and not to {foreign}");
        return Err(Refusal { status: StatusCode::MISDIRECTED_REQUEST, sentence });
    }
    if [Method::OPTIONS, Method::TRACE].contains(&parts.method)
        && let Some(left) = parts.headers.get(MAX_FORWARDS).and_then(|value| value.to_str().ok()?.parse::<u64>().ok())
    {
        let is_options = parts.method == Method::OPTIONS;
        let status = if is_options { StatusCode::OK } else { StatusCode::METHOD_NOT_ALLOWED };
        let ends = || Refusal { status, sentence: "Max-Forwards is 0, so the request was not passed on".to_owned() };
        let left = left.checked_sub(1).ok_or_else(ends)?;
        parts.headers.insert(MAX_FORWARDS, left.into());
    }
    let takes_trailers = parts.headers.get_all(TE).iter().any(|value| {
        value.to_str().is_ok_and(|value| value.split(',').any(|coding| coding.trim().eq_ignore_ascii_case("trailers")))
    });
    let protocol = without_connection(&mut parts.headers);
    if let Some(protocol) = &protocol {
        parts.headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        parts.headers.insert(UPGRADE, protocol.clone());
    }
    if takes_trailers {
        parts.headers.append(CONNECTION, HeaderValue::from_static("te"));
        parts.headers.insert(TE, HeaderValue::from_static("trailers"));
    }
    let version = if parts.version == Version::HTTP_10 { "1.0" } else { "1.1" };
    if let Ok(via) = HeaderValue::from_str(&format!("{version} {RECEIVED_BY}")) {
        parts.headers.append(VIA, via);
    }
    // HTTP/1.1 requires the field, so a request without it is the client's fault, which the server tells it.
    if parts.headers.contains_key(HOST) || parts.uri.authority().is_some() || parts.version == Version::HTTP_10 {
        parts.headers.insert(HOST, authority.clone());
    }
    parts.version = Version::HTTP_11;
    if parts.uri.authority().is_some() {
        let target = parts.uri.path_and_query().cloned();
        parts.uri = target.map_or_else(|| Uri::from_static("/"), Uri::from);
    }
    Ok(protocol.is_some())
}

/// Returns true if a client waits for an interim response before it sends the body.
pub(super) fn expects_continue(headers: &HeaderMap) -> bool {
    headers.get(EXPECT).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

/// The defect of a response that must not be passed on, if it has one: the client might take it for another message. `is_upgrade` is
/// true if the request asked to change the protocol.
pub(super) fn defect<B>(response: &Response<B>, is_upgrade: bool) -> Option<&'static str> {
    if response.status() == StatusCode::SWITCHING_PROTOCOLS && !is_upgrade {
        return Some("the server changes the protocol, although the request did not ask for that");
    }
    let values = response.headers().get_all(CONTENT_LENGTH).iter();
    let mut lengths = values.flat_map(|value| value.as_bytes().split(|byte| *byte == b',')).map(<[u8]>::trim_ascii);
    let first = lengths.next()?;
    lengths.any(|length| length != first).then_some("the response has two lengths")
}

/// Turns a response of the server into one to the client.
pub(super) fn to_client(status: StatusCode, headers: &mut HeaderMap) {
    let protocol = without_connection(headers);
    if let Some(protocol) = protocol.filter(|_| status == StatusCode::SWITCHING_PROTOCOLS) {
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, protocol);
    }
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    fn parts(method: &str, uri: &str, headers: &[(&'static str, &'static str)]) -> request::Parts {
        let builder = Request::builder().method(method).uri(uri);
        let builder = headers.iter().fold(builder, |builder, (name, value)| builder.header(*name, *value));
        builder.body(()).expect("a request").into_parts().0
    }

    fn forwarded(parts: &request::Parts) -> Vec<(&str, &str)> {
        parts.headers.iter().map(|(name, value)| (name.as_str(), value.to_str().expect("text"))).collect()
    }

    fn forward(parts: &mut request::Parts) -> Result<bool, StatusCode> {
        let is_own = |authority: &Authority| authority == "127.0.0.1:1" || authority == "api.example.com";
        to_server(parts, &HeaderValue::from_static("api.example.com"), is_own).map_err(|refusal| refusal.status)
    }

    #[test]
    fn what_concerns_the_connection_is_removed_and_all_else_is_kept() {
        let headers = [
            ("host", "127.0.0.1:1"),
            ("connection", "close, X-Hop, authorization"),
            ("x-hop", "1"),
            ("keep-alive", "timeout=5"),
            ("te", "trailers"),
            ("authorization", "Bearer k"),
            ("x-end", "2"),
            ("via", "1.0 other"),
        ];
        let mut parts = parts("PATCH", "http://127.0.0.1:1/v1/pets?limit=%20+", &headers);
        assert_eq!(forward(&mut parts), Ok(false));
        let mut kept = forwarded(&parts);
        kept.sort_unstable();
        assert_eq!(
            kept,
            [
                ("authorization", "Bearer k"),
                ("connection", "te"),
                ("host", "api.example.com"),
                ("te", "trailers"),
                ("via", "1.0 other"),
                ("via", "1.1 conform-proxy"),
                ("x-end", "2"),
            ]
        );
        assert_eq!(parts.uri.to_string(), "/v1/pets?limit=%20+");
    }

    #[test]
    fn a_request_that_may_not_go_further_ends_here() {
        let mut last = parts("TRACE", "/v1", &[("max-forwards", "0")]);
        assert_eq!(forward(&mut last), Err(StatusCode::METHOD_NOT_ALLOWED));
        let mut one = parts("OPTIONS", "/v1", &[("max-forwards", "1")]);
        assert_eq!(forward(&mut one), Ok(false));
        assert_eq!(one.headers[MAX_FORWARDS], "0");
    }

    #[test]
    fn a_length_beside_a_transfer_coding_is_removed_and_the_coding_is_kept() {
        let headers = [("content-length", "5"), ("transfer-encoding", "gzip, chunked")];
        let mut coded = parts("GET", "/v1/pets", &headers);
        assert_eq!(forward(&mut coded), Ok(false));
        assert!(!coded.headers.contains_key(CONTENT_LENGTH));
        assert_eq!(coded.headers[TRANSFER_ENCODING], "gzip, chunked");
    }

    #[test]
    fn a_response_with_two_lengths_or_another_protocol_unasked_is_not_passed_on() {
        let response = |status: u16, lengths: &[&str]| {
            let builder = Response::builder().status(status);
            lengths
                .iter()
                .fold(builder, |builder, length| builder.header(CONTENT_LENGTH, *length))
                .body(())
                .expect("one")
        };
        for lengths in [&["2", "3"][..], &["2, 3"], &["2", "2", "3"]] {
            assert!(defect(&response(200, lengths), false).is_some(), "{lengths:?}");
        }
        for lengths in [&[][..], &["2"], &["2", "2"], &["2, 2"]] {
            assert_eq!(defect(&response(200, lengths), false), None, "{lengths:?}");
        }
        assert!(defect(&response(101, &[]), false).is_some() && defect(&response(101, &[]), true).is_none());
    }

    #[test]
    fn nobody_is_asked_for_http_2() {
        let headers = [("connection", "Upgrade, HTTP2-Settings"), ("upgrade", "h2c"), ("http2-settings", "AAMAAABk")];
        let mut parts = parts("GET", "/v1/pets", &headers);
        assert_eq!(forward(&mut parts), Ok(false));
        assert_eq!(forwarded(&parts), [("via", "1.1 conform-proxy")]);
    }
}
