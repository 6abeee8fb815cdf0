//! The recording of requests and responses, as a trace that the judge can read. It observes bodies as they pass: it delays
//! nothing, and reads nothing that the server does not read.

mod line;
mod stand_ins;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use hyper::body::{Frame, SizeHint};
use jiff::Timestamp;

use self::line::{Answered, Asked, Failed, Line, Written};
use self::stand_ins::StandIns;
use animal_store_reference::app::App;
use animal_store_reference::routes;

/// How many exchanges are kept, the latest ones.
const MOST: usize = 10_000;

/// How many bytes of lines are kept.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// How much of a body is kept.
const MOST_OF_BODY: usize = 1024 * 1024;

/// A recording.
pub struct Recording {
    app: Arc<App>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// Lines by the order in which the requests arrived.
    lines: BTreeMap<u64, String>,
    bytes: usize,
    arrived: u64,
    stand_ins: StandIns,
}

impl Recording {
    /// A recording of the requests to this application.
    #[must_use]
    pub fn new(app: Arc<App>) -> Self {
        Self { app, kept: Mutex::default() }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The trace so far: exchanges that are complete, in the order in which their requests arrived.
    #[must_use]
    pub fn trace(&self, base_url: &str) -> String {
        let kept = self.kept();
        let mut text = line::text(&line::Head::new(base_url.to_owned(), kept.stand_ins.valid()));
        kept.lines.values().for_each(|line| text.push_str(line));
        text
    }

    /// Forgets what was recorded. Stand-ins stay the same.
    pub fn clear(&self) {
        let mut kept = self.kept();
        kept.lines.clear();
        kept.bytes = 0;
    }

    /// Begins to record an exchange, and watches the body of its request.
    pub(super) fn begin(self: &Arc<Self>, request: Request) -> (Exchange, Request) {
        let (parts, body) = request.into_parts();
        let is_valid = self.app.keys().authenticate(&parts.headers).is_ok();
        let number = {
            let mut kept = self.kept();
            kept.arrived += 1;
            // Known from the beginning, so that a body that repeats it is recorded without it.
            for value in parts.headers.get_all(header::AUTHORIZATION) {
                kept.stand_ins.authorization(&String::from_utf8_lossy(value.as_bytes()), is_valid);
            }
            kept.arrived
        };
        let sent = Arc::<Mutex<Seen>>::default();
        let exchange = Exchange {
            recording: Arc::clone(self),
            number,
            sent_at: self.app.clock().timestamp(),
            method: parts.method.to_string(),
            path: routes::below(self.app.base_path(), parts.uri.path()).unwrap_or_default().to_owned(),
            query: parts.uri.query().map(str::to_owned),
            headers: parts.headers.clone(),
            is_valid,
            sent: Arc::clone(&sent),
        };
        if body.is_end_stream() {
            seen(&sent).complete = true;
            return (exchange, Request::from_parts(parts, body));
        }
        (exchange, Request::from_parts(parts, Body::new(Watched { body, seen: sent, end: None })))
    }

    fn add(&self, number: u64, line: String) {
        let mut kept = self.kept();
        kept.bytes += line.len();
        kept.lines.insert(number, line);
        while (kept.lines.len() > MOST || kept.bytes > MOST_BYTES)
            && let Some((_, oldest)) = kept.lines.pop_first()
        {
            kept.bytes -= oldest.len();
        }
    }
}

/// What of a body has passed.
#[derive(Default)]
struct Seen {
    bytes: Vec<u8>,
    /// Whether it is longer than what is kept.
    cut: bool,
    /// Whether its end has passed.
    complete: bool,
}

fn seen(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An exchange that is being recorded.
pub(super) struct Exchange {
    recording: Arc<Recording>,
    number: u64,
    sent_at: Timestamp,
    method: String,
    path: String,
    query: Option<String>,
    headers: HeaderMap,
    is_valid: bool,
    sent: Arc<Mutex<Seen>>,
}

impl Exchange {
    /// Watches the body of the response. The exchange is complete when the body is at its end, or given up.
    pub(super) fn answered(self, response: Response) -> Response {
        let (parts, body) = response.into_parts();
        let received = Arc::<Mutex<Seen>>::default();
        // A response to HEAD has no content, and nobody asks the body for its end.
        seen(&received).complete = body.is_end_stream() || self.method == "HEAD";
        let end = End { exchange: self, answer: Head { status: parts.status, headers: parts.headers.clone() } };
        let mut watched = Watched { body, seen: received, end: Some(end) };
        watched.finish_if_complete();
        Response::from_parts(parts, Body::new(watched))
    }

    fn line(&self, answer: &Head, received: &Seen) -> Line {
        let mut kept = self.recording.kept();
        let mut credentials = self
            .headers
            .get_all(header::AUTHORIZATION)
            .iter()
            .map(|value| kept.stand_ins.authorization(&String::from_utf8_lossy(value.as_bytes()), self.is_valid));
        let authorization = credentials.next();
        let further: Vec<String> = credentials.collect();
        let redact = |text: &str| kept.stand_ins.redact(text);
        let mut headers = line::fields(&self.headers, &["authorization", "content-type"], redact);
        headers.extend(further.into_iter().map(|value| ("authorization".to_owned(), value)));
        let sent = seen(&self.sent);
        let content_type = self.headers.get(header::CONTENT_TYPE);
        let has_body = !sent.bytes.is_empty() || !sent.complete;
        let content_type = content_type
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .or_else(|| has_body.then(String::new));
        let response = received.complete.then(|| Answered {
            status: answer.status.as_u16(),
            headers: line::fields(&answer.headers, &[], redact),
            body: Written::new(&received.bytes, redact),
            cut: received.cut,
        });
        let failure = response.is_none().then_some(Failed { kind: "broken", detail: "the response was broken off" });
        Line {
            sent_at: self.sent_at.to_string(),
            received_at: self.recording.app.clock().timestamp().to_string(),
            withheld: if sent.complete && !sent.cut { Vec::new() } else { vec!["request-body"] },
            request: Asked {
                method: self.method.clone(),
                path: redact(&self.path),
                query: self.query.as_deref().map(redact),
                authorization,
                headers,
                body: if content_type.is_some() { Written::new(&sent.bytes, redact) } else { Written::default() },
                content_type,
            },
            response,
            failure,
        }
    }
}

/// The beginning of a response.
struct Head {
    status: StatusCode,
    headers: HeaderMap,
}

/// What is done when the body of a response is at its end.
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
            let line = line::text(&exchange.line(&answer, &seen(&self.seen)));
            exchange.recording.add(exchange.number, line);
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
        // Before the client has the last of it, so that a client that asks for the recording next finds the exchange.
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
