//! The query of a list request.

use axum::extract::{FromRequestParts, Query};
use axum::http::Uri;
use axum::http::request::Parts;

use crate::api::error::ApiError;
use crate::domain::wire::PetStatus;

/// The greatest lawful `limit` of a list (specification: "Page size").
pub const MAX_LIMIT: u32 = 100;
/// The `limit` of a list whose query has none.
pub const DEFAULT_LIMIT: u32 = 20;

/// The parameters of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListQuery {
    /// The greatest number of animals to return, from 1 to 100.
    pub limit: u32,
    /// The status of the animals to return; all animals if there is none.
    pub status: Option<PetStatus>,
}

impl ListQuery {
    /// Reads the query of a URI. Other parameters are ignored.
    ///
    /// # Errors
    ///
    /// 400 for a value outside its range, and for a parameter given twice.
    pub fn parse(uri: &Uri) -> Result<Self, ApiError> {
        // As pairs, because a structure cannot distinguish a parameter given twice from one given once.
        let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri)
            .map_err(|_| ApiError::invalid_parameter("the query cannot be read"))?;
        let (mut limit, mut status) = (None, None);
        for (name, value) in &pairs {
            match name.as_str() {
                "limit" => once(&mut limit, parse_limit(value)?)?,
                "status" => once(&mut status, parse_status(value)?)?,
                _ => {}
            }
        }
        Ok(Self { limit: limit.unwrap_or(DEFAULT_LIMIT), status })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for ListQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        Self::parse(&parts.uri)
    }
}

/// Sets a parameter; an error if it was set before.
fn once<T>(slot: &mut Option<T>, value: T) -> Result<(), ApiError> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(ApiError::invalid_parameter("limit and status may each be given once")),
    }
}

fn parse_limit(value: &str) -> Result<u32, ApiError> {
    integer(value)
        .and_then(|limit| u32::try_from(limit).ok())
        .filter(|limit| (1..=MAX_LIMIT).contains(limit))
        .ok_or_else(|| ApiError::invalid_parameter("limit must be an integer from 1 to 100"))
}

fn parse_status(value: &str) -> Result<PetStatus, ApiError> {
    PetStatus::parse(value)
        .ok_or_else(|| ApiError::invalid_parameter("status must be one of available, pending and sold"))
}

/// Reads an int64 in its canonical form: no plus sign, no leading zeros, nothing around it.
#[must_use]
pub fn integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let canonical = digits.len() == 1 || !digits.starts_with(['0', '+']);
    canonical.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(query: &str) -> Result<ListQuery, ApiError> {
        ListQuery::parse(&format!("/pets{query}").parse().expect("a URI"))
    }

    #[test]
    fn defaults_apply_when_nothing_is_asked_for() {
        let default = ListQuery { limit: 20, status: None };
        for query in ["", "?", "?&", "?x=1&limits=3", "?Limit=3", "?%ff=1"] {
            assert_eq!(parse(query).ok(), Some(default), "{query}");
        }
    }

    #[test]
    fn percent_encoding_makes_no_difference() {
        let expected = ListQuery { limit: 10, status: Some(PetStatus::Sold) };
        for query in ["limit=10&status=sold", "%6cimit=%31%30&st%61tus=%73old", "status=sold&&limit=10&"] {
            assert_eq!(parse(&format!("?{query}")).ok(), Some(expected), "{query}");
        }
    }

    #[test]
    fn values_out_of_range_and_repeated_parameters_are_refused() {
        for query in [
            "limit=0",
            "limit=101",
            "limit=-1",
            "limit=",
            "limit",
            "limit=1.0",
            "limit=1e1",
            "limit=+5",
            "limit=%2B5",
            "limit=05",
            "limit=%205",
            "limit=x",
            "limit=99999999999999999999",
            "limit=1&limit=1",
            "limit=1&%6cimit=2",
            "limit=null",
            "status=",
            "status=Sold",
            "status=sold%00",
            "status=sold,pending",
            "status=%ff",
            "status=sold&status=sold",
            "limit=%2",
            "limit=%zz",
        ] {
            assert_eq!(parse(&format!("?{query}")).map_err(|error| error.status.as_u16()), Err(400), "{query}");
        }
    }

    #[test]
    fn an_integer_is_read_exactly_or_not_at_all() {
        assert_eq!(integer("9223372036854775807"), Some(i64::MAX));
        assert_eq!(integer("-9223372036854775808"), Some(i64::MIN));
        assert_eq!(integer("0"), Some(0));
        for text in
            ["", "-", "9223372036854775808", "1.0", "+1", "+", "-+1", "--1", "01", "-01", " 1", "1/2", "%31", "\u{661}"]
        {
            assert_eq!(integer(text), None, "{text}");
        }
    }
}
