//! The one error of the API: every refusal becomes `{code, message, status}` here (specification: "Errors").

use std::borrow::Cow;

use axum::body::Bytes;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::api::respond::WrittenJson;
use crate::store::StoreError;

/// A refusal, ready to be sent.
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
    fn new(status: StatusCode, code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { status, code, message: message.into(), header: None }
    }

    fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.header = Some((name, value));
        self
    }

    /// 400: the request is malformed by the rules of HTTP.
    #[must_use]
    pub fn bad_request(message: &'static str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    /// 501: the request needs a part of HTTP that this server does not have.
    #[must_use]
    pub fn not_implemented(message: &'static str) -> Self {
        Self::new(StatusCode::NOT_IMPLEMENTED, "not_implemented", message)
    }

    /// 400: the body of a request cannot be used.
    #[must_use]
    pub fn invalid_body(message: String) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_body", message)
    }

    /// 400: a query parameter cannot be used.
    #[must_use]
    pub fn invalid_parameter(message: &'static str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_parameter", message)
    }

    /// 401: no valid key. The challenge names the scheme and the defect of the credential.
    #[must_use]
    pub fn unauthorized(message: &'static str, challenge: &'static str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
            .with(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge))
    }

    /// 404: nothing has this path, or no animal has this identifier.
    #[must_use]
    pub fn not_found(message: &'static str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// 405: the path exists, for the methods that the router names in `Allow`.
    #[must_use]
    pub fn method_not_allowed() -> Self {
        let message = "this path does not take this method; see Allow";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message)
    }

    /// 408: the body did not arrive in time.
    #[must_use]
    pub fn request_timeout() -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, "request_timeout", "the request did not arrive in time")
    }

    /// 410: the operation has been removed; `link` names its successor.
    #[must_use]
    pub fn gone(link: HeaderValue) -> Self {
        Self::new(StatusCode::GONE, "gone", "this operation was removed: list animals by status instead; see Link")
            .with(header::LINK, link)
    }

    /// 413: the body is longer than the server reads.
    #[must_use]
    pub fn payload_too_large(limit: usize) -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "payload_too_large",
            format!("the body may have at most {limit} bytes"),
        )
    }

    /// 415: the body is not announced as plain JSON.
    #[must_use]
    pub fn unsupported_media_type() -> Self {
        let message = "send the body as application/json, without a content coding";
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message)
    }

    /// 429: a window is exhausted, or the key is banned for a while.
    #[must_use]
    pub fn too_many_requests(retry_after: u64, banned: bool) -> Self {
        let (code, why) = if banned {
            ("temporarily_banned", "too many requests after the limit was reached: the key is banned for a while")
        } else {
            ("rate_limited", "the rate limit is reached")
        };
        Self::new(StatusCode::TOO_MANY_REQUESTS, code, format!("{why}; retry after {retry_after} seconds"))
            .with(header::RETRY_AFTER, retry_after.into())
    }

    /// 500: the server failed; the log has the cause.
    #[must_use]
    pub fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the server failed; its log says why")
    }

    /// 500: a commit was not confirmed, and the animal may have been stored.
    #[must_use]
    pub fn outcome_unknown() -> Self {
        let message = "whether the animal was added is not known; look for it before you add it again";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "outcome_unknown", message)
    }

    /// 503: a temporary condition.
    #[must_use]
    pub fn unavailable(message: &'static str) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
            .with(header::RETRY_AFTER, HeaderValue::from_static("1"))
    }

    /// The error as JSON, with the members `code`, `message` and `status`.
    #[must_use]
    pub fn body(&self) -> Bytes {
        json!({ "code": self.code, "message": self.message, "status": self.status.as_u16() }).to_string().into()
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, WrittenJson(self.body())).into_response();
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "the store failed a request");
        match error {
            StoreError::QueueFull => Self::unavailable("too many animals are being added at once; retry in a moment"),
            StoreError::Busy(_) => Self::unavailable("the database is locked; retry in a moment"),
            StoreError::Full(_) => Self::unavailable("no space is left for more animals"),
            StoreError::Stopped => Self::unavailable("the server is stopping"),
            StoreError::Unconfirmed | StoreError::Unknown(_) => Self::outcome_unknown(),
            StoreError::Failed(_) => Self::internal(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_repeats_the_status_and_escapes_the_message() {
        let body = ApiError::invalid_body("\"x\"\n".to_owned()).body();
        assert_eq!(&body[..], br#"{"code":"invalid_body","message":"\"x\"\n","status":400}"#);
    }

    #[test]
    fn a_damaged_store_is_a_500_and_a_busy_one_a_503() {
        assert_eq!(ApiError::from(StoreError::Failed("x".to_owned())).status, 500);
        for error in [StoreError::QueueFull, StoreError::Busy("x".to_owned()), StoreError::Full("x".to_owned())] {
            let error = ApiError::from(error);
            assert_eq!((error.status.as_u16(), error.header.is_some()), (503, true), "with Retry-After");
        }
    }
}
