//! The parts of a request that handlers read: query, identifier and body. A part that cannot be used is an [`ApiError`].

use std::time::Duration;

use axum::body::{Bytes, HttpBody};
use axum::extract::{DefaultBodyLimit, FromRequest, Query, Request};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};

use crate::api::respond::{ApiError, MAX_BODY};
use crate::domain::wire::{NewPet, PetStatus};

/// The greatest lawful `limit` of a list (specification: "Page size").
pub(crate) const MAX_LIMIT: u32 = 100;
/// The `limit` of a list whose query has none.
pub(crate) const DEFAULT_LIMIT: u32 = 20;

/// Reads the query of a list: the greatest number of animals to return, and their status, if only one is wanted. 400 for a value outside
/// its range, and for a parameter given twice. Other parameters are ignored.
pub(crate) fn list_query(uri: &Uri) -> Result<(u32, Option<PetStatus>), ApiError> {
    let invalid = |message| ApiError::bad_request("invalid_parameter", message);
    // As pairs, because a structure cannot distinguish a parameter given twice from one given once.
    let pairs = Query::<Vec<(String, String)>>::try_from_uri(uri);
    let Query(pairs) = pairs.map_err(|_| invalid("the query cannot be read"))?;
    let (mut limit, mut status) = (None, None);
    for (name, value) in &pairs {
        match name.as_str() {
            "limit" if limit.is_none() => {
                let read = integer(value).and_then(|limit| u32::try_from(limit).ok());
                let read = read.filter(|limit| (1..=MAX_LIMIT).contains(limit));
                limit = Some(read.ok_or_else(|| invalid("limit must be an integer from 1 to 100"))?);
            }
            "status" if status.is_none() => {
                let read = PetStatus::parse(value);
                status = Some(read.ok_or_else(|| invalid("status must be one of available, pending and sold"))?);
            }
            "limit" | "status" => return Err(invalid("limit and status may each be given once")),
            _ => {}
        }
    }
    Ok((limit.unwrap_or(DEFAULT_LIMIT), status))
}

/// Reads an int64 in its canonical form: no plus sign, no leading zeros, nothing around it.
pub(crate) fn integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let canonical = digits.len() == 1 || !digits.starts_with(['0', '+']);
    canonical.then(|| text.parse().ok()).flatten()
}

/// The longest time that the body of a refused request may take to arrive.
const UNWANTED: Duration = Duration::from_millis(100);

/// The body of a request, or the reason why it was not read to its end.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedBody(pub(crate) Result<Bytes, ApiError>);

/// Reads the body of a request, also of a refused one: the connection can carry another request only after the body.
pub(crate) async fn receive(request: &mut Request, patience: Duration, is_wanted: bool) -> Result<Bytes, ApiError> {
    let mut carrier = Request::new(std::mem::take(request.body_mut()));
    if carrier.body().is_end_stream() {
        return Ok(Bytes::new());
    }
    // A client that waits for `100 Continue` before an unwanted body does not get it.
    if !is_wanted && request.headers().contains_key(header::EXPECT) {
        return Err(ApiError::request_timeout());
    }
    if carrier.body().size_hint().lower() > MAX_BODY as u64 {
        return Err(ApiError::payload_too_large());
    }
    DefaultBodyLimit::max(MAX_BODY).apply(&mut carrier);
    let patience = if is_wanted { patience } else { patience.min(UNWANTED) };
    match tokio::time::timeout(patience, Bytes::from_request(carrier, &())).await {
        Err(_elapsed) => Err(ApiError::request_timeout()),
        Ok(Ok(body)) => Ok(body),
        Ok(Err(rejection)) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => Err(ApiError::payload_too_large()),
        Ok(Err(_broken)) => {
            Err(ApiError::bad_request("invalid_body", "the body ended early or is not framed as HTTP asks"))
        }
    }
}

/// Reads the animal in a body.
pub(crate) fn new_pet(headers: &HeaderMap, ReceivedBody(body): ReceivedBody) -> Result<NewPet, ApiError> {
    let announced = announced_as_json(headers);
    let may_be_empty = announced.is_none() && body.as_ref().map_or(true, Bytes::is_empty);
    if announced != Some(true) && !may_be_empty {
        let message = "send the body as application/json, without a content coding";
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message));
    }
    NewPet::parse(&body?).map_err(|defect| ApiError::bad_request("invalid_body", defect))
}

/// Returns true if the headers announce plain JSON, and `None` if they announce no media type.
fn announced_as_json(headers: &HeaderMap) -> Option<bool> {
    // In any case (RFC 9110 section 8.4.1).
    let is_identity = |coding: &HeaderValue| coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity");
    if !headers.get_all(header::CONTENT_ENCODING).iter().all(is_identity) {
        return Some(false);
    }
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    let essence = types.next()?.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    Some(types.next().is_none() && essence.eq_ignore_ascii_case(b"application/json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(query: &str) -> Result<(u32, Option<PetStatus>), ApiError> {
        list_query(&format!("/pets{query}").parse().expect("a URI"))
    }

    #[test]
    fn defaults_apply_when_nothing_is_asked_for() {
        let default = (20, None);
        for query in ["", "?", "?&", "?x=1&limits=3", "?Limit=3", "?%ff=1"] {
            assert_eq!(parse(query).ok(), Some(default), "{query}");
        }
    }

    #[test]
    fn percent_encoding_makes_no_difference() {
        let expected = (10, Some(PetStatus::Sold));
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
        let read = async |length: usize| {
            receive(&mut Request::new(vec![b'x'; length].into()), Duration::from_secs(10), true).await
        };
        assert_eq!(read(MAX_BODY).await.map(|body| body.len()).ok(), Some(MAX_BODY));
        assert_eq!(read(MAX_BODY + 1).await.map_err(|error| error.status.as_u16()).err(), Some(413));
    }
}
