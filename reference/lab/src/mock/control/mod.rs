//! The control of a server by a test: the animals and usage of the server, its clock, single responses, and the recording of its
//! traffic.

mod answers;
mod routes;

use std::collections::{BTreeMap, HashMap};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::{borrow::Cow, io, str::FromStr, time::Duration};

use axum::{Router, body::Body};
use http::StatusCode;
use hyper::{Request, body::Incoming, server::conn::http1};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::task::JoinSet;
use tower::ServiceExt;

use self::answers::{Given, Prepared};
use super::{clock::TestClock, delay::Delay, record::Recording};
use crate::vector::{Vector, Wish};
use crate::{Lab, state::lock};
use animal_store_reference::store::Catalogue;
use animal_store_reference::{app::App, extension::ExtensionError, rate_limit::Usage, respond::ApiError};
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
pub(crate) struct Snapshot {
    pub(crate) catalogue: Catalogue,
    /// The usage of each key, by the number of the key. A key that is absent was not used.
    pub(crate) usage: HashMap<i64, Usage>,
}

/// The control of a server.
pub(crate) struct Control {
    /// The application.
    pub(crate) app: Arc<App>,
    /// The laboratory, plain or not.
    pub(crate) lab: Arc<Lab>,
    /// The choices and faults that were requested at the start.
    pub(crate) wish: Wish,
    /// The present choices and faults.
    pub(crate) vector: Mutex<Vector>,
    /// The clock of the application.
    pub(crate) clock: TestClock,
    /// The delay of responses.
    pub(crate) delay: Arc<Delay>,
    /// The state to which a reset returns: the catalogue as it was before the laboratory was prepared.
    pub(crate) start: Snapshot,
    /// The base address of the API.
    pub(crate) base_url: String,
    /// The recording of the server's traffic.
    pub(crate) recording: Arc<Recording>,
    pub(crate) state: TestState,
}

/// The state that tests make.
#[derive(Default)]
pub(crate) struct TestState {
    snapshots: Mutex<BTreeMap<String, Snapshot>>,
    /// The answers that wait for their requests, in the order in which they were prepared.
    answers: Mutex<Vec<Prepared>>,
    /// Held while the state is replaced, so that two tests do not mix theirs.
    replacing: tokio::sync::Mutex<()>,
    /// The number of requests that the server has handled since the start or the last reset.
    requests: AtomicU64,
}

/// The proof that no other request replaces the state.
type Alone<'a> = tokio::sync::MutexGuard<'a, ()>;

impl Control {
    /// The number of the next request, from 1.
    pub(crate) fn next_request(&self) -> u64 {
        self.state.requests.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The prepared answer to a request, if there is one.
    pub(super) fn prepared(&self, request: &axum::extract::Request) -> Option<Given> {
        let mut given = answers::take(&mut lock(&self.state.answers), &self.app.options.base_path, request)?;
        let date = animal_store_reference::respond::http_date(self.app.options.clock.now());
        given.response.headers_mut().entry(http::header::DATE).or_insert(date);
        Some(given)
    }

    /// Returns to the animals of the start and to keys that were never used; forgets prepared answers. Requests are numbered
    /// and delays drawn as from the start, and the faults of the start return. Returns the number of animals.
    async fn reset(&self) -> Result<usize, ApiError> {
        let alone = self.state.replacing.lock().await;
        self.change_faults(self.wish.fault.clone(), &alone).await?;
        let animals = self.put_back(&self.start, &alone).await?;
        lock(&self.state.answers).clear();
        self.state.requests.store(0, Ordering::Relaxed);
        self.delay.restart();
        Ok(animals)
    }

    /// Replaces the present faults by these. The memory of the layers is cleared.
    async fn set_faults(&self, faults: Vec<String>) -> Result<(), ApiError> {
        self.change_faults(faults, &self.state.replacing.lock().await).await
    }

    async fn change_faults(&self, faults: Vec<String>, _alone: &Alone<'_>) -> Result<(), ApiError> {
        let wish = Wish { fault: faults, ..self.wish.clone() };
        let vector = Vector::new(&wish).map_err(|error| self.invalid(&error))?;
        if let Some(about) = vector.set_up_differs(&lock(&self.vector)) {
            return Err(self.invalid(&format!("these faults decide {about}, which stays as it was at the start")));
        }
        self.lab.change(vector.variation()).await.map_err(|error| failed(&error))?;
        *lock(&self.vector) = vector;
        Ok(())
    }

    async fn put_back(&self, snapshot: &Snapshot, _alone: &Alone<'_>) -> Result<usize, ApiError> {
        let app = &self.app;
        app.replace(snapshot.catalogue.clone()).await?;
        app.keys.set_usage(&snapshot.usage);
        self.lab.restart().await.map_err(|error| failed(&error))?;
        Ok(snapshot.catalogue.len())
    }

    /// Keeps the present state by this name, in place of an earlier state of the same name. Returns the number of animals.
    async fn keep(&self, name: &str) -> Result<usize, ApiError> {
        let _alone = self.state.replacing.lock().await;
        let app = &self.app;
        let snapshot = Snapshot { catalogue: app.store.catalogue()?, usage: app.keys.usage() };
        let animals = snapshot.catalogue.len();
        let mut snapshots = lock(&self.state.snapshots);
        if snapshots.len() >= MOST_SNAPSHOTS && !snapshots.contains_key(name) {
            let message = format!("there are {MOST_SNAPSHOTS} snapshots already: delete one");
            return Err(refused(StatusCode::CONFLICT, "too_many", message));
        }
        snapshots.insert(name.to_owned(), snapshot);
        Ok(animals)
    }

    /// Returns to a kept state. Returns the number of animals.
    async fn restore(&self, name: &str) -> Result<usize, ApiError> {
        let alone = self.state.replacing.lock().await;
        let snapshot = lock(&self.state.snapshots).get(name).cloned().ok_or_else(no_snapshot)?;
        self.put_back(&snapshot, &alone).await
    }

    /// Refuses a body. The message may repeat text of the body, but no key.
    fn invalid(&self, message: &str) -> ApiError {
        ApiError::bad_request("invalid_body", printable(&self.recording.without_keys(message)))
    }
}

fn refused(status: StatusCode, code: &'static str, message: impl Into<Cow<'static, str>>) -> ApiError {
    ApiError { status, code, message: message.into(), header: None }
}

fn no_snapshot() -> ApiError {
    ApiError::not_found("there is no snapshot of this name")
}

fn failed(error: &ExtensionError) -> ApiError {
    tracing::error!(%error, "the laboratory cannot be changed");
    ApiError::internal()
}

/// Serves a control on a listener, in the current tokio runtime, until the returned task is dropped.
///
/// # Errors
///
/// The error of the operating system when the address cannot be used.
pub(crate) fn listen(listener: TcpListener, control: &Arc<Control>) -> io::Result<JoinSet<()>> {
    let router = router(Arc::clone(control), listener.local_addr()?);
    let mut task = JoinSet::new();
    task.spawn(serve(tokio::net::TcpListener::from_std(listener)?, router));
    Ok(task)
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
