//! The end of `GET /pets/{petId}` (specification: "Versioning").
//!
//! Every response of the operation before its removal announces the day (`Sunset`, RFC 8594) and the successor (`Link`). The
//! specification does not say since when the operation is deprecated, so no `Deprecation` header (RFC 9745) is sent: it would
//! need an invented date. From the removal on the operation is gone.

use axum::http::{HeaderName, HeaderValue, header};

use crate::api::error::ApiError;

/// 2030-12-05T00:00:00Z, the first second without the operation, as a Unix time.
pub const REMOVAL: u64 = 1_922_659_200;

/// The removal as an HTTP date.
pub const SUNSET_DATE: &str = "Thu, 05 Dec 2030 00:00:00 GMT";

const SUNSET: HeaderName = HeaderName::from_static("sunset");

/// The headers that announce the removal, for one base path.
pub struct DeprecationHeaders {
    link: HeaderValue,
}

impl DeprecationHeaders {
    /// The headers of a server whose API lives below `base_path`. A base path that is not valid in a
    /// header cannot be configured.
    #[must_use]
    pub fn new(base_path: &str) -> Self {
        let link = format!("<{base_path}/pets?status=available>; rel=\"successor-version\"");
        let fallback = HeaderValue::from_static("</v1/pets?status=available>; rel=\"successor-version\"");
        Self { link: HeaderValue::from_str(&link).unwrap_or(fallback) }
    }

    /// Refuses the operation from its removal on.
    ///
    /// # Errors
    ///
    /// 410 with a link to the list.
    pub fn check(&self, now: u64) -> Result<(), ApiError> {
        if now < REMOVAL { Ok(()) } else { Err(ApiError::gone(self.link.clone())) }
    }

    /// The announcement of the removal, until it takes effect.
    #[must_use]
    pub fn headers(&self, now: u64) -> Option<[(HeaderName, HeaderValue); 2]> {
        (now < REMOVAL).then(|| [(SUNSET, HeaderValue::from_static(SUNSET_DATE)), (header::LINK, self.link.clone())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::clock::http_date;

    #[test]
    fn the_removal_as_text_and_as_a_number_is_the_same_date() {
        assert_eq!(http_date(REMOVAL), SUNSET_DATE);
    }
}
