//! The parts of responses that several operations share: JSON bodies, protective headers and rate-limit headers.

use axum::body::Body;
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};

use crate::domain::rate_limit::Quota;

/// `X-RateLimit-Limit`: the limit that applies to the caller.
pub const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
/// `X-RateLimit-Remaining`: the number of requests left in the window.
pub const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
/// `X-RateLimit-Reset`: the end of the window as a Unix time in seconds.
pub const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// The initial capacity for headers: more than any response has, so that the map never grows.
const HEADERS: usize = 12;

/// A response body that is JSON text already.
#[derive(Clone, Debug)]
pub struct WrittenJson(pub Bytes);

impl IntoResponse for WrittenJson {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.0));
        let headers = response.headers_mut();
        headers.reserve(HEADERS);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        protect(headers);
        response
    }
}

/// Keeps responses out of caches, since they depend on the key and on the moment, and browsers from guessing
/// another media type.
pub fn protect(headers: &mut HeaderMap) {
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

/// Adds the three rate-limit headers.
pub fn write_quota(headers: &mut HeaderMap, quota: Quota) {
    headers.insert(LIMIT, quota.limit.into());
    headers.insert(REMAINING, quota.remaining.into());
    headers.insert(RESET, quota.reset.into());
}
