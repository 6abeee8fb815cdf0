//! The control of a server by a test: the animals and usage of the server, its clock, single responses, and the recording of its
//! traffic.

mod answers;
mod routes;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::ops::Deref;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::StatusCode;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::task::{JoinHandle, JoinSet};
use tower::ServiceExt;

use self::answers::{Answers, Given};
use super::clock::TestClock;
use super::delay::Delay;
use super::record::Recording;
use crate::Lab;
use crate::vector::{Vector, VectorError, Wish};
use animal_store_reference::app::App;
use animal_store_reference::extension::ExtensionError;
use animal_store_reference::keys::ApiKey;
use animal_store_reference::rate_limit::Usage;
use animal_store_reference::respond::ApiError;
use animal_store_reference::store::Catalogue;
use animal_store_secrets::printable::printable;

use routes::router;

/// The maximum number of snapshots: each is a whole catalogue in memory.
const MOST_SNAPSHOTS: usize = 100;

/// The time within which the head of a request must arrive.
const HEAD_WITHIN: Duration = Duration::from_secs(5);

/// The address on which the control listens: a port of this machine alone, or an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ControlAddress(pub(crate) SocketAddr);

impl FromStr for ControlAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let local = text.parse::<u16>().map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        let address = local.or_else(|_| text.parse());
        address.map(Self).map_err(|_| "it must be a port, such as 9090, or an address and a port".to_owned())
    }
}

/// The state of a server that a test can bring back.
#[derive(Clone, Debug, Default)]
struct Snapshot {
    catalogue: Catalogue,
    /// The usage of each key, by the number of the key. A key that is absent was not used.
    usage: HashMap<i64, Usage>,
}

/// The parts of a controlled server.
pub(crate) struct Parts {
    /// The application.
    pub(crate) app: Arc<App>,
    /// The laboratory, plain or not.
    pub(crate) lab: Arc<Lab>,
    /// The choices and faults that were requested at the start.
    pub(crate) wish: Wish,
    /// The clock of the application.
    pub(crate) clock: TestClock,
    /// The delay of responses.
    pub(crate) delay: Arc<Delay>,
    /// The catalogue as it was before the laboratory was prepared, to which a reset returns.
    pub(crate) start: Catalogue,
    /// The base address of the API.
    pub(crate) base_url: String,
    /// The keys that the server has from the start, except those that are only known as hashes.
    pub(crate) keys: Vec<ApiKey>,
}

/// The control of a server.
pub(crate) struct Control {
    parts: Parts,
    start: Snapshot,
    snapshots: Mutex<BTreeMap<String, Snapshot>>,
    answers: Answers,
    recording: Arc<Recording>,
    /// The present choices and faults.
    vector: Mutex<Vector>,
    /// Held while the state is replaced, so that two tests do not mix theirs.
    replacing: tokio::sync::Mutex<()>,
    /// The number of requests that the server has handled since the start or the last reset.
    requests: AtomicU64,
}

/// The proof that no other request replaces the state.
type Alone<'a> = tokio::sync::MutexGuard<'a, ()>;

impl Control {
    /// The control of a server that is about to be served.
    ///
    /// # Errors
    ///
    /// [`VectorError`] when the requested choices and faults exclude each other or do not exist.
    pub(crate) fn new(mut parts: Parts) -> Result<Self, VectorError> {
        let start = Snapshot { catalogue: std::mem::take(&mut parts.start), usage: HashMap::new() };
        Ok(Self {
            start,
            vector: Mutex::new(Vector::new(&parts.wish)?),
            snapshots: Mutex::default(),
            answers: Answers::default(),
            recording: Arc::new(Recording::new(Arc::clone(&parts.app), &parts.keys)),
            replacing: tokio::sync::Mutex::default(),
            requests: AtomicU64::new(0),
            parts,
        })
    }

    /// The number of the next request, from 1.
    pub(crate) fn next_request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The recording of the server's traffic.
    pub(super) fn recording(&self) -> &Arc<Recording> {
        &self.recording
    }

    /// The prepared answer to a request, if there is one.
    pub(super) fn prepared(&self, request: &axum::extract::Request) -> Option<Given> {
        let mut given = self.answers.take(&self.parts.app.options.base_path, request)?;
        let date = animal_store_reference::respond::http_date(self.parts.app.options.clock.now());
        given.response.headers_mut().entry(http::header::DATE).or_insert(date);
        Some(given)
    }

    /// Returns to the animals of the start and to keys that were never used; forgets prepared answers. Requests are numbered
    /// and delays drawn as from the start, and the faults of the start return. Returns the number of animals.
    async fn reset(&self) -> Result<usize, ApiError> {
        let alone = self.replacing.lock().await;
        self.change_faults(self.parts.wish.fault.clone(), &alone).await?;
        let animals = self.put_back(&self.start, &alone).await?;
        self.answers.clear();
        self.requests.store(0, Ordering::Relaxed);
        self.parts.delay.restart();
        Ok(animals)
    }

    /// Returns the present choices and faults.
    fn vector(&self) -> MutexGuard<'_, Vector> {
        self.vector.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the present faults by these. The memory of the layers is cleared.
    async fn set_faults(&self, faults: Vec<String>) -> Result<(), ApiError> {
        self.change_faults(faults, &self.replacing.lock().await).await
    }

    async fn change_faults(&self, faults: Vec<String>, _alone: &Alone<'_>) -> Result<(), ApiError> {
        let wish = Wish { fault: faults, ..self.parts.wish.clone() };
        let vector = Vector::new(&wish).map_err(|error| self.invalid(&error.to_string()))?;
        if let Some(about) = vector.set_up_differs(&self.vector()) {
            return Err(self.invalid(&format!("these faults decide {about}, which stays as it was at the start")));
        }
        self.parts.lab.change(vector.variation()).await.map_err(|error| failed(&error))?;
        *self.vector() = vector;
        Ok(())
    }

    async fn put_back(&self, snapshot: &Snapshot, _alone: &Alone<'_>) -> Result<usize, ApiError> {
        let app = &self.parts.app;
        app.replace(snapshot.catalogue.clone()).await?;
        app.keys.set_usage(&snapshot.usage);
        self.parts.lab.restart().await.map_err(|error| failed(&error))?;
        Ok(snapshot.catalogue.len())
    }

    fn snapshots(&self) -> MutexGuard<'_, BTreeMap<String, Snapshot>> {
        self.snapshots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the present state by this name, in place of an earlier state of the same name. Returns the number of animals.
    async fn keep(&self, name: &str) -> Result<usize, ApiError> {
        let _alone = self.replacing.lock().await;
        let app = &self.parts.app;
        let snapshot = Snapshot { catalogue: app.store.catalogue()?, usage: app.keys.usage() };
        let animals = snapshot.catalogue.len();
        let mut snapshots = self.snapshots();
        if snapshots.len() >= MOST_SNAPSHOTS && !snapshots.contains_key(name) {
            let message = format!("there are {MOST_SNAPSHOTS} snapshots already: delete one");
            return Err(ApiError {
                status: StatusCode::CONFLICT,
                code: "too_many",
                message: message.into(),
                header: None,
            });
        }
        snapshots.insert(name.to_owned(), snapshot);
        Ok(animals)
    }

    /// Returns to a kept state. Returns the number of animals.
    async fn restore(&self, name: &str) -> Result<usize, ApiError> {
        let alone = self.replacing.lock().await;
        let snapshot = self.snapshots().get(name).cloned().ok_or_else(no_snapshot)?;
        self.put_back(&snapshot, &alone).await
    }

    /// Refuses a body. The message may repeat text of the body, but no key.
    fn invalid(&self, message: &str) -> ApiError {
        ApiError::bad_request("invalid_body", printable(&self.recording.without_keys(message)))
    }
}

fn no_snapshot() -> ApiError {
    ApiError::not_found("there is no snapshot of this name")
}

fn failed(error: &ExtensionError) -> ApiError {
    tracing::error!(%error, "the laboratory cannot be changed");
    ApiError::internal()
}

/// A control that is listening. It ends when it is dropped.
pub(crate) struct Listening {
    control: Arc<Control>,
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Listening {
    /// Serves a control on an address, in the current tokio runtime.
    ///
    /// # Errors
    ///
    /// The error of the operating system when the address cannot be used.
    pub(crate) fn start(listener: TcpListener, control: Arc<Control>) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let task = tokio::spawn(serve(listener, router(Arc::clone(&control), address)));
        Ok(Self { control, address, task })
    }

    /// The address of the control, with the port that was really taken.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// A warning if the control can be reached from another machine.
    pub(crate) fn exposure(&self) -> Option<String> {
        let address = self.address;
        (!address.ip().is_loopback()).then(|| {
            format!(
                "with --control on {address}, everyone who reaches it reads requests and replaces animals without a key: let \
                 only tests reach it"
            )
        })
    }
}

/// Serves connections until the future is dropped. The head of a request must arrive in time, and idle connections end as well.
async fn serve(listener: tokio::net::TcpListener, router: Router) {
    let mut connections = JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let service = router.clone().map_request(|request: Request<Incoming>| request.map(Body::new));
                let connection = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(HEAD_WITHIN)
                    .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
                connections.spawn(connection);
            }
            Err(error) => {
                tracing::warn!(%error, "the control cannot accept a connection");
                tokio::time::sleep(HEAD_WITHIN / 100).await;
            }
        }
        // Connections that have ended are forgotten.
        while connections.try_join_next().is_some() {}
    }
}

impl Deref for Listening {
    type Target = Control;

    fn deref(&self) -> &Control {
        &self.control
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_one_of_this_machine_and_an_address_says_otherwise() {
        let address = |text: &str| text.parse().map(|ControlAddress(address)| address.to_string());
        assert_eq!(address("9090").as_deref(), Ok("127.0.0.1:9090"));
        assert_eq!(address("0.0.0.0:9090").as_deref(), Ok("0.0.0.0:9090"));
        assert_eq!(address("[::1]:0").as_deref(), Ok("[::1]:0"));
        for wrong in ["", "localhost", "70000", "127.0.0.1"] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }
}
