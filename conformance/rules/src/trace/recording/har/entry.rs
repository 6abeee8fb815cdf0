//! One entry of an archive, and the exchange that it shows.

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::Value;

use super::LeftOut;
use super::message::{self, ReceivedResponse, SentRequest};
use crate::trace::exchange::{Connection, Exchange, FailureKind, Outcome, Request, Response};
use crate::trace::knowledge::{Fact, FactSet, Knowledge};
use crate::trace::recording::sample;

/// An entry, as far as it is read. Every member may be missing: exporters differ. Those whose names begin with an underscore are
/// extensions, most of them the judge's own.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Entry {
    pub(super) started_date_time: Option<String>,
    pub(super) time: Option<f64>,
    pub(super) request: SentRequest,
    pub(super) response: Option<ReceivedResponse>,
    cache: Option<Value>,
    #[serde(rename = "_fromCache")]
    from_cache: Option<Value>,
    #[serde(rename = "_fetchedViaServiceWorker")]
    via_service_worker: Option<Value>,
    #[serde(rename = "_fetchType")]
    fetch_type: Option<String>,
    #[serde(rename = "_number")]
    pub(super) number: Option<usize>,
    #[serde(rename = "_probe")]
    pub(super) probe: Option<String>,
    #[serde(rename = "_step")]
    pub(super) step: Option<String>,
    #[serde(rename = "_case")]
    pub(super) case: Option<usize>,
    #[serde(rename = "_kept")]
    pub(super) kept: bool,
    #[serde(rename = "_receivedAt")]
    pub(super) received_at: Option<String>,
    #[serde(rename = "_failure")]
    pub(super) failure: Option<FailureKind>,
}

/// Times of other people's clocks are not compared more exactly than this.
const LEAST_PRECISION: SignedDuration = SignedDuration::from_millis(10);

/// Header fields of a response that show that a cache gave it, in lower case, with what then stands in them.
const CACHE_FIELDS: [(&str, &str); 3] = [("age", ""), ("x-cache", "hit"), ("cf-cache-status", "hit")];

/// The exchange of an entry, or why it is left out.
pub(super) fn exchange(entry: &Entry, path: String, query: Option<String>) -> Result<Exchange, LeftOut> {
    if is_cached(entry) {
        return Err(LeftOut::Cached);
    }
    let response = entry.response.as_ref().ok_or(LeftOut::Unanswered)?;
    let status = status(response.status).ok_or(LeftOut::Unanswered)?;
    let mut withheld = FactSet::of(&[Fact::Times]);
    let (authorization, body) = (message::authorization(&entry.request), message::sent_body(&entry.request));
    let headers = message::received_headers(&response.headers);
    let content = message::received_body(response, headers.as_deref());
    let mut or_withheld = |is_known: bool, fact: Fact| {
        if !is_known {
            withheld.insert(fact);
        }
    };
    or_withheld(authorization.is_some(), Fact::Credential);
    or_withheld(body.is_some(), Fact::RequestBody);
    or_withheld(headers.is_some(), Fact::ResponseHeaders);
    or_withheld(content.is_some(), Fact::ResponseBody);
    let fields = entry.request.headers.iter().map(|field| (field.name.to_ascii_lowercase(), field.value.clone()));
    // Of several, or of one that was redacted, only what is secret in it counts.
    let is_read = |name: &str| sample::is_read(name) && (name != "authorization" || authorization.is_none());
    let headers_sent = fields.filter(|(name, _)| is_read(name)).collect();
    let (sent_at, received_at, precision) = times(entry);
    Ok(Exchange {
        number: 0,
        probe: "recorded".into(),
        step: String::new(),
        case: None,
        request: Request {
            method: entry.request.method.clone(),
            path,
            query,
            authorization: authorization.flatten(),
            headers: headers_sent,
            body: body.flatten(),
            connection: Connection::default(),
            replica: None,
        },
        outcome: Outcome::Response(Response {
            status,
            headers: headers.unwrap_or_default(),
            body: content.unwrap_or_default(),
            cut: false,
        }),
        sent_at,
        received_at,
        known: Knowledge { withheld, precision, ..Knowledge::default() },
    })
}

/// A final status. Browsers write 0 where there is no response.
fn status(status: f64) -> Option<u16> {
    (200.0..1_000.0).contains(&status).then_some(status as u16)
}

/// Whether a cache answered, or the service only confirmed what a cache had.
fn is_cached(entry: &Entry) -> bool {
    let is_set = |value: &Option<Value>| !matches!(value, None | Some(Value::Null | Value::Bool(false)));
    // A record of what was in a cache before or after shows that there was one.
    let cache_entry =
        |name: &str| entry.cache.as_ref().and_then(|cache| cache.get(name)).is_some_and(|it| !it.is_null());
    let headers = entry.response.iter().flat_map(|response| &response.headers);
    let by_field = headers
        .map(|field| (field.name.to_ascii_lowercase(), field.value.to_ascii_lowercase()))
        .any(|(name, value)| CACHE_FIELDS.iter().any(|(field, word)| name == *field && value.contains(word)));
    is_set(&entry.from_cache)
        || is_set(&entry.via_service_worker)
        || entry.fetch_type.as_deref().is_some_and(|kind| kind != "Network Load")
        || cache_entry("beforeRequest")
        || cache_entry("afterRequest")
        || by_field
        || entry.response.as_ref().is_some_and(|response| response.status == 304.0)
}

/// When the request was sent and its response complete, and by how much either may be off.
fn times(entry: &Entry) -> (Timestamp, Timestamp, SignedDuration) {
    let unknown = (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH, Knowledge::NO_TIME);
    let Some(text) = entry.started_date_time.as_deref() else { return unknown };
    let (Ok(sent_at), Some(time)) = (text.parse::<Timestamp>(), entry.time.filter(|time| *time > 0.0)) else {
        return unknown;
    };
    let Ok(took) = SignedDuration::try_from_secs_f64(time / 1_000.0) else { return unknown };
    let Ok(received_at) = sent_at.checked_add(took) else { return unknown };
    (sent_at, received_at, precision(text).max(LEAST_PRECISION))
}

/// The unit of the last digit of the seconds.
fn precision(text: &str) -> SignedDuration {
    let digits = text.split_once('.').map_or(0, |(_, rest)| rest.bytes().take_while(u8::is_ascii_digit).count());
    let nanoseconds = 1_000_000_000_i64.checked_div(10_i64.saturating_pow(digits as u32)).unwrap_or_default();
    SignedDuration::from_nanos(nanoseconds)
}
