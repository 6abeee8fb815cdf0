//! Example exchanges: for each requirement that can be observed over HTTP, requests and lawful responses, as a trace.
//!
//! Examples are traces so that a test can hand them to the rules: an example that its own rule does not accept, or does not apply
//! to, fails the suite. Open choices are those of the reference server.

use jiff::{SignedDuration, Timestamp};

use animal_store_conformance::redaction::Redactor;
use animal_store_rules::trace::exchange::{Exchange, Outcome, Request, Response};
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::trace::knowledge::{Carrier, Extent, Knowledge};
use animal_store_rules::trace::{Context, Trace};

/// The base URL of the server that `cargo xtask serve` starts, so that the examples can be tried.
const BASE_URL: &str = "http://127.0.0.1:8080/v1";

/// The key of the examples. A variable for the reader's own key replaces it wherever an example is shown.
const KEY: &str = "sk-example-4b1d";

/// The time of the first exchange of an example, in Unix time: the tenth second of a window that ends with the minute.
const BEGIN: i64 = 1_780_315_210;

/// The seconds from the first exchange to one after the removal of `GET /pets/{petId}`: 2031-01-01T00:00:10Z.
const IN_2031: i64 = 1_924_992_010 - BEGIN;

/// A request and its response, as in the table below.
struct Step {
    request: Request,
    status: u16,
    body: String,
    headers: Vec<(&'static str, &'static str)>,
    /// Seconds since the first exchange; the next second by default.
    at: Option<i64>,
    /// The value of Remaining; one less than before by default.
    remaining: Option<i64>,
}

fn step(request: Request, status: u16, body: impl Into<String>) -> Step {
    Step { request, status, body: body.into(), headers: Vec::new(), at: None, remaining: None }
}

fn get(target: &str, status: u16, body: impl Into<String>) -> Step {
    let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
    let mut request = Request::new("GET", path).authorization(format!("Bearer {KEY}"));
    request.query = query.map(str::to_owned);
    step(request, status, body)
}

fn post(body: &str, status: u16, answer: impl Into<String>) -> Step {
    let request = Request::new("POST", "/pets").authorization(format!("Bearer {KEY}")).json(body);
    step(request, status, answer)
}

/// The body of an error response.
fn error(status: u16, code: &str, message: &str) -> String {
    format!(r#"{{"code":"{code}","message":"{message}","status":{status}}}"#)
}

/// A creation that is rejected with 400 for the given reason.
fn invalid(body: &str, message: &str) -> Vec<Step> {
    vec![post(body, 400, error(400, "invalid_body", message))]
}

fn limited(request: Step) -> Step {
    let body = error(429, "rate_limited", "rate limit exceeded; retry after 49 seconds");
    Step { status: 429, body, headers: vec![("Retry-After", "49")], at: Some(1), remaining: Some(0), ..request }
}

impl Step {
    fn key(mut self, authorization: Option<&str>) -> Step {
        self.request.authorization = authorization.map(str::to_owned);
        self
    }

    fn header(mut self, name: &'static str, value: &'static str) -> Step {
        self.headers.push((name, value));
        self
    }

    fn at(self, seconds: i64) -> Step {
        Step { at: Some(seconds), ..self }
    }

    fn remaining(self, remaining: i64) -> Step {
        Step { remaining: Some(remaining), ..self }
    }
}

const REX: &str = r#"{"id":1,"name":"Rex","categoryId":7,"status":"sold"}"#;
const NEW_REX: &str = r#"{"name":"Rex","categoryId":7,"status":"sold"}"#;
const TOM: &str = r#"{"id":2,"name":"Tom","categoryId":7}"#;
const NEW_TOM: &str = r#"{"name":"Tom","categoryId":7}"#;

fn create() -> Step {
    post(NEW_REX, 201, REX)
}

fn list() -> Step {
    get("/pets?limit=2", 200, format!("[{TOM},{REX}]"))
}

fn sold() -> Step {
    get("/pets?status=sold", 200, format!("[{REX}]"))
}

fn fetch() -> Step {
    get("/pets/1", 200, REX)
}

fn not_found() -> Step {
    get("/pets/404", 404, error(404, "not_found", "no animal has this identifier"))
}

fn refused(step: Step) -> Step {
    let body = error(401, "unauthorized", "this operation needs a valid API key as a bearer token");
    Step { status: 401, body, ..step }.header("WWW-Authenticate", "Bearer")
}

/// The requests and responses that show a requirement, or none if it cannot be observed over HTTP.
fn steps(id: &str) -> Vec<Step> {
    match id {
        "service.environments"
        | "pet.status-transitions"
        | "auth.key-lifecycle"
        | "events.none"
        | "quota.ban"
        | "quota.backoff"
        | "versioning.interface-description"
        | "versioning.stability"
        | "versioning.policy" => vec![],

        "pet.unique-id" => vec![create(), post(NEW_TOM, 201, TOM)],
        "pet.status-default" => vec![post(NEW_TOM, 201, TOM)],
        "pet.name-constraints" => {
            vec![post(r#"{"name":"Zoë ♥","categoryId":7}"#, 201, r#"{"id":3,"name":"Zoë ♥","categoryId":7}"#)]
        }
        "pet.categories" => {
            vec![post(r#"{"name":"Rex","categoryId":-12}"#, 201, r#"{"id":4,"name":"Rex","categoryId":-12}"#)]
        }

        "list.limit-minimum" => vec![get("/pets?limit=1", 200, format!("[{TOM}]"))],
        "list.limit-maximum" => vec![get("/pets?limit=100", 200, format!("[{TOM},{REX}]"))],
        "list.limit-default" => vec![get("/pets", 200, format!("[{TOM},{REX}]"))],
        "list.status-filter" => vec![sold()],
        "list.complete" | "list.agrees" => vec![create(), sold()],
        "list.bad-parameters" | "list.limit-out-of-range" => {
            vec![get("/pets?limit=0", 400, error(400, "invalid_limit", "limit must be an integer from 1 to 100"))]
        }
        "list.unknown-status" => {
            let message = "status must be available, pending or sold";
            vec![get("/pets?status=lost", 400, error(400, "invalid_status", message))]
        }

        "create.name-required" => invalid(r#"{"categoryId":7}"#, "name is required"),
        "create.category-required" => invalid(r#"{"name":"Rex"}"#, "categoryId is required"),
        "create.name-type" => invalid(r#"{"name":5,"categoryId":7}"#, "name must be a string"),
        "create.category-type" => invalid(r#"{"name":"Rex","categoryId":"7"}"#, "categoryId must be an integer"),
        "create.category-int64" => {
            invalid(r#"{"name":"Rex","categoryId":9223372036854775808}"#, "categoryId must be an int64")
        }
        "create.status-enum" => {
            let message = "status must be available, pending or sold";
            invalid(r#"{"name":"Rex","categoryId":7,"status":"SOLD"}"#, message)
        }
        "create.null-status" => {
            let message = "status must be available, pending or sold";
            invalid(r#"{"name":"Rex","categoryId":7,"status":null}"#, message)
        }
        "create.body-required" => invalid("[]", "the body must be an object"),
        "create.malformed-json" => invalid(r#"{"name":"Rex","#, "the body is not JSON"),
        "create.extended-json" => invalid(r#"{"name":"Rex","categoryId":7,}"#, "the body is not JSON"),
        "create.refused-stores-nothing" => {
            let mut steps = invalid(r#"{"name":"Ghost"}"#, "categoryId is required");
            steps.push(list());
            steps
        }
        "create.unknown-members" => vec![post(r#"{"name":"Tom","categoryId":7,"colour":"grey"}"#, 201, TOM)],
        "create.client-id" => vec![post(r#"{"name":"Tom","categoryId":7,"id":99}"#, 201, TOM)],
        "create.integral-number" => vec![post(r#"{"name":"Tom","categoryId":7.0}"#, 201, TOM)],
        "create.content-type" => {
            let mut step = post(NEW_TOM, 415, error(415, "unsupported_media_type", "send application/json"));
            step.request = step.request.body("text/plain", NEW_TOM);
            vec![step]
        }

        "get.success" | "get.agrees" => vec![create(), fetch()],
        "get.malformed-id" | "get.malformed-id-status" => {
            vec![get("/pets/rex", 404, error(404, "not_found", "no animal has this identifier"))]
        }

        "auth.valid-key" => vec![list()],
        "auth.missing-key" | "auth.challenge" => vec![refused(list().key(None))],
        "auth.invalid-key" => vec![refused(list().key(Some("Bearer made-up")))],
        "auth.exact-key" => vec![refused(list().key(Some(&format!("Bearer {KEY}x"))))],
        "auth.bearer-header" => {
            let mut step = refused(list().key(None));
            step.request = Request::new("GET", "/pets").query(format!("api_key={KEY}"));
            vec![step]
        }
        "auth.before-all-else" => vec![refused(post(r#"{"categoryId":"7"}"#, 401, "").key(None))],
        "auth.refused-stores-nothing" => {
            vec![refused(post(r#"{"name":"Ghost","categoryId":7}"#, 401, "").key(None)), list()]
        }
        "auth.scheme-case" => vec![list().key(Some(&format!("bearer {KEY}")))],

        "errors.elsewhere" => vec![get("/animals", 404, error(404, "not_found", "no such path"))],
        id if id.starts_with("errors.") => vec![not_found()],

        "headers.remaining-falls" | "headers.remaining-never-rises" | "quota.every-operation" => {
            vec![create(), list()]
        }
        "headers.refused-count" => vec![list(), not_found(), list()],
        "headers.anonymous" => vec![refused(list().key(None))],
        id if id.starts_with("headers.") => vec![list()],

        "quota.recovers" => vec![limited(list()), list().at(51).remaining(59)],
        "quota.retry-after-suffices" => vec![list().remaining(0), limited(list()), list().at(53).remaining(59)],
        "quota.refused-stores-nothing" => {
            vec![limited(post(r#"{"name":"Ghost","categoryId":7}"#, 429, "")), list().at(51).remaining(59)]
        }
        id if id.starts_with("quota.") => vec![list().remaining(0), limited(list())],

        "versioning.sunset" | "versioning.lifetime" => {
            vec![fetch().header("Sunset", "Thu, 05 Dec 2030 00:00:00 GMT")]
        }
        "versioning.deprecation-header" => vec![fetch().header("Deprecation", "@1764892800")],
        "versioning.deprecation-signals" => vec![
            fetch()
                .header("Sunset", "Thu, 05 Dec 2030 00:00:00 GMT")
                .header("Link", "</v1/pets?status=available>; rel=\"successor-version\""),
        ],

        "client.retry-after-date" => {
            let mut refused = limited(list());
            refused.headers = vec![("Retry-After", "Mon, 01 Jun 2026 12:01:00 GMT")];
            vec![refused, list().at(51).remaining(59)]
        }
        "client.retry-after-seconds" => vec![limited(list()), list().at(51).remaining(59)],
        "client.backoff" => [1, 4, 10]
            .map(|at| {
                let mut refused = limited(list()).at(at);
                refused.headers = vec![("Retry-After", "1")];
                refused
            })
            .into(),
        "client.new-pet" => invalid(r#"{"name":"Rex"}"#, "categoryId is required"),
        "client.list-parameters" => {
            vec![get("/pets?limit=500", 400, error(400, "invalid_limit", "limit must be an integer from 1 to 100"))]
        }
        "client.exact-ids" => {
            let big = r#"{"id":9007199254740993,"name":"Rex","categoryId":7,"status":"sold"}"#;
            vec![post(NEW_REX, 201, big), get("/pets/9007199254740993", 200, big)]
        }
        "client.removed-operation" => {
            let gone = error(410, "gone", "this operation was removed; list animals with a status instead");
            vec![get("/pets/1", 410, gone).at(IN_2031), sold().at(IN_2031 + 1)]
        }
        "client.deprecated-operation" => vec![create(), fetch()],

        "orders.exists" | "orders.answer" => vec![get("/store/orders", 200, "[]")],
        "get.not-found" => vec![not_found()],
        id if id.starts_with("pet.") || id.starts_with("create.") => vec![create()],
        _ => vec![list()],
    }
}

/// The redactor for the key of the examples.
#[must_use]
pub fn redactor() -> Redactor {
    let mut redactor = Redactor::default();
    redactor.hide(KEY, "${CONFORM_API_KEY}");
    redactor
}

/// The example for a requirement, as a trace of lawful exchanges; empty if it cannot be observed over HTTP.
#[must_use]
pub fn trace(id: &str) -> Trace {
    let keys = ApiKey::new(KEY).into_iter().collect();
    let context = Context { keys, category_id: 7, ..Context::new(Extent::Run, BASE_URL) };
    let mut remaining = 60;
    let exchanges = steps(id).into_iter().zip(0..).map(|(step, index)| {
        let sent_at = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(BEGIN + step.at.unwrap_or(index));
        // A request without a valid key is not admitted. The reference accepts a scheme in another case.
        let authorization = step.request.authorization.as_deref().unwrap_or_default();
        let keyed = authorization.split_once(' ').is_some_and(|(_, token)| token == KEY);
        if keyed {
            remaining = step.remaining.unwrap_or(remaining - 1);
        }
        exchange(index as usize + 1, sent_at, step, keyed.then_some(remaining))
    });
    Trace { exchanges: exchanges.collect(), context }
}

fn exchange(number: usize, sent_at: Timestamp, step: Step, remaining: Option<i64>) -> Exchange {
    let date = httpdate::fmt_http_date(sent_at.into());
    let reset = (sent_at.as_second() / 60 + 1) * 60;
    let mut headers = vec![
        ("Content-Type".to_owned(), "application/json".to_owned()),
        ("Date".to_owned(), date),
        ("X-RateLimit-Limit".to_owned(), remaining.map_or(0, |_| 60).to_string()),
        ("X-RateLimit-Remaining".to_owned(), remaining.unwrap_or(0).to_string()),
        ("X-RateLimit-Reset".to_owned(), reset.to_string()),
    ];
    headers.extend(step.headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    headers.iter_mut().for_each(|(name, _)| name.make_ascii_lowercase());
    let response = Response { status: step.status, headers, body: step.body.into_bytes(), cut: false };
    Exchange {
        number,
        probe: "example".into(),
        step: String::new(),
        request: step.request,
        outcome: Outcome::Response(response),
        sent_at,
        received_at: sent_at + SignedDuration::from_millis(4),
        known: Knowledge { carrier: Some(Carrier { connection: 1, others: 0 }), ..Knowledge::default() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use animal_store_rules::catalogue::scope::{Scope, Side};
    use animal_store_rules::catalogue::{Party, catalogue};
    use animal_store_rules::verdict::{self, Status};

    #[test]
    fn every_example_breaks_no_rule_and_is_judged_by_its_own() {
        for requirement in &catalogue().requirements {
            let (id, trace) = (&requirement.id, trace(&requirement.id));
            // How a server has to take a key in the wrong place is shown by a client that puts it there.
            let side = match requirement.party {
                Party::Server => Side::Server,
                Party::Client => Side::Both,
            };
            let verdicts = verdict::judge(&trace, &Scope { side, ..Scope::default() });
            for verdict in &verdicts {
                assert!(verdict.failures.is_empty(), "{id} breaks {}: {:?}", verdict.requirement.id, verdict.failures);
            }
            let own = verdicts.iter().find(|verdict| verdict.requirement.id == *id).unwrap();
            match own.status {
                // An order shows in three creations, an example in two lines.
                Status::Observed if id == "list.order" => {}
                Status::Observed => assert_eq!(own.observed.is_some(), !trace.exchanges.is_empty(), "{id}"),
                status => assert_eq!(status, Status::Pass, "{id} is not judged by its example"),
            }
        }
    }
}
