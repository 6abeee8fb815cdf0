//! Serving: the listener, the connections, and the order in which everything stops.

mod connection;
mod connections;
mod exchange;
pub mod files;
mod head;
mod listener;
pub mod refusal;
pub mod stopping;
pub mod tls;

use std::convert::Infallible;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, HttpBody};
use http::{HeaderValue, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

use crate::address::Address;
use crate::app::App;
use crate::docs::Encrypted;
use crate::extension::{Answers, Around};
use crate::router;
use connection::{Phase, Progress, Watched};
use connections::{Connections, Origin, Place};
use exchange::{Download, Upload};
use listener::{Accepted, Listener};

/// How often usage is stored in the database. A kill or a power cut costs what was used since the last time.
const SAVE_EVERY: Duration = Duration::from_millis(500);

/// How long a stopping server tries to write usage down.
const LAST_SAVE: Duration = Duration::from_secs(3);

/// The longest head of a request, and the most that is buffered of one.
const MAX_HEAD: usize = 32 * 1024;

/// How connections are treated.
#[derive(Clone, Copy, Debug)]
pub struct ServeOptions {
    /// How many connections are served at a time. Beyond that the longest idle one makes room for another; more
    /// wait to be accepted while none is idle.
    pub max_connections: usize,
    /// How many of them one address may have (one /64 network of IPv6); more are closed unless one is idle.
    pub max_connections_per_address: usize,
    /// How long a head may take, from its first byte (of the first request: from the connection, as a TLS handshake).
    pub header_timeout: Duration,
    /// How long a connection may be idle between requests.
    pub idle_timeout: Duration,
    /// How long a client may read nothing of a response.
    pub send_timeout: Duration,
    /// How long requests in flight may take to finish when the server stops.
    pub grace: Duration,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            max_connections: 4096,
            max_connections_per_address: 1024,
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_mins(1),
            send_timeout: Duration::from_secs(30),
            grace: Duration::from_secs(10),
        }
    }
}

/// A server that has its address but does not accept yet.
pub struct Server {
    listener: Listener,
    app: Arc<App>,
    tls: Option<TlsAcceptor>,
    options: ServeOptions,
}

impl Server {
    /// Takes the address.
    ///
    /// # Errors
    ///
    /// The error of the system when the address cannot be had: another server listens there, or the path of a Unix socket names
    /// a file of another kind.
    pub fn bind(address: &Address, app: Arc<App>, tls: Option<TlsAcceptor>, options: ServeOptions) -> io::Result<Self> {
        Ok(Self { listener: Listener::bind(address)?, app, tls, options })
    }

    /// The base address of the API, with the port that was really taken; on a Unix socket its host is `localhost`.
    ///
    /// # Errors
    ///
    /// The error of the system when it does not know the address.
    pub fn base_url(&self) -> io::Result<String> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        Ok(format!("{scheme}://{}{}", self.listener.authority()?, self.app.base_path))
    }

    /// Serves with a layer around the application until `stop` completes. Then no connection is accepted any more, requests in flight finish
    /// (for as long as the grace lasts), and what keys have used is written down.
    pub async fn run(self, layer: impl Around, stop: impl Future<Output = ()>) {
        let Self { listener, app, tls, options } = self;
        let connections = Arc::new(Connections::new(&options));
        let watching = tokio::spawn(Arc::clone(&connections).watch(options));
        let (end_saving, ended) = oneshot::channel();
        let saving = tokio::spawn(save_usage(Arc::clone(&app), ended));
        let entrance = router::router(&app);

        let mut stop = std::pin::pin!(stop);
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut stop => break,
                accepted = accept(&listener, &connections) => accepted,
            };
            let (stream, place) = match accepted {
                Ok(Some(accepted)) => accepted,
                Ok(None) => continue,
                Err(error) => {
                    // Nothing but waiting helps when the process is out of files or memory.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let answers = layer.layer(entrance.clone());
            let service = Service { app: Arc::clone(&app), answers, tls: tls.clone() };
            match stream {
                Accepted::Tcp(stream, _) => {
                    connections.spawn(place, |progress| serve_connection(service, stream, progress));
                }
                Accepted::Unix(stream) => {
                    connections.spawn(place, |progress| serve_connection(service, stream, progress));
                }
            }
        }

        drop(listener);
        connections.finish(options.grace).await;
        watching.abort();
        // A save that is under way ends first: what it cannot write down is left to the last one.
        drop(end_saving);
        let _ = saving.await;
        save_usage_at_last(&app).await;
        // Ends once the queue is empty, which takes one commit at most.
        app.store().stop_writing();
    }
}

/// The next connection, with its place. `None` if it has ended already, or if its address has too many: then it is closed at once.
async fn accept(listener: &Listener, connections: &Connections) -> io::Result<Option<(Accepted, Place)>> {
    let stream = match listener.accept().await {
        Ok(accepted) => accepted,
        Err(error) if is_of_the_client(error.kind()) => return Ok(None),
        Err(error) => return Err(error),
    };
    let origin = match stream {
        Accepted::Tcp(_, address) => Origin::from(address),
        Accepted::Unix(_) => Origin::LOCAL,
    };
    let Some(place) = connections.place(origin).await else {
        tracing::debug!(?origin, "refused a connection: its address has as many as one may have");
        return Ok(None);
    };
    Ok(Some((stream, place)))
}

/// Whether an error of accepting a connection is that of its client, which has gone already.
fn is_of_the_client(kind: ErrorKind) -> bool {
    // An option of a connection that has ended cannot be set: EINVAL.
    matches!(
        kind,
        ErrorKind::ConnectionAborted
            | ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
            | ErrorKind::InvalidInput
    )
}

/// Writes down at intervals what keys have used, until the channel is closed.
async fn save_usage(app: Arc<App>, mut ended: oneshot::Receiver<()>) {
    let mut ticks = tokio::time::interval(SAVE_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = &mut ended => return,
            _ = ticks.tick() => {}
        }
        if let Err(error) = app.keys().save_usage().await {
            tracing::warn!(%error, "key usage could not be saved; retrying");
        }
    }
}

/// The last save finds room in the queue sooner or later, because nobody adds animals any more.
async fn save_usage_at_last(app: &App) {
    let deadline = Instant::now() + LAST_SAVE;
    while let Err(error) = app.keys().save_usage().await {
        if Instant::now() >= deadline {
            tracing::error!(%error, "the last usage could not be saved: the next start does not know it");
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// What serves a connection.
#[derive(Clone)]
struct Service<S> {
    app: Arc<App>,
    answers: S,
    tls: Option<TlsAcceptor>,
}

impl<S: Answers> Service<S> {
    /// Answers one request. When its body stays unread, the response announces that the connection closes.
    async fn answer(
        self,
        request: Request<Incoming>,
        progress: Arc<Progress>,
    ) -> Result<Response<Download>, Infallible> {
        progress.enter(Phase::Busy);
        let (parts, body) = request.into_parts();
        let upload = (!body.is_end_stream()).then(|| Upload::new(body, &parts.headers));
        let body = upload.clone().map_or_else(Body::empty, Body::new);
        let mut request = Request::from_parts(parts, body);
        if self.tls.is_some() {
            request.extensions_mut().insert(Encrypted);
        }
        let mut response = match head::fault(&request) {
            Some(error) => refusal::of_request(&self.app, error, request.headers()),
            None => {
                let Ok(response) = self.answers.oneshot(request).await;
                response
            }
        };
        if let Some(upload) = upload
            && !upload.leaves_connection_usable().await
        {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        Ok(response.map(|body| Download::new(body, progress)))
    }
}

async fn serve_connection<S>(service: Service<impl Answers>, stream: S, progress: Arc<Progress>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    match service.tls.clone() {
        None => serve_stream(service, stream, progress).await,
        Some(acceptor) => match acceptor.accept(stream).await {
            Ok(stream) => serve_stream(service, stream, progress).await,
            Err(error) => tracing::debug!(%error, "a TLS handshake failed"),
        },
    }
}

async fn serve_stream<S>(service: Service<impl Answers>, stream: S, progress: Arc<Progress>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    // The first request has to begin at once: only afterwards may a connection be idle.
    progress.enter(Phase::Head);
    let app = Arc::clone(&service.app);
    let refusal = move |status: StatusCode, without_content| refusal::of_bytes(&app, status, without_content);
    let stream = Watched::new(stream, Arc::clone(&progress), refusal);
    let noting = Arc::clone(&progress);
    let mut connection = http1::Builder::new()
        .header_read_timeout(None)
        .half_close(true)
        .max_buf_size(MAX_HEAD)
        .serve_connection(stream, service_fn(move |request| service.clone().answer(request, Arc::clone(&noting))));
    if let Err(error) = progress.drive(&mut connection, |it| Pin::new(&mut **it.get_mut()).graceful_shutdown()).await {
        tracing::debug!(%error, "a connection ended early");
        if error.is_parse_version_h2() {
            // The one thing that hyper neither serves nor answers: the beginning of HTTP/2.
            let _ = connection.into_parts().io.refuse_and_close().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{AppOptions, RequestLimits};
    use crate::clock::Clock;
    use crate::plan::Plan;
    use crate::rate_limit::BanPolicy;
    use crate::store::{KeyStore, Location, Store, StoreError};

    #[tokio::test]
    async fn what_keys_have_used_is_written_down_at_last_when_there_is_room_again() {
        let store = Store::open(&Location::Scratch, 1).expect("a store");
        let key_store = KeyStore::open_for(&store).expect("a second connection");
        let (_, key) = crate::keys::issue(&key_store, "test", Plan::Free, 0).expect("a key");
        let options = AppOptions {
            base_path: String::new(),
            clock: Clock::frozen(600),
            ban: BanPolicy::default(),
            limits: RequestLimits::default(),
        };
        let app = Arc::new(App::new(store, options));
        let mut request = Request::builder().uri("/pets");
        request = request.header("authorization", format!("Bearer {}", key.reveal()));
        let request = request.body(Body::empty()).expect("a request");
        let answer = router::router(&app).oneshot(request).await.expect("an answer");
        assert_eq!(answer.status(), 200);

        // While another process has the database, one creation is being written and one waits: the queue is full.
        key_store.lock();
        let pet = || crate::wire::NewPet::parse(br#"{"name":"Rex","categoryId":1}"#).expect("an animal");
        let mut queued = 0;
        loop {
            match tokio::time::timeout(Duration::ZERO, app.store().create(pet())).await {
                Err(_still_waits) => queued += 1,
                // Where one has room, a second one is queued only when the first is being written.
                Ok(Err(StoreError::QueueFull)) if queued > 1 => break,
                Ok(_) => {}
            }
        }
        // The first attempt finds no room; then there is some again.
        tokio::join!(save_usage_at_last(&app), async { key_store.unlock() });
        assert_eq!(key_store.list().expect("the keys")[0].usage.in_minute, 1);
    }
}
