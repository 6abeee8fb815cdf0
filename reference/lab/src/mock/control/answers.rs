//! Answers that a test has prepared: the next requests of a key or an operation get them in place of the server's own.

use std::{collections::BTreeMap, time::Duration};

use axum::{body::Body, extract::Request, response::Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use animal_store_reference::{app::below, auth::bearer_token, routes::ORDERS};

use crate::response::{LIMIT, REMAINING, RESET};
use crate::{mock::delay::LONGEST, mock::operation::Operation};

/// The maximum number of times that one answer may be given.
const MOST_TIMES: u64 = 1_000_000;

/// Fields that say how a message is framed, which is the server's business.
const FRAMING: [HeaderName; 3] = [header::CONTENT_LENGTH, header::TRANSFER_ENCODING, header::CONNECTION];

/// An answer, as a test writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// The number of requests that get the answer.
    #[serde(default = "once")]
    times: u64,
    /// Only requests that present this key.
    key: Option<String>,
    /// Only requests of this operation.
    operation: Option<Operation>,
    status: u16,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// The body as JSON, byte by byte as it is written.
    body: Option<Box<RawValue>>,
    /// The body as text, which need not be JSON.
    text: Option<String>,
    #[serde(default)]
    delay_ms: u64,
    /// Whether the request counts against the limit of its key, and the answer has the rate-limit fields.
    #[serde(default)]
    rate_limit: bool,
}

fn once() -> u64 {
    1
}

/// An answer that is ready.
pub(super) struct Prepared {
    wanted: Wanted,
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Wanted {
    /// Makes the answer ready.
    ///
    /// # Errors
    ///
    /// A sentence about an impossible property of an answer.
    pub(super) fn prepare(self) -> Result<Prepared, String> {
        if !(1..=MOST_TIMES).contains(&self.times) {
            return Err(format!("times must be 1 to {MOST_TIMES}"));
        }
        if self.delay_ms > LONGEST {
            return Err(format!("delay_ms must be at most {LONGEST}"));
        }
        let status = StatusCode::from_u16(self.status).ok().filter(|status| (200..=599).contains(&status.as_u16()));
        let status = status.ok_or("status must be 200 to 599")?;
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let field =
                HeaderName::try_from(name.as_str()).map_err(|_| format!("headers: `{name}` is no name of a field"))?;
            if FRAMING.contains(&field) {
                return Err(format!("headers: `{name}` is the server's own"));
            }
            let value = HeaderValue::try_from(value.as_str())
                .map_err(|_| format!("headers: no field can have the value of `{name}`"))?;
            headers.insert(field, value);
        }
        let body = match (&self.body, &self.text) {
            (Some(_), Some(_)) => return Err("there can be a body or a text, not both".to_owned()),
            (Some(json), None) => {
                headers.entry(header::CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
                json.get().as_bytes().to_vec()
            }
            (None, text) => text.clone().unwrap_or_default().into_bytes(),
        };
        Ok(Prepared { wanted: self, status, headers, body })
    }
}

/// Everything that is reported of answers: all except their keys.
pub(super) fn list(waiting: &[Prepared]) -> Value {
    let reported = |Prepared { wanted, status, .. }: &Prepared| {
        json!({
            "times": wanted.times,
            "operation": wanted.operation,
            "for_one_key": wanted.key.is_some(),
            "status": status.as_u16(),
        })
    };
    waiting.iter().map(reported).collect()
}

/// Takes the first answer that waits for such a request.
pub(super) fn take(waiting: &mut Vec<Prepared>, base_path: &str, request: &Request) -> Option<Given> {
    let path = below(base_path, request.uri().path())?;
    let operation = Operation::of(request.method().as_str(), path);
    let presented = bearer_token(request.headers());
    let index = waiting.iter().position(|prepared| {
        prepared.wanted.operation.is_none_or(|wanted| operation == Some(wanted))
            && prepared.wanted.key.as_deref().is_none_or(|key| presented == Some(key))
    })?;
    let prepared = &mut waiting[index];
    let mut response = Response::new(Body::from(prepared.body.clone()));
    *response.status_mut() = prepared.status;
    *response.headers_mut() = prepared.headers.clone();
    let orders = prepared.wanted.rate_limit.then(|| format!("{base_path}{ORDERS}"));
    let given = Given { delay: Duration::from_millis(prepared.wanted.delay_ms), response, orders };
    prepared.wanted.times -= 1;
    if prepared.wanted.times == 0 {
        waiting.remove(index);
    }
    Some(given)
}

/// An answer for one request.
pub(in crate::mock) struct Given {
    delay: Duration,
    pub(super) response: Response,
    /// The path of the operation without an effect that the server answers instead, if the answer has its rate-limit fields.
    orders: Option<String>,
}

impl Given {
    /// The request that the server counts in place of this one, if it counts.
    pub(in crate::mock) fn counted(&self, request: &Request) -> Option<Request> {
        let mut counted = Request::new(Body::empty());
        *counted.uri_mut() = self.orders.as_ref()?.parse().ok()?;
        *counted.extensions_mut() = request.extensions().clone();
        let kept = request.headers().iter().filter(|(name, _)| *name == header::AUTHORIZATION || *name == header::HOST);
        counted.headers_mut().extend(kept.map(|(name, value)| (name.clone(), value.clone())));
        Some(counted)
    }

    /// The answer, after its time, with the rate-limit fields of the server's own answer to the counted request.
    pub(in crate::mock) async fn given<R: Future<Output = Response>>(
        self,
        counted: Option<Request>,
        handle: &impl Fn(Request) -> R,
    ) -> Response {
        let mut response = self.response;
        if let Some(counted) = counted {
            let own = handle(counted).await;
            for name in [LIMIT, REMAINING, RESET] {
                if let Some(value) = own.headers().get(name) {
                    response.headers_mut().entry(name).or_insert_with(|| value.clone());
                }
            }
        }
        tokio::time::sleep(self.delay).await;
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(text: &str) -> Result<Prepared, String> {
        serde_json::from_str::<Wanted>(text).map_err(|error| error.to_string())?.prepare()
    }

    fn status(answers: &mut Vec<Prepared>, method: &str, path: &str, key: &str) -> Option<u16> {
        let request = Request::builder().method(method).uri(path).header("authorization", format!("Bearer {key}"));
        let request = request.body(Body::empty()).expect("a request");
        take(answers, "/v1", &request).map(|given| given.response.status().as_u16())
    }

    #[test]
    fn an_answer_is_given_to_as_many_requests_of_its_key_and_operation() {
        let mut answers = Vec::new();
        for text in [
            r#"{"times":2,"operation":"getPet","status":500}"#,
            r#"{"key":"mine","status":429}"#,
            r#"{"operation":"createPet","key":"mine","status":503}"#,
        ] {
            answers.push(prepared(text).expect("an answer"));
        }
        for (method, path, key, expected) in [
            ("GET", "/v1/pets", "other", None),
            ("GET", "/healthz", "mine", None),
            ("HEAD", "/v1/pets/7", "other", Some(500)),
            ("POST", "/v1/pets", "mine", Some(429)),
            ("GET", "/v1/pets/7/x", "other", None),
            ("GET", "/v1/pets/8", "mine", Some(500)),
            ("GET", "/v1/pets/8", "other", None),
            ("POST", "/v1/pets", "other", None),
            ("POST", "/v1/pets", "mine", Some(503)),
            ("POST", "/v1/pets", "mine", None),
        ] {
            assert_eq!(status(&mut answers, method, path, key), expected, "{method} {path} {key}");
        }
        assert_eq!(list(&answers), json!([]));
    }

    #[test]
    fn what_no_answer_can_have_is_refused_with_a_sentence() {
        for (text, part) in [
            (r#"{"status":99}"#, "200 to 599"),
            (r#"{"status":101}"#, "200 to 599"),
            ("{}", "missing field `status`"),
            (r#"{"status":200,"times":0}"#, "times"),
            (r#"{"status":200,"delay_ms":3600001}"#, "delay_ms"),
            (r#"{"status":200,"operation":"deletePet"}"#, "unknown variant `deletePet`"),
            (r#"{"status":200,"body":1,"text":"x"}"#, "not both"),
            (r#"{"status":200,"headers":{"a b":"x"}}"#, "`a b`"),
            (r#"{"status":200,"headers":{"x":"\n"}}"#, "`x`"),
            (r#"{"status":200,"headers":{"Content-Length":"7"}}"#, "the server's own"),
            (r#"{"status":200,"retries":1}"#, "unknown field `retries`"),
        ] {
            let error = prepared(text).err().unwrap_or_default();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
