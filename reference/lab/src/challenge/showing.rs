//! The request that shows a fault, for a suite that missed it: the first one of a tour that the broken server answers in another way
//! than the reference.

use std::{sync::Arc, time::Duration};

use animal_store_reference::app::{App, AppOptions};
use animal_store_reference::keys::{StartKey, parse_given};
use animal_store_reference::{clock::Clock, extension::ExtensionError, routes::router, store::Store};
use animal_store_rules::near_misses::{Target, Values, near_misses};
use animal_store_rules::trace::exchange::Request;
use axum::body::Body;
use axum::extract::Request as HttpRequest;
use http_body_util::BodyExt;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::Value;

use crate::{Lab, Variation};
use crate::{faults::Fault, mock::clock::TestClock};

/// A key that meets no limit in the tour, and a key with the smallest limit.
const KEYS: [&str; 2] = ["a-Key-of-the-tour-4711", "another-Key-of-it-0815"];

/// The time at which the tour begins, unless the fault has one: not early in a minute, and not late.
const BEGIN: &str = "2026-06-01T12:00:05Z";

/// The time within which a request must be answered.
const PATIENCE: Duration = Duration::from_millis(500);

/// The requests of the tour with a key, and then some of them without one: method, target and body.
const TOUR: [(&str, &str, &str); 23] = [
    ("GET", "/pets", ""),
    ("POST", "/pets", r#"{"name":"Heron 's ?#+ $$ 7","categoryId":9007199254740993,"status":"pending"}"#),
    ("POST", "/pets", r#"{"name":"sand piper","categoryId":1}"#),
    ("POST", "/pets", r#"{"name":"Möwe","categoryId":-7,"status":"sold","id":99}"#),
    ("POST", "/pets", r#"{"name":"12","categoryId":0,"status":"available"}"#),
    ("GET", "/pets", ""),
    ("GET", "/pets/1", ""),
    ("GET", "/pets/2", ""),
    ("GET", "/pets/4", ""),
    ("GET", "/pets/404", ""),
    ("GET", "/pets/-1", ""),
    ("GET", "/pets/heron", ""),
    ("GET", "/pets?limit=1", ""),
    ("GET", "/pets?limit=100", ""),
    ("GET", "/pets?limit=1000", ""),
    ("GET", "/pets?limit=0", ""),
    ("GET", "/pets?status=sold", ""),
    ("GET", "/pets?status=available", ""),
    ("GET", "/store/orders", ""),
    ("POST", "/pets", ""),
    ("POST", "/pets", "{}"),
    ("POST", "/pets", r#"{"name":"Heron","categoryId":"1"}"#),
    ("POST", "/pets", r#"{"name":"Heron","categoryId":1,"status":"lost"}"#),
];

/// The places in the tour of the requests that use up a limit, in turn.
const USING_UP: [usize; 6] = [0, 2, 6, 18, 16, 22];

/// A server that takes the tour.
struct Tourist {
    app: Arc<App>,
    lab: Lab,
    clock: TestClock,
}

impl Tourist {
    async fn new(variation: Variation) -> Result<Tourist, ExtensionError> {
        let begin: Timestamp = variation.setting.start_at.unwrap_or(BEGIN).parse()?;
        let clock = TestClock::starting_at(begin);
        clock.freeze();
        clock.set(begin);
        let mut options = AppOptions::new(Clock::controlled(clock.clone()));
        variation.setting.set_up(&mut options);
        let app = Arc::new(App::new(Store::temporary()?, options));
        let keys = parse_given(&[format!("enterprise={}", KEYS[0]), format!("free={}", KEYS[1])])?;
        let lab = Lab::start(Arc::clone(&app), variation).await?;
        let keys = StartKey::put_in_force(&keys, &app.store.keys, app.options.clock.now())?;
        lab.introduce(keys.iter().map(|(_, key)| key));
        Ok(Tourist { app, lab, clock })
    }

    /// The response to a request as text, without what differs between any two servers.
    async fn answer(&self, request: &Request) -> String {
        let Some(request) = sent(request) else { return String::new() };
        let answering = async {
            let response =
                self.lab.answer(router(&self.app), request).await.map_err(|error| error.status.to_string())?;
            let (mut parts, body) = response.into_parts();
            let mut body = body.collect().await.map_err(|_broken| "a broken body".to_owned())?.to_bytes();
            if let Ok(mut value) = serde_json::from_slice::<Value>(&body) {
                let mut length = body.len();
                // A message may name a place in a body that a fault has written anew.
                if let Some(message) = value.get_mut("message").filter(|message| message.is_string()) {
                    *message = "".into();
                    length = 0;
                }
                // A fault that writes bodies anew may change the order of members, which shows nothing. Repeated members change the length.
                body = format!("{value} {length}").into();
            }
            for name in ["x-request-id", "content-length"] {
                parts.headers.remove(name);
            }
            Ok::<_, String>(format!("{} {:?} {body:?}", parts.status, parts.headers))
        };
        tokio::time::timeout(PATIENCE, answering).await.unwrap_or(Err("none".to_owned())).unwrap_or_else(|error| error)
    }
}

/// A request as it arrives at a server, if it can be sent.
fn sent(request: &Request) -> Option<HttpRequest> {
    let builder = HttpRequest::builder().method(request.method.as_str()).uri(format!("/v1{}", request.target()));
    let mut builder = builder.header("host", "localhost");
    let content_type = request.body.as_ref().map(|body| ("content-type", &body.content_type));
    let authorization = request.authorization.as_ref().map(|value| ("authorization", value));
    let headers = request.headers.iter().map(|(name, value)| (name.as_str(), value));
    for (name, value) in headers.chain(content_type).chain(authorization).filter(|(_, value)| !value.is_empty()) {
        builder = builder.header(name, value);
    }
    let body = request.body.as_ref().map(|body| body.bytes.clone()).unwrap_or_default();
    builder.header("content-length", body.len()).body(Body::from(body)).ok()
}

/// The effort of a suite to see a fault, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Sight {
    /// Send an ordinary request with a key.
    OrdinaryRequest,
    /// Send an ordinary request without a key.
    RequestWithoutKey,
    /// Send a request that is nearly right.
    NearMiss,
    /// Use up a limit.
    UsedUpLimit,
    /// Send requests that depend on each other.
    SeveralRequests,
}

/// How a suite can show a fault: by a request, or else as the requirement says.
pub(super) async fn how_to_show(fault: &Fault) -> Result<(Sight, String), ExtensionError> {
    let pair = Pair::new(fault).await?;
    if !is_of_limits(fault)
        && let Some(shown) = pair.shown(Sight::NearMiss).await
    {
        return Ok(shown);
    }
    // Then the limit is used up, twice.
    for minute in ["a minute", "the next minute"] {
        pair.pause(60);
        for number in 1..=66 {
            let (method, target, body) = TOUR[USING_UP[number % USING_UP.len()]];
            let request = asked(method, target, body).authorization(format!("Bearer {}", KEYS[1]));
            if pair.differs(&request).await {
                let name = named(method, target, body);
                let shown = format!("shown by request {number} of {minute} on a Free key: {name}");
                return Ok((Sight::UsedUpLimit, shown));
            }
        }
    }
    let id = fault.targets[0];
    let shown = format!("shown by no request alone: `conform rules {id}` explains the requirement");
    Ok((Sight::SeveralRequests, shown))
}

/// Returns true if an ordinary request with a key shows a fault.
pub(super) async fn is_ordinary(fault: &Fault) -> Result<bool, ExtensionError> {
    Ok(!is_of_limits(fault) && Pair::new(fault).await?.shown(Sight::OrdinaryRequest).await.is_some())
}

/// Returns true if only a key that is used up shows a fault.
fn is_of_limits(fault: &Fault) -> bool {
    fault.targets[0].starts_with("quota.")
}

/// A server with a fault and the reference, which get the same requests at the same times.
struct Pair {
    plain: Tourist,
    broken: Tourist,
}

impl Pair {
    async fn new(fault: &Fault) -> Result<Pair, ExtensionError> {
        let broken = fault.variation();
        let mut plain = Variation::default();
        (plain.setting.start_at, plain.setting.stock) = (broken.setting.start_at, broken.setting.stock);
        Ok(Pair { broken: Tourist::new(broken).await?, plain: Tourist::new(plain).await? })
    }

    fn pause(&self, seconds: i64) {
        for server in [&self.plain, &self.broken] {
            // The tour ends long before the last timestamp.
            let _is_possible = server.clock.advance(SignedDuration::from_secs(seconds));
        }
    }

    /// Returns true if the servers answer a request in different ways.
    async fn differs(&self, request: &Request) -> bool {
        self.plain.answer(request).await != self.broken.answer(request).await
    }

    /// The first request of the tour, one a second, that the servers answer in different ways, with no more than this effort.
    async fn shown(&self, at_most: Sight) -> Option<(Sight, String)> {
        for (sight, name, request) in tour().into_iter().filter(|(sight, ..)| *sight <= at_most) {
            self.pause(1);
            if self.differs(&request).await {
                return Some((sight, format!("shown by {name}")));
            }
        }
        None
    }
}

fn asked(method: &str, target: &str, body: &str) -> Request {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let request = Request::new(method, path);
    let request = if query.is_empty() { request } else { request.query(query) };
    if body.is_empty() { request } else { request.json(body) }
}

fn named(method: &str, target: &str, body: &str) -> String {
    format!("{method} {target} {body}").trim_end().to_owned()
}

fn with_key(request: Request) -> Request {
    request.authorization(format!("Bearer {}", KEYS[0]))
}

/// The requests that meet no limit, with their names: those of the table above, and then all near misses.
fn tour() -> Vec<(Sight, String, Request)> {
    let mut tour = Vec::new();
    for (method, target, body) in TOUR {
        tour.push((Sight::OrdinaryRequest, named(method, target, body), with_key(asked(method, target, body))));
    }
    for (method, target, body) in TOUR {
        let name = named(method, target, body) + " without a key";
        tour.push((Sight::RequestWithoutKey, name, asked(method, target, body)));
    }
    let values = Values {
        name: "Heron",
        digits: "4711",
        category: 1,
        id: Some(1),
        key: KEYS[0],
        unknown: "an-unknown-Key-1234",
    };
    for row in near_misses() {
        for target in if row.place.is_keyless() { &Target::ALL[..] } else { &[Target::List] } {
            if let Some(request) = row.request(*target, &values) {
                let request = if row.place.is_keyless() { request } else { with_key(request) };
                tour.push((Sight::NearMiss, row.step(*target), request));
            }
        }
    }
    tour
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::faults;

    #[tokio::test]
    async fn the_request_that_shows_a_fault_is_named() {
        for (name, expected, part) in [
            (
                "pet.status-values.null-status",
                Sight::OrdinaryRequest,
                "POST /pets {\"name\":\"sand piper\",\"categoryId\":1}",
            ),
            ("list.limit-default.fifty", Sight::OrdinaryRequest, "GET /pets"),
            ("get.not-found.nobody-is-204", Sight::OrdinaryRequest, "GET /pets/404"),
            ("create.name-type.null-is-a-name", Sight::NearMiss, "POST /pets {\"name\":null,"),
            ("auth.missing-key.open-orders", Sight::RequestWithoutKey, "GET /store/orders without a key"),
            (
                "auth.exact-key.narrow-column",
                Sight::NearMiss,
                "GET /pets with Authorization: Bearer (KEY with another last character)",
            ),
            ("quota.not-exceeded.one-late", Sight::UsedUpLimit, "request 61 of a minute on a Free key: "),
            ("versioning.path.no-version", Sight::OrdinaryRequest, "GET /pets"),
        ] {
            let fault = faults().into_iter().find(|fault| fault.name == name).expect("a fault");
            let (sight, shown) = how_to_show(&fault).await.expect("two servers");
            assert!(shown.starts_with(&format!("shown by {part}")), "{name}: {shown:?}");
            assert_eq!(sight, expected, "{name}");
            let is_ordinary = is_ordinary(&fault).await.expect("two servers");
            assert_eq!(is_ordinary, sight == Sight::OrdinaryRequest, "{name}");
        }
    }
}
