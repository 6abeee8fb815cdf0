//! Writing responses: JSON, the one error, protective headers, rate-limit headers and dates.

use std::{borrow::Cow, time::Duration, time::UNIX_EPOCH};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::domain::rate_limit::Quota;
use crate::store::StoreError;

/// The longest body that is read, in bytes.
pub const MAX_BODY: usize = 64 * 1024;

/// `X-RateLimit-Limit`: the limit that applies to the caller.
pub const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
/// `X-RateLimit-Remaining`: the number of requests left in the window.
pub const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
/// `X-RateLimit-Reset`: the end of the window as a Unix time in seconds.
pub const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// A response body that is JSON text already.
#[derive(Clone, Debug)]
pub struct WrittenJson(pub Bytes);

impl IntoResponse for WrittenJson {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.0));
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        protect(response.headers_mut());
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

/// The last time that an HTTP date can state, as a Unix time in seconds: 9999-12-31T23:59:59Z.
const LAST_DATE: u64 = 253_402_300_799;

/// The HTTP date (IMF-fixdate, RFC 9110 section 5.6.7) of a Unix time in seconds, as a header value.
///
/// # Panics
///
/// Never: a date has only characters that a header value may have.
pub fn http_date(unix_seconds: u64) -> HeaderValue {
    let time = UNIX_EPOCH + Duration::from_secs(unix_seconds.min(LAST_DATE));
    HeaderValue::try_from(httpdate::fmt_http_date(time)).expect("plain ASCII")
}

/// A refusal, ready to be sent: `{code, message, status}` (specification: "Errors").
#[derive(Clone, Debug)]
pub struct ApiError {
    /// The status code, repeated in the body.
    pub status: StatusCode,
    /// The stable word for programs, such as `not_found`.
    pub code: &'static str,
    /// The sentence for people.
    pub message: Cow<'static, str>,
    /// The header field that belongs to this error, if there is one.
    pub header: Option<(HeaderName, HeaderValue)>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { status, code, message: message.into(), header: None }
    }

    pub(crate) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.header = Some((name, value));
        self
    }

    /// 400: a part of the request cannot be used.
    pub fn bad_request(code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// 404: nothing has this path, or no animal has this identifier.
    pub fn not_found(message: &'static str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// 405: the path exists, for the methods that the router names in `Allow`.
    pub fn method_not_allowed() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "this path has other methods; see Allow")
    }

    /// 408: the body did not arrive in time.
    pub fn request_timeout() -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, "request_timeout", "the request did not arrive in time")
    }

    /// 413: the body is longer than the server reads.
    pub fn payload_too_large() -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "payload_too_large", format!("send at most {MAX_BODY} bytes of body"))
    }

    /// 500: the server failed; the log has the cause.
    pub fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the server failed; its log says why")
    }

    /// 503: a temporary condition.
    pub(crate) fn unavailable(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
            .with(header::RETRY_AFTER, HeaderValue::from_static("1"))
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = json!({ "code": self.code, "message": self.message, "status": self.status.as_u16() });
        (self.status, self.header.map(|field| [field]), WrittenJson(body.to_string().into())).into_response()
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "the store failed a request");
        match error {
            StoreError::Failed(_) => Self::internal(),
            StoreError::OutcomeUnknown(_) => {
                let message = format!("{error}; look for the animal before you add it again");
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "outcome_unknown", message)
            }
            StoreError::Unavailable(_) => Self::unavailable(format!("{error}; retry in a moment")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_body_repeats_the_status_and_escapes_the_message() {
        let body = ApiError::bad_request("invalid_body", "\"x\"\n").into_response().into_body();
        let body = axum::body::to_bytes(body, usize::MAX).await.expect("a body");
        assert_eq!(&body[..], br#"{"code":"invalid_body","message":"\"x\"\n","status":400}"#);
    }

    #[test]
    fn a_damaged_store_is_a_500_and_a_busy_one_a_503() {
        assert_eq!(ApiError::from(StoreError::Failed("x".to_owned())).status, 500);
        let error = ApiError::from(StoreError::Unavailable("x".to_owned()));
        assert_eq!((error.status.as_u16(), error.header.is_some()), (503, true), "with Retry-After");
    }

    #[test]
    fn dates_are_in_the_format_of_http() {
        assert_eq!(http_date(1_922_659_200), "Thu, 05 Dec 2030 00:00:00 GMT");
        assert_eq!(http_date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(http_date(u64::MAX), "Fri, 31 Dec 9999 23:59:59 GMT");
    }
}
