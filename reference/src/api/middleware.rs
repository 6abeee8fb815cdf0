//! The layer that every request passes before its handler. It gives the request a number, a time, a `Date` on its response, and a line in
//! the access log. It lets the request into the API only with a valid key and within its rate limits, and adds the rate-limit headers.
//!
//! The layer decides before any other part of the request is examined, except its `Host` and its transfer coding. So a caller without a
//! valid key learns nothing about other defects of the request, and a refused request has no effect.

use std::{net::Ipv6Addr, panic::AssertUnwindSafe, sync::Arc, time::Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;

use crate::api::app::App;
use crate::api::input::{self, ReceivedBody};
use crate::api::respond::{self, ApiError};
use crate::domain::rate_limit::{Decision, Quota};

/// The time at which the request was received, as a Unix time in seconds. Every decision about the request goes by it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceivedAt(pub(crate) u64);

/// The layer. It numbers, times and logs a request. The log has the route and not the path: a client may have put its key into a path.
pub(crate) async fn layer(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let (now, number, started) = (app.options.clock.now(), app.next_request(), Instant::now());
    let method = loggable(request.method());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or("unknown", MatchedPath::as_str);
    request.extensions_mut().insert(ReceivedAt(now));
    let mut response = admit_and_run(&app, now, request, next).await;
    let status = response.status();
    response.headers_mut().insert(header::DATE, respond::http_date(now));
    if status.is_client_error() || status.is_server_error() {
        response.headers_mut().insert("x-request-id", HeaderValue::from(number));
    }
    if status.is_server_error() {
        tracing::error!(request = number, route, status = status.as_u16(), "a request failed");
    }
    let micros = started.elapsed().as_micros() as u64;
    tracing::debug!(target: "access", request = number, method, route, status = status.as_u16(), micros);
    response
}

/// The name of a method in logs. A method may be any token, so an unknown one is logged as `other`.
fn loggable(method: &Method) -> &'static str {
    let known = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];
    known.into_iter().find(|name| method.as_str() == *name).unwrap_or("other")
}

/// Lets a request into the API with a valid key and within its limits, receives its body, and adds the rate-limit headers.
async fn admit_and_run(app: &App, now: u64, mut request: Request, next: Next) -> Response {
    let (quota, refusal) = app.serves(request.uri().path()).then(|| admit(app, request.headers(), now)).unzip();
    let mut refusal = refusal.flatten();
    let malformed = malformed(&request);
    // The next request cannot be distinguished from the body of a malformed one.
    let mut ends_connection = malformed.is_some();
    // HTTP demands the 400 of a malformed request also without a valid key.
    if refusal.as_ref().is_none_or(|error| error.status == StatusCode::UNAUTHORIZED) {
        refusal = malformed.or(refusal);
    }

    let body = input::receive(&mut request, app.options.request_timeout, refusal.is_none()).await;
    ends_connection |= body.is_err();
    let mut response = match refusal {
        Some(error) => error.into_response(),
        None => {
            request.extensions_mut().insert(ReceivedBody(body));
            // A panic ends one request and nothing else: locks that requests share survive a panic of their holder.
            let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
            answered.unwrap_or_else(|_panic| {
                tracing::error!("an operation panicked");
                ApiError::internal().into_response()
            })
        }
    };
    if ends_connection {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    if let Some(quota) = quota {
        respond::write_quota(response.headers_mut(), quota);
    }
    response
}

/// Authenticates and counts a request. Returns the quota to report, and the error if the request is refused.
pub fn admit(app: &App, headers: &HeaderMap, now: u64) -> (Quota, Option<ApiError>) {
    let (quota, retry_after, banned) = match app.keys.authenticate(headers).map(|key| key.decide(app.options.ban, now))
    {
        Err(error) => return (Quota::anonymous(now), Some(error)),
        Ok(Decision::Admitted(quota)) => return (quota, None),
        Ok(Decision::Refused { quota, retry_after, banned }) => (quota, retry_after, banned),
    };
    let (code, why) = if banned {
        ("temporarily_banned", "too many requests after the limit was reached: the key is banned for a while")
    } else {
        ("rate_limited", "the rate limit is reached")
    };
    let message = format!("{why}; retry after {retry_after} seconds");
    let error = ApiError::new(StatusCode::TOO_MANY_REQUESTS, code, message);
    (quota, Some(error.with(header::RETRY_AFTER, retry_after.into())))
}

/// The error for a head that breaks a rule of RFC 9112 which hyper does not check: one valid `Host`, which only HTTP/1.0 may omit
/// (section 3.2), and no transfer coding but one `chunked` (sections 6.1 and 7).
fn malformed<B>(request: &axum::http::Request<B>) -> Option<ApiError> {
    let hosts: Vec<_> = request.headers().get_all(header::HOST).iter().collect();
    match hosts[..] {
        [] if request.version() == Version::HTTP_10 => {}
        [host] if is_host(host.as_bytes()) => {}
        _ => return Some(ApiError::bad_request("bad_request", "send one Host header: a host with an optional port")),
    }
    let values = request.headers().get_all(header::TRANSFER_ENCODING).iter();
    let codings = values.flat_map(|value| value.as_bytes().split(|byte| *byte == b',')).map(<[u8]>::trim_ascii);
    let codings: Vec<_> = codings.filter(|coding| !coding.is_empty()).collect();
    if !codings.iter().all(|coding| coding.eq_ignore_ascii_case(b"chunked")) {
        let message = "send no other transfer coding than chunked";
        return Some(ApiError::new(StatusCode::NOT_IMPLEMENTED, "not_implemented", message));
    }
    (codings.len() > 1).then(|| ApiError::bad_request("bad_request", "apply the transfer coding chunked only once"))
}

/// Returns true if the bytes are `uri-host [ ":" port ]`. A client whose target has no host sends an empty one.
fn is_host(value: &[u8]) -> bool {
    let text = std::str::from_utf8(value).unwrap_or("not UTF-8");
    let end = text.find(']').map(|bracket| bracket + 1).or_else(|| text.find(':')).unwrap_or(text.len());
    let (host, port) = text.split_at(end);
    let literal = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_literal = literal.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
    let is_name = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=%".contains(&byte));
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    (is_literal || is_name) && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    #[test]
    fn a_host_is_a_name_or_an_address_with_an_optional_port() {
        for good in ["", "localhost", "example.org:8080", "127.0.0.1", "[::1]", "[2001:db8::7]:443", "a_b", "%41", "x:"]
        {
            assert!(is_host(good.as_bytes()), "{good}");
        }
        for bad in [
            "a b", "a/b", "a@b", "a?b", "a#b", "a,b c", "http://a", "a:b", "a:80:80", "::1", "[::1", "[::1]x", "[x]",
            "[]", "a\\b", "<a>", "\"a\"", "a\u{e9}", "[v.x]", "a:+1",
        ] {
            assert!(!is_host(bad.as_bytes()), "{bad}");
        }
    }

    #[test]
    fn only_old_versions_may_omit_the_host_and_none_may_repeat_it() {
        let status = |version, hosts: &[&'static str]| {
            let mut request = Request::builder().version(version);
            for host in hosts {
                request = request.header(header::HOST, *host);
            }
            malformed(&request.body(()).expect("a request")).map(|error| error.status.as_u16())
        };
        assert_eq!(status(Version::HTTP_11, &["a"]), None);
        assert_eq!(status(Version::HTTP_10, &[]), None);
        for (version, hosts) in [
            (Version::HTTP_11, &[][..]),
            (Version::HTTP_11, &["a", "a"]),
            (Version::HTTP_10, &["a", "b"]),
            (Version::HTTP_11, &["a b"]),
            (Version::HTTP_10, &["a b"]),
        ] {
            assert_eq!(status(version, hosts), Some(400), "{version:?} {hosts:?}");
        }
    }

    #[test]
    fn chunked_is_the_only_transfer_coding_and_applied_once() {
        let status = |codings: &[&'static str]| {
            let mut request = Request::builder().header(header::HOST, "a");
            for coding in codings {
                request = request.header(header::TRANSFER_ENCODING, *coding);
            }
            malformed(&request.body(()).expect("a request")).map(|error| error.status.as_u16())
        };
        for good in [&[][..], &["chunked"], &["Chunked"], &[", chunked ,"]] {
            assert_eq!(status(good), None, "{good:?}");
        }
        for bad in [&["chunked, chunked"][..], &["chunked", "chunked"]] {
            assert_eq!(status(bad), Some(400), "{bad:?}");
        }
        for bad in [&["gzip, chunked"][..], &["gzip", "chunked"], &["identity, chunked"], &["chunked;x=1"]] {
            assert_eq!(status(bad), Some(501), "{bad:?}");
        }
    }
}
