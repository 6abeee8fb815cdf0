//! A reverse proxy that passes traffic on unchanged and judges it: both sides, while it runs.
//!
//! ```text
//!  client ─▶ forward ─▶ upstream        bodies stream both ways; of each, a copy up to a bound is kept
//!               │
//!            capture ─▶ judging         a thread judges the exchanges, in parts where no request is under way
//! ```
//!
//! The proxy sees everything that its clients send, but others may use the same keys: the extent of the trace is a conversation. Where the
//! server gives no response (it is down, or the connection broke), the client gets 502 or 504, and no finding is based on that.

mod arrival;
mod budget;
mod capture;
mod forward;
mod hop;
mod interim;
mod judging;
mod part;
mod target;
mod tee;
mod traffic;
mod upstream;

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use self::forward::{Connection, Counts, Forwarder};
use self::interim::Rewritten;
use self::judging::JudgingThread;
pub use self::upstream::UnusableUpstream;
use self::upstream::Upstream;
use animal_store_conformance::Interrupt;
use animal_store_conformance::http::Clock;
use animal_store_conformance::http::errors::of_file;
use animal_store_conformance::recorded::Terms;
use animal_store_conformance::report::Report;

/// The maximum number of connections of clients of a proxy that bounds its memory.
pub const MOST_CONNECTIONS: usize = 512;

/// The maximum size of the buffer of a connection in each direction, and so of the head of a message, in bytes.
const MOST_BUFFERED: usize = 64 * 1024;

/// The maximum time that pending requests may still take at the end.
const GRACE: Duration = Duration::from_secs(5);

/// The settings of a proxy.
pub struct Settings {
    /// The base URL of the server, without a trailing slash.
    pub to: String,
    /// PEM certificates to trust in addition to the system's.
    pub ca_certificates: Vec<u8>,
    /// The maximum time that the server may take to connect, and to begin a response.
    pub timeout: Duration,
    /// The number of requests after which the proxy ends.
    pub max_requests: Option<usize>,
    /// The maximum number of connections of clients. Further ones wait until one is closed.
    pub max_connections: usize,
    /// The terms on which the traffic is judged.
    pub terms: Terms,
    /// The command that repeats the judgement.
    pub rerun_command: String,
    /// The writer of the trace.
    pub record: Option<Box<dyn Write + Send>>,
    /// Receives each event at once.
    pub on_event: OnEvent,
    /// The clock.
    pub clock: Clock,
}

/// An event while a proxy runs.
#[derive(Clone, Copy, Debug)]
pub enum ProxyEvent<'e> {
    /// The line for a new finding.
    Finding(&'e str),
    /// A line on behaviour of clients or the server that cannot be judged.
    Notice(&'e str),
    /// The trace cannot be written any more.
    Unwritten(&'e std::io::Error),
}

/// Receives events, on several threads.
pub type OnEvent = Arc<dyn Fn(ProxyEvent<'_>) + Send + Sync>;

/// The reason why no proxy can be started.
#[derive(Debug, thiserror::Error)]
pub enum Unstartable {
    /// The address cannot be listened on.
    #[error("cannot listen on {0}: {problem}", problem = of_file(.1))]
    Listen(SocketAddr, std::io::Error),
    /// The server cannot be reached with these settings.
    #[error(transparent)]
    Upstream(#[from] UnusableUpstream),
    /// The thread that judges cannot be started.
    #[error("cannot start a thread: {}", of_file(.0))]
    Thread(std::io::Error),
}

/// The outcome of a proxy.
pub struct Outcome {
    /// The reason why the traffic shows nothing of the service, if so.
    pub unreached: Option<String>,
    /// The report. It has no requests if none to the service went through.
    pub report: Report,
    /// The reason why the trace could not be written, if so.
    pub unwritten: Option<std::io::Error>,
}

/// A proxy that listens.
pub struct Proxy {
    listener: TcpListener,
    forwarder: Arc<Forwarder>,
    max_connections: usize,
    judging: JudgingThread,
}

impl Proxy {
    /// Listens on an address.
    ///
    /// # Errors
    ///
    /// [`Unstartable`], if the proxy cannot be started.
    pub async fn listen(address: SocketAddr, settings: Settings) -> Result<Proxy, Unstartable> {
        let unusable = |error| Unstartable::Listen(address, error);
        let listener = TcpListener::bind(address).await.map_err(unusable)?;
        let address = listener.local_addr().map_err(unusable)?;
        let upstream = Upstream::new(&settings.to, &settings.ca_certificates, settings.timeout)?;
        let (max_requests, max_connections) = (settings.max_requests.unwrap_or(usize::MAX), settings.max_connections);
        let on_event = Arc::clone(&settings.on_event);
        let (judging, log) = JudgingThread::start(settings).map_err(Unstartable::Thread)?;
        let forwarder = Arc::new(Forwarder {
            upstream,
            log,
            max_requests,
            counts: Counts::default(),
            exhausted: Interrupt::default(),
            connections: Arc::default(),
            address,
            failure: OnceLock::new(),
            on_event,
        });
        Ok(Proxy { listener, forwarder, max_connections, judging })
    }

    /// The base URL that clients on this machine use.
    pub fn base_url(&self) -> String {
        let mut address = self.forwarder.address;
        match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
            _ => {}
        }
        format!("http://{address}{}", self.forwarder.base_path())
    }

    /// Passes requests on until the interrupt is raised or the limit is reached, and judges them.
    pub async fn run(self, interrupt: &Interrupt) -> Outcome {
        let mut connections = JoinSet::new();
        let stop = Interrupt::default();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if connections.len() < self.max_connections => match accepted {
                    Ok((stream, _)) => {
                        let _without_delay = stream.set_nodelay(true);
                        let connection = Connection::new(Arc::clone(&self.forwarder));
                        connections.spawn(serve(stream, connection, stop.clone()));
                    }
                    // Too many open files, for example: the connections that are open go on.
                    Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                },
                Some(_) = connections.join_next() => {}
                () = self.forwarder.exhausted.raised() => break,
                () = interrupt.raised() => break,
            }
        }
        drop(self.listener);
        stop.raise();
        let ended = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(GRACE, ended).await.is_err() {
            connections.shutdown().await;
        }
        let (notes, unreached) = (self.forwarder.notes(), self.forwarder.unreached());
        drop(self.forwarder);
        Outcome { unreached, ..self.judging.end(notes).await }
    }
}

/// Serves one connection of a client until either side closes it, or until its last response once `stop` is raised.
async fn serve(stream: impl AsyncStream, connection: Connection, stop: Interrupt) {
    let stream = connection.open.watch(stream, Arc::clone(&connection.forwarder.log.traffic));
    let stream = Rewritten::of_client(stream, connection.interim.clone());
    let connection = Arc::new(connection);
    let service = service_fn(move |request| {
        let connection = Arc::clone(&connection);
        async move { Ok::<_, std::convert::Infallible>(connection.forward(request).await) }
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder
        .preserve_header_case(true)
        .auto_date_header(false)
        .header_read_timeout(None)
        .max_buf_size(MOST_BUFFERED)
        .half_close(true);
    let mut serving = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service).with_upgrades());
    tokio::select! {
        // A client that goes away is no error of the proxy.
        _ended = serving.as_mut() => {}
        () = stop.raised() => {
            serving.as_mut().graceful_shutdown();
            let _ended = serving.await;
        }
    }
}

/// A connection.
trait AsyncStream: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send + 'static> AsyncStream for T {}
