//! The only owner of an HTTP client.
//!
//! It follows no redirect, so a key never travels to another origin; it decodes no content coding; it reads no more of a
//! body than a bound. Every request uses a connection of its own: what one answer leaves on a connection can then never
//! be taken for a part of the next, and each exchange can be repeated alone.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::Method;
use reqwest::redirect::Policy;

use super::exchange::{Failure, FailureKind, Outcome, Request, Response};

/// No more of a body is read than this. A list of 100 animals with names of 64 KiB fits.
pub const MAX_BODY: usize = 8 * 1024 * 1024;

/// How the client reaches its target.
#[derive(Clone, Debug)]
pub struct Transport {
    /// The base URL, without a trailing slash.
    pub base_url: String,
    /// How long one exchange may take, connecting and reading included.
    pub timeout: Duration,
    /// PEM certificates to trust beside the system's.
    pub ca_certificates: Vec<u8>,
    /// A proxy for every request. The environment's proxy settings are not used.
    pub proxy: Option<String>,
    /// Header fields to send with every request.
    pub headers: Vec<(String, String)>,
}

/// Why no client could be built.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The file given as CA holds no usable certificate.
    #[error("the CA file holds no PEM certificate that can be used")]
    Certificates(#[source] reqwest::Error),
    /// The proxy address cannot be used.
    #[error("the proxy address cannot be used; it should look like http://proxy.example:3128")]
    Proxy(#[source] reqwest::Error),
    /// Anything else; on a machine without CA certificates, TLS cannot start.
    #[error(
        "the HTTP client could not be built; for HTTPS the system needs CA certificates, or give some with --ca-cert"
    )]
    Build(#[source] reqwest::Error),
}

/// Sends requests and writes down what comes of them.
#[derive(Debug)]
pub struct Client {
    http: reqwest::Client,
    transport: Transport,
}

impl Client {
    /// Builds the one client of a run.
    ///
    /// # Errors
    ///
    /// [`ClientError`] when certificates or proxy cannot be used.
    pub fn new(transport: Transport) -> Result<Client, ClientError> {
        // Another part of the process may have chosen a provider already; any will do.
        let _already_installed = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .redirect(Policy::none())
            .timeout(transport.timeout)
            .pool_max_idle_per_host(0)
            .user_agent(concat!("animal-store-conform/", env!("CARGO_PKG_VERSION")));
        if transport.base_url.starts_with("https:") {
            let extra =
                reqwest::Certificate::from_pem_bundle(&transport.ca_certificates).map_err(ClientError::Certificates)?;
            builder = builder.tls_certs_merge(extra);
        } else {
            // Without this, a machine that has no CA certificates could not even speak plain HTTP.
            builder = builder.tls_certs_only([]);
        }
        builder = match &transport.proxy {
            Some(proxy) => builder.proxy(reqwest::Proxy::all(proxy).map_err(ClientError::Proxy)?),
            None => builder.no_proxy(),
        };
        Ok(Client { http: builder.build().map_err(ClientError::Build)?, transport })
    }

    /// Sends one request and waits for its outcome. Failures are outcomes, not errors.
    pub async fn send(&self, request: &Request) -> (Outcome, Timestamp, Timestamp) {
        let sent_at = Timestamp::now();
        let outcome = match self.exchange(request).await {
            Ok(response) => Outcome::Response(response),
            Err(error) => Outcome::Failed(describe(&error)),
        };
        (outcome, sent_at, Timestamp::now())
    }

    /// Asks whether anything speaks HTTP at the base URL, without a key and without reading a body. No exchange: it says
    /// nothing about the API.
    ///
    /// # Errors
    ///
    /// [`Failure`] when there is no HTTP answer.
    pub async fn poll(&self) -> Result<(), Failure> {
        let mut builder = self.http.get(&self.transport.base_url);
        for (name, value) in &self.transport.headers {
            builder = builder.header(name, value);
        }
        builder.send().await.map(|_| ()).map_err(|error| describe(&error))
    }

    async fn exchange(&self, request: &Request) -> Result<Response, reqwest::Error> {
        // A method that is no token cannot come from a probe; HTTP would be broken by sending it.
        let method = Method::from_bytes(request.method.as_bytes()).unwrap_or(Method::GET);
        let mut builder = self.http.request(method, format!("{}{}", self.transport.base_url, request.target()));
        for (name, value) in self.transport.headers.iter().chain(&request.headers) {
            builder = builder.header(name, value);
        }
        if let Some(value) = &request.authorization {
            builder = builder.header(reqwest::header::AUTHORIZATION, value);
        }
        if let Some(body) = &request.body {
            builder = builder.header(reqwest::header::CONTENT_TYPE, &body.content_type).body(body.bytes.clone());
        }
        let mut response = builder.send().await?;
        let headers = response
            .headers()
            .iter()
            .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect();
        let (mut body, mut cut) = (Vec::new(), false);
        while let Some(chunk) = response.chunk().await? {
            let room = MAX_BODY - body.len();
            if chunk.len() > room {
                body.extend_from_slice(&chunk[..room]);
                cut = true;
                break;
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Response { status: response.status().as_u16(), headers, body, cut })
    }
}

fn describe(error: &reqwest::Error) -> Failure {
    let detail = innermost(error);
    let kind = if error.is_connect() {
        // reqwest has no question for TLS; rustls and the certificate verifier name themselves in the chain.
        let tls = ["certificate", "tls", "handshake", "InvalidContentType"];
        if tls.iter().any(|word| detail.to_ascii_lowercase().contains(&word.to_ascii_lowercase())) {
            FailureKind::Tls
        } else {
            FailureKind::Connect
        }
    } else if error.is_timeout() {
        FailureKind::Timeout
    } else {
        FailureKind::Broken
    };
    Failure { kind, detail }
}

/// The last error of the chain: the outer ones repeat the URL, which may hold a key.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    if cause.to_string().contains("http://") || cause.to_string().contains("https://") {
        return "the request could not be sent".to_owned();
    }
    cause.to_string()
}
