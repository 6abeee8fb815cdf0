//! Responses to requests that do not reach the application, because they are not valid HTTP.

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::app::App;
use crate::clock::http_date;
use crate::error::ApiError;
use crate::rate_limit::{Decision, Quota};
use crate::respond;

/// Refuses a request that could be read. It counts like any other request of its key; over the limit it is a 429.
pub fn of_request(app: &App, error: ApiError, headers: &HeaderMap) -> Response {
    let now = app.clock.now();
    let (quota, error) = match app.keys.authenticate(headers).map(|key| key.decide(app.ban, now)) {
        Ok(Decision::Admitted(quota)) => (quota, error),
        Ok(Decision::Refused { quota, retry_after, banned }) => {
            (quota, ApiError::too_many_requests(retry_after, banned))
        }
        Err(_no_key) => (Quota::anonymous(now), error),
    };
    complete(app, now, quota, error.into_response())
}

/// The bytes of a response to what cannot be read as a request, after which the connection closes. Whose request
/// it is cannot be known, so its caller is one without a key.
pub(super) fn of_bytes(app: &App, status: StatusCode, without_content: bool) -> Bytes {
    let now = app.clock.now();
    let error = ApiError::unreadable(status);
    let content = error.body();
    let response = complete(app, now, Quota::anonymous(now), error.into_response());

    let reason = response.status().canonical_reason().unwrap_or_default();
    let mut out = format!("HTTP/1.1 {} {reason}\r\n", response.status().as_str()).into_bytes();
    let length = HeaderValue::from(content.len());
    let closing = [(&header::CONTENT_LENGTH, &length), (&header::CONNECTION, &HeaderValue::from_static("close"))];
    for (name, value) in response.headers().iter().chain(closing) {
        out.extend_from_slice(name.as_str().as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
    if !without_content {
        out.extend_from_slice(&content);
    }
    out.into()
}

/// Adds what every response has, and logs it: the layers that do so stand around the application.
fn complete(app: &App, now: u64, quota: Quota, mut response: Response) -> Response {
    let number = app.next_request();
    let status = response.status();
    let headers = response.headers_mut();
    headers.insert(header::DATE, http_date(now));
    headers.insert("x-request-id", HeaderValue::from(number));
    respond::write_quota(headers, quota);
    tracing::debug!(target: "access", request = number, route = "none", status = status.as_u16(), "not as HTTP asks");
    response
}
