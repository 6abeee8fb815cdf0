//! Answers to browsers on pages of other origins (the CORS protocol of the Fetch standard).

use std::{convert::Infallible, str::FromStr, time::Duration};

use axum::{extract::Request, response::Response};
use http::{HeaderName, HeaderValue, Method, Uri, header};
use tower::{Layer, ServiceExt, service_fn};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use animal_store_reference::respond::{LIMIT, REMAINING, RESET};

/// The time for which a browser may remember the answer to a preflight.
const MAX_AGE: Duration = Duration::from_mins(10);

/// Header fields of this server that scripts see only if they are exposed by name.
const EXPOSED: [HeaderName; 12] = [
    LIMIT,
    REMAINING,
    RESET,
    header::RETRY_AFTER,
    HeaderName::from_static("deprecation"),
    HeaderName::from_static("sunset"),
    header::LINK,
    header::LOCATION,
    header::WWW_AUTHENTICATE,
    header::ALLOW,
    header::DATE,
    HeaderName::from_static("x-request-id"),
];

/// An origin whose pages may read the answers, or `*` for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin(String);

impl FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_origin = |uri: Uri| match (uri.scheme(), uri.authority()) {
            // The form that browsers write, because origins are compared byte by byte.
            (Some(scheme), Some(authority)) => {
                text == format!("{scheme}://{authority}").to_ascii_lowercase() && !text.contains('@')
            }
            _ => false,
        };
        // Pages in files and in sandboxed frames send `null`.
        let is_possible = ["*", "null"].contains(&text) || text.parse().is_ok_and(is_origin);
        let needed = "it must be *, or scheme://host or scheme://host:port in lower case, without a slash at its end";
        is_possible.then(|| Self(text.to_owned())).ok_or_else(|| needed.to_owned())
    }
}

/// The pages that may read the answers.
#[derive(Clone, Debug)]
pub(crate) struct Cors(CorsLayer);

impl Cors {
    /// Allows pages of these origins to read the answers.
    pub(crate) fn new(origins: &[Origin]) -> Self {
        let allowed = if origins.iter().any(|Origin(origin)| origin == "*") {
            AllowOrigin::any()
        } else {
            AllowOrigin::list(origins.iter().filter_map(|Origin(origin)| HeaderValue::from_str(origin).ok()))
        };
        let layer = CorsLayer::new()
            .allow_origin(allowed)
            .allow_methods([Method::GET, Method::HEAD, Method::POST])
            .allow_headers(AllowHeaders::mirror_request())
            .expose_headers(EXPOSED)
            .max_age(MAX_AGE);
        Self(layer)
    }

    /// Answers a preflight, or adds the header fields for browsers to the answer of `handle`. Other requests with the method
    /// OPTIONS are left alone.
    pub(super) async fn answer<R: Future<Output = Response>>(
        &self,
        request: Request,
        handle: impl Fn(Request) -> R,
    ) -> Response {
        let headers = request.headers();
        let is_preflight =
            headers.contains_key(header::ORIGIN) && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        if request.method() == Method::OPTIONS && !is_preflight {
            return handle(request).await;
        }
        let service = service_fn(|request| {
            let answer = handle(request);
            async { Ok::<Response, Infallible>(answer.await) }
        });
        let Ok(response) = self.0.layer(service).oneshot(request).await;
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_written_as_browsers_write_it() {
        for right in ["*", "null", "http://localhost:3000", "https://pets.example", "http://[::1]:8080", "app://x"] {
            assert_eq!(right.parse(), Ok(Origin(right.to_owned())));
        }
        for wrong in [
            "",
            "localhost:3000",
            "http://localhost:3000/",
            "http://localhost/x",
            "HTTP://x",
            "http://X",
            "http://a@b",
            "http://",
        ] {
            assert!(wrong.parse::<Origin>().is_err(), "{wrong}");
        }
    }
}
