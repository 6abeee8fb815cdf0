//! The paths by which a test controls the server.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::{collections::BTreeMap, convert::Infallible, sync::Arc};

use axum::extract::{Path, Query, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use axum::{Router, body::Body, extract::rejection::QueryRejection};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, StatusCode, header};
use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::answers::{self, Wanted};
use super::{Control, no_snapshot, refused};
use crate::{Rate, mock::record::Filter, state::lock};
use animal_store_reference::clock::TimeSource;
use animal_store_reference::respond::{ApiError, WrittenJson};
use animal_store_secrets::printable::Printable;

/// The maximum time by which a clock can be moved at once, in seconds: a thousand years.
const FARTHEST: i64 = 31_556_952_000;

/// The longest name of a snapshot.
const LONGEST_NAME: usize = 100;

type Shared = State<Arc<Control>>;
type Answer = Result<Response, ApiError>;

/// The router of the control, which listens on `address`.
pub(crate) fn router(control: Arc<Control>, address: SocketAddr) -> Router {
    Router::new()
        .route("/reset", post(reset))
        .route("/snapshots", get(snapshots))
        .route("/snapshots/{name}", put(keep).delete(forget))
        .route("/snapshots/{name}/restore", post(restore))
        .route("/clock", get(clock))
        .route("/clock/set", post(set_clock))
        .route("/clock/advance", post(advance_clock))
        .route("/clock/freeze", post(freeze_clock))
        .route("/clock/run", post(run_clock))
        .route("/answers", get(answers).post(prepare).delete(forget_answers))
        .route("/log", get(log).delete(clear_log))
        .route("/log/counts", get(log_counts))
        .route("/faults", get(faults).put(set_faults).delete(forget_faults))
        .route("/delay", get(delay).put(set_delay).delete(forget_delay))
        .method_not_allowed_fallback(|| async { ApiError::method_not_allowed() })
        .fallback(|| async { ApiError::not_found("the control has no such path") })
        .layer(from_fn_with_state(address, guard))
        .with_state(control)
}

/// Refuses requests of pages in browsers. A page can send requests to the addresses of this machine: directly, or by a host name
/// that resolves to one.
async fn guard(State(address): State<SocketAddr>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let hosts: Vec<&str> = headers.get_all(header::HOST).iter().map(|host| host.to_str().unwrap_or_default()).collect();
    let is_reached_by_name = match hosts[..] {
        [host] => address.ip().is_loopback() && !is_local(host),
        _ => true,
    };
    if headers.contains_key(header::ORIGIN) || is_reached_by_name {
        let message = "pages in browsers may not control the server";
        return refused(StatusCode::FORBIDDEN, "forbidden", message).into_response();
    }
    next.run(request).await
}

/// Returns true if a `Host` field has an address of a machine, or `localhost`.
fn is_local(host: &str) -> bool {
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let name = host.rsplit_once(':').filter(|(_, port)| is_port(port)).map_or(host, |(name, _)| name);
    let bracketed = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let is_address =
        bracketed.map_or_else(|| name.parse::<Ipv4Addr>().is_ok(), |name| name.parse::<Ipv6Addr>().is_ok());
    name == "localhost" || is_address
}

fn done(value: &Value) -> Response {
    WrittenJson(Printable::json(&value.to_string()).to_string().into()).into_response()
}

/// Reads a body of any media type, because `curl -d` labels JSON as a form.
fn read<T: DeserializeOwned>(control: &Control, body: &Bytes) -> Result<T, ApiError> {
    serde_json::from_slice(body).map_err(|error| control.invalid(&error.to_string()))
}

/// Reads a body that is an object with this member alone.
fn read_member<T: DeserializeOwned>(control: &Control, body: &Bytes, name: &str) -> Result<T, ApiError> {
    let mut members: BTreeMap<String, T> = read(control, body)?;
    let member = members.remove(name).filter(|_| members.is_empty());
    member.ok_or_else(|| control.invalid(&format!("the body must be an object with the member {name} and no other")))
}

async fn reset(State(control): Shared) -> Answer {
    Ok(done(&json!({"animals": control.reset().await?})))
}

async fn snapshots(State(control): Shared) -> Response {
    let kept = lock(&control.state.snapshots);
    let described =
        |(name, snapshot): (&String, &super::Snapshot)| json!({"name": name, "animals": snapshot.catalogue.len()});
    done(&Value::Array(kept.iter().map(described).collect()))
}

async fn keep(State(control): Shared, Path(name): Path<String>) -> Answer {
    if name.chars().count() > LONGEST_NAME {
        return Err(ApiError::bad_request("invalid_body", format!("a name has at most {LONGEST_NAME} characters")));
    }
    Ok(done(&json!({"name": name, "animals": control.keep(&name).await?})))
}

async fn forget(State(control): Shared, Path(name): Path<String>) -> Answer {
    lock(&control.state.snapshots).remove(&name).ok_or_else(no_snapshot)?;
    Ok(done(&json!({"name": name})))
}

async fn restore(State(control): Shared, Path(name): Path<String>) -> Answer {
    Ok(done(&json!({"name": name, "animals": control.restore(&name).await?})))
}

fn shown(control: &Control) -> Response {
    let clock = &control.clock;
    let now = clock.now();
    done(&json!({"now": now.to_string(), "unix": now.as_second(), "frozen": clock.is_frozen()}))
}

async fn clock(State(control): Shared) -> Response {
    shown(&control)
}

async fn set_clock(State(control): Shared, body: Bytes) -> Answer {
    let time: Timestamp = read_member(&control, &body, "to")?;
    if time < Timestamp::UNIX_EPOCH {
        return Err(control.invalid("to: it must not be before 1970"));
    }
    control.clock.set(time);
    Ok(shown(&control))
}

async fn advance_clock(State(control): Shared, body: Bytes) -> Answer {
    let seconds = read_member(&control, &body, "seconds")?;
    if !(0..=FARTHEST).contains(&seconds) || !control.clock.advance(SignedDuration::from_secs(seconds)) {
        return Err(control.invalid(&format!("seconds must be 0 to {FARTHEST}, and end before the year 10000")));
    }
    Ok(shown(&control))
}

async fn freeze_clock(State(control): Shared) -> Response {
    control.clock.freeze();
    shown(&control)
}

async fn run_clock(State(control): Shared) -> Response {
    control.clock.run();
    shown(&control)
}

async fn answers(State(control): Shared) -> Response {
    done(&answers::list(&lock(&control.state.answers)))
}

async fn prepare(State(control): Shared, body: Bytes) -> Answer {
    let wanted: Wanted = read(&control, &body)?;
    let prepared = wanted.prepare().map_err(|message| control.invalid(&message))?;
    lock(&control.state.answers).push(prepared);
    Ok(answers(State(control)).await)
}

async fn forget_answers(State(control): Shared) -> Response {
    lock(&control.state.answers).clear();
    answers(State(control)).await
}

async fn faults(State(control): Shared) -> Response {
    let vector = lock(&control.vector);
    let shown = vector
        .faults
        .iter()
        .map(|fault| json!({"name": fault.name, "rate": fault.rate.map_or(1.0, Rate::share), "does": fault.does}));
    done(&shown.collect())
}

async fn set_faults(State(control): Shared, body: Bytes) -> Answer {
    control.set_faults(read(&control, &body)?).await?;
    Ok(faults(State(control)).await)
}

async fn forget_faults(State(control): Shared) -> Answer {
    control.set_faults(Vec::new()).await?;
    Ok(faults(State(control)).await)
}

async fn delay(State(control): Shared) -> Response {
    done(&json!({"delay": control.delay.range().map(|range| range.to_string())}))
}

async fn set_delay(State(control): Shared, body: Bytes) -> Answer {
    let range: String = read_member(&control, &body, "delay")?;
    let range = range.parse().map_err(|error| control.invalid(&format!("delay: {error}")))?;
    control.delay.set(Some(range));
    Ok(delay(State(control)).await)
}

async fn forget_delay(State(control): Shared) -> Response {
    control.delay.set(None);
    delay(State(control)).await
}

type Wished = Result<Query<Filter>, QueryRejection>;

fn filter(control: &Control, wished: Wished) -> Result<Filter, ApiError> {
    wished.map(|Query(filter)| filter).map_err(|rejection| control.invalid(&rejection.body_text()))
}

async fn log(State(control): Shared, wished: Wished) -> Answer {
    let filter = filter(&control, wished)?;
    let lines = control.recording.trace(&control.base_url, &filter);
    let mut response = Body::from_stream(stream::iter(lines.map(Ok::<_, Infallible>))).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    animal_store_reference::respond::protect(response.headers_mut());
    Ok(response)
}

async fn log_counts(State(control): Shared, wished: Wished) -> Answer {
    Ok(done(&control.recording.counts(&filter(&control, wished)?)))
}

async fn clear_log(State(control): Shared) -> Response {
    control.recording.clear();
    done(&json!({}))
}
