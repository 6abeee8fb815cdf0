//! A small server that shares no code with the reference: lawful, lawful in unusual ways, or broken in one.
//!
//! It keeps its animals in memory and answers from one function, so that a fault is a line at the place where a real
//! server would have it.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, UNIX_EPOCH};

use animal_store_conformance::Options;
use animal_store_conformance::http::clock::Clock;
use animal_store_conformance::report::Report;
use animal_store_conformance::{Judge, RunError};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, Uri};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;

use crate::faults::Fault;

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
    /// Whether Remaining is reported before the request is counted.
    pub(crate) counts_late: bool,
    /// Whether requests that fail use nothing up.
    pub(crate) failures_are_free: bool,
    /// How far its clock is off, in seconds.
    pub(crate) clock_off: i64,
    /// Whether fetches lag a creation, while lists do not.
    pub(crate) fetches_lag: bool,
    /// Whether every other read comes from a replica that lags.
    pub(crate) replicas_lag: bool,
    /// Whether somebody else changes the animals that exist from the start, and takes some away.
    pub(crate) is_busy: bool,
    /// The status of a ban that begins with the second refusal of a window, and which that refusal does not report.
    pub(crate) bans_with: Option<u16>,
    /// How long each request takes that is dealt with alone, one after the other, if they are.
    pub(crate) one_by_one: Option<Duration>,
    /// Requests in a window.
    pub(crate) limit: u64,
    /// How many seconds of its first minute are left when it starts, so that a test sees one end.
    pub(crate) first_window: u64,
    /// Animals that exist from the start.
    pub(crate) stock: usize,
}

impl Default for Nature {
    fn default() -> Nature {
        Nature {
            fault: None,
            odd: false,
            reports_day: false,
            counts_late: false,
            failures_are_free: false,
            clock_off: 0,
            fetches_lag: false,
            replicas_lag: false,
            is_busy: false,
            bans_with: None,
            one_by_one: None,
            limit: 100_000,
            first_window: MINUTE,
            stock: 0,
        }
    }
}

struct Animal {
    pet: Map<String, Value>,
    born: Timestamp,
}

#[derive(Default)]
struct Inner {
    animals: Vec<Animal>,
    created: u64,
    window_ends: u64,
    used: u64,
    used_today: u64,
    refused_before: bool,
    /// Refusals in this window.
    refused: u64,
    banned_until: u64,
    reads: u64,
}

/// A running candidate. It ends with the runtime.
pub(crate) struct Candidate {
    /// Its base address.
    pub(crate) base_url: String,
    /// The clock that it goes by, give or take how far it is off.
    clock: Clock,
}

struct Shared {
    nature: Nature,
    clock: Clock,
    inner: Mutex<Inner>,
    /// Whose turn it is, where requests are dealt with one by one.
    turn: tokio::sync::Mutex<()>,
}

impl Candidate {
    /// Starts a candidate on a free loopback port.
    pub(crate) async fn start(nature: Nature) -> Candidate {
        Candidate::serve(TcpListener::bind("127.0.0.1:0").await.expect("a free port"), nature)
    }

    /// Starts a candidate on this port.
    pub(crate) fn serve(listener: TcpListener, mut nature: Nature) -> Candidate {
        let clock = Clock::stepping();
        if !nature.odd {
            // A window on the clock ends when the clock says so.
            let late = MINUTE.saturating_sub(nature.first_window);
            nature.clock_off += late.cast_signed() - clock.now().as_second().rem_euclid(60);
        }
        let base_url = format!("http://{}{BASE_PATH}", listener.local_addr().expect("an address"));
        let shared = Arc::new(Shared {
            inner: Mutex::new(Inner::default()),
            turn: tokio::sync::Mutex::default(),
            clock: clock.clone(),
            nature,
        });
        {
            let mut inner = shared.inner();
            if shared.nature.odd {
                // A window that begins with a request was begun by one that came before the judge's.
                inner.window_ends = shared.now() + shared.nature.first_window;
            }
            for number in 0..shared.nature.stock {
                let pet = json!({"name": format!("Stock {number}"), "categoryId": 1, "status": "available"});
                shared.store(&mut inner, pet.as_object().expect("an object").clone());
            }
        }
        let app = Router::new().fallback(handle).with_state(shared);
        tokio::spawn(async move { axum::serve(listener, app).await });
        Candidate { base_url, clock }
    }

    /// The clock that it goes by.
    pub(crate) fn clock(&self) -> Clock {
        self.clock.clone()
    }

    /// Judges it without waiting for anything: judge and candidate go by one clock, which does not go by itself.
    pub(crate) async fn judge(&self, options: Options) -> Result<Report, RunError> {
        Judge::new(options).clock(self.clock.clone()).run().await
    }
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

async fn handle(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let fault = shared.nature.fault;
    let path = uri.path().strip_prefix(BASE_PATH).unwrap_or("/elsewhere").to_owned();
    assert!(!(fault == Some(Fault::HangsUpOnCreate) && method == Method::POST), "this candidate hangs up");
    if let Some(time) = shared.nature.one_by_one {
        let _turn = shared.turn.lock().await;
        tokio::time::sleep(time).await;
    }
    let mut reply = shared.answer(&method, &path, uri.query().unwrap_or(""), &headers, &body);
    match fault {
        Some(Fault::FailsOnList) if reply.status == 200 && method == Method::GET && path == "/pets" => {
            reply.status = 500;
        }
        Some(Fault::EmptyErrors) if reply.status == 404 => reply.body.clear(),
        _ => {}
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
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic while it was held")
    }

    /// The candidate's own clock.
    fn now(&self) -> u64 {
        self.clock.now().as_second().saturating_add(self.nature.clock_off).unsigned_abs()
    }

    /// What was born after this is so new that a read that lags does not show it. To be asked once for a read: each look at the
    /// clock takes time.
    fn seen_by_lagging_reads(&self) -> Timestamp {
        self.clock.now() - SignedDuration::from_millis(300)
    }

    fn has(&self, fault: Fault) -> bool {
        self.nature.fault == Some(fault)
    }

    fn answer(&self, method: &Method, path: &str, query: &str, headers: &HeaderMap, body: &[u8]) -> Reply {
        let mut inner = self.inner();
        if !self.is_authentic(method, headers) {
            return self.metered(&mut inner, Reply::error(401), None);
        }
        let admitted = self.now() >= inner.banned_until && self.admit(&mut inner);
        if !admitted {
            let banned = self.now() < inner.banned_until;
            let status = match self.nature.bans_with {
                Some(status) if banned => status,
                _ => 429,
            };
            let mut reply =
                if self.nature.odd { Reply { body: Vec::new(), ..Reply::error(status) } } else { Reply::error(status) };
            let end = if banned { inner.banned_until } else { inner.window_ends };
            let wait = end.saturating_sub(self.now()).max(1);
            inner.refused += 1;
            if self.nature.bans_with.is_some() && inner.refused == 2 {
                inner.banned_until = self.now() + BAN;
            }
            let retry_after = if self.nature.odd { http_date(self.now() + wait) } else { wait.to_string() };
            reply.headers.push(("retry-after", retry_after));
            return self.metered(&mut inner, reply, Some(0));
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
        if self.nature.failures_are_free && reply.status >= 400 {
            inner.used -= 1;
            inner.used_today -= 1;
        }
        let late = u64::from(self.nature.counts_late);
        let remaining = (self.nature.limit + late).saturating_sub(inner.used).min(self.nature.limit);
        self.metered(&mut inner, reply, Some(remaining))
    }
}
