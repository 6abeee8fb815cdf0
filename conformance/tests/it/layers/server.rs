//! The reference in this process with layers around it, served over HTTP.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use animal_store_conformance::http::clock::Clock;
use animal_store_reference::app::{App, AppOptions, RequestLimits};
use animal_store_reference::clock::Clock as ServerClock;
use animal_store_reference::keys;
use animal_store_reference::plan::Plan;
use animal_store_reference::rate_limit::BanPolicy;
use animal_store_reference::router::{Entrance, router};
use animal_store_reference::store::{KeyStore, Location, Store};
use animal_store_reference::wire::NewPet;
use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::State;
use axum::http::{self, HeaderMap, Method, Uri};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tower::ServiceExt;

use super::{Delivery, Layer, Response};
use crate::layers::Request;

/// What the reference behind the layers is like.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    /// The plan of its key.
    pub(crate) plan: Plan,
    /// The path that the API stands below.
    pub(crate) base_path: &'static str,
    /// The time at which its clock starts.
    pub(crate) start_at: &'static str,
    /// Animals that exist from the start.
    pub(crate) stock: usize,
}

impl Default for Setting {
    fn default() -> Setting {
        // Late in a minute, so that a run sees one end early.
        Setting { plan: Plan::Free, base_path: "/v1", start_at: "2026-06-01T12:00:45Z", stock: 0 }
    }
}

/// What the layers of one server share.
pub(crate) struct ServerState {
    /// The one valid key.
    pub(crate) key: String,
    clock: Clock,
    /// How far the server's clock is from the shared one.
    ahead: SignedDuration,
    memory: Mutex<Memory>,
}

/// What layers remember.
#[derive(Default)]
pub(crate) struct Memory {
    /// Every animal that the reference has created, in order, and when.
    pub(crate) pets: Vec<(Value, Timestamp)>,
    /// Animals that only a layer knows.
    pub(crate) ghosts: Vec<Value>,
    /// Answers to be given again.
    pub(crate) cache: HashMap<String, Response>,
    /// A number, for whatever a layer counts.
    pub(crate) count: u64,
    /// Ids that are shown in place of others.
    pub(crate) ids: HashMap<i64, i64>,
}

impl ServerState {
    /// The server's time, in Unix seconds.
    pub(crate) fn now(&self) -> i64 {
        (self.clock.now() + self.ahead).as_second()
    }

    /// The server's time, as exactly as it is known.
    pub(crate) fn instant(&self) -> Timestamp {
        self.clock.now() + self.ahead
    }

    /// What layers remember.
    pub(crate) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().expect("no panic while it was held")
    }

    /// The animals that the reference has created, newest first.
    pub(crate) fn newest(&self) -> Vec<Value> {
        self.memory().pets.iter().rev().map(|(pet, _)| pet.clone()).collect()
    }

    /// Counts up.
    pub(crate) fn count(&self) -> u64 {
        let mut memory = self.memory();
        memory.count += 1;
        memory.count
    }

    /// The clock that judge and server share.
    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }
}

/// A running server. It stops when it is dropped.
pub(crate) struct Host {
    /// Its base address.
    pub(crate) base_url: String,
    /// Its one valid key.
    pub(crate) key: String,
    /// The clock that it goes by; the judge goes by it as well.
    pub(crate) clock: Clock,
    server: JoinHandle<()>,
}

struct Shared {
    entrance: Entrance,
    layers: Vec<Layer>,
    server: ServerState,
    base_path: &'static str,
    requests: AtomicU64,
}

impl Host {
    /// Serves the reference behind layers on a free loopback port; the first layer is the outermost.
    pub(crate) async fn start(setting: Setting, layers: Vec<Layer>) -> Host {
        let clock = Clock::stepping();
        let start_at: Timestamp = setting.start_at.parse().expect("a time");
        let ahead = start_at.duration_since(clock.now());
        let told = clock.clone();
        let server_clock = ServerClock::told_by(move || (told.now() + ahead).as_second().unsigned_abs());

        let store = Store::open(&Location::Scratch, 1024).expect("a throw-away database");
        let desk = KeyStore::beside(&store).expect("a second connection");
        let (_, key) = keys::issue(&desk, "judged", setting.plan, server_clock.now()).expect("a key");
        let options = AppOptions {
            base_path: setting.base_path.to_owned(),
            clock: server_clock,
            // A saboteur's lies may make the judge ask on, and when that brings a ban is a matter of chance.
            ban: BanPolicy { after: 0, seconds: 0 },
            limits: RequestLimits::default(),
        };
        let app = Arc::new(App::new(store, options).expect("an application"));
        let server =
            ServerState { key: key.reveal().to_owned(), clock: clock.clone(), ahead, memory: Mutex::default() };
        for number in 1..=setting.stock {
            let pet = format!(r#"{{"name":"Stock {number}","categoryId":1,"status":"available"}}"#);
            let id = app.store().create(NewPet::parse(pet.as_bytes()).expect("an animal")).await.expect("stored");
            let mut pet: Value = serde_json::from_str(&pet).expect("JSON");
            pet["id"] = id.into();
            server.memory().pets.push((pet, Timestamp::UNIX_EPOCH));
        }

        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base_url = format!("http://{}{}", listener.local_addr().expect("an address"), setting.base_path);
        let shared = Shared {
            entrance: router(&app),
            layers,
            server,
            base_path: setting.base_path,
            requests: AtomicU64::new(0),
        };
        let router = Router::new().fallback(handle).with_state(Arc::new(shared));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.expect("a listener that lasts") });
        Host { base_url, key: key.reveal().to_owned(), clock, server }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn handle(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> http::Response<Body> {
    let mut request = Request {
        number: shared.requests.fetch_add(1, Ordering::Relaxed) + 1,
        method,
        path: uri.path().strip_prefix(shared.base_path).unwrap_or("/elsewhere").to_owned(),
        query: uri.query().unwrap_or("").to_owned(),
        headers,
        body: body.to_vec(),
    };
    let server = &shared.server;
    let (mut passed, mut early) = (Vec::new(), None);
    for layer in &shared.layers {
        passed.push((layer, request.clone()));
        early = layer.before.as_ref().and_then(|before| before(&mut request, server));
        if early.is_some() {
            break;
        }
    }
    let mut response = match early {
        Some(response) => response,
        None => shared.reference(&request).await,
    };
    for (layer, request) in passed.into_iter().rev() {
        if !layer.takes.is_zero() {
            tokio::time::sleep(layer.takes).await;
        }
        if let Some(after) = &layer.after {
            after(&request, &mut response, server);
        }
    }
    response.into_response()
}

impl Shared {
    /// What the reference answers.
    async fn reference(&self, request: &Request) -> Response {
        let query = if request.query.is_empty() { String::new() } else { format!("?{}", request.query) };
        let uri = format!("{}{}{query}", self.base_path, request.path);
        let mut inner = http::Request::builder().method(request.method.clone()).uri(uri);
        *inner.headers_mut().expect("a request in the making") = request.headers.clone();
        let inner = inner.body(Body::from(request.body.clone())).expect("a request");
        let Ok(outcome) = self.entrance.clone().oneshot(inner).await;
        let (parts, body) = outcome.into_parts();
        let body = to_bytes(body, usize::MAX).await.expect("a body in memory").to_vec();
        let response =
            Response { status: parts.status.as_u16(), headers: parts.headers, body, delivery: Delivery::Whole };
        if request.is_create()
            && response.status == 201
            && let Some(pet) = response.json()
        {
            self.server.memory().pets.push((pet, self.server.instant()));
        }
        response
    }
}
