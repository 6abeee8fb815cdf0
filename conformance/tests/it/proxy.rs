//! The proxy: what passes is unchanged, and judged on both sides.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use animal_store_conform::formats::json;
use animal_store_conform::proxy::{MOST_CONNECTIONS, Outcome, Proxy, ProxyEvent, Settings};
use animal_store_conformance::http::Clock as JudgeClock;
use animal_store_conformance::recorded::{Terms, judge};
use animal_store_conformance::report::Report;
use animal_store_conformance::{Interrupt, Verdict};
use animal_store_lab::faults::faults;
use animal_store_reference::clock::Clock;
use animal_store_reference::{Embedded, EmbeddedOptions, Plan};
use animal_store_rules::catalogue::scope::Side;
use animal_store_rules::verdict::Status;
use reqwest::{Client, Method, StatusCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::broken;
use crate::command_line::{command, text};

/// A proxy that runs.
pub(crate) struct Running {
    pub(crate) base_url: String,
    interrupt: Interrupt,
    pub(crate) lines: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<Outcome>,
}

impl Running {
    pub(crate) async fn start(to: &str, change: impl FnOnce(&mut Settings)) -> Running {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&lines);
        let mut settings = Settings {
            to: to.to_owned(),
            ca_certificates: Vec::new(),
            timeout: Duration::from_secs(30),
            max_requests: None,
            max_connections: MOST_CONNECTIONS,
            terms: Terms { side: Some(Side::Both), program: "conform".to_owned(), ..Terms::default() },
            rerun_command: "conform proxy".to_owned(),
            record: None,
            on_event: Arc::new(move |event| {
                if let ProxyEvent::Finding(line) | ProxyEvent::Notice(line) = event {
                    seen.lock().expect("no panic").push(line.to_owned());
                }
            }),
            clock: JudgeClock::system(),
        };
        change(&mut settings);
        let proxy = Proxy::listen(([127, 0, 0, 1], 0).into(), settings).await.expect("a proxy");
        let (base_url, interrupt) = (proxy.base_url(), Interrupt::default());
        let raised = interrupt.clone();
        let task = tokio::spawn(async move { proxy.run(&raised).await });
        Running { base_url, interrupt, lines, task }
    }

    pub(crate) async fn end(self) -> Outcome {
        self.interrupt.raise();
        self.task.await.expect("no panic")
    }

    pub(crate) async fn report(self) -> Report {
        self.end().await.report
    }
}

pub(crate) fn http_client() -> Client {
    // Tests of one program share the provider: whichever is first installs it.
    let _already_installed = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().tls_certs_only([]).build().expect("a client")
}

pub(crate) fn failed(report: &Report) -> Vec<String> {
    broken(report).into_iter().map(|line| line.split(':').next().unwrap_or_default().to_owned()).collect()
}

/// A server that answers the first request of each connection with these bytes, and hands out what it received of it.
pub(crate) async fn raw_server(response: &'static [u8]) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let base_url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let received = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let request = read_until(&mut stream, "END").await;
        stream.write_all(response).await.expect("a client");
        stream.shutdown().await.expect("a client");
        request
    });
    (base_url, received)
}

pub(crate) async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut read = Vec::new();
    while !String::from_utf8_lossy(&read).contains(end) {
        assert!(stream.read_buf(&mut read).await.expect("a peer") > 0, "it ended: {}", String::from_utf8_lossy(&read));
    }
    String::from_utf8(read).expect("text")
}

/// A connection to the proxy.
pub(crate) async fn connected(running: &Running) -> TcpStream {
    let authority = running.base_url.trim_start_matches("http://").trim_end_matches("/v1");
    TcpStream::connect(authority).await.expect("the proxy")
}

/// Sends bytes to the proxy; everything that it answers with.
pub(crate) async fn sent(running: &Running, bytes: &str) -> String {
    let mut stream = connected(running).await;
    stream.write_all(bytes.as_bytes()).await.expect("the proxy");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("the proxy");
    String::from_utf8(answer).expect("text")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unusual_message_passes_byte_by_byte_but_for_what_concerns_the_connection() {
    let response = b"HTTP/1.1 299 Rather Fine\r\nX-oDD-Name: a\r\nSet-Cookie: b=1\r\nset-cookie: c=2\r\nKeep-Alive: timeout=9\r\nContent-Length: 5\r\n\r\n\x01\x02\r\n\xc2";
    let (base_url, received) = raw_server(response).await;
    let running = Running::start(&base_url, |_| {}).await;
    let authority = running.base_url.trim_start_matches("http://").trim_end_matches("/v1");
    let request = format!(
        "FROB /v1/%7epets?a=%20+&&b HTTP/1.1\r\nHost: {authority}\r\nX-SHOUT: 1\r\nx-two: 1\r\nx-two: 2\r\nConnection: close, x-hop\r\nX-Hop: 1\r\nContent-Length: 8\r\n\r\n\r\nab END"
    );
    let mut stream = TcpStream::connect(authority).await.expect("the proxy");
    stream.write_all(request.as_bytes()).await.expect("the proxy");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("the proxy");
    let upstream = base_url.trim_start_matches("http://").trim_end_matches("/v1");
    let arrived = received.await.expect("no panic");
    assert!(arrived.starts_with("FROB /v1/%7epets?a=%20+&&b HTTP/1.1\r\n"), "{arrived}");
    for line in [&format!("Host: {upstream}"), "X-SHOUT: 1", "x-two: 1", "x-two: 2", "Content-Length: 8"] {
        assert!(arrived.contains(&format!("\r\n{line}\r\n")), "no {line} in {arrived}");
    }
    assert!(!arrived.to_ascii_lowercase().contains("x-hop") && arrived.ends_with("\r\n\r\n\r\nab END"), "{arrived}");
    let answered = String::from_utf8_lossy(&answer);
    assert!(answered.starts_with("HTTP/1.1 299 Rather Fine\r\n"), "{answered}");
    for line in ["X-oDD-Name: a", "Set-Cookie: b=1", "Content-Length: 5"] {
        assert!(answered.contains(&format!("\r\n{line}\r\n")), "no {line} in {answered}");
    }
    assert!(!answered.contains("Keep-Alive") && !answered.contains("ate:"), "{answered}");
    assert!(answer.ends_with(b"\r\n\r\n\x01\x02\r\n\xc2"), "{answered}");
    assert_eq!(failed(&running.report().await), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgraded_connection_passes_both_ways_until_it_ends() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let base_url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let request = read_until(&mut stream, "\r\n\r\n").await;
        stream
            .write_all(b"HTTP/1.1 101 Changed\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
            .await
            .expect("a peer");
        let said = read_until(&mut stream, "over").await;
        stream.write_all(said.to_uppercase().as_bytes()).await.expect("a peer");
        request
    });
    let running = Running::start(&base_url, |_| {}).await;
    let answer =
        sent(&running, "GET /v1/x HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nover").await;
    assert!(answer.starts_with("HTTP/1.1 101 Changed\r\n") && answer.ends_with("\r\n\r\nOVER"), "{answer}");
    assert!(server.await.expect("no panic").to_ascii_lowercase().contains("upgrade: echo"));
    let report = running.report().await;
    assert_eq!((report.requests, report.verdict), (0, Verdict::Incomplete), "nothing of it is judged");
}

/// A server that repeats the body of a request, without a length where none was given.
pub(crate) async fn echo() -> String {
    let app = axum::Router::new()
        .fallback(|request: axum::extract::Request| async move { axum::response::Response::new(request.into_body()) });
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let base_url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, app).await });
    base_url
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_of_any_length_pass() {
    let running = Running::start(&echo().await, |_| {}).await;
    let client = http_client();
    let mut length = 0_usize;
    while length <= 20 * 1024 * 1024 {
        let body: Vec<u8> = (0..length).map(|at| (at * 31 + at / 251) as u8).collect();
        let response =
            client.post(format!("{}/any", running.base_url)).body(body.clone()).send().await.expect("an answer");
        assert!(response.bytes().await.expect("a body") == body, "a body of {length} bytes was changed");
        length = length * 7 + 1;
    }
    let head = client.head(format!("{}/any", running.base_url)).send().await.expect("an answer");
    assert_eq!((head.status(), head.bytes().await.expect("no body").len()), (StatusCode::OK, 0));
    let report = running.report().await;
    assert_eq!(failed(&report), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn further_connections_wait_until_one_is_closed() {
    let running = Running::start(&empty_store().await, |settings| settings.max_connections = 2).await;
    let request = "GET /v1/pets HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    let (first, second) = (connected(&running).await, connected(&running).await);
    let mut third = Box::pin(sent(&running, request));
    let early = tokio::time::timeout(Duration::from_millis(300), &mut third).await;
    assert!(early.is_err(), "a third connection was served: {early:?}");
    drop(first);
    assert!(third.await.starts_with("HTTP/1.1 200 "));
    drop(second);
}

/// A reference server on a Free key, perhaps with a fault.
pub(crate) async fn reference(fault: &str) -> Embedded {
    let options = EmbeddedOptions::new(Plan::Free, Clock::system());
    match faults().into_iter().find(|known| known.name == fault) {
        Some(fault) => Embedded::start_with(options, fault.variation()).await.expect("a server"),
        None => {
            assert_eq!(fault, "", "no fault has this name");
            Embedded::start(options).await.expect("a server")
        }
    }
}

/// The requests of an ordinary client, with a mistake of each kind that servers have to answer.
async fn session(base_url: &str, key: &str) {
    let client = http_client();
    let ask = |method: Method, path: &str| client.request(method, format!("{base_url}{path}")).bearer_auth(key);
    let create = |body: &'static str| ask(Method::POST, "/pets").header("content-type", "application/json").body(body);
    let animals =
        [r#"{"name":"rex","categoryId":1,"status":"sold"}"#, r#"{"name":"Ida","categoryId":1,"status":"available"}"#];
    for request in [
        create(animals[0]),
        create(animals[1]),
        create(r#"{"name":"Tom"}"#),
        create("{"),
        ask(Method::GET, "/pets"),
        ask(Method::GET, "/pets?limit=1"),
        ask(Method::GET, "/pets?status=sold"),
        ask(Method::GET, "/pets?limit=500"),
        ask(Method::GET, "/pets/1"),
        ask(Method::GET, "/pets/9223372036854775807"),
        ask(Method::GET, "/store/orders"),
        ask(Method::PUT, "/pets"),
        client.get(format!("{base_url}/pets")),
        client.get(format!("{base_url}/pets")).bearer_auth("nobody"),
    ] {
        let response = request.send().await.expect("an answer");
        response.bytes().await.expect("a body");
    }
}

pub(crate) fn statuses(report: &Report) -> BTreeMap<String, (Status, usize, usize)> {
    report.requirements.iter().map(|r| (r.id.clone(), (r.status, r.judged, r.failures))).collect()
}

/// A file that a proxy writes its trace to.
fn recorded_to(path: &Path) -> impl FnOnce(&mut Settings) {
    let file = std::fs::File::create(path).expect("a file");
    move |settings| settings.record = Some(Box::new(file))
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_accused_of_an_ordinary_session_and_its_trace_gives_the_same_verdicts() {
    let server = reference("").await;
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("traffic.jsonl");
    let running = Running::start(server.base_url(), recorded_to(&trace)).await;
    session(&running.base_url, server.api_key()).await;
    let lines = Arc::clone(&running.lines);
    let report = running.report().await;
    assert_eq!(failed(&report), [""; 0]);
    assert_eq!((report.verdict, report.side, report.requests), (Verdict::Incomplete, Side::Both, 14));
    let found = statuses(&report);
    for id in
        ["list.success", "list.limit-minimum", "list.status-filter", "create.echo", "get.not-found", "auth.missing-key"]
    {
        assert_eq!(found[id].0, Status::Pass, "{id}");
    }
    assert_eq!(found["client.key-in-header"].0, Status::Pass);
    for (id, reason) in [
        ("client.retry-after-date", "the clients received no 429 with a date in Retry-After"),
        ("client.backoff", "no client received two 429 responses in a row"),
        ("quota.not-exceeded", ""),
    ] {
        let requirement = report.requirements.iter().find(|r| r.id == id).expect("a verdict");
        let given = requirement.reason.as_deref().unwrap_or_default();
        assert!(requirement.status == Status::NotExercised && given.starts_with(reason), "{id}: {given}");
    }
    assert_eq!(lines.lock().expect("no panic").len(), 0);
    let written = std::fs::read_to_string(&trace).expect("a trace");
    assert!(!written.contains(server.api_key()) && !json::render(&report).contains(server.api_key()));
    let again = judge(std::slice::from_ref(&trace), &Terms::default()).expect("a report");
    assert_eq!((again.side, statuses(&again)), (Side::Both, found));
}

/// A file whose text is handed on as it is written, up to a number of bytes.
struct Tape {
    to: tokio::sync::mpsc::UnboundedSender<String>,
    room: usize,
}

impl std::io::Write for Tape {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.room = self.room.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
        let _at_its_end = self.to.send(String::from_utf8_lossy(bytes).into_owned());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_has_each_exchange_as_soon_as_it_ends_and_a_full_disk_is_told_at_once() {
    let (to, mut written) = tokio::sync::mpsc::unbounded_channel();
    let (told, mut errors) = tokio::sync::mpsc::unbounded_channel();
    let running = Running::start(&empty_store().await, |settings| {
        settings.record = Some(Box::new(Tape { to, room: 4_000 }));
        settings.on_event = Arc::new(move |event| {
            if let ProxyEvent::Unwritten(error) = event {
                told.send(error.kind()).expect("a reader");
            }
        });
    })
    .await;
    assert!(written.recv().await.is_some_and(|line| line.starts_with(r#"{"format":"#)), "the head comes first");
    let (http, mut lines) = (http_client(), 0);
    loop {
        let answer = http.get(format!("{}/pets", running.base_url)).bearer_auth("sk-client-1").send().await;
        assert!(answer.is_ok(), "the traffic goes on");
        let line = tokio::select! {
            line = written.recv() => line,
            error = errors.recv() => {
                assert_eq!(error, Some(std::io::ErrorKind::StorageFull));
                break;
            }
        };
        let Some(line) = line else { continue };
        assert!(line.ends_with("}\n") && line.contains("key-1-") && !line.contains("sk-client"), "{line}");
        lines += 1;
    }
    assert!(lines > 1, "{lines}");
    assert!(running.end().await.unwritten.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_a_fault_is_named_while_the_proxy_runs() {
    for (fault, id) in [("list.array.envelope", "list.array"), ("create.echo.capitalised", "create.echo")] {
        let server = reference(fault).await;
        let folder = tempfile::tempdir().expect("a folder");
        let trace = folder.path().join("traffic.jsonl");
        let running = Running::start(server.base_url(), recorded_to(&trace)).await;
        session(&running.base_url, server.api_key()).await;
        let lines = Arc::clone(&running.lines);
        let report = running.report().await;
        let again = judge(&[trace], &Terms::default()).expect("a report");
        assert_eq!(statuses(&again), statuses(&report), "{fault}");
        let requirement = report.requirements.iter().find(|r| r.id == id).expect("a verdict");
        assert_eq!(
            (requirement.status, report.verdict),
            (Status::Fail, Verdict::Violates),
            "{fault}: {:?}",
            broken(&report)
        );
        let shown = lines.lock().expect("no panic").clone();
        assert!(shown.iter().any(|line| line.starts_with(&format!("{id}: expected "))), "{fault}: {shown:?}");
        assert!(!failed(&report).iter().any(|id| id.starts_with("client.")), "{fault}: {:?}", broken(&report));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_down_gets_its_clients_502_and_no_finding() {
    // A port on which nobody listens, and which no other test can get meanwhile.
    let taken = tokio::net::TcpSocket::new_v4().expect("a socket");
    taken.bind("127.0.0.1:0".parse().expect("an address")).expect("a port");
    let nobody = taken.local_addr().expect("an address");
    let running = Running::start(&format!("http://{nobody}/v1"), |_| {}).await;
    let response =
        http_client().get(format!("{}/pets", running.base_url)).bearer_auth("k").send().await.expect("an answer");
    assert_eq!(response.status(), StatusCode::BAD_GATEWAY);
    assert_eq!(response.text().await.expect("a body"), "conform proxy: connection refused\n");
    let report = running.report().await;
    assert_eq!((failed(&report).len(), report.verdict), (0, Verdict::Incomplete), "{:?}", broken(&report));
    assert!(
        report.notes.iter().any(|note| note.starts_with("1 of 1 requests got no complete response")),
        "{:?}",
        report.notes
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_breaks_off_or_is_silent_is_passed_on_as_that_and_is_no_finding() {
    let (base_url, received) = raw_server(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[").await;
    let running = Running::start(&base_url, |_| {}).await;
    let answer = sent(&running, "GET /v1/pets?END HTTP/1.1\r\nHost: h\r\n\r\n").await;
    assert!(answer.ends_with("\r\n\r\n["), "{answer}");
    received.await.expect("no panic");
    assert_eq!(failed(&running.report().await), [""; 0]);

    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let base_url = format!("http://{}/v1", silent.local_addr().expect("an address"));
    let running = Running::start(&base_url, |settings| settings.timeout = Duration::from_millis(50)).await;
    let response = http_client().get(format!("{}/pets", running.base_url)).send().await.expect("an answer");
    assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(failed(&running.report().await), [""; 0]);
}

/// A server that answers every list with nothing, as quickly as it can.
pub(crate) async fn empty_store() -> String {
    let headers = || {
        [
            ("content-type", "application/json".to_owned()),
            ("x-ratelimit-limit", "1000".to_owned()),
            ("x-ratelimit-remaining", "999".to_owned()),
            ("x-ratelimit-reset", (jiff::Timestamp::now().as_second() + 30).to_string()),
        ]
    };
    let app = axum::Router::new().fallback(move || async move { (headers(), "[]") });
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let base_url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, app).await });
    base_url
}

#[tokio::test(flavor = "multi_thread")]
async fn much_traffic_is_judged_in_parts_and_so_is_its_trace() {
    /// Together more than are judged at a time, however busy the machine is.
    const EACH: usize = 1_100;

    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("traffic.jsonl");
    let running = Running::start(&empty_store().await, recorded_to(&trace)).await;
    let clients: Vec<_> = (0..4)
        .map(|client| {
            let base_url = running.base_url.clone();
            tokio::spawn(async move {
                let http = http_client();
                for _ in 0..EACH {
                    let asked = http.get(format!("{base_url}/pets")).bearer_auth(format!("sk-client-{client}"));
                    asked.send().await.expect("an answer").bytes().await.expect("a body");
                }
            })
        })
        .collect();
    for client in clients {
        client.await.expect("no panic");
    }
    let report = running.report().await;
    assert_eq!((report.requests, failed(&report)), (4 * EACH, Vec::new()));
    assert!(report.notes.iter().any(|note| note.contains(" separate parts")), "{:?}", report.notes);
    let again = judge(std::slice::from_ref(&trace), &Terms::default()).expect("a report");
    // The trace may be divided at other places.
    let verdicts = |report: &Report| -> Vec<(String, Status)> {
        statuses(report).into_iter().map(|(id, (status, ..))| (id, status)).collect()
    };
    assert_eq!(verdicts(&again), verdicts(&report));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_proxy_ends_at_its_limit_of_requests() {
    let running = Running::start(&empty_store().await, |settings| settings.max_requests = Some(3)).await;
    let client = http_client();
    for _ in 0..3 {
        let response = client.get(format!("{}/pets", running.base_url)).send().await.expect("an answer");
        assert_eq!(response.bytes().await.expect("a body").as_ref(), b"[]");
    }
    assert_eq!(running.task.await.expect("no panic").report.requests, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_gets_the_address_and_the_proxy_ends_with_it() {
    let server = reference("").await;
    let judged = r#"exec "$0" --base-url "$CONFORM_PROXY_URL" --api-key "$KEY" --profile read-only --seed 1 --only list --only auth"#;
    let program = env!("CARGO_BIN_EXE_conform");
    let args =
        ["proxy", "--to", server.base_url(), "--side", "server", "--format", "json", "--", "sh", "-c", judged, program];
    let output =
        command(&args).arg(server.api_key()).env("KEY", server.api_key()).output().await.expect("the program starts");
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let report: serde_json::Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}"));
    assert_eq!(
        (output.status.code(), &report["verdict"]),
        (Some(3), &"incomplete".into()),
        "the command failed: {err}"
    );
    assert!(report["requests"].as_u64() > Some(10) && out.contains("the command ended with exit code"), "{out}");
    assert!(!out.contains(server.api_key()) && err.contains("passes requests on to"), "{err}");

    let folder = tempfile::tempdir().expect("a folder");
    let to_report = format!("json={}", folder.path().join("idle.json").display());
    for ends in ["exit 7", "true"] {
        let idle =
            ["proxy", "--to", server.base_url(), "--side=client", "--report", &to_report, "--", "sh", "-c", ends];
        let output = command(&idle).output().await.expect("the program starts");
        let err = text(&output.stderr);
        assert_eq!((output.status.code(), err.contains("no request went through")), (Some(3), true), "{ends}: {err}");
        assert!(text(&output.stdout).lines().next().is_some_and(|line| line.contains("no 429 was met")), "{ends}");
        let report = std::fs::read_to_string(folder.path().join("idle.json")).expect("a report");
        assert!(report.contains(r#""verdict": "incomplete""#), "{ends}: {report}");
        std::fs::remove_file(folder.path().join("idle.json")).expect("a report of this run");
    }
    let absent = ["proxy", "--to", server.base_url(), "--", "./no-such-command"];
    let output = command(&absent).output().await.expect("the program starts");
    let err = text(&output.stderr);
    assert_eq!((output.status.code(), err.contains("cannot run ./no-such-command")), (Some(2), true), "{err}");
}
