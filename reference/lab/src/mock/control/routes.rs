//! The paths by which a test controls the server.

use std::convert::Infallible;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, StatusCode, header};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::answers::Wanted;
use super::{Control, ControlError, MOST_SNAPSHOTS};
use crate::Rate;
use crate::mock::record::Filter;
use animal_store_reference::clock::TimeSource;
use animal_store_reference::respond::ApiError;
use animal_store_reference::respond::WrittenJson;
use animal_store_secrets::printable::{Printable, printable};

/// The maximum time by which a clock can be moved at once, in seconds: a thousand years.
const FARTHEST: i64 = 31_556_952_000;

/// The longest name of a snapshot.
const LONGEST_NAME: usize = 100;

type Shared = State<Arc<Control>>;
type Answer = Result<Response, ApiError>;

/// The router of the control, which listens on `address`.
pub fn router(control: Arc<Control>, address: SocketAddr) -> Router {
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
        return refusal(StatusCode::FORBIDDEN, "forbidden", "pages in browsers may not control the server")
            .into_response();
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

fn refusal(status: StatusCode, code: &'static str, message: impl Into<std::borrow::Cow<'static, str>>) -> ApiError {
    ApiError { status, code, message: message.into(), header: None }
}

fn done(value: &Value) -> Response {
    WrittenJson(Printable::json(&value.to_string()).to_string().into()).into_response()
}

/// Refuses a body. The message may repeat text of the body, but no key.
fn invalid(control: &Control, message: &str) -> ApiError {
    ApiError::bad_request("invalid_body", printable(&control.recording.without_keys(message)))
}

/// Reads a body of any media type, because `curl -d` labels JSON as a form.
fn read<T: DeserializeOwned>(control: &Control, body: &Bytes) -> Result<T, ApiError> {
    serde_json::from_slice(body).map_err(|error| invalid(control, &error.to_string()))
}

async fn reset(State(control): Shared) -> Answer {
    let animals = control.reset().await.map_err(|error| unchanged(&control, error))?;
    Ok(done(&json!({"animals": animals})))
}

async fn snapshots(State(control): Shared) -> Response {
    let kept = control.snapshots();
    let described =
        |(name, snapshot): (&String, &super::Snapshot)| json!({"name": name, "animals": snapshot.catalogue.len()});
    done(&Value::Array(kept.iter().map(described).collect()))
}

async fn keep(State(control): Shared, Path(name): Path<String>) -> Answer {
    if name.chars().count() > LONGEST_NAME {
        return Err(ApiError::bad_request("invalid_body", format!("a name has at most {LONGEST_NAME} characters")));
    }
    let animals = control.keep(&name).await.map_err(|error| unchanged(&control, error))?;
    Ok(done(&json!({"name": name, "animals": animals})))
}

fn no_snapshot() -> ApiError {
    ApiError::not_found("there is no snapshot of this name")
}

async fn forget(State(control): Shared, Path(name): Path<String>) -> Answer {
    control.snapshots().remove(&name).ok_or_else(no_snapshot)?;
    Ok(done(&json!({"name": name})))
}

async fn restore(State(control): Shared, Path(name): Path<String>) -> Answer {
    let restored = control.restore(&name).await.ok_or_else(no_snapshot)?;
    let animals = restored.map_err(|error| unchanged(&control, error))?;
    Ok(done(&json!({"name": name, "animals": animals})))
}

fn shown(control: &Control) -> Response {
    let clock = &control.parts.clock;
    let now = clock.now();
    done(&json!({"now": now.to_string(), "unix": now.as_second(), "frozen": clock.is_frozen()}))
}

async fn clock(State(control): Shared) -> Response {
    shown(&control)
}

async fn set_clock(State(control): Shared, body: Bytes) -> Answer {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct To {
        to: String,
    }
    let To { to } = read(&control, &body)?;
    let time: Timestamp = to.parse().map_err(|error| invalid(&control, &format!("to: {error}")))?;
    if time < Timestamp::UNIX_EPOCH {
        return Err(ApiError::bad_request("invalid_body", "to: it must not be before 1970".to_owned()));
    }
    control.parts.clock.set(time);
    Ok(shown(&control))
}

async fn advance_clock(State(control): Shared, body: Bytes) -> Answer {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct By {
        seconds: i64,
    }
    let By { seconds } = read(&control, &body)?;
    let refused = || {
        ApiError::bad_request("invalid_body", format!("seconds must be 0 to {FARTHEST}, and end before the year 10000"))
    };
    let by = (0..=FARTHEST).contains(&seconds).then(|| SignedDuration::from_secs(seconds)).ok_or_else(refused)?;
    if control.parts.clock.advance(by) { Ok(shown(&control)) } else { Err(refused()) }
}

async fn freeze_clock(State(control): Shared) -> Response {
    control.parts.clock.freeze();
    shown(&control)
}

async fn run_clock(State(control): Shared) -> Response {
    control.parts.clock.run();
    shown(&control)
}

async fn answers(State(control): Shared) -> Response {
    done(&control.answers.list())
}

async fn prepare(State(control): Shared, body: Bytes) -> Answer {
    let wanted: Wanted = read(&control, &body)?;
    let prepared = wanted.prepare().map_err(|message| invalid(&control, &message))?;
    control.answers.add(prepared);
    Ok(answers(State(control)).await)
}

async fn forget_answers(State(control): Shared) -> Response {
    control.answers.clear();
    answers(State(control)).await
}

fn unchanged(control: &Control, error: ControlError) -> ApiError {
    match error {
        ControlError::Refused(message) => invalid(control, &message),
        ControlError::TooManySnapshots => {
            let message = format!("there are {MOST_SNAPSHOTS} snapshots already: delete one");
            refusal(StatusCode::CONFLICT, "too_many", message)
        }
        ControlError::Store(error) => error.into(),
        ControlError::Failed(error) => {
            tracing::error!(%error, "the laboratory cannot be changed");
            ApiError::internal()
        }
    }
}

async fn faults(State(control): Shared) -> Response {
    let vector = control.vector();
    let shown = vector
        .faults
        .iter()
        .map(|fault| json!({"name": fault.name, "rate": fault.rate.map_or(1.0, Rate::share), "does": fault.does}));
    done(&shown.collect())
}

async fn set_faults(State(control): Shared, body: Bytes) -> Answer {
    let wanted = read(&control, &body)?;
    control.set_faults(wanted).await.map_err(|error| unchanged(&control, error))?;
    Ok(faults(State(control)).await)
}

async fn forget_faults(State(control): Shared) -> Answer {
    control.set_faults(Vec::new()).await.map_err(|error| unchanged(&control, error))?;
    Ok(faults(State(control)).await)
}

async fn delay(State(control): Shared) -> Response {
    done(&json!({"delay": control.parts.delay.range().map(|range| range.to_string())}))
}

async fn set_delay(State(control): Shared, body: Bytes) -> Answer {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct To {
        delay: String,
    }
    let To { delay: range } = read(&control, &body)?;
    let range = range.parse().map_err(|error| invalid(&control, &format!("delay: {error}")))?;
    control.parts.delay.set(Some(range));
    Ok(delay(State(control)).await)
}

async fn forget_delay(State(control): Shared) -> Response {
    control.parts.delay.set(None);
    delay(State(control)).await
}

type Wished = Result<Query<Filter>, QueryRejection>;

fn filter(control: &Control, wished: Wished) -> Result<Filter, ApiError> {
    wished.map(|Query(filter)| filter).map_err(|rejection| invalid(control, &rejection.body_text()))
}

async fn log(State(control): Shared, wished: Wished) -> Answer {
    let filter = filter(&control, wished)?;
    let lines = control.recording.trace(&control.parts.base_url, &filter);
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
