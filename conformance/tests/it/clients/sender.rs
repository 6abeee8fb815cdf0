//! How clients send: one task or several, with connections that are kept, shared or new.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, SystemTime};

use reqwest::{Client, StatusCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use super::{KEY, WINDOW};

/// How a client sends.
#[derive(Clone)]
pub(super) struct Sender {
    http: Client,
    base_url: String,
}

/// What a 429 says: whether there was one, and how long to wait.
pub(super) type Refused = Option<Duration>;

impl Sender {
    pub(super) fn new(base_url: &str, is_kept: bool) -> Sender {
        let _already_installed = rustls::crypto::ring::default_provider().install_default();
        let builder = Client::builder().no_proxy().tls_certs_only([]);
        let builder = if is_kept { builder } else { builder.pool_max_idle_per_host(0) };
        Sender { http: builder.build().expect("a client"), base_url: base_url.to_owned() }
    }

    pub(super) async fn list(&self) -> Refused {
        self.get("/pets?limit=1").await
    }

    pub(super) async fn get(&self, path: &str) -> Refused {
        let response =
            self.http.get(format!("{}{path}", self.base_url)).bearer_auth(KEY).send().await.expect("an answer");
        let refused = (response.status() == StatusCode::TOO_MANY_REQUESTS).then(|| {
            let told = response.headers().get("retry-after").map(|value| value.to_str().expect("text").to_owned());
            told.map_or(Duration::from_secs(WINDOW), |told| waited(&told))
        });
        response.bytes().await.expect("a body");
        refused
    }

    /// Sends a list with another credential.
    pub(super) async fn list_with(&self, authorization: &str) {
        let request = self.http.get(format!("{}/pets", self.base_url)).header("authorization", authorization);
        request.send().await.expect("an answer").bytes().await.expect("a body");
    }

    pub(super) async fn post(&self, body: &str) -> i64 {
        let request = self.http.post(format!("{}/pets", self.base_url)).bearer_auth(KEY);
        let request = request.header("content-type", "application/json").body(body.to_owned());
        let text = request.send().await.expect("an answer").text().await.expect("a body");
        serde_json::from_str::<serde_json::Value>(&text).expect("JSON")["id"].as_i64().unwrap_or_default()
    }
}

/// How long a `Retry-After` asks to wait.
fn waited(told: &str) -> Duration {
    if let Ok(seconds) = told.parse() {
        return Duration::from_secs(seconds);
    }
    let date = httpdate::parse_http_date(told).expect("a date");
    date.duration_since(SystemTime::now()).unwrap_or_default()
}

/// Sends a list again and again until it is admitted, after this wait for each refusal; gives up after so many.
pub(super) async fn retried(sender: &Sender, tries: u32, wait: impl Fn(Duration, u32) -> Duration) {
    for attempt in 0..tries {
        let Some(told) = sender.list().await else { return };
        sleep(wait(told, attempt)).await;
    }
}

/// Tasks that share a gate: none sends while it is shut.
pub(super) async fn gated(senders: Vec<Sender>, think: Duration, each: usize) {
    let gate = Arc::new(Mutex::new(Instant::now()));
    let tasks: Vec<_> = senders
        .into_iter()
        .map(|sender| {
            let gate = Arc::clone(&gate);
            tokio::spawn(async move {
                let mut done = 0;
                while done < each {
                    let until = *gate.lock().expect("no panic");
                    if until > Instant::now() {
                        tokio::time::sleep_until(until).await;
                        continue;
                    }
                    match sender.list().await {
                        Some(told) => {
                            let mut gate = gate.lock().expect("no panic");
                            *gate = (*gate).max(Instant::now() + told);
                        }
                        None => done += 1,
                    }
                    sleep(think).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no panic");
    }
}

/// Sends without a pause on so many connections, for this time after the first refusal.
pub(super) async fn hammered(base_url: String, connections: usize, time: Duration) {
    let refused = Arc::new(OnceLock::new());
    let tasks: Vec<_> = (0..connections)
        .map(|_| {
            let (sender, refused) = (Sender::new(&base_url, true), Arc::clone(&refused));
            tokio::spawn(async move {
                while refused.get().is_none_or(|first: &Instant| first.elapsed() < time) {
                    if sender.list().await.is_some() {
                        refused.get_or_init(Instant::now);
                    }
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no panic");
    }
}

/// Sends requests in one piece, without waiting for responses; reads all of them.
pub(super) async fn pipelined(base_url: &str, count: usize) {
    let authority = base_url.trim_start_matches("http://").trim_end_matches("/v1");
    let mut stream = TcpStream::connect(authority).await.expect("the proxy");
    let request = |is_last: bool| {
        let end = if is_last { "Connection: close\r\n" } else { "" };
        format!("GET /v1/pets?limit=1 HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {KEY}\r\n{end}\r\n")
    };
    let all: String = (1..=count).map(|at| request(at == count)).collect();
    stream.write_all(all.as_bytes()).await.expect("the proxy");
    let mut answers = Vec::new();
    stream.read_to_end(&mut answers).await.expect("the proxy");
    let answers = String::from_utf8(answers).expect("text");
    assert_eq!(answers.matches("HTTP/1.1 ").count(), count, "{answers}");
}

/// Sends a request without the field `Authorization`, below the base URL or outside of it.
pub(super) async fn raw(sender: &Sender, method: &str, path: &str, body: Option<String>) {
    let url = match path.strip_prefix("OUTSIDE") {
        Some(path) => format!("{}{path}", sender.base_url.trim_end_matches("/v1")),
        None => format!("{}{path}", sender.base_url),
    };
    let mut request = sender.http.request(method.parse().expect("a method"), url);
    if let Some(body) = body {
        request = request.header("content-type", "application/json").body(body);
    }
    request.send().await.expect("an answer").bytes().await.expect("a body");
}

/// Sends requests on a single connection with this pause between them, until one is refused, and so many more at once.
pub(super) async fn on_one_connection(base_url: &str, pause: Duration, more: usize) {
    let authority = base_url.trim_start_matches("http://").trim_end_matches("/v1");
    let mut stream = TcpStream::connect(authority).await.expect("the proxy");
    let request = format!("GET /v1/pets?limit=1 HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {KEY}\r\n\r\n");
    let mut refused = 0;
    while refused <= more {
        stream.write_all(request.as_bytes()).await.expect("the proxy");
        let mut answer = String::new();
        // Every body ends with a bracket, and no header field has one.
        while !answer.ends_with([']', '}']) {
            let mut piece = [0; 4096];
            let length = stream.read(&mut piece).await.expect("the proxy");
            answer.push_str(std::str::from_utf8(&piece[..length]).expect("text"));
        }
        refused += usize::from(answer.starts_with("HTTP/1.1 429"));
        if refused == 0 {
            sleep(pause).await;
        }
    }
}
