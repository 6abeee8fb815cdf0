//! An ordinary session with a server, as a test suite or an application has it: it knows nothing of the judge, and asks for nothing that
//! only a judge would.

use std::time::Duration;

use animal_store_rules::trace::exchange::{Exchange, Failure, FailureKind, Outcome, Request, Response};
use animal_store_rules::trace::knowledge::Knowledge;
use animal_store_rules::trace::retry_after;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::host::Host;
use crate::sockets;

/// What somebody does between two requests takes so long.
const PAUSE: Duration = Duration::from_secs(2);

/// A client that is told to come back later than that gives up.
const MAX_WAIT: SignedDuration = SignedDuration::from_mins(10);

/// How long the client waits for an answer, in real time: only a server that never answers makes it wait.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A client gives up on a server that is silent so often.
const MAX_TIMEOUTS: usize = 2;

/// A Free key is exhausted by fewer.
const BURST: usize = 64;

/// What the client sends and receives.
struct Session<'h> {
    host: &'h Host,
    http: reqwest::Client,
    began: Timestamp,
    exchanges: Vec<Exchange>,
    /// How many requests got no answer in time.
    timeouts: usize,
}

/// Every exchange of the session, with the key.
pub(crate) async fn session(host: &Host) -> Vec<Exchange> {
    // Tests of one program share the provider: whichever is first installs it.
    let _already_installed = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::builder().no_proxy().tls_certs_only([]).redirect(reqwest::redirect::Policy::none());
    let socket = sockets::of(&host.base_url).expect("a socket");
    let http = http.unix_socket(socket).timeout(TIMEOUT).build().expect("a client");
    let mut session = Session { host, http, began: host.clock.now(), exchanges: Vec::new(), timeouts: 0 };
    session.visit().await;
    session.burst().await;
    session.exchanges
}

impl Session<'_> {
    /// Lists, four animals, each fetched at once and later, filters, and a mistake of each common kind.
    async fn visit(&mut self) {
        self.get("/pets").await;
        let animals = [
            json!({"name": "bella", "categoryId": 1, "status": "available"}),
            json!({"name": "Max the Second", "categoryId": 1, "status": "sold"}),
            json!({"name": "Zoë", "categoryId": 1, "status": "pending"}),
            json!({"name": "Charlie", "categoryId": 1}),
        ];
        let mut ids = Vec::new();
        for animal in &animals {
            if let Some(id) = self.create(animal).await {
                self.get(&format!("/pets/{id}")).await;
                ids.push(id);
            }
        }
        for target in ["/pets", "/pets?status=available", "/pets?status=sold", "/pets?status=pending", "/pets?limit=2"]
        {
            self.get(target).await;
        }
        for target in ["/pets?categoryId=1", "/pets?limit=1&status=sold", "/pets?limit=100", "/pets?limit=500"] {
            self.get(target).await;
        }
        for target in ["/pets/987654321", "/store/orders"] {
            self.get(target).await;
        }
        self.create(&json!({"name": "No Category"})).await;
        self.create(&json!({"name": "Rex", "categoryId": 1, "status": "lost"})).await;
        self.send(Request::new("GET", "/pets")).await;
        self.send(Request::new("GET", "/pets").authorization("Bearer sk-that-expired-0001")).await;
        for id in ids {
            self.get(&format!("/pets/{id}")).await;
        }
    }

    /// Polls until the limit is reached, waits as the server says, and goes on.
    async fn burst(&mut self) {
        for _ in 0..BURST {
            self.exchange(self.with_key("/pets?limit=5")).await;
            if self.waited().await {
                break;
            }
        }
        for target in ["/pets?limit=5", "/pets?status=sold", "/store/orders"] {
            self.get(target).await;
        }
    }

    fn with_key(&self, target: &str) -> Request {
        let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
        let request = Request::new("GET", path).authorization(format!("Bearer {}", self.host.key));
        Request { query: query.map(str::to_owned), ..request }
    }

    async fn get(&mut self, target: &str) {
        self.send(self.with_key(target)).await;
    }

    /// Creates an animal; its id.
    async fn create(&mut self, animal: &Value) -> Option<i64> {
        let request = Request { method: "POST".to_owned(), ..self.with_key("/pets") };
        self.send(request.json(animal.to_string())).await;
        let response = self.exchanges.last()?.response()?;
        serde_json::from_slice::<Value>(&response.body).ok()?["id"].as_i64()
    }

    /// Sends a request, once more if it is to be sent later, and pauses.
    async fn send(&mut self, request: Request) {
        self.exchange(request.clone()).await;
        if self.waited().await {
            self.exchange(request).await;
        }
        self.host.clock.sleep(PAUSE).await;
    }

    /// Waits as the latest response says, if it is a 429; whether it was.
    async fn waited(&self) -> bool {
        let latest = self.exchanges.last();
        let Some((exchange, response)) = latest.and_then(|it| Some((it, it.response()?))) else { return false };
        if response.status != 429 {
            return false;
        }
        let wait =
            retry_after::read(response).map_or(SignedDuration::from_mins(1), |it| it.wait(exchange.answered_at()));
        let wait = wait.clamp(SignedDuration::ZERO, MAX_WAIT) + SignedDuration::from_secs(1);
        self.host.clock.sleep(wait.unsigned_abs()).await;
        true
    }

    async fn exchange(&mut self, mut request: Request) {
        if self.timeouts == MAX_TIMEOUTS {
            return;
        }
        let authority = self.host.base_url.split('/').nth(2).expect("an authority");
        request.headers.push(("host".to_owned(), authority.to_owned()));
        let sent_at = self.now();
        let outcome = self.outcome(&request).await;
        self.timeouts +=
            usize::from(matches!(&outcome, Outcome::Failed(failure) if failure.kind == FailureKind::Timeout));
        let received_at = self.now();
        self.exchanges.push(Exchange {
            number: self.exchanges.len() + 1,
            probe: "session".into(),
            step: String::new(),
            request,
            outcome,
            sent_at,
            received_at,
            known: Knowledge::default(),
        });
    }

    async fn outcome(&self, request: &Request) -> Outcome {
        let method = request.method.parse().expect("a method");
        let mut builder = self.http.request(method, format!("{}{}", self.host.base_url, request.target()));
        if let Some(value) = &request.authorization {
            builder = builder.header("authorization", value);
        }
        if let Some(body) = &request.body {
            builder = builder.header("content-type", &body.content_type).body(body.bytes.clone());
        }
        let read = async {
            let response = builder.send().await?;
            let status = response.status().as_u16();
            let field = |(name, value): (&reqwest::header::HeaderName, &reqwest::header::HeaderValue)| {
                (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
            };
            let headers = response.headers().iter().map(field).collect();
            let body = response.bytes().await?.to_vec();
            Ok::<_, reqwest::Error>(Response { status, headers, body, cut: false })
        };
        read.await.map_or_else(
            |error| {
                let kind = if error.is_timeout() { FailureKind::Timeout } else { FailureKind::Broken };
                Outcome::Failed(Failure { kind, detail: error.to_string() })
            },
            Outcome::Response,
        )
    }

    /// The time, as the server has it: it began at the same moment in every run.
    fn now(&self) -> Timestamp {
        let began: Timestamp = crate::host::START_AT.parse().expect("a time");
        began + self.host.clock.now().duration_since(self.began)
    }
}
