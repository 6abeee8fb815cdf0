//! The parts of a request that handlers extract. A part that cannot be extracted is an [`ApiError`].

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::extract::{DefaultBodyLimit, FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderValue, StatusCode, header};

use crate::api::app::{App, RequestLimits};
use crate::api::error::ApiError;
use crate::api::query;
use crate::domain::wire::NewPet;

/// The longest time that the body of a refused request may take to arrive.
const UNWANTED: Duration = Duration::from_millis(100);

/// The time at which the request was received, as a Unix time in seconds. Every decision about the request goes by it.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedAt(pub u64);

impl ReceivedAt {
    /// The time in the extensions of a request, or else the present time.
    #[must_use]
    pub fn of(extensions: &Extensions, app: &App) -> Self {
        extensions.get().copied().unwrap_or_else(|| Self(app.clock.now()))
    }
}

impl FromRequestParts<Arc<App>> for ReceivedAt {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.extensions, app))
    }
}

/// The identifier in the path, if it is an int64. A request with another text is not malformed: no animal has such an identifier.
#[derive(Clone, Copy, Debug)]
pub struct PetId(pub Option<i64>);

impl<S: Send + Sync> FromRequestParts<S> for PetId {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let segment = Path::<String>::from_request_parts(parts, state).await;
        Ok(Self(segment.ok().and_then(|Path(segment)| query::integer(&segment))))
    }
}

/// The reason why the body of a request was not read to its end, in the extensions of the request.
#[derive(Clone, Debug)]
pub struct UnreadBody(pub ApiError);

/// Reads the body of a request, also of a refused one: the connection can carry another request only after the body.
pub(crate) async fn receive(request: Request, mut limits: RequestLimits, is_wanted: bool) -> Request {
    if request.body().is_end_stream() {
        return request;
    }
    let (mut parts, body) = request.into_parts();
    if !is_wanted {
        limits.request_timeout = limits.request_timeout.min(UNWANTED);
    }
    // A client that waits for `100 Continue` before an unwanted body does not get it.
    let read = if is_wanted || !parts.headers.contains_key(header::EXPECT) {
        read(body, limits).await
    } else {
        Err(ApiError::request_timeout())
    };
    let body = match read {
        Ok(body) => Body::from(body),
        Err(error) => {
            parts.extensions.insert(UnreadBody(error));
            Body::empty()
        }
    };
    Request::from_parts(parts, body)
}

impl FromRequest<Arc<App>> for NewPet {
    type Rejection = ApiError;

    async fn from_request(request: Request, _app: &Arc<App>) -> Result<Self, ApiError> {
        let announced = announced_as_json(request.headers());
        if announced == Some(false) {
            return Err(ApiError::unsupported_media_type());
        }
        if let Some(UnreadBody(error)) = request.extensions().get() {
            return Err(error.clone());
        }
        // The body is in memory already.
        let body = to_bytes(request.into_body(), usize::MAX).await.unwrap_or_default();
        if announced.is_none() && !body.is_empty() {
            return Err(ApiError::unsupported_media_type());
        }
        Self::parse(&body).map_err(ApiError::invalid_body)
    }
}

/// Whether the headers announce plain JSON. `None` if they announce no media type.
fn announced_as_json(headers: &HeaderMap) -> Option<bool> {
    let coded = headers.get_all(header::CONTENT_ENCODING).iter().any(|coding| !is_identity(coding));
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    match (types.next(), types.next()) {
        _ if coded => Some(false),
        (None, _) => None,
        (Some(_), Some(_)) => Some(false),
        (Some(only), None) => {
            let essence = only.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
            Some(essence.eq_ignore_ascii_case("application/json"))
        }
    }
}

/// Whether a content coding is `identity`, in any case (RFC 9110 section 8.4.1).
fn is_identity(coding: &HeaderValue) -> bool {
    coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity")
}

async fn read(body: Body, limits: RequestLimits) -> Result<Bytes, ApiError> {
    let too_large = || ApiError::payload_too_large(limits.max_body);
    if body.size_hint().lower() > limits.max_body as u64 {
        return Err(too_large());
    }
    let mut carrier = Request::new(body);
    DefaultBodyLimit::max(limits.max_body).apply(&mut carrier);
    match tokio::time::timeout(limits.request_timeout, Bytes::from_request(carrier, &())).await {
        Err(_elapsed) => Err(ApiError::request_timeout()),
        Ok(Ok(body)) => Ok(body),
        Ok(Err(rejection)) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => Err(too_large()),
        Ok(Err(_broken)) => {
            Err(ApiError::invalid_body("the body ended early or is not framed as HTTP asks".to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_json_is_announced_as_json() {
        let announced = |pairs: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.append(*name, HeaderValue::from_static(value));
            }
            announced_as_json(&headers)
        };
        assert_eq!(announced(&[]), None);
        for good in ["application/json", "Application/JSON", "application/json; charset=utf-8", "application/json;"] {
            assert_eq!(announced(&[("content-type", good)]), Some(true), "{good}");
        }
        for bad in
            ["", "text/plain", "application/jsonp", "application/vnd.api+json", "application/x-www-form-urlencoded"]
        {
            assert_eq!(announced(&[("content-type", bad)]), Some(false), "{bad}");
        }
        assert_eq!(
            announced(&[("content-type", "application/json"), ("content-type", "application/json")]),
            Some(false)
        );
        assert_eq!(announced(&[("content-type", "application/json"), ("content-encoding", "gzip")]), Some(false));
        for coding in ["identity", "Identity", "IDENTITY"] {
            let headers = [("content-type", "application/json"), ("content-encoding", coding)];
            assert_eq!(announced(&headers), Some(true), "{coding}");
        }
    }

    #[tokio::test]
    async fn a_body_may_be_as_large_as_the_limit_and_not_a_byte_larger() {
        let limits = RequestLimits { max_body: 10, ..RequestLimits::default() };
        let read = |length: usize| read(Body::from(vec![b'x'; length]), limits);
        assert_eq!(read(10).await.map(|body| body.len()).ok(), Some(10));
        assert!(read(11).await.is_err());
    }
}
