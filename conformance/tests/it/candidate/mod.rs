//! A small server that shares no code with the reference: lawful, lawful in unusual ways, or broken in one.
//!
//! It keeps its animals in memory and answers from one function, so that a fault is a line at the place where a real
//! server would have it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, Uri};
use serde_json::{Map, Value, json};

use crate::faults::Fault;

/// The one valid key.
pub(crate) const KEY: &str = "sk-Candidate-Key-0001";

/// What every candidate admits in a day.
pub(crate) const PER_DAY: u64 = 10_000;

/// What a candidate is like.
#[derive(Clone, Debug)]
pub(crate) struct Nature {
    /// In which way it is broken, if it is.
    pub(crate) fault: Option<Fault>,
    /// Whether it makes unusual lawful choices throughout.
    pub(crate) odd: bool,
    /// Whether the headers tell the day, while the window is what limits.
    pub(crate) tells_day: bool,
    /// Whether Remaining is told before the request is counted.
    pub(crate) counts_late: bool,
    /// Whether requests that fail use nothing up.
    pub(crate) failures_are_free: bool,
    /// How far its clock is off, in seconds.
    pub(crate) clock_off: i64,
    /// Requests in a window.
    pub(crate) limit: u64,
    /// The length of a window, shorter than a minute so that a test sees it end.
    pub(crate) window: Duration,
    /// Animals that exist from the start.
    pub(crate) stock: usize,
    /// The path that the API stands below.
    pub(crate) base_path: &'static str,
}

impl Default for Nature {
    fn default() -> Nature {
        Nature {
            fault: None,
            odd: false,
            tells_day: false,
            counts_late: false,
            failures_are_free: false,
            clock_off: 0,
            limit: 100_000,
            window: Duration::from_secs(60),
            stock: 0,
            base_path: "/v1",
        }
    }
}

struct Animal {
    pet: Map<String, Value>,
    born: Instant,
}

#[derive(Default)]
struct Inner {
    animals: Vec<Animal>,
    created: u64,
    window_ends: u64,
    used: u64,
    used_today: u64,
    refused_before: bool,
}

/// A running candidate. It ends with the runtime.
pub(crate) struct Candidate {
    /// Its base address.
    pub(crate) base_url: String,
}

struct Shared {
    nature: Nature,
    inner: Mutex<Inner>,
}

impl Candidate {
    /// Starts a candidate on a free loopback port.
    pub(crate) async fn start(nature: Nature) -> Candidate {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base_url = format!("http://{}{}", listener.local_addr().expect("an address"), nature.base_path);
        let shared = Arc::new(Shared { inner: Mutex::new(Inner::default()), nature });
        {
            let mut inner = shared.inner();
            for number in 0..shared.nature.stock {
                let pet = json!({"name": format!("Stock {number}"), "categoryId": 1, "status": "available"});
                shared.store(&mut inner, pet.as_object().expect("an object").clone());
            }
        }
        let app = Router::new().fallback(handle).with_state(shared);
        tokio::spawn(async move { axum::serve(listener, app).await });
        Candidate { base_url }
    }
}

/// An answer in the making.
struct Reply {
    status: u16,
    media_type: &'static str,
    body: Vec<u8>,
    headers: Vec<(&'static str, String)>,
}

impl Reply {
    fn json(status: u16, value: &Value) -> Reply {
        Reply { status, media_type: "application/json", body: value.to_string().into_bytes(), headers: Vec::new() }
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
    let path = uri.path().strip_prefix(shared.nature.base_path).unwrap_or("/elsewhere").to_owned();
    if fault == Some(Fault::HangsUpOnCreate) && method == Method::POST {
        panic!("this candidate hangs up");
    }
    let mut reply = shared.answer(&method, &path, uri.query().unwrap_or(""), &headers, &body);
    if let Some(fault) = fault {
        fault.spoil(&method, &path, &mut reply.status, &mut reply.media_type, &mut reply.body, &mut reply.headers);
    }
    let mut response = Response::builder().status(reply.status);
    if !reply.body.is_empty() {
        response = response.header("content-type", reply.media_type);
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
        let real = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
        real.saturating_add_signed(self.nature.clock_off)
    }

    fn has(&self, fault: Fault) -> bool {
        self.nature.fault == Some(fault)
    }

    fn answer(&self, method: &Method, path: &str, query: &str, headers: &HeaderMap, body: &[u8]) -> Reply {
        let mut inner = self.inner();
        let create = method == Method::POST && path == "/pets";
        if self.has(Fault::ValidatesBeforeAuthentication) && create && self.read(body).is_err() {
            return self.metered(&mut inner, Reply::error(400), None);
        }
        if !self.is_authentic(method, query, headers) {
            if self.has(Fault::CreatesWithoutKey)
                && let Ok(pet) = self.read(body)
            {
                self.store(&mut inner, pet);
            }
            let status = if self.has(Fault::Forbids) { 403 } else { 401 };
            return self.metered(&mut inner, Reply::error(status), None);
        }
        let exempt =
            self.has(Fault::OrdersAreFree) && path == "/store/orders" || self.has(Fault::CreatesAreFree) && create;
        let admitted = exempt || self.admit(&mut inner);
        if !admitted {
            if self.has(Fault::CreatesAlthoughLimited)
                && let Ok(pet) = self.read(body)
            {
                self.store(&mut inner, pet);
            }
            let status = if self.has(Fault::LimitsWith503) { 503 } else { 429 };
            let mut reply =
                if self.nature.odd { Reply { body: Vec::new(), ..Reply::error(status) } } else { Reply::error(status) };
            let wait = inner.window_ends.saturating_sub(self.now()).max(1);
            if !self.has(Fault::NoRetryAfter) {
                reply.headers.push((
                    "retry-after",
                    if self.has(Fault::RetryAfterInWords) {
                        "soon".to_owned()
                    } else if self.nature.odd {
                        http_date(self.now() + wait)
                    } else {
                        wait.to_string()
                    },
                ));
            }
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
            ("GET", path) if path.starts_with("/pets/") => self.get(&inner, &path["/pets/".len()..]),
            _ if self.has(Fault::HtmlElsewhere) => {
                Reply { status: 404, media_type: "text/html", body: b"<h1>404</h1>".to_vec(), headers: Vec::new() }
            }
            _ => Reply::error(404),
        };
        if self.nature.failures_are_free && reply.status >= 400 && !exempt {
            inner.used -= 1;
            inner.used_today -= 1;
        }
        let late = u64::from(self.nature.counts_late);
        let remaining = (self.nature.limit + late).saturating_sub(inner.used).min(self.nature.limit);
        self.metered(&mut inner, reply, Some(remaining))
    }

    fn is_authentic(&self, method: &Method, query: &str, headers: &HeaderMap) -> bool {
        let value = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or("");
        if self.has(Fault::ListsWithoutKey) && method == Method::GET && value.is_empty() {
            return true;
        }
        if self.has(Fault::TakesKeyFromQuery) && query.contains(KEY)
            || self.has(Fault::TakesAnyScheme) && value.ends_with(KEY)
        {
            return true;
        }
        let Some(token) =
            value.strip_prefix("Bearer ").or_else(|| value.strip_prefix("bearer ").filter(|_| !self.nature.odd))
        else {
            return false;
        };
        match self.nature.fault {
            Some(Fault::TakesAnyKey) => !token.is_empty(),
            Some(Fault::TakesPrefixes) => KEY.starts_with(token) && !token.is_empty(),
            Some(Fault::TakesSuffixes) => token.starts_with(KEY),
            Some(Fault::TakesAnyCase) => token.eq_ignore_ascii_case(KEY),
            Some(Fault::RefusesKeyOnCreate) => token == KEY && method != Method::POST,
            _ => token == KEY,
        }
    }

    /// Counts a request with a valid key, and says whether it is within the limit.
    fn admit(&self, inner: &mut Inner) -> bool {
        let (time, length) = (self.now(), self.nature.window.as_secs());
        let early_end = self.has(Fault::ResetsTooEarly) && inner.used == 20;
        let stays = self.has(Fault::NeverRecovers) && inner.refused_before;
        if time >= inner.window_ends && !stays {
            // The odd one begins a window with its first request, the other on the clock.
            inner.window_ends = if self.nature.odd { time + length } else { time - time % length + length };
            inner.used = 0;
        } else if early_end {
            inner.used = 0;
        }
        let limit = match self.nature.fault {
            Some(Fault::NeverLimits) => u64::MAX,
            Some(Fault::LimitsOneLate) => self.nature.limit + 1,
            Some(Fault::LimitsTooEarly) => self.nature.limit - 10,
            _ => self.nature.limit,
        };
        if inner.used >= limit {
            inner.refused_before = true;
            return false;
        }
        let counted = u64::from(!self.has(Fault::CountsNothing));
        inner.used += counted;
        inner.used_today += counted;
        true
    }

    fn metered(&self, inner: &mut Inner, mut reply: Reply, remaining: Option<u64>) -> Reply {
        let (limit, remaining, reset) = match remaining {
            Some(_) if self.nature.tells_day => {
                (PER_DAY, PER_DAY - inner.used_today, self.now() - self.now() % 86_400 + 86_400)
            }
            Some(remaining) => (self.nature.limit, remaining, inner.window_ends),
            None if self.nature.odd => (10, 9, self.now() + 60),
            None => (0, 0, self.now() - self.now() % 60 + 60),
        };
        let told = if self.has(Fault::RemainingJumps) && remaining > 100 {
            remaining - 7 * (self.now() % 2) - inner.used % 3 * 5
        } else {
            remaining
        };
        reply.headers.push(("x-ratelimit-limit", limit.to_string()));
        reply.headers.push(("x-ratelimit-remaining", told.to_string()));
        reply.headers.push(("x-ratelimit-reset", reset.to_string()));
        reply.headers.push(("date", http_date(self.now())));
        reply
    }

    fn store(&self, inner: &mut Inner, mut pet: Map<String, Value>) -> Map<String, Value> {
        inner.created += 1;
        let number = inner.created;
        let id = match self.nature.fault {
            Some(Fault::ReusesIds) => i64::try_from(number % 5).expect("small"),
            // The odd one scatters its ids over all of int64.
            _ if self.nature.odd => number.wrapping_mul(0x9e37_79b9_7f4a_7c15).cast_signed(),
            _ => i64::try_from(number).expect("small"),
        };
        pet.entry("id").or_insert(json!(id));
        if self.nature.odd {
            pet.entry("status").or_insert(json!("pending"));
            pet.insert("createdAt".to_owned(), json!("2026-01-01T00:00:00Z"));
        }
        inner.animals.push(Animal { pet: pet.clone(), born: Instant::now() });
        pet
    }

    /// Reads a NewPet as strictly as the specification asks, but for the fault.
    fn read(&self, body: &[u8]) -> Result<Map<String, Value>, ()> {
        let Ok(Value::Object(members)) = serde_json::from_slice(body) else {
            return if self.has(Fault::TakesAnyJson) && serde_json::from_slice::<Value>(body).is_ok() {
                Ok(json!({"name": "nobody", "categoryId": 1}).as_object().expect("an object").clone())
            } else {
                Err(())
            };
        };
        let mut pet = Map::new();
        match members.get("name") {
            Some(Value::String(name)) => pet.insert("name".to_owned(), json!(name)),
            Some(other) if self.has(Fault::CoercesName) => pet.insert("name".to_owned(), json!(other.to_string())),
            None if self.has(Fault::NameOptional) => pet.insert("name".to_owned(), json!("")),
            _ => return Err(()),
        };
        match members.get("categoryId") {
            Some(Value::Number(number)) if number.is_i64() => pet.insert("categoryId".to_owned(), json!(number)),
            Some(Value::Number(number)) if self.has(Fault::TruncatesCategory) => {
                pet.insert("categoryId".to_owned(), json!(number.as_f64().unwrap_or_default() as i64))
            }
            Some(Value::String(text)) if self.has(Fault::CoercesCategory) => {
                pet.insert("categoryId".to_owned(), json!(text.parse::<i64>().unwrap_or_default()))
            }
            None if self.has(Fault::CategoryOptional) => pet.insert("categoryId".to_owned(), json!(0)),
            _ => return Err(()),
        };
        match members.get("status") {
            None => None,
            Some(Value::Null) if self.nature.odd => None,
            Some(Value::String(status)) if ["available", "pending", "sold"].contains(&status.as_str()) => {
                pet.insert("status".to_owned(), json!(status))
            }
            Some(Value::String(status)) if self.has(Fault::TakesAnyStatusCase) && status == "Available" => {
                pet.insert("status".to_owned(), json!("available"))
            }
            Some(_) => return Err(()),
        };
        if self.has(Fault::HonoursIds)
            && let Some(id) = members.get("id")
        {
            pet.insert("id".to_owned(), id.clone());
        }
        if self.has(Fault::RefusesSold) && pet.get("status") == Some(&json!("sold")) {
            return Err(());
        }
        Ok(pet)
    }

    fn create(&self, inner: &mut Inner, headers: &HeaderMap, body: &[u8]) -> Reply {
        let is_json =
            headers.get("content-type").is_some_and(|value| value.as_bytes().starts_with(b"application/json"));
        if !is_json && !self.nature.odd {
            return Reply::error(415);
        }
        match self.read(body) {
            Ok(pet) => {
                let mut shown = self.store(inner, pet);
                if self.has(Fault::RoundsCategories) {
                    let rounded = shown["categoryId"].as_i64().unwrap_or_default() as f64;
                    shown.insert("categoryId".to_owned(), json!(rounded as i64));
                }
                Reply::json(201, &Value::Object(shown))
            }
            Err(()) => {
                if self.has(Fault::StoresBeforeValidation)
                    && let Some(name) =
                        serde_json::from_slice::<Value>(body).ok().and_then(|v| Some(json!(v.get("name")?.as_str()?)))
                {
                    let pet: HashMap<&str, Value> = HashMap::from([("name", name), ("categoryId", json!(1))]);
                    self.store(inner, pet.into_iter().map(|(k, v)| (k.to_owned(), v)).collect());
                }
                let malformed = serde_json::from_slice::<Value>(body).is_err() && !body.is_empty();
                Reply::error(match self.nature.fault {
                    Some(Fault::FailsOnMalformedJson) if malformed => 500,
                    Some(Fault::RefusesWith422) => 422,
                    _ => 400,
                })
            }
        }
    }

    fn list(&self, inner: &mut Inner, query: &str) -> Reply {
        let parameter = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        let limit = match parameter("limit").map(str::parse::<usize>) {
            None => match self.nature.fault {
                Some(Fault::Defaults50) => 50,
                Some(Fault::Defaults10) => 10,
                _ => 20,
            },
            Some(Ok(1)) if self.has(Fault::RefusesLimit1) => return Reply::error(400),
            Some(Ok(100)) if self.has(Fault::RefusesLimit100) => return Reply::error(400),
            Some(Ok(limit)) if limit > 100 && self.has(Fault::NoMaximum) => limit,
            Some(Ok(0)) if self.has(Fault::FailsOnLimit0) => return Reply::error(500),
            // The odd one clamps and ignores, the other refuses.
            Some(Ok(limit)) if self.nature.odd => limit.clamp(1, 100),
            Some(Err(_)) if self.nature.odd => 20,
            Some(Ok(limit @ 1..=100)) => limit,
            Some(_) => return Reply::error(400),
        };
        let status = parameter("status");
        let known = status.is_none_or(|status| ["available", "pending", "sold"].contains(&status));
        if !known && !self.nature.odd && !self.has(Fault::FiltersInAnyCase) {
            return Reply::error(400);
        }
        let matches = |pet: &Map<String, Value>| match status {
            Some(_) if self.has(Fault::IgnoresFilter) => true,
            Some(status) if self.has(Fault::FiltersInAnyCase) => {
                pet.get("status") == Some(&json!(status.to_lowercase()))
            }
            Some(status) => pet.get("status").and_then(Value::as_str) == Some(status),
            None => true,
        };
        let visible = inner
            .animals
            .iter()
            .filter(|animal| !self.nature.odd || animal.born.elapsed() > Duration::from_millis(300));
        let mut pets: Vec<Map<String, Value>> = visible.map(|animal| animal.pet.clone()).collect();
        if self.nature.odd {
            fastrand::shuffle(&mut pets);
        } else {
            pets.reverse();
        }
        if self.has(Fault::LimitsBeforeFilter) {
            pets.truncate(limit);
        }
        pets.retain(matches);
        if !self.has(Fault::IgnoresLimit) {
            pets.truncate(limit);
        }
        match self.nature.fault {
            Some(Fault::RepeatsAnimals) if pets.len() > 2 => pets[1] = pets[0].clone(),
            Some(Fault::ListsAnotherCategory) => {
                pets.iter_mut().for_each(|pet| drop(pet.insert("categoryId".to_owned(), json!(5))))
            }
            _ => {}
        }
        if self.has(Fault::Envelope) {
            Reply::json(200, &json!({"items": pets}))
        } else {
            Reply::json(200, &json!(pets))
        }
    }

    fn get(&self, inner: &Inner, id: &str) -> Reply {
        let Ok(id) = id.parse::<i64>() else {
            return Reply::error(match self.nature.fault {
                Some(Fault::FailsOnMalformedId) => 500,
                _ if self.nature.odd => 400,
                _ => 404,
            });
        };
        if self.has(Fault::RemovedEarly) {
            return Reply::error(410);
        }
        let found = inner.animals.iter().find(|animal| animal.pet.get("id") == Some(&json!(id)));
        match found.filter(|animal| !self.nature.odd || animal.born.elapsed() > Duration::from_millis(300)) {
            Some(animal) => {
                let mut pet = animal.pet.clone();
                match self.nature.fault {
                    Some(Fault::GetsAnotherAnimal) => drop(pet.insert("id".to_owned(), json!(id.wrapping_add(1)))),
                    Some(Fault::GetLosesStatus) => drop(pet.remove("status")),
                    _ => {}
                }
                Reply::json(200, &Value::Object(pet))
            }
            None if self.has(Fault::NullForNobody) => Reply::json(200, &Value::Null),
            None => Reply::error(404),
        }
    }
}
