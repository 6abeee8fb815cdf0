//! The curl lines of a report run as they are printed, and send what the judge sent.

use std::sync::{Arc, Mutex};

use animal_store_conformance::context;
use animal_store_conformance::http::Client;
use animal_store_conformance::report::{Report, shown};
use animal_store_conformance::{Judge, Options};
use animal_store_lab::faults::faults;
use animal_store_reference::Plan;
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::trace::Trace;
use animal_store_rules::trace::exchange::{Exchange, Request};
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::trace::knowledge::Knowledge;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, Uri};
use jiff::Timestamp;
use tokio::net::TcpListener;
use tokio::process::Command;

use crate::candidate::KEY;
use crate::host::Host;
use crate::options;

/// A request as it arrived: method, target, header fields, body.
type Arrived = (String, String, Vec<(String, Vec<u8>)>, Vec<u8>);

/// Starts a server that writes down what arrives.
async fn recorder() -> (String, Arc<Mutex<Vec<Arrived>>>) {
    let arrived: Arc<Mutex<Vec<Arrived>>> = Arc::default();
    let write_down = async |State(arrived): State<Arc<Mutex<Vec<Arrived>>>>,
                            method: Method,
                            uri: Uri,
                            head: HeaderMap,
                            body: Bytes| {
        // What each client sets by itself; the body is compared whole, so its length is as well.
        let own = ["user-agent", "accept", "accept-encoding", "host", "content-length"];
        let mut fields: Vec<(String, Vec<u8>)> = head
            .iter()
            .filter(|(name, _)| !own.contains(&name.as_str()))
            .map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()))
            .collect();
        fields.sort();
        arrived.lock().expect("no panic").push((method.to_string(), uri.to_string(), fields, body.to_vec()));
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let base_url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let app = Router::new().fallback(write_down).with_state(Arc::clone(&arrived));
    tokio::spawn(async move { axum::serve(listener, app).await });
    (base_url, arrived)
}

/// Requests that a shell, or curl, would garble if it could.
fn awkward() -> Vec<Request> {
    let post = |body: &[u8]| Request::new("POST", "/pets").authorization(format!("Bearer {KEY}")).json(body);
    let toggled: String = KEY
        .chars()
        .map(|c| if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() })
        .collect();
    vec![
        Request::new("GET", "/pets"),
        Request::new("GET", "/pets").query("limit=1&status=sold,pending&x=[1]{a,b}$HOME!!'*"),
        Request::new("GET", "/pets").query(format!("api_key={KEY}&token={KEY}x")),
        Request::new("GET", "/pets").authorization("Bearer"),
        Request::new("GET", "/pets").authorization(format!("Bearer {KEY}x")),
        Request::new("GET", "/pets").authorization(format!("Bearer {}", &KEY[..KEY.len() - 1])),
        Request::new("GET", "/pets").authorization(format!("Bearer {toggled}")),
        Request::new("GET", "/pets").authorization(format!("Token! {KEY}")),
        Request::new("GET", "/pets")
            .authorization("Basic c2stQ2FuZGlkYXRlLUtleS0wMDAxOnNrLUNhbmRpZGF0ZS1LZXktMDAwMQ=="),
        Request::new("GET", "/pets").header("X-Empty", "").header("Cookie", format!("a=\"{KEY}\"; b=c")),
        Request::new("GET", "/pets").header("X-Tab", "a\tb").header("X-Quotes", r#"'"\`$(id)`"#),
        Request::new("GET", "/pets").json("{}"),
        Request::new("HEAD", "/pets"),
        Request::new("DELETE", "/pets/1"),
        post(b""),
        post(b"@/etc/hostname"),
        post(br#"{"name":"O'Hara \"$HOME\" `id` $(id) !! \\n %s %d 100%"}"#),
        post("{\"name\":\"Zo\u{eb} \u{1f422} e\u{301} \u{202e}\"}".as_bytes()),
        post(b"{\n\t\"name\": \"two\r\nlines\"\n}\n\n"),
        post(b"a\0b\x01\x1b[31m\x7f\0"),
        post(b"{\"name\":\"\xc3\x28 \xff 'quoted' 100% \\ \"}"),
        post(format!("{{\"name\":\"{KEY}\\n!\n\"}}").as_bytes()),
        post(format!("{{\"name\":\"{}\"}}", "long ".repeat(20_000)).as_bytes()),
    ]
}

/// The curl line that a report shows for each request, after the judge's own client has sent it.
async fn lines(options: &Options, requests: Vec<Request>) -> Vec<String> {
    let client = Client::new(options.transport.clone()).expect("a client");
    let mut trace = Trace { context: context(options), exchanges: Vec::new() };
    for request in requests {
        let (number, now) = (trace.exchanges.len() + 1, Timestamp::UNIX_EPOCH);
        let outcome = client.send(&request).await;
        let step = String::new();
        let exchange = Exchange {
            number,
            probe: "test".into(),
            step,
            request,
            outcome,
            sent_at: now,
            received_at: now,
            known: Knowledge::default(),
        };
        trace.exchanges.push(exchange);
    }
    shown(&trace, options).into_iter().map(|exchange| exchange.curl).collect()
}

/// The shells of this machine, if curl is there as well.
async fn shells() -> Vec<&'static str> {
    let there = async |program: &str, args: &[&str]| Command::new(program).args(args).output().await.is_ok();
    if !there("curl", &["--version"]).await {
        eprintln!("SKIPPED: curl is not installed, so no curl line could be run");
        return Vec::new();
    }
    let mut shells = Vec::new();
    for shell in ["sh", "bash", "zsh", "ksh"] {
        if there(shell, &["-c", "true"]).await {
            shells.push(shell);
        }
    }
    shells
}

#[tokio::test]
async fn the_curl_lines_of_a_report_send_what_the_judge_sent() {
    let (base_url, arrived) = recorder().await;
    let mut options = options(&base_url, Profile::Full);
    options.transport.headers = vec![("X-Tenant".to_owned(), "it's mine".to_owned())];
    let lines = lines(&options, awkward()).await;
    let sent = std::mem::take(&mut *arrived.lock().expect("no panic"));
    assert_eq!(sent.len(), lines.len());
    for shell in shells().await {
        for (line, sent) in lines.iter().zip(&sent) {
            // What a header option says is hidden, so whoever repeats a request fills it in.
            let line = &line.replace("'X-Tenant: (hidden)'", r#""X-Tenant: it's mine""#);
            assert!(!line.contains(KEY) && line.chars().all(|c| !c.is_control()), "{line}");
            let mut command = Command::new(shell);
            for (name, _) in std::env::vars().filter(|(name, _)| name.to_ascii_lowercase().ends_with("_proxy")) {
                command.env_remove(name);
            }
            let output = command.args(["-c", line]).env("CONFORM_API_KEY", KEY).output().await.expect("a shell");
            let beginning: String = line.chars().take(500).collect();
            assert!(output.status.success(), "{shell}: {beginning}\n{}", String::from_utf8_lossy(&output.stderr));
            let got = arrived.lock().expect("no panic").pop().expect("a request arrived");
            assert!(got == *sent, "{shell}: {beginning}\n{}", difference(sent, &got));
        }
    }
}

fn difference(sent: &Arrived, got: &Arrived) -> String {
    let shown = |(method, target, fields, body): &Arrived| {
        let fields: Vec<String> =
            fields.iter().map(|(name, value)| format!("{name}: {}", value.escape_ascii())).collect();
        format!("{method} {target}\n{}\n{}", fields.join("\n"), body[..body.len().min(500)].escape_ascii())
    };
    format!("the judge sent\n{}\nand curl sent\n{}", shown(sent), shown(got))
}

/// The report on a server with a fault, and the server.
async fn report_on(fault: &str) -> (Report, Host) {
    let fault = faults().into_iter().find(|known| known.name == fault).expect("a fault");
    let host = Host::start(Plan::Pro, fault.variation()).await;
    let mut options = options(&host.base_url, Profile::Functional);
    options.api_key = ApiKey::new(&host.key).expect("a usable key");
    options.budget.cases = Some(0);
    (Judge::new(options).clock(host.clock.clone()).run().await.expect("a verdict"), host)
}

#[tokio::test]
async fn a_finding_that_needs_its_connection_is_repeated_by_one_command() {
    for (fault, id, status) in [
        ("auth.missing-key.connection-remembers-key", "auth.missing-key", "HTTP/1.1 200"),
        ("get.not-found.unread-body", "get.not-found", "HTTP/1.1 400"),
    ] {
        let (report, host) = report_on(fault).await;
        let requirement = report.requirement(id).expect("in the catalogue");
        let command = &requirement.evidence.first().expect("evidence").exchanges[0].curl;
        assert!(command.contains(" --next "), "{fault}: {command}");
        for shell in shells().await {
            let sent = Command::new(shell).args(["-c", command]).env("CONFORM_API_KEY", &host.key).output().await;
            let shown = String::from_utf8(sent.expect("a shell").stdout).expect("text");
            let last = shown.rfind("HTTP/1.1 ").map(|at| &shown[at..]);
            assert!(last.is_some_and(|last| last.starts_with(status)), "{fault}: {command}\n{shown}");
        }
    }
}
