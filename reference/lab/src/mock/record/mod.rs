//! The recording of requests and responses, as a trace that the judge can read. Bodies are observed as they pass: the recording
//! delays nothing, and reads nothing that the server does not read.

mod line;
mod stand_ins;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use hyper::body::{Frame, SizeHint};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use self::line::{Answered, Asked, Failed, Line, Written};
use self::stand_ins::{StandIns, ValidKeys, credentials};
use super::operation::Operation;
use crate::secrets::{HIDDEN, is_secret_name, unescaped};
use animal_store_reference::app::App;
use animal_store_reference::keys::ApiKey;
use animal_store_reference::routes;

/// The maximum number of exchanges that are kept, the latest ones.
const MOST: usize = 10_000;

/// The maximum size of the kept exchanges, in bytes.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// The maximum size of the kept part of a body, in bytes.
const MOST_OF_BODY: usize = 1024 * 1024;

/// A recording.
pub struct Recording {
    app: Arc<App>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// Exchanges by the order in which the requests arrived.
    exchanges: BTreeMap<u64, Arc<Recorded>>,
    bytes: usize,
    arrived: u64,
    valid: ValidKeys,
}

impl Recording {
    /// A recording of the requests to this application, which has these keys from the start.
    #[must_use]
    pub fn new(app: Arc<App>, keys: &[ApiKey]) -> Self {
        let valid = ValidKeys::given(keys.iter().map(|key| key.reveal().to_owned()));
        Self { app, kept: Mutex::new(Kept { valid, ..Kept::default() }) }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The trace so far: exchanges that are complete, in the order in which their requests arrived. It contains no credential that any
    /// of them has presented, nor a valid key that is known.
    #[must_use]
    pub(super) fn trace(&self, base_url: &str, filter: &Filter) -> String {
        let (exchanges, valid) = (self.matching(filter), self.kept().valid.clone());
        let credentials = exchanges.iter().flat_map(|recorded| presented(recorded).announced);
        let stand_ins = StandIns::new(&valid, credentials);
        let mut text = line::text(&line::Head::new(base_url.to_owned(), valid.stand_ins()));
        exchanges.iter().for_each(|recorded| text.push_str(&line::text(&recorded.line(&stand_ins))));
        text
    }

    /// The exchanges that a filter lets pass, in the order in which their requests arrived.
    fn matching(&self, filter: &Filter) -> Vec<Arc<Recorded>> {
        let mut exchanges: Vec<_> = self.kept().exchanges.values().cloned().collect();
        exchanges.retain(|recorded| filter.passes(recorded));
        exchanges.split_off(exchanges.len().saturating_sub(filter.last.unwrap_or(MOST)))
    }

    /// The number of exchanges that a filter lets pass, by operation and status.
    pub(super) fn counts(&self, filter: &Filter) -> Value {
        let exchanges = self.matching(filter);
        let mut counts = BTreeMap::<String, BTreeMap<String, u64>>::new();
        for recorded in &exchanges {
            let operation = recorded.operation().and_then(|operation| serde_json::to_value(operation).ok());
            let operation = operation.as_ref().and_then(Value::as_str).unwrap_or("other").to_owned();
            let status = if recorded.received.complete { recorded.answer.status.as_str() } else { "broken" };
            *counts.entry(operation).or_default().entry(status.to_owned()).or_default() += 1;
        }
        json!({"exchanges": exchanges.len(), "operations": counts})
    }

    /// The text without the valid keys that are known.
    #[must_use]
    pub fn without_keys(&self, text: &str) -> String {
        let valid = self.kept().valid.clone();
        StandIns::new(&valid, []).redactor.text(text)
    }

    /// Discards the recorded exchanges. The stand-ins of valid keys stay the same.
    pub fn clear(&self) {
        let mut kept = self.kept();
        kept.exchanges.clear();
        kept.bytes = 0;
    }

    /// Begins to record an exchange, and watches the body of its request.
    pub(super) fn begin(self: &Arc<Self>, request: Request) -> (Exchange, Request) {
        let (parts, body) = request.into_parts();
        let number = {
            let mut kept = self.kept();
            kept.arrived += 1;
            kept.arrived
        };
        let sent = Arc::<Mutex<Seen>>::default();
        let arrived = Arrived {
            sent_at: self.app.clock.timestamp(),
            method: parts.method.to_string(),
            path: routes::below(&self.app.base_path, parts.uri.path()).unwrap_or_default().to_owned(),
            query: parts.uri.query().map(str::to_owned),
            headers: parts.headers.clone(),
        };
        let exchange = Exchange { recording: Arc::clone(self), number, arrived, sent: Arc::clone(&sent) };
        if body.is_end_stream() {
            seen(&sent).complete = true;
            return (exchange, Request::from_parts(parts, body));
        }
        (exchange, Request::from_parts(parts, Body::new(Watched { body, seen: sent, end: None })))
    }

    fn add(&self, number: u64, recorded: Recorded) {
        // Looks for keys that were issued or revoked meanwhile, so that `find` knows them.
        let _ = self.app.keys.authenticate(&recorded.arrived.headers);
        let Presented { announced, others } = presented(&recorded);
        let valid = announced.into_iter().chain(others).filter(|text| matches!(self.app.keys.find(text), Ok(Some(_))));
        let mut kept = self.kept();
        valid.for_each(|key| kept.valid.presented(key));
        kept.bytes += recorded.size();
        kept.exchanges.insert(number, Arc::new(recorded));
        while (kept.exchanges.len() > MOST || kept.bytes > MOST_BYTES)
            && let Some((_, oldest)) = kept.exchanges.pop_first()
        {
            kept.bytes -= oldest.size();
        }
    }
}

/// A filter of recorded exchanges: an exchange must match every field.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Filter {
    method: Option<String>,
    /// The path below the base path; a trailing `*` stands for any end of it.
    path: Option<String>,
    operation: Option<Operation>,
    status: Option<StatusFilter>,
    /// The maximum number of exchanges, the latest ones.
    last: Option<usize>,
}

impl Filter {
    fn passes(&self, recorded: &Recorded) -> bool {
        let is_path = |wanted: &str| match wanted.strip_suffix('*') {
            Some(start) => recorded.arrived.path.starts_with(start),
            None => recorded.arrived.path == wanted,
        };
        self.method.as_ref().is_none_or(|method| recorded.arrived.method == *method)
            && self.path.as_deref().is_none_or(is_path)
            && self.operation.is_none_or(|operation| recorded.operation() == Some(operation))
            && self.status.is_none_or(|StatusFilter(lowest, highest)| {
                recorded.received.complete && (lowest..=highest).contains(&recorded.answer.status.as_u16())
            })
    }
}

/// The lowest and the highest of the statuses that are shown.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(try_from = "String")]
struct StatusFilter(u16, u16);

impl TryFrom<String> for StatusFilter {
    type Error = &'static str;

    /// Reads a status or a class of them, such as `429` or `4xx`.
    fn try_from(text: String) -> Result<StatusFilter, &'static str> {
        let number = |text: &str| text.parse().ok().filter(|_| text.len() == 3);
        let (lowest, highest) = (number(&text.replace('x', "0")), number(&text.replace('x', "9")));
        match (lowest, highest) {
            (Some(lowest), Some(highest)) if lowest == highest || text.ends_with("xx") => {
                Ok(StatusFilter(lowest, highest))
            }
            _ => Err("status must be a status or a class of them, such as 429 or 4xx"),
        }
    }
}

/// A request as it arrived, without its body.
struct Arrived {
    sent_at: Timestamp,
    method: String,
    /// The path below the base path.
    path: String,
    query: Option<String>,
    headers: HeaderMap,
}

/// An exchange as it was. Its credentials are replaced only when it is shown, because all credentials are known then.
struct Recorded {
    arrived: Arrived,
    received_at: Timestamp,
    sent: Seen,
    answer: Head,
    received: Seen,
}

impl Recorded {
    /// The operation that the request asks for, if it is one of the API.
    fn operation(&self) -> Option<Operation> {
        Operation::of(&self.arrived.method, &self.arrived.path)
    }

    /// The approximate size of the exchange, in bytes.
    fn size(&self) -> usize {
        let fields = |headers: &HeaderMap| -> usize {
            headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 64).sum()
        };
        let Arrived { path, query, headers, .. } = &self.arrived;
        let query = query.as_ref().map_or(0, String::len);
        let bodies = self.sent.bytes.len() + self.received.bytes.len();
        512 + path.len() + query + fields(headers) + fields(&self.answer.headers) + bodies
    }

    fn line(&self, stand_ins: &StandIns) -> Line {
        let redact = |text: &str| stand_ins.redactor.text(text);
        let body = |seen: &Seen| Written::new(stand_ins.redactor.bytes(&seen.bytes));
        let Arrived { sent_at, method, path, query, headers: received } = &self.arrived;
        let credentials = received.get_all(header::AUTHORIZATION).iter();
        let mut credentials = credentials.map(|value| stand_ins.authorization(&text_of(value)));
        let authorization = credentials.next();
        let mut headers = fields(received, &["authorization", "content-type"], stand_ins);
        headers.extend(credentials.map(|value| ("authorization".to_owned(), value)));
        let has_body = !self.sent.bytes.is_empty() || !self.sent.complete;
        let content_type = received.get(header::CONTENT_TYPE).map(|value| redact(&text_of(value)));
        let content_type = content_type.or_else(|| has_body.then(String::new));
        let response = self.received.complete.then(|| Answered {
            status: self.answer.status.as_u16(),
            headers: fields(&self.answer.headers, &[], stand_ins),
            body: body(&self.received),
            cut: self.received.cut,
        });
        let failure = response.is_none().then_some(Failed { kind: "broken", detail: "the response was broken off" });
        Line {
            sent_at: sent_at.to_string(),
            received_at: self.received_at.to_string(),
            withheld: if self.sent.complete && !self.sent.cut { Vec::new() } else { vec!["request-body"] },
            request: Asked {
                method: redact(method),
                path: redact(path),
                query: query.as_deref().map(|query| stand_ins.query(query)),
                authorization,
                headers,
                body: if content_type.is_some() { body(&self.sent) } else { Written::default() },
                content_type,
            },
            response,
            failure,
        }
    }
}

/// Returns the header fields as text, except the fields that `skip` names.
fn fields(headers: &HeaderMap, skip: &[&str], stand_ins: &StandIns) -> Vec<(String, String)> {
    let shown = headers.iter().filter(|(name, _)| !skip.contains(&name.as_str()));
    shown
        .map(|(name, value)| {
            let is_secret = is_secret_name(name.as_str());
            let value = if is_secret { HIDDEN.to_owned() } else { stand_ins.redactor.text(&text_of(value)) };
            (stand_ins.redactor.text(name.as_str()), value)
        })
        .collect()
}

/// The value of a header field as text.
fn text_of(value: &HeaderValue) -> Cow<'_, str> {
    String::from_utf8_lossy(value.as_bytes())
}

/// The values of a request that could be credentials.
#[derive(Default)]
struct Presented {
    /// Values that a name or a place announces as credentials.
    announced: Vec<String>,
    /// Other values of parameters, and of members of a body.
    others: Vec<String>,
}

impl Presented {
    fn pair(&mut self, name: &str, value: String) {
        let list = if is_secret_name(name) { &mut self.announced } else { &mut self.others };
        list.push(value);
    }

    /// The parameters of a query, or of a form.
    fn pairs(&mut self, text: &str) {
        for (name, value) in text.split('&').filter_map(|pair| pair.split_once('=')) {
            self.pair(&unescaped(name), unescaped(value));
        }
    }
}

fn presented(recorded: &Recorded) -> Presented {
    let mut presented = Presented::default();
    for (name, value) in &recorded.arrived.headers {
        let value = text_of(value);
        if *name == header::AUTHORIZATION || *name == header::PROXY_AUTHORIZATION {
            presented.announced.extend(credentials(&value));
        } else if is_secret_name(name.as_str()) {
            // Such as the values of cookies.
            let parts = value.split([' ', ',', ';']).map(|part| part.split_once('=').map_or(part, |(_, value)| value));
            presented.announced.extend(parts.map(|part| part.trim_matches('"').to_owned()));
        }
    }
    presented.pairs(recorded.arrived.query.as_deref().unwrap_or_default());
    match serde_json::from_slice(&recorded.sent.bytes) {
        Ok(Value::Object(members)) => {
            let texts = members.iter().filter_map(|(name, value)| Some((name, value.as_str()?)));
            texts.for_each(|(name, value)| presented.pair(name, value.to_owned()));
        }
        Ok(_) => {}
        Err(_no_json) => presented.pairs(&String::from_utf8_lossy(&recorded.sent.bytes)),
    }
    presented
}

/// The part of a body that has passed.
#[derive(Default)]
struct Seen {
    bytes: Vec<u8>,
    /// Whether the body is longer than the kept part.
    cut: bool,
    /// Whether the end of the body has passed.
    complete: bool,
}

fn seen(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An exchange that is being recorded.
pub(super) struct Exchange {
    recording: Arc<Recording>,
    number: u64,
    arrived: Arrived,
    sent: Arc<Mutex<Seen>>,
}

impl Exchange {
    /// Watches the body of the response. The exchange is complete when the body is at its end, or given up.
    pub(super) fn answered(self, response: Response) -> Response {
        let (parts, body) = response.into_parts();
        let received = Arc::<Mutex<Seen>>::default();
        // A response to HEAD has no content, so its body is never polled to the end.
        seen(&received).complete = body.is_end_stream() || self.arrived.method == "HEAD";
        let end = End { exchange: self, answer: Head { status: parts.status, headers: parts.headers.clone() } };
        let mut watched = Watched { body, seen: received, end: Some(end) };
        watched.finish_if_complete();
        Response::from_parts(parts, Body::new(watched))
    }

    /// Adds the exchange to the recording.
    fn finish(self, answer: Head, received: Seen) {
        let Exchange { recording, number, arrived, sent } = self;
        let received_at = recording.app.clock.timestamp();
        let sent = std::mem::take(&mut *seen(&sent));
        recording.add(number, Recorded { arrived, received_at, sent, answer, received });
    }
}

/// The beginning of a response.
struct Head {
    status: StatusCode,
    headers: HeaderMap,
}

/// The exchange and the response that are recorded when the body of the response ends.
struct End {
    exchange: Exchange,
    answer: Head,
}

/// A body that is watched as it passes.
struct Watched {
    body: Body,
    seen: Arc<Mutex<Seen>>,
    end: Option<End>,
}

impl Watched {
    fn finish_if_complete(&mut self) {
        if seen(&self.seen).complete {
            self.finish();
        }
    }

    fn finish(&mut self) {
        if let Some(End { exchange, answer }) = self.end.take() {
            exchange.finish(answer, std::mem::take(&mut *seen(&self.seen)));
        }
    }
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        let mut seen = seen(&self.seen);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(data) = frame.data_ref() {
                    let room = MOST_OF_BODY - seen.bytes.len();
                    seen.cut |= data.len() > room;
                    seen.bytes.extend_from_slice(&data[..data.len().min(room)]);
                }
                seen.complete = self.body.is_end_stream();
            }
            Poll::Ready(None) => seen.complete = true,
            Poll::Ready(Some(Err(_))) | Poll::Pending => {}
        }
        drop(seen);
        // The exchange is added before the client has the end of the body, so that a client that asks for the recording next finds
        // it.
        if matches!(polled, Poll::Ready(Some(Err(_)))) {
            self.finish();
        }
        self.finish_if_complete();
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.finish();
    }
}
