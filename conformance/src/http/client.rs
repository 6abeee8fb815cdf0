//! The only owner of HTTP clients.
//!
//! The clients follow no redirects, so a key is never sent to another origin. They ask for no content coding, unless a request itself
//! accepts gzip, and decode gzip in any case. They read each body only up to a bound. Each request uses a connection of its own: bytes that
//! one response leaves on a connection are never read as a part of the next, and each exchange can be repeated alone. The exceptions are
//! near misses that test what a server leaves on a connection: they share one that is kept open.

use std::convert::Infallible;
use std::io::Read;

use bytes::Bytes;
use flate2::bufread::MultiGzDecoder;
use futures_util::stream;
use http_body_util::StreamBody;
use hyper::body::Frame;
use reqwest::header::{ACCEPT_ENCODING, CONTENT_LENGTH, HeaderMap, HeaderValue, TRANSFER_ENCODING};
use reqwest::redirect::Policy;
use reqwest::{Method, RequestBuilder};

use super::errors;
use super::tls::{UnusableTls, configuration};
use crate::options::{Resolved, Transport};
use animal_store_rules::request::harmless::{self, CAPITALS};
use animal_store_rules::trace::REQUEST_ID;
use animal_store_rules::trace::exchange::{
    Connection, Failure, FailureKind, MAX_BODY, Outcome, Request, Response, is_gzip,
};

/// An error in building the client.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The certificates cannot be used.
    #[error(transparent)]
    Tls(#[from] UnusableTls),
    /// The URL of the proxy is not valid.
    #[error("--proxy: not a proxy URL such as http://proxy.example:3128. Nothing was sent.")]
    Proxy,
    /// Any other error.
    #[error("cannot build the HTTP client: {0}")]
    Build(#[from] reqwest::Error),
}

/// The number of times that a request is sent again if its connection ended before the first byte was sent.
const MOST_UNSENT: usize = 3;

/// Sends requests and records their outcomes.
#[derive(Debug)]
pub struct Client {
    /// Opens a connection for each request.
    http: reqwest::Client,
    /// Opens a connection for each request, and sends the names of header fields with capitals.
    with_capitals: reqwest::Client,
    /// Keeps one connection open.
    kept: reqwest::Client,
    transport: Transport,
}

impl Client {
    /// Builds the one client of a run.
    ///
    /// # Errors
    ///
    /// [`ClientError`] when the certificates or the proxy URL are not valid.
    pub fn new(transport: Transport) -> Result<Client, ClientError> {
        // Another part of the process may have chosen a provider already; any will do.
        let _already_installed = rustls::crypto::ring::default_provider().install_default();
        let http = build(&transport, |builder| builder.pool_max_idle_per_host(0))?;
        let with_capitals = build(&transport, |builder| builder.pool_max_idle_per_host(0).http1_title_case_headers())?;
        let kept = build(&transport, |builder| builder.pool_max_idle_per_host(1))?;
        Ok(Client { http, with_capitals, kept, transport })
    }

    /// Sends one request and waits for its outcome. Failures are outcomes, not errors.
    pub async fn send(&self, request: &Request) -> Outcome {
        self.send_as(request, None).await
    }

    /// Sends one request as [`Client::send`] does, with this identifier in [`REQUEST_ID`], unless the options set this field.
    pub async fn send_as(&self, request: &Request, id: Option<&str>) -> Outcome {
        let sent = self.exchange(request, id.filter(|_| !self.transport.sets(REQUEST_ID))).await;
        sent.map_or_else(Outcome::Failed, Outcome::Response)
    }

    /// Checks whether a server responds at an address, and returns the head of the response without its body. The request has no key,
    /// and is not part of the trace.
    ///
    /// # Errors
    ///
    /// [`Failure`] when there is no HTTP response.
    pub async fn poll(&self, address: &str) -> Result<Response, Failure> {
        let mut builder = self.http.get(address);
        for (name, value) in &self.transport.headers {
            builder = builder.header(name, value);
        }
        builder.send().await.map(|response| head(&response)).map_err(|error| describe(&error))
    }

    async fn exchange(&self, request: &Request, id: Option<&str>) -> Result<Response, Failure> {
        let mut builder = self.message(request, id);
        // A server that rejects the client's certificate may end the connection first. A further connection shows the reason.
        let mut left = MOST_UNSENT;
        let sent = loop {
            let again = builder.try_clone().filter(|_| left > 0 && request.connection == Connection::Own);
            match (builder.send().await, again) {
                (Err(error), Some(again)) if errors::is_unsent(&error) => (builder, left) = (again, left - 1),
                (sent, _) => break sent,
            }
        };
        let mut response = sent.map_err(|error| describe(&error))?;
        let head = head(&response);
        let (body, cut) = read_body(&mut response).await?;
        let mut response = decoded(Response { body, cut, ..head });
        if response.is_too_long() {
            // The beginning of a body shows nothing about it.
            response.body = Vec::new();
        }
        Ok(response)
    }

    /// The message of a request, for the connection that it asks for.
    fn message(&self, request: &Request, id: Option<&str>) -> RequestBuilder {
        // Probes send valid methods only; an invalid one would break the HTTP framing.
        let method = Method::from_bytes(request.method.as_bytes()).unwrap_or(Method::GET);
        let http = match request.connection {
            Connection::Own if harmless::differences(request).iter().any(|known| known == CAPITALS) => {
                &self.with_capitals
            }
            Connection::Own => &self.http,
            Connection::Kept => &self.kept,
        };
        // Only addresses that were given get a request, and with it a key.
        let replica = request.replica.and_then(|replica| self.transport.addresses().nth(replica));
        let address = replica.unwrap_or(&self.transport.base_url);
        let mut builder = http.request(method, format!("{address}{}", request.target()));
        for (name, value) in self.transport.headers.iter().chain(&request.headers) {
            // The framing is up to the connection.
            if !name.eq_ignore_ascii_case(TRANSFER_ENCODING.as_str()) {
                builder = builder.header(name, value);
            }
        }
        if let Some(id) = id {
            builder = builder.header(REQUEST_ID, id);
        }
        if let Some(value) = &request.authorization {
            builder = builder.header(reqwest::header::AUTHORIZATION, value);
        }
        if request.method == "POST" && request.body.as_ref().is_none_or(|body| body.bytes.is_empty()) {
            // A server may require a length of every request that could have a body (RFC 9110 section 8.6).
            builder = builder.header(CONTENT_LENGTH, 0);
        }
        if let Some(body) = &request.body {
            let bytes = Bytes::from(body.bytes.clone());
            let sent = if request.is_chunked() { in_chunks(bytes) } else { bytes.into() };
            if !body.content_type.is_empty() {
                builder = builder.header(reqwest::header::CONTENT_TYPE, &body.content_type);
            }
            builder = builder.body(sent);
        }
        builder
    }
}

/// Reads a body up to the bound, and says whether it was cut.
async fn read_body(response: &mut reqwest::Response) -> Result<(Vec<u8>, bool), Failure> {
    let mut body = Vec::new();
    loop {
        let chunk = match response.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => return Ok((body, false)),
            // A server may add extensions to each chunk, and the client reads a bounded number of their bytes. The head is judged all the same.
            Err(error) if errors::is_of_chunk_extensions(&error) => return Ok((Vec::new(), true)),
            Err(error) => {
                let failure = describe(&error);
                // After its head, a response has begun.
                let kind = if failure.kind.is_end() { FailureKind::Broken } else { failure.kind };
                return Err(Failure { kind, ..failure });
            }
        };
        let room = MAX_BODY - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            return Ok((body, true));
        }
    }
}

/// A response without its body.
fn head(response: &reqwest::Response) -> Response {
    let fields = response.headers().iter();
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let headers = fields.map(|(name, value)| (name.as_str().to_owned(), text(value.as_bytes()))).collect();
    Response { status: response.status().as_u16(), headers, body: Vec::new(), cut: false }
}

/// The response with its body decoded up to the bound, if it was sent in gzip. A server may do so although no request asks for it.
fn decoded(response: Response) -> Response {
    let codings: Vec<&str> = response.values("content-encoding").collect();
    if !matches!(codings[..], [coding] if is_gzip(coding)) {
        return response;
    }
    let mut body = Vec::new();
    if MultiGzDecoder::new(response.body.as_slice()).take(MAX_BODY as u64 + 1).read_to_end(&mut body).is_err() {
        return response;
    }
    let cut = body.len() > MAX_BODY;
    body.truncate(MAX_BODY);
    let mut headers = response.headers;
    headers.retain(|(name, _)| name != "content-encoding");
    Response { status: response.status, headers, body, cut }
}

/// A body in two chunks. The first chunk ends within the first character beyond ASCII, if there is one.
fn in_chunks(mut bytes: Bytes) -> reqwest::Body {
    let within = bytes.iter().position(|byte| !byte.is_ascii()).map_or(bytes.len() / 2, |first| first + 1);
    let first = bytes.split_to(within);
    let frames = [first, bytes].map(|chunk| Ok::<_, Infallible>(Frame::data(chunk)));
    reqwest::Body::wrap(StreamBody::new(stream::iter(frames)))
}

/// A client for the addresses of this transport, changed by `change`.
fn build(
    transport: &Transport,
    change: impl Fn(reqwest::ClientBuilder) -> reqwest::ClientBuilder,
) -> Result<reqwest::Client, ClientError> {
    // Without this field a server may choose any content coding (RFC 9110, 12.5.3).
    let identity = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("identity"))]);
    let mut builder = reqwest::Client::builder()
        .default_headers(identity)
        .redirect(Policy::none())
        .timeout(transport.timeout)
        .user_agent(concat!("animal-store-conform/", env!("CARGO_PKG_VERSION")));
    builder = match &transport.proxy {
        Some(address) => {
            let url = reqwest::Url::parse(address).ok();
            let url = url.filter(|url| ["http", "https"].contains(&url.scheme()) && url.has_host());
            builder.proxy(url.and_then(|url| reqwest::Proxy::all(url).ok()).ok_or(ClientError::Proxy)?)
        }
        None => builder.no_proxy(),
    };
    for Resolved { host, socket, .. } in &transport.resolved {
        builder = builder.resolve(host, *socket);
    }
    if let Some(path) = &transport.unix_socket {
        // The hosts of the addresses are not connected to.
        builder = builder.unix_socket(path.as_path());
    }
    builder = if transport.addresses().any(|address| address.starts_with("https:")) {
        builder.tls_backend_preconfigured(configuration(&transport.ca_certificates, &transport.client_certificate)?)
    } else {
        // Without this, a machine that has no CA certificates could not even speak plain HTTP.
        builder.tls_certs_only([])
    };
    Ok(change(builder).build()?)
}

/// The URL as the client sends it: characters that are not allowed are percent-encoded.
pub(crate) fn as_sent(url: &str) -> String {
    reqwest::Url::parse(url).map_or_else(|_| url.to_owned(), String::from)
}

fn describe(error: &reqwest::Error) -> Failure {
    let (kind, detail) = errors::of(error);
    let kind = kind.unwrap_or(if error.is_connect() {
        FailureKind::Connect
    } else if error.is_timeout() {
        FailureKind::Timeout
    } else {
        errors::end_of_connection(error).unwrap_or(FailureKind::Broken)
    });
    Failure { kind, detail }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn coded(coding: &str, body: Vec<u8>) -> Response {
        let headers = vec![("content-encoding".to_owned(), coding.to_owned())];
        decoded(Response { status: 200, headers, body, cut: false })
    }

    fn gzip(body: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(body).expect("memory");
        encoder.finish().expect("memory")
    }

    #[test]
    fn gzip_is_decoded_up_to_the_bound() {
        let list = coded("GZIP", gzip(b"[]"));
        assert_eq!((&list.body[..], list.cut, list.headers.len()), (&b"[]"[..], false, 0));
        let bomb = coded("gzip", gzip(&vec![b' '; 2 * MAX_BODY]));
        assert_eq!((bomb.body.len(), bomb.cut), (MAX_BODY, true));
    }

    #[test]
    fn a_body_that_is_not_in_its_coding_or_in_another_one_is_left_as_it_is() {
        let rows: [(&str, Vec<u8>, Option<&str>); 6] = [
            ("gzip", b"[]".to_vec(), None),
            ("gzip", Vec::new(), None),
            ("gzip", gzip(b"[]")[..9].to_vec(), None),
            ("gzip", [gzip(b"[]"), b"more".to_vec()].concat(), None),
            ("br", vec![0x8b, 0x00, 0x80], Some("br")),
            ("gzip, gzip", gzip(&gzip(b"[]")), Some("gzip")),
        ];
        for (coding, body, unreadable) in rows {
            let response = coded(coding, body.clone());
            assert_eq!((&response.body, response.unreadable_coding()), (&body, unreadable), "{coding}");
        }
    }
}
