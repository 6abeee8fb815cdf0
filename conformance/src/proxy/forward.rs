//! Passes requests on to the server and responses back, on a connection to the server for each connection of a client.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use http_body_util::{Either, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1::SendRequest;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::http::request::Parts;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;

use super::capture::{Asked, Head};
use super::failure::broken;
use super::hop;
use super::session::Log;
use super::tee::{Copied, End, Finish, Slot, Tee};
use super::upstream::Upstream;
use crate::interrupt::Interrupt;
use animal_store_rules::trace::exchange::{Failure, FailureKind};

/// The body of an answer: the server's, or the proxy's own.
type Answer = Either<Tee, Full<Bytes>>;

/// What all connections share.
pub(super) struct Forwarder {
    upstream: Upstream,
    log: Log,
    max_requests: usize,
    requests: AtomicUsize,
    elsewhere: AtomicUsize,
    unserved: AtomicUsize,
    exhausted: Interrupt,
}

impl Forwarder {
    pub(super) fn new(upstream: Upstream, log: Log, max_requests: Option<usize>) -> Forwarder {
        Forwarder {
            upstream,
            log,
            max_requests: max_requests.unwrap_or(usize::MAX),
            requests: AtomicUsize::new(0),
            elsewhere: AtomicUsize::new(0),
            unserved: AtomicUsize::new(0),
            exhausted: Interrupt::default(),
        }
    }

    pub(super) fn base_path(&self) -> &str {
        self.upstream.base_path()
    }

    /// Returns when the last request has come that the limit allows.
    pub(super) async fn exhausted(&self) {
        self.exhausted.raised().await;
    }

    /// What is to be said of the traffic beside the verdicts.
    pub(super) fn notes(&self) -> Vec<String> {
        let counted = |counter: &AtomicUsize, what: &str| {
            let count = counter.load(Ordering::Relaxed);
            (count > 0).then(|| format!("{count} of {} requests {what}", self.requests.load(Ordering::Relaxed)))
        };
        let elsewhere = format!("were passed on to paths outside {}, unjudged", self.base_path());
        let unserved = "got no complete response from the server (unreachable, connection broken, or the client disconnected); \
                        no finding is based on them";
        [counted(&self.elsewhere, &elsewhere), counted(&self.unserved, unserved)].into_iter().flatten().collect()
    }
}

/// A connection of a client, and that to the server which belongs to it.
pub(super) struct Connection {
    forwarder: Arc<Forwarder>,
    /// Kept from one request to the next.
    server: Mutex<Option<SendRequest<Tee>>>,
}

impl Connection {
    pub(super) fn new(forwarder: Arc<Forwarder>) -> Connection {
        Connection { forwarder, server: Mutex::new(None) }
    }

    /// Passes a request on; the answer.
    pub(super) async fn forward(&self, mut request: Request<Incoming>) -> Response<Answer> {
        let forwarder = &self.forwarder;
        let number = forwarder.requests.fetch_add(1, Ordering::Relaxed) + 1;
        if number >= forwarder.max_requests {
            forwarder.exhausted.raise();
        }
        if number > forwarder.max_requests {
            return own(StatusCode::SERVICE_UNAVAILABLE, "the limit of requests is reached");
        }
        let to_client = hyper::upgrade::on(&mut request);
        let (mut parts, body) = request.into_parts();
        let mut pending = Pending::new(forwarder, &parts);
        let is_upgrade = match hop::to_server(&mut parts, forwarder.upstream.authority()) {
            Ok(is_upgrade) => is_upgrade,
            Err(status) => {
                pending.forget();
                return own(status, "the request ends at this proxy");
            }
        };
        let body = match &pending.asked {
            Some(_) => Tee::new(body, forwarder.log.copy(), pending.sent.fill()),
            None => Tee::uncopied(body),
        };
        let answered =
            tokio::time::timeout(forwarder.upstream.timeout, self.send(Request::from_parts(parts, body))).await;
        let late = |_| Failure { kind: FailureKind::Timeout, detail: "no answer within the timeout".to_owned() };
        match answered.map_err(late).and_then(|answered| answered) {
            Ok((response, server)) => self.answer(response, server, pending, is_upgrade.then_some(to_client)),
            Err(failure) => {
                let late = failure.kind == FailureKind::Timeout;
                let status = if late { StatusCode::GATEWAY_TIMEOUT } else { StatusCode::BAD_GATEWAY };
                let answer = own(status, &failure.detail);
                pending.unserved(failure);
                answer
            }
        }
    }

    /// Sends a request on the connection that is kept, or on a new one.
    async fn send(&self, mut request: Request<Tee>) -> Result<(Response<Incoming>, SendRequest<Tee>), Failure> {
        let kept = self.server.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut server) = kept.filter(|server| !server.is_closed())
            && server.ready().await.is_ok()
        {
            let again = repeatable(&request);
            match server.try_send_request(request).await {
                Ok(response) => return Ok((response, server)),
                // The server has closed the connection, as it may at any time: the next is tried, as a client would.
                Err(mut error) => match error.take_message().or(again) {
                    Some(unsent) => request = unsent,
                    None => return Err(broken(error.error())),
                },
            }
        }
        let mut server = self.forwarder.upstream.connect().await?;
        let response = server.send_request(request).await.map_err(|error| broken(&error))?;
        Ok((response, server))
    }

    /// Passes a response back.
    fn answer(
        &self,
        mut response: Response<Incoming>,
        server: SendRequest<Tee>,
        mut pending: Pending,
        to_client: Option<OnUpgrade>,
    ) -> Response<Answer> {
        let to_server = hyper::upgrade::on(&mut response);
        let (mut parts, body) = response.into_parts();
        hop::to_client(parts.status, &mut parts.headers);
        if let (StatusCode::SWITCHING_PROTOCOLS, Some(to_client)) = (parts.status, to_client) {
            pending.forget();
            tokio::spawn(tunnel(to_client, to_server));
            return Response::from_parts(parts, Either::Left(Tee::uncopied(body)));
        }
        *self.server.lock().unwrap_or_else(PoisonError::into_inner) = Some(server);
        if pending.asked.is_none() {
            return Response::from_parts(parts, Either::Left(Tee::uncopied(body)));
        }
        let head = Head::new(&parts);
        let copied = self.forwarder.log.copy();
        let finish: Finish = Box::new(move |copied, end| pending.finish(head, copied, end));
        Response::from_parts(parts, Either::Left(Tee::new(body, copied, finish)))
    }
}

/// A request whose exchange is not complete yet. Wherever it is dropped, the client is gone.
struct Pending {
    forwarder: Arc<Forwarder>,
    /// None of a request that is not judged.
    asked: Option<Asked>,
    sent: Slot,
}

impl Pending {
    fn new(forwarder: &Arc<Forwarder>, parts: &Parts) -> Pending {
        let asked = Asked::new(parts, forwarder.base_path(), || forwarder.log.begin());
        if asked.is_none() {
            forwarder.elsewhere.fetch_add(1, Ordering::Relaxed);
        }
        Pending { forwarder: Arc::clone(forwarder), asked, sent: Slot::default() }
    }

    /// It is not judged.
    fn forget(&mut self) {
        if let Some(asked) = self.asked.take() {
            self.forwarder.log.forget(&asked);
        }
    }

    /// The body of the response has ended.
    fn finish(&mut self, head: Head, copied: Copied, end: &End) {
        match end {
            End::Whole => {
                if let Some(asked) = self.asked.take() {
                    let log = &self.forwarder.log;
                    log.take(asked.answered(head, self.sent.take(), copied, log.now()));
                }
            }
            End::Broken(failure) => self.unserved(failure.clone()),
            End::Unread => self.gone(),
        }
    }

    /// The server did not answer it.
    fn unserved(&mut self, failure: Failure) {
        if let Some(asked) = self.asked.take() {
            self.forwarder.unserved.fetch_add(1, Ordering::Relaxed);
            let log = &self.forwarder.log;
            log.take(asked.unserved(failure, self.sent.take(), log.now(), log.reserve()));
        }
    }

    fn gone(&mut self) {
        self.unserved(Failure { kind: FailureKind::Broken, detail: "the client closed the connection".to_owned() });
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.gone();
    }
}

/// The same request, if it may be sent twice and has no body.
fn repeatable(request: &Request<Tee>) -> Option<Request<Tee>> {
    let is_safe = [Method::GET, Method::HEAD, Method::OPTIONS, Method::TRACE].contains(request.method());
    if !is_safe || !request.body().is_end_stream() {
        return None;
    }
    let mut again = Request::new(Tee::empty());
    again.method_mut().clone_from(request.method());
    again.uri_mut().clone_from(request.uri());
    again.headers_mut().clone_from(request.headers());
    again.extensions_mut().clone_from(request.extensions());
    Some(again)
}

/// Passes on what both sides send after they have changed the protocol.
async fn tunnel(to_client: OnUpgrade, to_server: OnUpgrade) {
    if let Ok((client, server)) = tokio::try_join!(to_client, to_server) {
        let (mut client, mut server) = (TokioIo::new(client), TokioIo::new(server));
        // Whoever breaks it off ends it for both.
        let _ended = tokio::io::copy_bidirectional(&mut client, &mut server).await;
    }
}

/// An answer of the proxy itself.
fn own(status: StatusCode, sentence: &str) -> Response<Answer> {
    let text = format!("conform proxy: {sentence}\n");
    let mut response = Response::new(Either::Right(Full::new(Bytes::from(text))));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
