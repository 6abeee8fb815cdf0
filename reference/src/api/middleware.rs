//! The layers that every request passes before it is routed. `log` gives it a number, a time, a `Date` on its response, and a line in
//! the access log. `gate` lets it into the API only with a valid key and within its rate limits, and adds the rate-limit headers.
//!
//! The gate decides before any other part of the request is examined, except its `Host` and its transfer coding. So a caller without a
//! valid key learns nothing about other defects of the request, and a refused request has no effect.

use std::future::poll_fn;
use std::net::Ipv6Addr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::api::app::App;
use crate::api::error::ApiError;
use crate::api::extract::{self, ReceivedAt, UnreadBody};
use crate::api::{respond, routes};
use crate::domain::clock::http_date;
use crate::domain::rate_limit::{Decision, Quota};

/// Numbers, times and logs a request.
pub(crate) async fn log(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let (now, number, started) = (app.clock.now(), app.next_request(), Instant::now());
    let (method, route) = (loggable(request.method()), routes::name(&app.base_path, request.uri().path()));
    request.extensions_mut().insert(ReceivedAt(now));
    let mut response = next.run(request).await;
    let status = response.status();
    response.headers_mut().insert(header::DATE, http_date(now));
    if status.is_client_error() || status.is_server_error() {
        response.headers_mut().insert("x-request-id", HeaderValue::from(number));
    }
    if status.is_server_error() {
        tracing::error!(request = number, route, status = status.as_u16(), "a request failed");
    }
    let micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
    tracing::debug!(target: "access", request = number, method, route, status = status.as_u16(), micros);
    response
}

/// The name of a method in logs. A method may be any token, so an unknown one is logged as `other`.
fn loggable(method: &Method) -> &'static str {
    let known = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];
    known.into_iter().find(|name| method.as_str() == *name).unwrap_or("other")
}

/// Authenticates and counts a request of the API, receives its body, and answers a panic as an error.
pub(crate) async fn gate(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let malformed = malformed(&request);
    // The next request cannot be distinguished from the body of a malformed one.
    let ends_connection = malformed.is_some();
    let (quota, refusal) = if app.serves(request.uri().path()) {
        let ReceivedAt(now) = ReceivedAt::of(request.extensions(), &app);
        let (quota, refusal) = admit(&app, request.headers(), now);
        // HTTP demands the 400 of a malformed request, also without a valid key.
        let outweighs = refusal.as_ref().is_none_or(|error| error.status == StatusCode::UNAUTHORIZED);
        (Some(quota), malformed.filter(|_| outweighs).or(refusal))
    } else {
        (None, malformed)
    };
    let request = extract::receive(request, app.limits, refusal.is_none()).await;
    let ends_connection = ends_connection || request.extensions().get::<UnreadBody>().is_some();
    let mut response = match refusal {
        Some(error) => error.into_response(),
        None => guarded(next.run(request)).await,
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
#[must_use]
pub fn admit(app: &App, headers: &HeaderMap, now: u64) -> (Quota, Option<ApiError>) {
    match app.keys.authenticate(headers).map(|key| key.decide(app.ban, now)) {
        Ok(Decision::Admitted(quota)) => (quota, None),
        Ok(Decision::Refused { quota, retry_after, banned }) => {
            (quota, Some(ApiError::too_many_requests(retry_after, banned)))
        }
        Err(error) => (Quota::anonymous(now), Some(error.into())),
    }
}

/// Turns a panic into a 500, so that it ends one request and nothing else.
async fn guarded(answer: impl Future<Output = Response>) -> Response {
    let mut answer = pin!(answer);
    poll_fn(|context| {
        // The state that requests share is behind locks that survive a panic of their holder.
        catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(context))).unwrap_or_else(|_panic| {
            tracing::error!("an operation panicked");
            Poll::Ready(ApiError::internal().into_response())
        })
    })
    .await
}

/// The error for a head that breaks a rule of RFC 9112 which hyper does not check: one valid `Host`, which only HTTP/1.0 may omit
/// (section 3.2), and no transfer coding but one `chunked` (sections 6.1 and 7).
fn malformed<B>(request: &axum::http::Request<B>) -> Option<ApiError> {
    let hosts: Vec<_> = request.headers().get_all(header::HOST).iter().collect();
    match hosts[..] {
        [] if request.version() == Version::HTTP_10 => {}
        [] => return Some(ApiError::bad_request("the Host header is missing")),
        [host] if is_host(host.as_bytes()) => {}
        [_] => return Some(ApiError::bad_request("the Host header is not a host with an optional port")),
        _ => return Some(ApiError::bad_request("there is more than one Host header")),
    }
    let values = request.headers().get_all(header::TRANSFER_ENCODING).iter();
    let codings = values.flat_map(|value| value.as_bytes().split(|byte| *byte == b',')).map(<[u8]>::trim_ascii);
    let codings: Vec<_> = codings.filter(|coding| !coding.is_empty()).collect();
    if !codings.iter().all(|coding| coding.eq_ignore_ascii_case(b"chunked")) {
        return Some(ApiError::not_implemented("the only transfer coding that is understood is chunked"));
    }
    (codings.len() > 1).then(|| ApiError::bad_request("the transfer coding chunked is applied more than once"))
}

/// Whether the bytes are `uri-host [ ":" port ]`. A client whose target has no host sends an empty one.
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
