//! A small server that shares no code with the reference: lawful, lawful in unusual ways, or broken in one.
//!
//! It keeps its animals in memory and answers from one function.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, UNIX_EPOCH};

use animal_store_conformance::Options;
use animal_store_conformance::http::Clock;
use animal_store_conformance::report::Report;
use animal_store_conformance::{Judge, RunError};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, Uri};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use tokio::net::{TcpListener, UnixListener};

use crate::faults::Fault;
use crate::sockets::Socket;

/// The one valid key.
pub(crate) use crate::support::KEY;

mod catalogue;
mod gate;

/// The path that the API stands below.
const BASE_PATH: &str = "/v1";

/// Seconds in a window.
const MINUTE: u64 = 60;

/// Seconds of a ban.
const BAN: u64 = 150;

/// What every candidate admits in a day.
pub(crate) const PER_DAY: u64 = 10_000;

/// What a candidate is like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nature {
    /// In which way it is broken, if it is.
    pub(crate) fault: Option<Fault>,
    /// Whether it makes unusual lawful choices throughout.
    pub(crate) odd: bool,
    /// Whether the headers report the day, while the window is what limits.
    pub(crate) reports_day: bool,
    /// How far its clock is off, in seconds.
    pub(crate) clock_off: i64,
    /// Whether every other read comes from a replica that lags.
    pub(crate) replicas_lag: bool,
    /// Whether somebody else changes the animals that exist from the start, and takes some away.
    pub(crate) is_busy: bool,
    /// Whether it bans with 403 from the second refusal of a window, which that refusal does not report.
    pub(crate) bans_with_403: bool,
    /// Requests in a window.
    pub(crate) limit: u64,
    /// How many seconds of its first minute are left when it starts, so that a test sees one end.
    pub(crate) first_window: u64,
    /// Animals that exist from the start.
    pub(crate) stock: usize,
    /// How long its reads lag what was created at another replica.
    pub(crate) lag_of_others: Duration,
    /// What its ids begin after.
    pub(crate) ids_after: u64,
    /// Whether it shares no animals with the other replicas.
    pub(crate) stores_apart: bool,
    /// Whether it counts the requests of the key by itself.
    pub(crate) counts_apart: bool,
}

impl Default for Nature {
    fn default() -> Nature {
        Nature {
            fault: None,
            odd: false,
            reports_day: false,
            clock_off: 0,
            replicas_lag: false,
            is_busy: false,
            bans_with_403: false,
            limit: 100_000,
            first_window: MINUTE,
            stock: 0,
            lag_of_others: Duration::ZERO,
            ids_after: 0,
            stores_apart: false,
            counts_apart: false,
        }
    }
}

struct Animal {
    pet: Map<String, Value>,
    born: Timestamp,
    /// The place of the replica that it was created at.
    home: usize,
}

/// The animals.
#[derive(Default)]
struct Stock {
    animals: Vec<Animal>,
    created: u64,
    reads: u64,
}

/// What was counted for the key.
#[derive(Default)]
struct Count {
    window_ends: u64,
    used: u64,
    used_today: u64,
    /// Refusals in this window.
    refused: u64,
    banned_until: u64,
}

/// What a request needs to itself.
struct Inner<'s> {
    stock: MutexGuard<'s, Stock>,
    count: MutexGuard<'s, Count>,
}

/// A running candidate. It ends with the runtime.
pub(crate) struct Candidate {
    /// Its base address.
    pub(crate) base_url: String,
    /// The clock that it goes by once a judge shares it, give or take how far it is off.
    clock: Clock,
    /// Whether a judge shares the clock. The candidate goes by the machine's clock otherwise, as a judge in a process of its own does.
    is_stepping: Arc<AtomicBool>,
    /// Where it listens, unless that is a port. Replicas of one service share it.
    socket: Option<Arc<Socket>>,
}

struct Shared {
    nature: Nature,
    clock: Clock,
    is_stepping: Arc<AtomicBool>,
    /// Its place among the replicas of a fleet.
    place: usize,
    stock: Arc<Mutex<Stock>>,
    count: Arc<Mutex<Count>>,
}

impl Candidate {
    /// Starts a candidate on a Unix socket.
    pub(crate) async fn start(nature: Nature) -> Candidate {
        Candidate::start_fleet(&[nature]).await.remove(0)
    }

    /// Starts a candidate on a free loopback port, where the port is what matters.
    pub(crate) async fn start_on_port(nature: Nature) -> Candidate {
        Candidate::start_fleet_on_ports(&[nature]).await.remove(0)
    }

    /// Starts a candidate on this port.
    pub(crate) fn serve(listener: TcpListener, nature: Nature) -> Candidate {
        let [shared] = Shared::replicas(&[nature]).try_into().unwrap_or_else(|_| unreachable!("one nature"));
        Candidate::on_port(listener, shared)
    }

    /// Starts replicas of one service on one clock and on one Unix socket: requests get to a replica by their field Host.
    pub(crate) async fn start_fleet(natures: &[Nature]) -> Vec<Candidate> {
        let replicas = Shared::replicas(natures);
        let socket = Arc::new(Socket::new());
        let listener = UnixListener::bind(socket.path()).expect("a socket");
        let candidate = |shared: &Arc<Shared>| Candidate {
            base_url: format!("http://r{}.{}{BASE_PATH}", shared.place, socket.host()),
            clock: shared.clock.clone(),
            is_stepping: Arc::clone(&shared.is_stepping),
            socket: Some(Arc::clone(&socket)),
        };
        let fleet: Vec<Candidate> = replicas.iter().map(candidate).collect();
        for (candidate, shared) in fleet.iter().zip(&replicas) {
            let own = UnixListener::bind(candidate.own_socket().expect("a fleet has a socket")).expect("a socket");
            let app = Router::new().fallback(handle).with_state(Replicas(vec![Arc::clone(shared)]));
            tokio::spawn(async move { axum::serve(own, app).await });
        }
        let app = Router::new().fallback(handle).with_state(Replicas(replicas));
        tokio::spawn(async move { axum::serve(listener, app).await });
        fleet
    }

    /// Starts replicas of one service on one clock and on free loopback ports.
    pub(crate) async fn start_fleet_on_ports(natures: &[Nature]) -> Vec<Candidate> {
        let mut fleet = Vec::new();
        for shared in Shared::replicas(natures) {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
            fleet.push(Candidate::on_port(listener, shared));
        }
        fleet
    }

    fn on_port(listener: TcpListener, shared: Arc<Shared>) -> Candidate {
        let base_url = format!("http://{}{BASE_PATH}", listener.local_addr().expect("an address"));
        let (clock, is_stepping) = (shared.clock.clone(), Arc::clone(&shared.is_stepping));
        let app = Router::new().fallback(handle).with_state(Replicas(vec![shared]));
        tokio::spawn(async move { axum::serve(listener, app).await });
        Candidate { base_url, clock, is_stepping, socket: None }
    }

    /// The socket of this replica alone, whatever host a request names.
    pub(crate) fn own_socket(&self) -> Option<PathBuf> {
        let name = self.base_url.split(['/', '.']).nth(2)?;
        Some(self.socket.as_ref()?.path().with_file_name(name))
    }

    /// The clock that it goes by from now on, which does not go by itself.
    pub(crate) fn clock(&self) -> Clock {
        self.is_stepping.store(true, Ordering::SeqCst);
        self.clock.clone()
    }

    /// Judges it without waiting for anything: judge and candidate go by one clock, which does not go by itself.
    pub(crate) async fn judge(&self, options: Options) -> Result<Report, RunError> {
        Judge::new(options).clock(self.clock()).run().await
    }
}

/// Serves an application on a Unix socket until the runtime of the test ends; the base URL.
pub(crate) fn serve(app: Router) -> String {
    let socket = Socket::new();
    let base_url = format!("http://{}/v1", socket.host());
    let listener = UnixListener::bind(socket.path()).expect("a socket");
    tokio::spawn(async move {
        let _kept = socket;
        axum::serve(listener, app).await
    });
    base_url
}

/// An answer in the making.
struct Reply {
    status: u16,
    body: Vec<u8>,
    headers: Vec<(&'static str, String)>,
}

impl Reply {
    fn json(status: u16, value: &Value) -> Reply {
        Reply { status, body: value.to_string().into_bytes(), headers: Vec::new() }
    }

    fn error(status: u16) -> Reply {
        Reply::json(status, &json!({"code": format!("e{status}"), "message": "no", "status": status}))
    }
}

/// What is reached through one listener.
#[derive(Clone)]
struct Replicas(Vec<Arc<Shared>>);

impl Replicas {
    /// The replica that a request is for: the one that its host names, as in `r1.animal-store-7-0`, or the only one.
    fn of(&self, headers: &HeaderMap) -> Arc<Shared> {
        let host = headers.get("host").and_then(|host| host.to_str().ok()).unwrap_or_default();
        let place = host.split_once('.').and_then(|(name, _)| name.strip_prefix('r')?.parse::<usize>().ok());
        let named = place.and_then(|place| self.0.get(place));
        Arc::clone(named.unwrap_or(&self.0[0]))
    }
}

async fn handle(
    State(replicas): State<Replicas>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let shared = replicas.of(&headers);
    let path = uri.path().strip_prefix(BASE_PATH).unwrap_or("/elsewhere").to_owned();
    let mut reply = shared.answer(&method, &path, uri.query().unwrap_or(""), &headers, &body);
    if shared.has(Fault::FailsOnList) && reply.status == 200 && method == Method::GET && path == "/pets" {
        reply.status = 500;
    }
    let mut response = Response::builder().status(reply.status);
    if !reply.body.is_empty() {
        response = response.header("content-type", "application/json");
    }
    for (name, value) in reply.headers {
        response = response.header(name, value);
    }
    response.body(Body::from(reply.body)).expect("a lawful response")
}

fn http_date(unix: u64) -> String {
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(unix))
}

impl Shared {
    /// Replicas of one service on one clock. They share animals and counts, except where their nature keeps these apart.
    fn replicas(natures: &[Nature]) -> Vec<Arc<Shared>> {
        let clock = Clock::stepping();
        let first = Shared::new(natures[0], clock.clone());
        first.open();
        let replica = |(place, nature): (usize, &Nature)| {
            let mut shared = Shared { place, ..Shared::new(*nature, clock.clone()) };
            shared.nature.clock_off = first.nature.clock_off;
            shared.is_stepping = Arc::clone(&first.is_stepping);
            if !nature.stores_apart {
                shared.stock = Arc::clone(&first.stock);
            }
            if !nature.counts_apart {
                shared.count = Arc::clone(&first.count);
            }
            Arc::new(shared)
        };
        natures.iter().enumerate().map(replica).collect()
    }

    fn new(mut nature: Nature, clock: Clock) -> Shared {
        if !nature.odd {
            // A window on the clock ends when the clock says so.
            let late = MINUTE.saturating_sub(nature.first_window);
            nature.clock_off += late.cast_signed() - clock.now().as_second().rem_euclid(60);
        }
        let (is_stepping, stock, count) = Default::default();
        Shared { nature, clock, is_stepping, place: 0, stock, count }
    }

    /// Begins its first window, and makes the animals that exist from the start.
    fn open(&self) {
        let mut inner = self.inner();
        if self.nature.odd {
            // A window that begins with a request was begun by one that came before the judge's.
            inner.count.window_ends = self.now() + self.nature.first_window;
        }
        for number in 0..self.nature.stock {
            let pet = json!({"name": format!("Stock {number}"), "categoryId": 1, "status": "available"});
            self.store(&mut inner, pet.as_object().expect("an object").clone());
        }
    }

    fn inner(&self) -> Inner<'_> {
        let held = "no panic while it was held";
        Inner { stock: self.stock.lock().expect(held), count: self.count.lock().expect(held) }
    }

    /// Whether an animal has arrived here, if it was created at another replica.
    fn has_arrived(&self, animal: &Animal) -> bool {
        let lag = SignedDuration::try_from(self.nature.lag_of_others).expect("short");
        animal.home == self.place || lag.is_zero() || self.time().duration_since(animal.born) >= lag
    }

    /// The time by the clock that it goes by.
    fn time(&self) -> Timestamp {
        if self.is_stepping.load(Ordering::SeqCst) { self.clock.now() } else { Timestamp::now() }
    }

    /// The candidate's own clock.
    fn now(&self) -> u64 {
        self.time().as_second().saturating_add(self.nature.clock_off).unsigned_abs()
    }

    /// What was born after this is so new that a read that lags does not show it. To be asked once for a read: each look at the
    /// clock takes time.
    fn seen_by_lagging_reads(&self) -> Timestamp {
        self.time() - SignedDuration::from_millis(300)
    }

    fn has(&self, fault: Fault) -> bool {
        self.nature.fault == Some(fault)
    }

    fn answer(&self, method: &Method, path: &str, query: &str, headers: &HeaderMap, body: &[u8]) -> Reply {
        let mut inner = self.inner();
        if !self.is_authentic(headers) {
            return self.with_rate_limit(&mut inner, Reply::error(401), None);
        }
        let admitted = self.now() >= inner.count.banned_until && self.admit(&mut inner);
        if !admitted {
            let banned = self.now() < inner.count.banned_until;
            let status = if banned { 403 } else { 429 };
            let mut reply =
                if self.nature.odd { Reply { body: Vec::new(), ..Reply::error(status) } } else { Reply::error(status) };
            let end = if banned { inner.count.banned_until } else { inner.count.window_ends };
            let wait = end.saturating_sub(self.now()).max(1);
            inner.count.refused += 1;
            if self.nature.bans_with_403 && inner.count.refused == 2 {
                inner.count.banned_until = self.now() + BAN;
            }
            let retry_after = if self.nature.odd { http_date(self.now() + wait) } else { wait.to_string() };
            reply.headers.push(("retry-after", retry_after));
            return self.with_rate_limit(&mut inner, reply, Some(0));
        }
        let reply = match (method.as_str(), path) {
            ("GET", "/pets") => self.list(&mut inner, query),
            ("POST", "/pets") => self.create(&mut inner, headers, body),
            ("GET", "/store/orders") if self.has(Fault::NoOrders) => Reply::error(404),
            ("GET", "/store/orders") => Reply::json(
                if self.nature.odd { 501 } else { 200 },
                &json!({"code": "x", "message": "y", "status": 501}),
            ),
            ("GET", path) if path.starts_with("/pets/") => self.get(&mut inner, &path["/pets/".len()..]),
            _ => Reply::error(404),
        };
        let remaining = self.nature.limit.saturating_sub(inner.count.used);
        self.with_rate_limit(&mut inner, reply, Some(remaining))
    }
}
