//! The recording of requests and responses, as a trace that the judge can read. Bodies are observed as they pass: the recording
//! delays nothing, and reads nothing that the server does not read.

mod stand_ins;

use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Poll};
use std::{collections::BTreeMap, pin::Pin};

use axum::body::{Body, HttpBody};
use axum::extract::Request as HttpRequest;
use axum::response::Response as HttpResponse;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use self::stand_ins::{StandIns, of_valid, presented};
use super::operation::Operation;
use crate::request::{fields, observed};
use crate::state::lock;
use animal_store_reference::app::{App, below};
use animal_store_reference::keys;
use animal_store_rules::trace::exchange::{self, Exchange, Failure, FailureKind, Outcome, Request, Response};
use animal_store_rules::trace::knowledge::{Extent, Fact, Knowledge};
use animal_store_rules::{trace::Context, trace::keys::ApiKey};
use animal_store_secrets::printable::Printable;
use animal_store_traffic::{Head, Writer, lines};

/// The maximum number of exchanges that are kept, the latest ones.
const MOST: usize = 10_000;

/// The maximum size of the kept exchanges in the log, in bytes.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// The maximum size of the kept part of a body, in bytes.
const MOST_OF_BODY: usize = 1024 * 1024;

/// A recording.
pub(crate) struct Recording {
    app: Arc<App>,
    /// The keys that the application has from the start, which may never be presented.
    of_start: Vec<String>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// Exchanges as they were, by the order in which the requests arrived. Their credentials are replaced only when they are shown,
    /// because all credentials are known then. Each has its size in the log, in bytes.
    exchanges: BTreeMap<u64, (Arc<Exchange>, usize)>,
    bytes: usize,
    arrived: u64,
    /// The valid keys that were presented, in the order of their first presentation.
    valid: Vec<String>,
}

impl Recording {
    /// A recording of the requests to this application, which has these keys from the start.
    pub(crate) fn new(app: Arc<App>, keys: &[keys::ApiKey]) -> Self {
        Self { app, of_start: keys.iter().map(|key| key.reveal().to_owned()).collect(), kept: Mutex::default() }
    }

    /// The lines of the trace so far, each written when it is asked for: exchanges that are complete, in the order in which their requests
    /// arrived. They contain no credential that any of them has presented, nor a valid key that is known.
    pub(super) fn trace(&self, base_url: &str, filter: &Filter) -> impl Iterator<Item = String> + use<> {
        let (exchanges, valid) = (self.matching(filter), lock(&self.kept).valid.clone());
        let stand_ins = StandIns::new(&self.of_start, &valid, &exchanges);
        // The recording may have been emptied and the clock set, so absent exchanges prove nothing.
        let keys = (1..=valid.len()).filter_map(|number| ApiKey::new(of_valid(number)).ok()).collect();
        let context = Context { keys, ..Context::new(Extent::Sample, base_url) };
        let writer = Writer { name: "reference".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
        // This program judges by no catalogue.
        let head = Head { catalogue: String::new(), ..Head::of(&context, writer) };
        let lines = exchanges.into_iter().map(move |exchange| line(&stand_ins.exchange(&exchange)));
        std::iter::once(Printable::json(&lines::head_line(&head)).to_string()).chain(lines)
    }

    /// The exchanges that a filter lets pass, in the order in which their requests arrived.
    fn matching(&self, filter: &Filter) -> Vec<Arc<Exchange>> {
        let mut exchanges: Vec<_> =
            lock(&self.kept).exchanges.values().map(|(exchange, _)| Arc::clone(exchange)).collect();
        exchanges.retain(|exchange| filter.passes(exchange));
        exchanges.split_off(exchanges.len().saturating_sub(filter.last.unwrap_or(MOST)))
    }

    /// The number of exchanges that a filter lets pass, by operation and status.
    pub(super) fn counts(&self, filter: &Filter) -> Value {
        let exchanges = self.matching(filter);
        let mut counts = BTreeMap::<String, BTreeMap<String, u64>>::new();
        for exchange in &exchanges {
            let operation = operation(exchange).and_then(|operation| serde_json::to_value(operation).ok());
            let operation = operation.as_ref().and_then(Value::as_str).unwrap_or("other").to_owned();
            let status = exchange.status().map_or_else(|| "broken".to_owned(), |status| status.to_string());
            *counts.entry(operation).or_default().entry(status).or_default() += 1;
        }
        json!({"exchanges": exchanges.len(), "operations": counts})
    }

    /// The text without the valid keys that are known.
    pub(crate) fn without_keys(&self, text: &str) -> String {
        StandIns::new(&self.of_start, &lock(&self.kept).valid, &[]).text(text)
    }

    /// Discards the recorded exchanges. The stand-ins of valid keys stay the same.
    pub(crate) fn clear(&self) {
        let mut kept = lock(&self.kept);
        kept.exchanges.clear();
        kept.bytes = 0;
    }

    /// Begins to record an exchange, and watches the body of its request.
    pub(super) fn begin(self: &Arc<Self>, request: &mut HttpRequest) -> Ongoing {
        let number = {
            let mut kept = lock(&self.kept);
            kept.arrived += 1;
            kept.arrived
        };
        let path = below(&self.app.options.base_path, request.uri().path()).unwrap_or_default();
        let recorded = observed(request.method(), path, request.uri().query(), request.headers());
        let sent_at = self.app.options.clock.timestamp();
        let sent = Arc::<Mutex<Seen>>::default();
        let body = std::mem::take(request.body_mut());
        lock(&sent).complete = body.is_end_stream();
        *request.body_mut() = Body::new(Watched { body, seen: Arc::clone(&sent), end: None });
        Ongoing { recording: Arc::clone(self), number, sent_at, request: recorded, sent }
    }

    fn add(&self, number: u64, exchange: Exchange) {
        let valid = presented(&exchange.request).filter(|text| matches!(self.app.keys.find(text), Ok(Some(_))));
        let valid: Vec<String> = valid.collect();
        let size = line(&exchange).len();
        let mut kept = lock(&self.kept);
        for key in valid {
            if !kept.valid.contains(&key) {
                kept.valid.push(key);
            }
        }
        kept.bytes += size;
        kept.exchanges.insert(number, (Arc::new(exchange), size));
        while (kept.exchanges.len() > MOST || kept.bytes > MOST_BYTES)
            && let Some((_, (_, size))) = kept.exchanges.pop_first()
        {
            kept.bytes -= size;
        }
    }
}

/// An exchange as a line of the log.
fn line(exchange: &Exchange) -> String {
    Printable::json(&lines::line(exchange)).to_string()
}

/// The operation that a request asks for, if it is one of the API.
fn operation(exchange: &Exchange) -> Option<Operation> {
    Operation::of(&exchange.request.method, &exchange.request.path)
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
    fn passes(&self, exchange: &Exchange) -> bool {
        let request = &exchange.request;
        let is_path = |wanted: &str| match wanted.strip_suffix('*') {
            Some(start) => request.path.starts_with(start),
            None => request.path == wanted,
        };
        self.method.as_ref().is_none_or(|method| request.method == *method)
            && self.path.as_deref().is_none_or(is_path)
            && self.operation.is_none_or(|wanted| operation(exchange) == Some(wanted))
            && self.status.as_ref().is_none_or(|StatusFilter(digits)| {
                exchange.status().is_some_and(|status| status.to_string().starts_with(digits))
            })
    }
}

/// The first digits of the statuses that are shown.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
struct StatusFilter(String);

impl TryFrom<String> for StatusFilter {
    type Error = &'static str;

    /// Reads a status or a class of them, such as `429` or `4xx`.
    fn try_from(text: String) -> Result<StatusFilter, &'static str> {
        let digits = text.strip_suffix("xx").unwrap_or(&text);
        let is_status = text.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_status
            .then(|| StatusFilter(digits.to_owned()))
            .ok_or("status must be a status or a class of them, such as 429 or 4xx")
    }
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

/// An exchange that is being recorded.
pub(super) struct Ongoing {
    recording: Arc<Recording>,
    number: u64,
    sent_at: Timestamp,
    /// The request without the bytes of its body.
    request: Request,
    sent: Arc<Mutex<Seen>>,
}

impl Ongoing {
    /// Watches the body of the response. The exchange is complete when the body is at its end, or given up.
    pub(super) fn answered(self, response: HttpResponse) -> HttpResponse {
        let (parts, body) = response.into_parts();
        let received = Arc::<Mutex<Seen>>::default();
        // A response to HEAD has no content, so its body is never polled to the end.
        lock(&received).complete = body.is_end_stream() || self.request.method == "HEAD";
        let status = parts.status.as_u16();
        let response = Response { status, headers: fields(&parts.headers), body: Vec::new(), cut: false };
        let end: End = Box::new(move |received| self.finish(response, received));
        let mut watched = Watched { body, seen: received, end: Some(end) };
        if lock(&watched.seen).complete {
            watched.finish();
        }
        HttpResponse::from_parts(parts, Body::new(watched))
    }

    /// Adds the exchange to the recording.
    fn finish(self, response: Response, received: Seen) {
        let Ongoing { recording, number, sent_at, mut request, sent } = self;
        let received_at = recording.app.options.clock.timestamp();
        let sent = std::mem::take(&mut *lock(&sent));
        let mut known = Knowledge::default();
        if sent.cut || !sent.complete {
            known.withheld.insert(Fact::RequestBody);
        }
        if !sent.bytes.is_empty() || !sent.complete {
            let untyped = || exchange::Body { content_type: String::new(), bytes: Vec::new() };
            request.body.get_or_insert_with(untyped).bytes = sent.bytes;
        }
        let outcome = if received.complete {
            Outcome::Response(Response { body: received.bytes, cut: received.cut, ..response })
        } else {
            let detail = "the response was broken off".to_owned();
            Outcome::Failed(Failure { kind: FailureKind::Broken, detail })
        };
        let (probe, step) = ("".into(), String::new());
        let exchange = Exchange { number: number as usize, probe, step, request, outcome, sent_at, received_at, known };
        recording.add(number, exchange);
    }
}

/// Records an exchange when the body of its response has ended.
type End = Box<dyn FnOnce(Seen) + Send>;

/// A body that is watched as it passes.
struct Watched {
    body: Body,
    seen: Arc<Mutex<Seen>>,
    end: Option<End>,
}

impl Watched {
    fn finish(&mut self) {
        if let Some(end) = self.end.take() {
            end(std::mem::take(&mut *lock(&self.seen)));
        }
    }
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut TaskContext<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        let mut seen = lock(&self.seen);
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
        let is_over = seen.complete || matches!(polled, Poll::Ready(Some(Err(_))));
        drop(seen);
        // The exchange is added before the client has the end of the body, so that a client that asks for the recording next finds
        // it.
        if is_over {
            self.finish();
        }
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
