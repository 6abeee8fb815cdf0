//! Building responses: the headers that every response carries, in one place.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use http_body_util::Full;

use crate::clock::http_date;
use crate::error::ApiError;
use crate::rate_limit::Quota;

/// A response of this server. Bodies are always complete: none is streamed.
pub type Response = http::Response<Full<Bytes>>;

/// `X-RateLimit-Limit`: the limit that applies to the caller.
pub const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
/// `X-RateLimit-Remaining`: requests left in the window.
pub const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
/// `X-RateLimit-Reset`: the end of the window as a Unix time in seconds.
pub const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A successful outcome of an operation.
#[derive(Debug)]
pub struct Reply {
    /// 200 or 201.
    pub status: StatusCode,
    /// JSON.
    pub body: Bytes,
}

impl Reply {
    /// 200 with a JSON body.
    #[must_use]
    pub fn ok(body: Bytes) -> Self {
        Self { status: StatusCode::OK, body }
    }
}

/// A JSON response without rate-limit headers.
#[must_use]
pub fn json(status: StatusCode, body: Bytes, now: u64) -> Response {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.reserve(8);
    headers.insert(header::CONTENT_TYPE, JSON);
    headers.insert(header::DATE, http_date(now));
    response
}

/// An error response without rate-limit headers.
#[must_use]
pub fn error(error: ApiError, now: u64) -> Response {
    let mut response = json(error.status, error.body(), now);
    if let Some((name, value)) = error.header {
        response.headers_mut().insert(name, value);
    }
    response
}

/// The response of an API operation: an outcome, and the caller's quota.
#[must_use]
pub fn api(outcome: Result<Reply, ApiError>, quota: Quota, now: u64) -> Response {
    let mut response = match outcome {
        Ok(reply) => json(reply.status, reply.body, now),
        Err(refusal) => error(refusal, now),
    };
    write_quota(response.headers_mut(), quota);
    response
}

fn write_quota(headers: &mut HeaderMap, quota: Quota) {
    headers.insert(LIMIT, quota.limit.into());
    headers.insert(REMAINING, quota.remaining.into());
    headers.insert(RESET, quota.reset.into());
}
