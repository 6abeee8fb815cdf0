//! Passes requests on to the server and responses back, on a connection to the server for each connection of a client.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use http_body_util::{Either, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1::SendRequest;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::http::request::Parts;
use hyper::http::response;
use hyper::http::uri::Authority;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode, Version};
use hyper_util::rt::TokioIo;

use super::arrival::{Connections, Open};
use super::capture::{self, Answer, Asked, Captured};
use super::hop::{self, Refusal};
use super::interim::Interim;
use super::judging::Log;
use super::tee::{Copied, End, Tee, Upload, failed, failure};
use super::upstream::Upstream;
use super::{OnEvent, ProxyEvent};
use animal_store_conformance::Interrupt;
use animal_store_rules::trace::exchange::{Failure, FailureKind, Response as Head};

/// The end of the base URL of a service.
const VERSION: &str = "/v1";

/// The time after which the body of a request is sent to a server that says nothing to `Expect: 100-continue`.
const CONTINUE_WAIT: Duration = Duration::from_secs(1);

/// The body of a response: that of the server, or of the proxy itself.
type ResponseBody = Either<Tee, Full<Bytes>>;

/// The state that all connections share.
pub(super) struct Forwarder {
    pub(super) upstream: Upstream,
    pub(super) log: Log,
    /// The number of requests after which no more are passed on.
    pub(super) max_requests: usize,
    pub(super) counts: Counts,
    /// Is raised when the last request that the limit allows has arrived.
    pub(super) exhausted: Interrupt,
    pub(super) connections: Arc<Connections>,
    /// The address that clients reach.
    pub(super) address: SocketAddr,
    /// The failure of the first request that got no response from the server.
    pub(super) failure: OnceLock<Failure>,
    pub(super) on_event: OnEvent,
}

/// The numbers of requests and responses.
#[derive(Default)]
pub(super) struct Counts {
    requests: AtomicUsize,
    /// The number of requests to paths outside the service.
    elsewhere: AtomicUsize,
    /// The number of requests without a complete response from the server.
    unserved: AtomicUsize,
    answered: AtomicUsize,
    /// The number of responses with 404.
    absent: AtomicUsize,
}

impl Forwarder {
    /// Returns true if an authority is that of the server, or one under which clients reach the proxy.
    fn is_own(&self, authority: &Authority) -> bool {
        let is_servers = self.upstream.authority.to_str().is_ok_and(|own| authority.as_str().eq_ignore_ascii_case(own));
        is_servers || authority.port_u16() == Some(self.address.port())
    }

    /// The reason why the traffic shows nothing of the service, if so: the server was not reached, or is not at this base URL.
    pub(super) fn unreached(&self) -> Option<String> {
        let [answered, absent] =
            [&self.counts.answered, &self.counts.absent].map(|count| count.load(Ordering::Relaxed));
        match self.failure.get() {
            Some(failure) if answered == 0 => Some(format!("no request was answered: {}", failure.detail)),
            _ if answered > 0 && absent == answered && !self.base_path().ends_with(VERSION) => Some(format!(
                "the server answers every request with 404\n  The base URL ends with the version segment: does --to lack {VERSION}?"
            )),
            _ => None,
        }
    }

    pub(super) fn base_path(&self) -> &str {
        &self.upstream.base_path
    }

    /// The notes on the traffic in addition to the verdicts.
    pub(super) fn notes(&self) -> Vec<String> {
        let counted = |counter: &AtomicUsize, what: &str| {
            let count = counter.load(Ordering::Relaxed);
            (count > 0).then(|| format!("{count} of {} requests {what}", self.counts.requests.load(Ordering::Relaxed)))
        };
        let elsewhere = format!("were passed on to paths outside {}, unjudged", self.base_path());
        let unserved = "got no complete response from the server (unreachable, connection broken, or the client disconnected); \
                        no finding is based on them";
        [counted(&self.counts.elsewhere, &elsewhere), counted(&self.counts.unserved, unserved)]
            .into_iter()
            .flatten()
            .collect()
    }
}

/// A connection of a client, with its connection to the server.
pub(super) struct Connection {
    pub(super) forwarder: Arc<Forwarder>,
    pub(super) open: Open,
    /// The interim responses to the client.
    pub(super) interim: Interim,
    /// The connection to the server, kept from one request to the next.
    server: Mutex<Option<SendRequest<Tee>>>,
}

impl Connection {
    pub(super) fn new(forwarder: Arc<Forwarder>) -> Connection {
        let open = Connections::open(&forwarder.connections);
        Connection { forwarder, open, interim: Interim::default(), server: Mutex::new(None) }
    }

    /// Passes a request on, and returns the response.
    pub(super) async fn forward(&self, mut request: Request<Incoming>) -> Response<ResponseBody> {
        let forwarder = &self.forwarder;
        let number = forwarder.counts.requests.fetch_add(1, Ordering::Relaxed) + 1;
        if number >= forwarder.max_requests {
            forwarder.exhausted.raise();
        }
        if number > forwarder.max_requests {
            return own(StatusCode::SERVICE_UNAVAILABLE, "the limit of requests is reached");
        }
        let to_client = hyper::upgrade::on(&mut request);
        let (mut parts, body) = request.into_parts();
        let mut pending = Pending::new(forwarder, &parts, &self.open);
        let takes_interim = parts.version >= Version::HTTP_11;
        let is_own = |authority: &Authority| forwarder.is_own(authority);
        let is_upgrade = match hop::to_server(&mut parts, &forwarder.upstream.authority, is_own) {
            Ok(is_upgrade) => is_upgrade,
            Err(Refusal { status, sentence }) => {
                pending.forget();
                return own(status, &sentence);
            }
        };
        let upload = pending.upload.clone();
        let mut is_held = hop::expects_continue(&parts.headers) && !body.is_end_stream();
        upload.hold(is_held);
        let body = Tee::upload(body, Copied::new(&forwarder.log.budget), &upload);
        let mut request = Request::from_parts(parts, body);
        let (of_client, released) = (self.interim.clone(), upload.clone());
        hyper::ext::on_informational(&mut request, move |interim| match interim.status() {
            // hyper writes it when the body is read.
            StatusCode::CONTINUE => released.hold(false),
            status if takes_interim => of_client.add(status, interim.headers()),
            _ => {}
        });
        let mut sending = std::pin::pin!(self.send(request));
        let mut late = std::pin::pin!(upload.is_late(forwarder.upstream.timeout));
        let mut continued = std::pin::pin!(tokio::time::sleep(CONTINUE_WAIT));
        let answered = loop {
            tokio::select! {
                biased;
                () = self.interim.added() => {}
                answered = &mut sending => break answered,
                () = &mut continued, if is_held => {
                    is_held = false;
                    upload.hold(false);
                }
                () = &mut late => break Err(failed(FailureKind::Timeout, "no answer within the timeout")),
            }
        };
        let answered = answered.and_then(|(response, server)| match hop::defect(&response, is_upgrade) {
            None => Ok((response, server)),
            Some(defect) => Err(failed(FailureKind::Broken, defect)),
        });
        match answered {
            Ok((response, server)) => self.answer(response, server, pending, is_upgrade.then_some(to_client)),
            Err(_) if upload.is_broken() => {
                let sentence = "the body of the request broke off, or is not valid HTTP";
                pending.unserved(failed(FailureKind::Broken, sentence));
                own(StatusCode::BAD_REQUEST, sentence)
            }
            Err(failure) => {
                let late = failure.kind == FailureKind::Timeout;
                let status = if late { StatusCode::GATEWAY_TIMEOUT } else { StatusCode::BAD_GATEWAY };
                let answer = own(status, &failure.detail);
                // The first one is a warning.
                if forwarder.failure.set(failure.clone()).is_ok() {
                    let sentence = format!("warning: a request to the server got no response: {}", failure.detail);
                    (forwarder.on_event)(ProxyEvent::Notice(&sentence));
                }
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
            // A request without a body may be sent twice, unless its method changes something.
            let is_safe = [Method::GET, Method::HEAD, Method::OPTIONS, Method::TRACE].contains(request.method());
            let (parts, body) = request.into_parts();
            let again =
                (is_safe && body.is_end_stream()).then(|| Request::from_parts(parts.clone(), Tee::uncopied(None)));
            match server.try_send_request(Request::from_parts(parts, body)).await {
                Ok(response) => return Ok((response, server)),
                // The server has closed the connection, as it may at any time: the request is repeated on a new one, as a client would.
                Err(mut error) => match error.take_message().or(again) {
                    Some(unsent) => request = unsent,
                    None => return Err(failure(error.error(), FailureKind::Broken)),
                },
            }
        }
        let mut server = self.forwarder.upstream.connect().await?;
        let response = server.send_request(request).await.map_err(|error| failure(&error, FailureKind::Broken))?;
        Ok((response, server))
    }

    /// Passes a response back.
    fn answer(
        &self,
        mut response: Response<Incoming>,
        server: SendRequest<Tee>,
        mut pending: Pending,
        to_client: Option<OnUpgrade>,
    ) -> Response<ResponseBody> {
        let to_server = hyper::upgrade::on(&mut response);
        let (mut parts, body) = response.into_parts();
        hop::to_client(parts.status, &mut parts.headers);
        if let (StatusCode::SWITCHING_PROTOCOLS, Some(to_client)) = (parts.status, to_client) {
            pending.forget();
            tokio::spawn(tunnel(to_client, to_server));
            return Response::from_parts(parts, Either::Left(Tee::uncopied(Some(body))));
        }
        *self.server.lock().unwrap_or_else(PoisonError::into_inner) = Some(server);
        self.forwarder.counts.answered.fetch_add(1, Ordering::Relaxed);
        if parts.status == StatusCode::NOT_FOUND {
            self.forwarder.counts.absent.fetch_add(1, Ordering::Relaxed);
        }
        if !pending.is_judged(&parts) {
            return Response::from_parts(parts, Either::Left(Tee::uncopied(Some(body))));
        }
        let head = capture::head(&parts);
        let copied = Copied::new(&self.forwarder.log.budget);
        let finish = Box::new(move |copied, end: &End| pending.finish(head, copied, end));
        Response::from_parts(parts, Either::Left(Tee::new(body, copied, finish)))
    }
}

/// A request whose exchange is not complete yet. If it is dropped, the client has closed the connection.
struct Pending {
    forwarder: Arc<Forwarder>,
    /// The kept parts of the request, or `None` if it is not judged.
    asked: Option<Asked>,
    upload: Upload,
}

impl Pending {
    fn new(forwarder: &Arc<Forwarder>, parts: &Parts, open: &Open) -> Pending {
        let log = &forwarder.log;
        let begin = || log.traffic.begin(open.arrived());
        let asked = Asked::new(parts, forwarder.base_path(), open.carrier(), log.budget.reserve(), begin);
        match &asked {
            Some(asked) if asked.is_outside => drop(forwarder.counts.elsewhere.fetch_add(1, Ordering::Relaxed)),
            Some(_) => {}
            None => forwarder.log.lose(),
        }
        Pending { forwarder: Arc::clone(forwarder), asked, upload: Upload::new() }
    }

    /// Forgets the request, which is not judged.
    fn forget(&mut self) {
        if let Some(asked) = self.asked.take() {
            self.forwarder.log.traffic.end(asked.ticket);
        }
    }

    /// Returns true if the response that has begun is judged. At a path outside the service, the request alone is judged.
    fn is_judged(&mut self, response: &response::Parts) -> bool {
        if self.asked.as_ref().is_some_and(|asked| asked.is_outside) {
            self.conclude(Answer::None(failed(FailureKind::Broken, "a path outside the service")));
        } else if self.asked.as_mut().is_some_and(|asked| !asked.grow(response)) {
            self.forget();
            self.forwarder.log.lose();
        }
        self.asked.is_some()
    }

    /// Notes the end of the response's body.
    fn finish(&mut self, head: Head, copied: Copied, end: &End) {
        match end {
            End::Whole => self.conclude(Answer::Response(head, copied)),
            End::Broken(failure) => self.unserved(failure.clone()),
            End::Unread => self.gone(),
        }
    }

    /// Notes that the server did not answer the request.
    fn unserved(&mut self, failure: Failure) {
        if self.asked.as_ref().is_some_and(|asked| !asked.is_outside) {
            self.forwarder.counts.unserved.fetch_add(1, Ordering::Relaxed);
        }
        self.conclude(Answer::None(failure));
    }

    /// Hands in the exchange.
    fn conclude(&mut self, answer: Answer) {
        if let Some(mut asked) = self.asked.take() {
            asked.ends_beside(self.forwarder.connections.others());
            let log = &self.forwarder.log;
            log.take(Captured { asked, sent: self.upload.take(), answer, received_at: log.traffic.now() });
        }
    }

    fn gone(&mut self) {
        self.unserved(failed(FailureKind::Broken, "the client closed the connection"));
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.gone();
    }
}

/// Passes on the bytes of both sides after they have changed the protocol.
async fn tunnel(to_client: OnUpgrade, to_server: OnUpgrade) {
    if let Ok((client, server)) = tokio::try_join!(to_client, to_server) {
        let (mut client, mut server) = (TokioIo::new(client), TokioIo::new(server));
        // The end of either side ends both.
        let _ended = tokio::io::copy_bidirectional(&mut client, &mut server).await;
    }
}

/// A response of the proxy itself.
fn own(status: StatusCode, sentence: &str) -> Response<ResponseBody> {
    let text = format!("conform proxy: {sentence}\n");
    let mut response = Response::new(Either::Right(Full::new(Bytes::from(text))));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
