//! An entry of an archive, and its exchange.

use animal_store_rules::trace::exchange::{Connection, Exchange, Outcome, Request, Response};
use animal_store_rules::trace::knowledge::{Fact, FactSet, Knowledge};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::Value;

use super::lenient::{if_readable, number};
use super::message::{self, ReceivedResponse, SentRequest};
use super::{Attached, LeftOut};

/// An entry, as far as it is read. Exporters differ, so every member may be missing. Members whose names begin with an underscore are
/// extensions.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Entry {
    #[serde(deserialize_with = "if_readable")]
    pub(super) started_date_time: Option<String>,
    #[serde(deserialize_with = "number")]
    pub(super) time: Option<f64>,
    pub(super) request: SentRequest,
    pub(super) response: Option<ReceivedResponse>,
    #[serde(deserialize_with = "if_readable")]
    pub(super) cache: Option<Value>,
    #[serde(deserialize_with = "if_readable")]
    pub(super) timings: Option<Value>,
    #[serde(rename = "serverIPAddress", deserialize_with = "if_readable")]
    pub(super) server_address: Option<String>,
    #[serde(rename = "_fromCache", deserialize_with = "if_readable")]
    pub(super) from_cache: Option<Value>,
    #[serde(rename = "_fetchedViaServiceWorker", deserialize_with = "if_readable")]
    pub(super) via_service_worker: Option<Value>,
    #[serde(rename = "_wasFulfilled", deserialize_with = "if_readable")]
    pub(super) was_fulfilled: Option<Value>,
    #[serde(rename = "_fetchType", deserialize_with = "if_readable")]
    pub(super) fetch_type: Option<String>,
    #[serde(rename = "_initiator", deserialize_with = "if_readable")]
    initiator: Option<Value>,
}

impl Entry {
    /// Returns true if the recorder states the address of the server.
    pub(super) fn has_address(&self) -> bool {
        self.server_address.as_deref().is_some_and(|address| !address.is_empty())
    }

    /// Reads the bodies that are in files of their own.
    pub(super) fn attach(&mut self, attached: &mut Attached<'_>) {
        let received = self.response.iter_mut().map(|response| &mut response.content);
        for body in self.request.post_data.iter_mut().chain(received) {
            body.attached = body.file.as_deref().and_then(&mut *attached);
        }
    }
}

/// The finest precision that is assumed of the clock of another recorder.
const LEAST_PRECISION: SignedDuration = SignedDuration::from_millis(10);

/// The exchange of an entry, or the reason why the entry is left out.
pub(super) fn exchange(entry: &Entry, path: String, query: Option<String>) -> Result<Exchange, LeftOut> {
    let response = entry.response.as_ref().ok_or(LeftOut::Unanswered)?;
    let status = response.status.and_then(status).ok_or(LeftOut::Unanswered)?;
    let query = message::query(&entry.request, query).ok_or(LeftOut::Unaddressed)?;
    if message::is_template(&path) || query.as_deref().is_some_and(message::is_template) {
        return Err(LeftOut::Unaddressed);
    }
    let mut withheld = FactSet::of(&[Fact::Times]);
    // The developer tools of Chromium, which write this member, leave `Authorization` out unless their user asks for sensitive data.
    let is_of_chromium = entry.initiator.is_some();
    let authorization = message::authorization(&entry.request).filter(|value| value.is_some() || !is_of_chromium);
    let body = message::sent_body(&entry.request);
    let headers = message::received_headers(&entry.request, response);
    let content = message::received_body(response, headers.as_deref());
    for (is_known, fact) in [
        (authorization.is_some(), Fact::Credential),
        (body.is_some(), Fact::RequestBody),
        (headers.is_some(), Fact::ResponseHeaders),
        (content.is_some(), Fact::ResponseBody),
    ] {
        if !is_known {
            withheld.insert(fact);
        }
    }
    let fields = entry.request.headers.iter().map(|field| (field.name.to_ascii_lowercase(), field.value.clone()));
    // Several `Authorization` fields, or a redacted one, are read for the secrets in them only.
    let is_unknown = authorization.is_none();
    let headers_sent = fields.filter(|(name, _)| is_unknown || name != "authorization").collect();
    let (sent_at, received_at, precision) = times(entry);
    Ok(Exchange {
        number: 0,
        probe: "recorded".into(),
        step: String::new(),
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

/// The status code, if it is a final one. Browsers write 0 where there is no response.
fn status(status: f64) -> Option<u16> {
    (200.0..1_000.0).contains(&status).then_some(status as u16)
}

/// The times at which the request was sent and its response was complete, and their precision.
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

/// The precision of a time as text: the unit of the last digit of its seconds.
fn precision(text: &str) -> SignedDuration {
    let digits = text.split_once('.').map_or(0, |(_, rest)| rest.bytes().take_while(u8::is_ascii_digit).count());
    let nanoseconds = 1_000_000_000_i64.checked_div(10_i64.saturating_pow(digits as u32)).unwrap_or_default();
    SignedDuration::from_nanos(nanoseconds)
}
