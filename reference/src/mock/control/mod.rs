//! What a test can control: the animals and usage of the server, its clock, single responses, and the recording of its traffic.

mod answers;
mod openapi;
mod paths;
mod routes;

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::answers::Answers;
use super::clock::TestClock;
use super::delay::Delay;
use super::record::Recording;
use crate::app::App;
use crate::lab::Lab;
use crate::rate_limit::Usage;
use crate::store::{Catalogue, StoreError};

pub use routes::router;

/// How many snapshots there may be: each is a whole catalogue in memory.
const MOST_SNAPSHOTS: usize = 100;

/// Where to listen for those who control the server: a port of this machine alone, or an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlAddress(pub SocketAddr);

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
    /// By the number of the key; nothing for those that are not named.
    usage: HashMap<i64, Usage>,
}

/// What a controlled server consists of.
pub struct Parts {
    /// The application, which must be a changing one (see [`App::changing`]).
    pub app: Arc<App>,
    /// The laboratory, if any.
    pub lab: Option<Arc<Lab>>,
    /// The clock of the application.
    pub clock: TestClock,
    /// What delays its answers.
    pub delay: Option<Arc<Delay>>,
    /// The catalogue as it was before the laboratory was prepared, to which a reset returns.
    pub start: Catalogue,
    /// The base address of the API.
    pub base_url: String,
}

/// The control of a server.
pub struct Control {
    parts: Parts,
    start: Snapshot,
    snapshots: Mutex<BTreeMap<String, Snapshot>>,
    answers: Answers,
    recording: Arc<Recording>,
    /// Held while the state is replaced, so that two tests do not mix theirs.
    replacing: tokio::sync::Mutex<()>,
}

/// Why a snapshot cannot be made.
#[derive(Debug)]
enum SnapshotError {
    TooMany,
    Store(StoreError),
}

impl Control {
    /// The control of a server that is about to be served.
    #[must_use]
    pub fn new(mut parts: Parts) -> Self {
        let start = Snapshot { catalogue: std::mem::take(&mut parts.start), usage: HashMap::new() };
        Self {
            start,
            snapshots: Mutex::default(),
            answers: Answers::default(),
            recording: Arc::new(Recording::new(Arc::clone(&parts.app))),
            replacing: tokio::sync::Mutex::default(),
            parts,
        }
    }

    /// The recording of the server's traffic.
    pub(super) fn recording(&self) -> &Arc<Recording> {
        &self.recording
    }

    /// The prepared answer to a request, if there is one, and how long it is held back.
    pub(super) fn prepared(
        &self,
        request: &axum::extract::Request,
    ) -> Option<(std::time::Duration, axum::response::Response)> {
        let (delay, mut response) = self.answers.take(&self.parts.app.base_path, request)?;
        let date = crate::clock::http_date(self.parts.app.clock.now());
        response.headers_mut().entry(http::header::DATE).or_insert(date);
        Some((delay, response))
    }

    /// Returns to the animals of the start and to keys that were never used; forgets prepared answers. Requests are numbered
    /// and delays drawn as from the start. Returns the number of animals.
    async fn reset(&self) -> Result<usize, StoreError> {
        let animals = self.put_back(&self.start).await?;
        self.answers.clear();
        self.parts.app.restart_numbers();
        if let Some(delay) = &self.parts.delay {
            delay.restart();
        }
        Ok(animals)
    }

    async fn put_back(&self, snapshot: &Snapshot) -> Result<usize, StoreError> {
        let _alone = self.replacing.lock().await;
        let app = &self.parts.app;
        app.store().replace(snapshot.catalogue.clone()).await?;
        app.keys().set_usage(&snapshot.usage);
        if let Some(lab) = &self.parts.lab {
            lab.restart().await?;
        }
        Ok(snapshot.catalogue.animals.len())
    }

    fn snapshots(&self) -> MutexGuard<'_, BTreeMap<String, Snapshot>> {
        self.snapshots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the present state by this name, in place of one that was kept by it; returns the number of animals.
    async fn keep(&self, name: &str) -> Result<usize, SnapshotError> {
        let _alone = self.replacing.lock().await;
        let app = &self.parts.app;
        let snapshot =
            Snapshot { catalogue: app.store().catalogue().map_err(SnapshotError::Store)?, usage: app.keys().usage() };
        let animals = snapshot.catalogue.animals.len();
        let mut snapshots = self.snapshots();
        if snapshots.len() >= MOST_SNAPSHOTS && !snapshots.contains_key(name) {
            return Err(SnapshotError::TooMany);
        }
        snapshots.insert(name.to_owned(), snapshot);
        Ok(animals)
    }

    /// Returns to a state that was kept; `None` if there is none of this name.
    async fn restore(&self, name: &str) -> Option<Result<usize, StoreError>> {
        let snapshot = self.snapshots().get(name).cloned()?;
        Some(self.put_back(&snapshot).await)
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
