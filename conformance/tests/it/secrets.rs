//! No output contains a secret: neither that of a run, in whatever form a server repeats what it received, nor that of traffic of others,
//! in whatever form and place a client sends its key.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use animal_store_conform::formats::{FORMATS, json};
use animal_store_conformance::recorded::{Terms, judge};
use animal_store_conformance::report::Report;
use animal_store_conformance::report::text::{self, Detail};
use animal_store_conformance::{Event, Judge, Profile};
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD};
use tokio::net::TcpListener;

use crate::command_line::conform;
use crate::proxy::{Running, http_client};
use crate::{candidate, options};

/// A key with what encodings treat differently.
const KEY: &str = "sk-Live/4711+Zq9x.Wv7";

/// A part of this many characters is a secret as the whole is.
const PART: usize = 8;

/// Fails if a text contains a part of a secret, in any case.
fn check(name: &str, text: &str, secret: &str) {
    let text = text.to_ascii_lowercase();
    for part in secret.to_ascii_lowercase().as_bytes().windows(PART) {
        let part = std::str::from_utf8(part).expect("ASCII");
        assert!(!text.contains(part), "{name} shows {part}: {}", around(&text, part));
    }
}

fn around(text: &str, part: &str) -> String {
    let at = text.find(part).unwrap_or_default();
    let begin = text.floor_char_boundary(at.saturating_sub(80));
    text[begin..text.ceil_char_boundary((at + 80).min(text.len()))].to_owned()
}

/// How a server repeats a key.
type Echo = fn(&str) -> String;

/// The ways in which a server may repeat a key.
const ECHOES: [(&str, Echo); 5] = [
    ("as it is", str::to_owned),
    ("in upper case", str::to_uppercase),
    ("with an escape of JSON", |key| key.replace('+', r"\u002B").replace('/', r"\/")),
    ("base64 of a pair", |key| BASE64_STANDARD_NO_PAD.encode(format!("me:{key}"))),
    ("its beginning", |key| format!("{}…", &key[..12])),
];

/// An application that answers every request by the token and the path that it received.
fn answering(answer: impl Fn(String, &str) -> Response + Clone + Send + Sync + 'static) -> Router {
    Router::new().fallback(move |request: Request| {
        let answer = answer.clone();
        async move {
            let sent = request.headers().get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
            let token = sent.split_once(' ').map_or(sent, |(_, token)| token).to_owned();
            Ok::<_, Infallible>(answer(token, request.uri().path()))
        }
    })
}

/// Serves an application on a free port, for programs and the proxy; the base URL.
async fn serve(answer: impl Fn(String, &str) -> Response + Clone + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let base_url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, answering(answer)).await });
    base_url
}

/// A list with what was received, in its body, in a value and in the name of a header field.
fn repeating(echo: Echo) -> impl Fn(String, &str) -> Response + Clone + Send + Sync + 'static {
    move |token, _| {
        let repeated = if token.is_empty() { String::new() } else { echo(&token) };
        let name: String = token.chars().filter(|c| c.is_ascii_alphanumeric() || "-.+".contains(*c)).collect();
        let status = if token == KEY { 200 } else { 401 };
        let response = Response::builder().status(status).header("content-type", "application/json");
        let response = response.header("x-seen", repeated.replace('…', "")).header(format!("x-{name}"), "1");
        let body = format!(r#"{{"code":"seen","message":"you sent {repeated}","status":{status}}}"#);
        response.body(Body::from(body)).expect("a response")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_a_server_repeats_of_the_key_is_in_no_report_and_in_no_trace() {
    for (name, echo) in ECHOES {
        let base_url = candidate::serve(answering(repeating(echo)));
        let mut options = options(&base_url, Profile::ReadOnly);
        options.api_key = animal_store_conformance::ApiKey::new(KEY).expect("a key");
        options.budget.cases = Some(3);
        let seen = Arc::new(Mutex::new(String::new()));
        let shown = Arc::clone(&seen);
        let judge_it = Judge::new(options).listener(move |event| {
            if let Event::Exchange { target, answer, .. } = event {
                shown.lock().expect("no panic").push_str(&format!("{target} {answer}\n"));
            }
        });
        let (report, trace) = judge_it.run_and_record().await.expect("a report");
        check(&format!("{name}: the trace"), &trace, KEY);
        check(&format!("{name}: the screen"), &seen.lock().expect("no panic"), KEY);
        in_every_format(name, &report);
        let folder = tempfile::tempdir().expect("a folder");
        let trace_at = folder.path().join("trace.jsonl");
        std::fs::write(&trace_at, trace).expect("a writable folder");
        let again = judge(&[trace_at], &Terms::default()).expect("a report");
        assert_eq!(json::render(&again), json::render(&report), "{name}");
    }
}

fn in_every_format(name: &str, report: &Report) {
    for format in FORMATS {
        check(&format!("{name}: {}", format.name), format.render(report).as_str(), KEY);
    }
    check(&format!("{name}: the text"), text::render(report, Detail::Verbose, 100).as_str(), KEY);
}

/// Header fields of a request.
type Fields = Vec<(&'static str, String)>;

/// The ways in which a client may send a key: a name, header fields, and a query.
fn placements() -> Vec<(&'static str, Fields, String)> {
    let (nothing, quoted) = (String::new(), KEY.replace('/', "%2F").replace('+', "%2B"));
    let bearer = ("authorization", format!("Bearer {KEY}"));
    let password = ("authorization", format!("Basic {}", BASE64_STANDARD.encode(format!("me:{KEY}"))));
    let other = ("authorization", "Bearer other-token-123".to_owned());
    vec![
        ("bearer", vec![bearer.clone()], nothing.clone()),
        ("a password of Basic", vec![password], nothing.clone()),
        ("a second field", vec![other, bearer.clone()], nothing.clone()),
        ("another field", vec![("x-api-key", KEY.to_owned())], nothing.clone()),
        ("a cookie", vec![("cookie", format!("theme=dark; token={KEY}"))], nothing),
        ("a parameter of any name", Vec::new(), format!("?k={quoted}")),
        ("beside another parameter", vec![bearer], format!("?limit=5&api_key={quoted}")),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_way_a_client_sends_its_key_a_proxy_shows_nothing_of_it() {
    for (name, fields, query) in placements() {
        // The server repeats the key, whatever else it received, in this response and in later ones.
        let base_url = serve(|_, path| {
            let body = format!(
                r#"{{"code":"seen","message":"{KEY} on {path} and {}","status":500}}"#,
                KEY.replace('/', "%2F")
            );
            let response = Response::builder().status(500).header("content-type", "application/json");
            response
                .header("x-seen", KEY)
                .header("location", format!("/v1/pets?api_key={KEY}"))
                .body(Body::from(body))
                .expect("a response")
        })
        .await;
        let folder = tempfile::tempdir().expect("a folder");
        let trace = folder.path().join("traffic.jsonl");
        let file = std::fs::File::create(&trace).expect("a file");
        let running = Running::start(&base_url, |settings| settings.record = Some(Box::new(file))).await;
        for path in [format!("/pets{query}"), "/pets?limit=2".to_owned(), "/store/orders".to_owned()] {
            let mut request = http_client().get(format!("{}{path}", running.base_url));
            for (name, value) in fields.iter().filter(|_| path.starts_with("/pets")) {
                request = request.header(*name, value);
            }
            request.send().await.expect("an answer").bytes().await.expect("a body");
        }
        let lines = Arc::clone(&running.lines);
        let report = running.report().await;
        assert_eq!(report.requests, 3, "{name}");
        check(&format!("{name}: the screen"), &lines.lock().expect("no panic").join("\n"), KEY);
        check(&format!("{name}: the trace"), &std::fs::read_to_string(&trace).expect("a trace"), KEY);
        in_every_format(name, &report);
        in_every_format(name, &judge(&[trace], &Terms::default()).expect("a report"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_repeated_in_another_part_of_an_archive_is_in_no_report() {
    let entry = |at: usize, authorization: &str, body: &str| {
        serde_json::json!({
            "startedDateTime": format!("2026-06-01T12:{:02}:{:02}.000Z", at / 60 % 60, at % 60), "time": 20,
            "request": {"method": "GET", "url": "https://shop.example.com/v1/pets", "httpVersion": "HTTP/1.1",
                "headers": [{"name": "host", "value": "shop.example.com"}, {"name": "authorization", "value": authorization}]},
            "response": {"status": 500, "headers": [{"name": "date", "value": "Mon, 01 Jun 2026 12:00:00 GMT"},
                {"name": "content-type", "value": "application/json"}], "content": {"text": body}}
        })
    };
    let mut entries = vec![entry(0, &format!("Bearer {KEY}"), "{}")];
    entries.extend((1..2_500).map(|at| entry(at, "Bearer another-key-0815", &format!(r#"{{"message":"{KEY}"}}"#))));
    let archive = serde_json::json!({"log": {"version": "1.2", "creator": {"name": "test"}, "entries": entries}});
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("traffic.har");
    std::fs::write(&path, archive.to_string()).expect("a writable folder");
    in_every_format("a later part", &judge(&[path], &Terms::default()).expect("a report"));
}

/// Both streams of the program.
async fn output(args: &[&str]) -> String {
    let output = conform(args).await;
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_with_the_key_is_reported_without_it() {
    let base_url = serve(|token, _| {
        let place = format!("https://login.example.com/?key={}", token.replace('/', "%2F"));
        Response::builder().status(302).header("location", place).body(Body::empty()).expect("a response")
    })
    .await;
    let shown = output(&["--no-config", "--base-url", &base_url, "--api-key", KEY]).await;
    assert!(shown.contains("redirects to https://login.example.com/?key=${CONFORM_API_KEY}"), "{shown}");
    check("a redirect", &shown, KEY);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_value_of_a_header_option_is_shown_nowhere() {
    let secret = "9f8e7d6c5b4a-bypass";
    for name in ["x-vercel-protection-bypass", "X-Tenant"] {
        let base_url = serve(move |_, _| {
            let response =
                Response::builder().status(500).header("content-type", "text/plain").header("x-seen", secret);
            response.body(Body::from(format!("no entry for {secret}"))).expect("a response")
        })
        .await;
        let folder = tempfile::tempdir().expect("a folder");
        let record = folder.path().join("trace.jsonl");
        let field = format!("{name}: {secret}");
        let mut args = vec![
            "--no-config",
            "--base-url",
            &base_url,
            "--api-key",
            KEY,
            "--profile",
            "read-only",
            "--header",
            &field,
        ];
        args.extend(["--max-requests", "12", "-v", "--record", record.to_str().expect("a path")]);
        let files: Vec<String> = FORMATS
            .iter()
            .map(|format| format!("{}={}", format.name, folder.path().join(format.name).display()))
            .collect();
        files.iter().for_each(|file| args.extend(["--report", file]));
        check(name, &output(&args).await, secret);
        for file in std::fs::read_dir(folder.path()).expect("a folder") {
            let path = file.expect("a file").path();
            check(&format!("{name}: {}", path.display()), &std::fs::read_to_string(&path).expect("text"), secret);
        }
    }
}

#[tokio::test]
async fn no_message_repeats_a_secret_of_the_command_line() {
    const BASE_URL: &str = "http://127.0.0.1:1/v1";
    let secret = "hunter2-correct-horse";
    let cases: [&[&str]; 12] = [
        &["--base-url", "http://user:PW@127.0.0.1:1/v1"],
        &["--base-url", "http://127.0.0.1:1/v1?token=PW"],
        &["--base-url", "user:PW@127.0.0.1/v1"],
        &["--base-url", BASE_URL, "--replica", "http://u:PW@h/v1"],
        &["--base-url", BASE_URL, "--proxy", "nonsense://user:PW@h"],
        &["--base-url", BASE_URL, "--proxy", "http://user:PW@127.0.0.1:1"],
        &["--dry-run", "--proxy", "http://user:PW@h:1", "--header", "X-T: PW"],
        &["--header", "PW"],
        &["--header", "bad name: PW"],
        &["--header", "X-Key: PW\u{1}"],
        &["judge", "--base-url", "http://u:PW@h/v1", "x.har"],
        &["proxy", "--to", "http://u:PW@h/v1"],
    ];
    for case in cases {
        let mut args: Vec<String> = case.iter().map(|text| text.replace("PW", secret)).collect();
        if args[0].starts_with("--") {
            args.extend(["--no-config", "--api-key", KEY].map(str::to_owned));
        }
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        check(&case.join(" "), &output(&args).await, secret);
    }
}
