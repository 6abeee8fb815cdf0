//! Whole clients through the proxy: lawful ones, none of which may be accused, and broken ones, which have to be named. The server
//! answers at once, so that requests which are sent together look as if they were sent one after the other.

mod behaviour;
mod sender;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use animal_store_conformance::report::Report;
use animal_store_rules::catalogue::scope::Side;
use animal_store_rules::verdict::Verdict;
use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use behaviour::{BROKEN, Behaviour, EARLY, LAWFUL};
use tokio::net::TcpListener;

use crate::broken;
use crate::proxy::{Running, failed};

/// The key that the clients send.
const KEY: &str = "sk-Client-Key-0001";

/// So many requests are admitted before the key is refused for a while.
const LIMIT: usize = 20;

/// How long a key is refused then, in seconds.
const WINDOW: u64 = 4;

/// How long it is refused where clients do not wait: even on a busy machine, they send enough until then.
const LONG_WINDOW: u64 = 60;

/// How the server writes `Retry-After`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Form {
    Seconds,
    Date,
    Nothing,
}

/// A server that answers at once. After a number of requests it refuses the key for a few seconds, however busy the machine is.
struct Store {
    form: Form,
    /// How long the key is refused, in seconds.
    window: u64,
    /// The requests that were admitted since the key was refused last.
    admitted: usize,
    /// The end of the refusals, in seconds of Unix time.
    refused_until: Option<u64>,
    next_id: i64,
    ids: BTreeSet<i64>,
}

impl Store {
    /// Starts a server whose first animal gets this identifier; its base URL.
    async fn start(form: Form, window: u64, first_id: i64) -> String {
        let store = Store { form, window, admitted: 0, refused_until: None, next_id: first_id, ids: BTreeSet::new() };
        let store = Arc::new(Mutex::new(store));
        let app = Router::new().fallback(move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| {
            let answer = store.lock().expect("no panic").answer(&method, &uri, &headers, &body);
            async move { answer }
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let base_url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        tokio::spawn(async move { axum::serve(listener, app).await });
        base_url
    }

    fn answer(&mut self, method: &Method, uri: &Uri, headers: &HeaderMap, body: &[u8]) -> Response {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
        let is_known = headers.get("authorization").is_some_and(|value| value.as_bytes().ends_with(KEY.as_bytes()));
        if !is_known {
            return error(StatusCode::UNAUTHORIZED);
        }
        if self.refused_until.is_some_and(|end| Duration::from_secs(end) <= now) {
            (self.admitted, self.refused_until) = (0, None);
        }
        self.admitted += 1;
        if self.admitted > LIMIT {
            let end = *self.refused_until.get_or_insert(now.as_secs() + self.window);
            let left = Duration::from_secs(end).saturating_sub(now).as_secs() + 1;
            let date = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(end));
            let mut answer = error(StatusCode::TOO_MANY_REQUESTS);
            match self.form {
                Form::Seconds => drop(answer.headers_mut().insert("retry-after", left.into())),
                Form::Date => drop(answer.headers_mut().insert("retry-after", date.parse().expect("a field"))),
                Form::Nothing => {}
            }
            return answer;
        }
        let id = uri.path().strip_prefix("/v1/pets/");
        match (method.as_str(), id) {
            ("POST", None) => {
                let sent: Option<serde_json::Value> = serde_json::from_slice(body).ok();
                if sent.is_none_or(|sent| !sent["name"].is_string() || !sent["categoryId"].is_i64()) {
                    return error(StatusCode::BAD_REQUEST);
                }
                self.next_id += 1;
                self.ids.insert(self.next_id);
                let body = format!(r#"{{"id":{},"name":"Rex","categoryId":1}}"#, self.next_id);
                (StatusCode::CREATED, [("content-type", "application/json")], body).into_response()
            }
            ("GET", Some(id)) if id.parse() == Ok(REMOVED_ID) => {
                ([("date", "Sat, 06 Dec 2031 00:00:00 GMT")], error(StatusCode::GONE)).into_response()
            }
            ("GET", Some(id)) => match id.parse().ok().filter(|id| self.ids.contains(id)) {
                Some(id) => {
                    let body = format!(r#"{{"id":{id},"name":"Rex","categoryId":1}}"#);
                    ([("content-type", "application/json")], body).into_response()
                }
                None => error(StatusCode::NOT_FOUND),
            },
            _ if uri.query().is_some_and(|query| query.contains("limit=1000")) => error(StatusCode::BAD_REQUEST),
            _ => ([("content-type", "application/json")], "[]").into_response(),
        }
    }
}

fn error(status: StatusCode) -> Response {
    let body = format!(r#"{{"code":"c","message":"m","status":{}}}"#, status.as_u16());
    (status, [("content-type", "application/json")], body).into_response()
}

/// What the judge makes of a client.
async fn judged(form: Form, window: u64, first_id: i64, does: Behaviour) -> Report {
    let running = Running::start(&Store::start(form, window, first_id).await, |settings| {
        settings.terms.side = Some(Side::Client);
    })
    .await;
    does(running.base_url.clone()).await;
    running.report().await
}

/// What is wrong with the verdicts on many clients at the same time.
async fn wrong(cases: Vec<(String, Form, i64, Behaviour, Option<&'static str>)>) -> Vec<String> {
    let judging = cases.into_iter().map(|(name, form, first_id, does, broken_rule)| {
        tokio::spawn(async move {
            let waits = broken_rule.is_none() || form == Form::Nothing;
            let report = judged(form, if waits { WINDOW } else { LONG_WINDOW }, first_id, does).await;
            let is_right = match broken_rule {
                // Inferred requirements count where clients alone are judged.
                Some(id) => report.verdict == Verdict::Violates && failed(&report).iter().any(|failed| failed == id),
                None => failed(&report).is_empty(),
            };
            (!is_right).then(|| format!("{name}, {form:?}: {:?}", broken(&report)))
        })
    });
    let mut wrong = Vec::new();
    for judged in judging.collect::<Vec<_>>() {
        wrong.extend(judged.await.expect("no panic"));
    }
    wrong
}

#[tokio::test(flavor = "multi_thread")]
async fn no_lawful_client_is_accused_and_every_broken_one_is_named() {
    let mut cases = Vec::new();
    for (name, does) in LAWFUL {
        for form in [Form::Seconds, Form::Date, Form::Nothing] {
            cases.push(((*name).to_owned(), form, 0, *does, None));
        }
    }
    for (name, does) in EARLY {
        for (form, id) in [(Form::Seconds, "client.retry-after-seconds"), (Form::Date, "client.retry-after-date")] {
            cases.push(((*name).to_owned(), form, 0, *does, Some(id)));
        }
    }
    for (name, id, first_id, does) in BROKEN {
        cases.push(((*name).to_owned(), Form::Nothing, *first_id, *does, Some(id)));
    }
    let wrong = wrong(cases).await;
    assert!(wrong.is_empty(), "{} are judged wrongly:\n{}", wrong.len(), wrong.join("\n"));
}

/// A program, its arguments, and the requirements that may name it, one of them at least: none if it is lawful.
type Foreign = (&'static str, &'static [&'static str], &'static [&'static str]);

/// The identifier of an animal that the server answers as after the removal of the operation that gets it.
const REMOVED_ID: i64 = 2031;

/// The requirements that may name a client that is early. A client that hammers may be done before its other connections know of
/// the 429; that it never waits shows all the same.
const WAITING: &[&str] = &["client.retry-after-seconds", "client.retry-after-date", "client.backoff"];

/// The first identifier that foreign clients are given: a double rounds it.
const FIRST_FOREIGN_ID: i64 = 1_234_567_890_123_456_788;

/// So many of the programs run at once: they mostly wait.
const AT_ONCE: usize = 4;

const FOREIGN: &[Foreign] = &[
    ("python3", &["client.py", "requests", "threads"], &[]),
    ("python3", &["client.py", "requests", "pool"], &[]),
    ("python3", &["client.py", "aiohttp", "tasks"], &[]),
    ("node", &["client.mjs", "told"], &[]),
    ("node", &["client.mjs", "tasks"], &[]),
    ("go", &["run", "client.go", "pool"], &[]),
    ("go", &["run", "client.go", "goroutines"], &[]),
    ("go", &["run", "client.go", "int64-ids"], &[]),
    ("sh", &["client.sh", "told"], &[]),
    ("python3", &["client.py", "requests", "at-once"], WAITING),
    ("python3", &["client.py", "aiohttp", "tasks-that-hammer"], WAITING),
    ("node", &["client.mjs", "milliseconds"], WAITING),
    ("go", &["run", "client.go", "hammer"], WAITING),
    ("go", &["run", "client.go", "float-ids"], &["client.exact-ids"]),
    ("sh", &["client.sh", "at-once"], WAITING),
];

/// The programs that show each row of the policy about clients. Each knows every mode of [`POLICY`].
const PROGRAMS: [(&str, &str); 3] = [("python3", "policy.py"), ("node", "policy.mjs"), ("sh", "policy.sh")];

/// A row of the policy: a mode of the programs, the requirements that may name it, one of them at least, and a part of the observation that
/// the report has of it.
type Row = (&'static str, &'static [&'static str], &'static str);

/// The requirement on the place of the key.
const PLACE: &[&str] = &["client.key-in-header"];

/// The requirement on identifiers.
const EXACT: &[&str] = &["client.exact-ids"];

const POLICY: &[Row] = &[
    ("told", &[], ""),
    ("early", WAITING, ""),
    ("early-once", &[], "as a single one"),
    // Where a process is started for each request, there are pauses.
    ("hammer", WAITING, ""),
    ("key-in-query", PLACE, ""),
    ("key-in-body", PLACE, ""),
    ("key-in-path", PLACE, ""),
    ("key-in-field", PLACE, ""),
    ("key-outside", PLACE, ""),
    ("scheme", PLACE, ""),
    ("scheme-case", &[], ""),
    ("bad-body", &["client.new-pet"], ""),
    ("bad-query", &["client.list-parameters"], ""),
    ("bad-values", &[], ""),
    ("double-ids", EXACT, ""),
    ("cut-ids", EXACT, ""),
    ("separated-ids", EXACT, ""),
    ("exact-ids", &[], "3 of 4 requests"),
    ("removed", &[], "2 calls after it was gone"),
];

/// How a program ends whose library is not installed.
const NOT_INSTALLED: i32 = 77;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Python, Node, Go and curl: .ci/run looks for them"]
async fn clients_in_other_languages_are_judged_as_they_deserve() {
    let mut running = tokio::task::JoinSet::new();
    let places = Arc::new(tokio::sync::Semaphore::new(AT_ONCE));
    for form in [Form::Seconds, Form::Date] {
        let of_policy = PROGRAMS.iter().flat_map(|(program, file)| {
            POLICY.iter().map(move |(mode, ids, observed)| (*program, vec![*file, *mode], *ids, *observed))
        });
        let foreign = FOREIGN.iter().map(|(program, arguments, ids)| (*program, arguments.to_vec(), *ids, ""));
        for (program, arguments, ids, observed) in foreign.chain(of_policy) {
            let places = Arc::clone(&places);
            running.spawn(async move {
                let _place = places.acquire().await.expect("an open semaphore");
                problem_with(form, program, &arguments, ids, observed).await
            });
        }
    }
    let wrong: Vec<String> = running.join_all().await.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{} are judged wrongly:\n{}", wrong.len(), wrong.join("\n"));
}

/// Lets a client in another language run; what is wrong with its judgement, if anything.
async fn problem_with(
    form: Form,
    program: &str,
    arguments: &[&str],
    broken_rules: &[&str],
    observation: &str,
) -> Option<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/it/clients/programs");
    let name = format!("{program} {}, {form:?}", arguments.join(" "));
    let running = Running::start(&Store::start(form, WINDOW, FIRST_FOREIGN_ID).await, |settings| {
        settings.terms.side = Some(Side::Client);
    })
    .await;
    let mut command = tokio::process::Command::new(program);
    command.args(arguments).current_dir(folder).kill_on_drop(true);
    command.env("CONFORM_PROXY_URL", &running.base_url).env("CLIENT_KEY", KEY);
    let status = match command.status().await {
        Ok(status) => status,
        Err(error) => {
            eprintln!("SKIPPED {name}: {error}");
            return None;
        }
    };
    if status.code() == Some(NOT_INSTALLED) {
        eprintln!("SKIPPED {name}: the library is not installed");
        return None;
    }
    let report = running.report().await;
    let failed = failed(&report);
    let is_right = match broken_rules {
        [] => failed.is_empty(),
        ids => failed.iter().any(|id| ids.contains(&id.as_str())),
    };
    let mut observations = report.requirements.iter().flat_map(|judged| [&judged.observed, &judged.reason]).flatten();
    let is_observed = observations.any(|observed| observed.contains(observation));
    if !status.success() || !is_right || !is_observed {
        return Some(format!("{name} ended with {status}: {:?}", broken(&report)));
    }
    eprintln!("judged as it deserves: {name}");
    None
}
