//! Reading the query of a list request.

use std::borrow::Cow;

use crate::error::ApiError;
use crate::wire::PetStatus;

/// How many animals a list may hold at most (specification: "Page size").
pub const MAX_LIMIT: u32 = 100;
/// How many it holds when the caller does not say.
pub const DEFAULT_LIMIT: u32 = 20;

/// The parameters of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListQuery {
    /// 1 to 100.
    pub limit: u32,
    /// Only animals of this status.
    pub status: Option<PetStatus>,
}

impl ListQuery {
    /// Reads the query of a URI, without its question mark. Other parameters are ignored.
    ///
    /// # Errors
    ///
    /// 400 for a value outside its range, and for a parameter given twice.
    pub fn parse(query: Option<&str>) -> Result<Self, ApiError> {
        let (mut limit, mut status) = (None, None);
        for pair in query.unwrap_or_default().split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match &*decode(name, true) {
                b"limit" => once(&mut limit, parse_limit(&decode(value, true))?)?,
                b"status" => once(&mut status, parse_status(&decode(value, true))?)?,
                _ => {}
            }
        }
        Ok(Self { limit: limit.unwrap_or(DEFAULT_LIMIT), status })
    }
}

fn once<T>(slot: &mut Option<T>, value: T) -> Result<(), ApiError> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(ApiError::invalid_parameter("limit and status may each be given once")),
    }
}

fn parse_limit(value: &[u8]) -> Result<u32, ApiError> {
    integer(value)
        .and_then(|limit| u32::try_from(limit).ok())
        .filter(|limit| (1..=MAX_LIMIT).contains(limit))
        .ok_or_else(|| ApiError::invalid_parameter("limit must be an integer from 1 to 100"))
}

fn parse_status(value: &[u8]) -> Result<PetStatus, ApiError> {
    std::str::from_utf8(value)
        .ok()
        .and_then(PetStatus::parse)
        .ok_or_else(|| ApiError::invalid_parameter("status must be one of available, pending and sold"))
}

/// The identifier in a path segment, if it is an int64.
#[must_use]
pub fn pet_id(segment: &str) -> Option<i64> {
    integer(&decode(segment, false))
}

/// Reads an int64 in the one way it is written: no plus sign, no leading zeros, nothing around it.
fn integer(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let canonical = digits.iter().all(u8::is_ascii_digit) && (digits.len() == 1 || digits.first() != Some(&b'0'));
    canonical.then(|| std::str::from_utf8(text).ok()?.parse().ok()).flatten()
}

/// Resolves percent-encoding, and in a query the plus sign for a space. What is no valid encoding stands
/// for itself.
fn decode(text: &str, in_query: bool) -> Cow<'_, [u8]> {
    let bytes = text.as_bytes();
    if !bytes.iter().any(|byte| matches!(byte, b'%' | b'+')) {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, tail @ ..] = rest {
        rest = tail;
        let encoded = if *first == b'%' { tail.first_chunk().and_then(|pair| hex_pair(*pair)) } else { None };
        out.push(match encoded {
            Some(byte) => {
                rest = &tail[2..];
                byte
            }
            None if *first == b'+' && in_query => b' ',
            None => *first,
        });
    }
    Cow::Owned(out)
}

fn hex_pair([high, low]: [u8; 2]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(high)? << 4 | digit(low)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_apply_when_nothing_is_asked_for() {
        let default = ListQuery { limit: 20, status: None };
        for query in [None, Some(""), Some("&"), Some("x=1&limits=3"), Some("Limit=3")] {
            assert_eq!(ListQuery::parse(query).ok(), Some(default), "{query:?}");
        }
    }

    #[test]
    fn percent_encoding_makes_no_difference() {
        let expected = ListQuery { limit: 10, status: Some(PetStatus::Sold) };
        for query in ["limit=10&status=sold", "%6cimit=%31%30&st%61tus=%73old", "status=sold&&limit=10&"] {
            assert_eq!(ListQuery::parse(Some(query)).ok(), Some(expected), "{query}");
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
            assert_eq!(ListQuery::parse(Some(query)).map_err(|error| error.status.as_u16()), Err(400), "{query}");
        }
    }

    #[test]
    fn an_identifier_is_read_exactly_or_not_at_all() {
        assert_eq!(pet_id("9223372036854775807"), Some(i64::MAX));
        assert_eq!(pet_id("-9223372036854775808"), Some(i64::MIN));
        assert_eq!(pet_id("%31%32"), Some(12));
        for segment in ["", "-", "9223372036854775808", "1.0", "+1", "%2B1", "01", "1/2", "1%2F2", "abc", "%"] {
            assert_eq!(pet_id(segment), None, "{segment}");
        }
    }
}
