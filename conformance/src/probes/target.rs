//! The usability of an address: its first responses show whether the API is there, and accepts the key.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::options::{Invoked, Transport};
use crate::redaction::Redactor;
use crate::redaction::printable;
use crate::redaction::without_secrets;
use animal_store_rules::request::credential_of;
use animal_store_rules::trace::answerer;
use animal_store_rules::trace::exchange::{Exchange, Failure, FailureKind, Outcome, Request, Response};
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::trace::{Context, Trace};

/// The reason why the target cannot be judged.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum UnusableTarget {
    /// The API was not reached.
    #[error("{problem}: {detail}\n  {remedy}")]
    NotReached {
        /// The kind of obstacle between the judge and the API.
        kind: ObstacleKind,
        /// The problem, and the address at which it was met.
        problem: String,
        /// The error of the client, or the property of the response that shows the problem.
        detail: String,
        /// The remedy that the message suggests.
        remedy: String,
    },
    /// The key is rejected on every request.
    #[error("the key was rejected with 401\n  {0}")]
    KeyRefused(KeyHint),
    /// The second key is rejected on every request.
    #[error("the second key was rejected with 401\n  {0}")]
    QuotaKeyRefused(KeyHint),
    /// The key remains rate-limited, and the run ended for this reason.
    #[error(
        "every response to the key was 429: {0}\n  Rerun when the limit of the key has reset and nothing else uses the key, or use another key."
    )]
    Limited(String),
    /// Another address of the service (`--replica`) cannot be judged.
    #[error("{}", .0.to_string().replace("--base-url", "--replica"))]
    Replica(Box<UnusableTarget>),
}

/// The remedy for a rejected key.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct KeyHint {
    /// The option or variable that the key came from.
    source: String,
    /// The defect that the text of the key suggests, as a sentence; else empty.
    oddity: &'static str,
}

impl fmt::Display for KeyHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KeyHint { source, oddity } = self;
        write!(f, "Check that {source} is complete, issued for this environment, and not revoked.{oddity}")
    }
}

/// The kind of obstacle between the judge and the API.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ObstacleKind {
    /// The connection failed.
    NothingThere,
    /// The name of the host is unknown.
    Unresolved,
    /// The Unix socket does not accept connections.
    NoSocket,
    /// The proxy cannot be reached.
    NoProxy,
    /// The TLS handshake failed.
    Tls,
    /// There is a connection, but no HTTP response.
    NoAnswer,
    /// An intermediary in front of the service answers in its place.
    Intermediary,
    /// The base URL is not that of the API.
    AnotherPlace,
}

impl UnusableTarget {
    /// The error with secrets replaced in texts from a server or from the system.
    #[must_use]
    pub(crate) fn redacted(mut self, redactor: &Redactor) -> UnusableTarget {
        match &mut self {
            UnusableTarget::NotReached { detail, .. } | UnusableTarget::Limited(detail) => {
                *detail = printable(&redactor.redact(detail));
            }
            UnusableTarget::Replica(unusable) => **unusable = unusable.clone().redacted(redactor),
            UnusableTarget::KeyRefused(_) | UnusableTarget::QuotaKeyRefused(_) => {}
        }
        self
    }

    /// The error with the source of a rejected key, where the invocation names another one than the option and its variable.
    #[must_use]
    pub(crate) fn invoked(mut self, invoked: &Invoked) -> UnusableTarget {
        let (place, hint) = match &mut self {
            UnusableTarget::KeyRefused(hint) => (0, hint),
            UnusableTarget::QuotaKeyRefused(hint) => (1, hint),
            _ => return self,
        };
        let option = ["--api-key-file", "--quota-key-file"][place];
        let file = invoked.given.iter().find(|(name, _)| name == option).map(|(_, file)| format!("the key in {file}"));
        if let Some(source) = file.or_else(|| invoked.key_variables[place].clone()) {
            hint.source = source;
        }
        self
    }
}

/// Returns true if there was no usable connection, so that further requests are pointless.
pub(super) fn is_unreachable(exchange: &Exchange) -> bool {
    let Outcome::Failed(failure) = &exchange.outcome else { return false };
    !failure.kind.is_end() && !matches!(failure.kind, FailureKind::Timeout | FailureKind::Broken)
}

/// The reason why another address than the base URL cannot be judged, if the exchanges from this place on show it. The first
/// requests of the run to an address are its preflight, so that it costs no extra requests. An address that accepts no key may
/// still be judged, because others accept it.
#[must_use]
pub(super) fn unusable_replica(
    trace: &Trace,
    transport: &Transport,
    key: &ApiKey,
    from: usize,
) -> Option<UnusableTarget> {
    let doubt = trace.exchanges[from..].iter().find_map(|exchange| replica_doubt(trace, transport, key, exchange))?;
    Some(UnusableTarget::Replica(Box::new(doubt)))
}

/// The reason why the replica that got this request cannot be judged: its first request found no connection, or this is the second one
/// that is significant, and both responses are inconclusive.
fn replica_doubt(trace: &Trace, transport: &Transport, key: &ApiKey, exchange: &Exchange) -> Option<UnusableTarget> {
    let replica = exchange.request.replica.filter(|replica| *replica > 0)?;
    let mut of_replica = trace.exchanges.iter().filter(|other| other.request.replica == Some(replica)).peekable();
    let target = Target::of(&trace.context, &exchange.request, transport, key.clone(), Duration::ZERO);
    if is_unreachable(exchange) && of_replica.peek().is_some_and(|first| first.number == exchange.number) {
        return target.doubt(exchange);
    }
    let mut significant = of_replica.filter(|other| is_significant(other, &trace.context));
    let (first, second) = (significant.next()?, significant.next()?);
    if second.number != exchange.number {
        return None;
    }
    let doubt = target.doubt_despite_key(first)?;
    target.doubt_despite_key(second).map(|_| doubt)
}

/// Returns true if the response to this request shows whether the API is at its address.
fn is_significant(exchange: &Exchange, context: &Context) -> bool {
    ["/pets", "/store/orders"].contains(&exchange.request.path.as_str())
        && !credential_of(exchange, context).is_invalid()
}

/// The reason why the second key cannot be used, if these answers to it show it.
#[must_use]
pub(super) fn unusable_quota_key(answers: &[Exchange], key: &ApiKey) -> Option<UnusableTarget> {
    let is_refused = !answers.is_empty() && answers.iter().all(|answer| answer.status() == Some(401));
    is_refused.then(|| {
        let source = "--quota-key (or CONFORM_QUOTA_KEY)".to_owned();
        UnusableTarget::QuotaKeyRefused(KeyHint { source, oddity: oddity(key.reveal()) })
    })
}

/// The options that an error message may contain.
pub(super) struct Target {
    base_url: String,
    proxy: Option<String>,
    unix_socket: Option<PathBuf>,
    key: ApiKey,
    waited: Duration,
}

impl Target {
    /// The address that a request was sent to.
    pub(super) fn of(
        context: &Context,
        request: &Request,
        transport: &Transport,
        key: ApiKey,
        waited: Duration,
    ) -> Target {
        Target {
            base_url: context.address_of(request).to_owned(),
            proxy: transport.proxy.as_deref().map(without_secrets),
            unix_socket: transport.unix_socket.clone(),
            key,
            waited,
        }
    }

    /// The reason why a response is inconclusive, if it is.
    pub(super) fn doubt(&self, exchange: &Exchange) -> Option<UnusableTarget> {
        let response = match &exchange.outcome {
            Outcome::Response(response) => response,
            Outcome::Failed(failure) => return Some(self.unreachable(failure)),
        };
        let has_limits = answerer::shows_limits(response);
        if let Some(hint) = remedy(response.status).filter(|_| !has_limits) {
            return Some(self.behind(response, hint));
        }
        let media_type = response.media_type().unwrap_or_default();
        let versioned = self.base_url.ends_with("/v1");
        let another = |detail: &str| Some(self.another(detail.to_owned()));
        match response.status {
            401 => {
                let source = "--api-key (or CONFORM_API_KEY)".to_owned();
                Some(UnusableTarget::KeyRefused(KeyHint { source, oddity: oddity(self.key.reveal()) }))
            }
            300..=399 => {
                let place = response.header("location").unwrap_or("no location");
                another(&format!("the response redirects to {place}, and the judge follows no redirects"))
            }
            404 if !has_limits || !versioned => another("the response is 404"),
            400 | 403 | 496 if !has_limits && demands_client_certificate(response) => {
                Some(self.behind(response, CLIENT_CERTIFICATE))
            }
            400 if !has_limits && media_type != "application/json" => {
                another("the response is 400; the server may require https://")
            }
            400 | 403 if !has_limits => Some(self.behind(
                response,
                "A gateway in front of the API seems to ask for something of its own, such as a key or a tenant: give it with --header.",
            )),
            451 if !has_limits => Some(self.behind(
                response,
                "A gateway in front of the API refuses the address of the judge, perhaps for its country: judge from another place.",
            )),
            _ if media_type == "text/html" && !has_limits => another("the response is HTML instead of JSON"),
            _ => None,
        }
    }

    /// The reason of [`Target::doubt`], unless it is only that the key was rejected.
    fn doubt_despite_key(&self, exchange: &Exchange) -> Option<UnusableTarget> {
        self.doubt(exchange).filter(|doubt| !matches!(doubt, UnusableTarget::KeyRefused(_)))
    }

    fn unreachable(&self, failure: &Failure) -> UnusableTarget {
        let base_url = &self.base_url;
        let advice = if self.waited.is_zero() { " If it is still starting, use --wait SECONDS." } else { "" };
        let obstacle = |kind: ObstacleKind, problem: String, remedy: &str| {
            let (detail, remedy) = (failure.detail.clone(), remedy.to_owned());
            UnusableTarget::NotReached { kind, problem, detail, remedy }
        };
        let unconnected =
            |kind: ObstacleKind, to: String, remedy: &str| obstacle(kind, format!("cannot connect to {to}"), remedy);
        let tls = |remedy: &str| obstacle(ObstacleKind::Tls, format!("TLS handshake with {base_url} failed"), remedy);
        let no_answer =
            |remedy: &str| obstacle(ObstacleKind::NoAnswer, format!("no HTTP response from {base_url}"), remedy);
        match (failure.kind, &self.unix_socket, &self.proxy) {
            (FailureKind::Connect, Some(path), _) => unconnected(
                ObstacleKind::NoSocket,
                format!("the Unix socket {}{}", path.display(), self.after()),
                &format!(
                    "Check that the server is running, and that --unix-socket names the socket that it listens on.{advice}"
                ),
            ),
            (FailureKind::Connect | FailureKind::Unresolved, _, Some(proxy)) => unconnected(
                ObstacleKind::NoProxy,
                format!("the proxy {proxy}"),
                "Check --proxy (or CONFORM_PROXY); without a proxy, the judge connects directly.",
            ),
            (FailureKind::Connect, None, None) => unconnected(
                ObstacleKind::NothingThere,
                format!("{base_url}{}", self.after()),
                &format!("Check that the server is running, and the host and port of --base-url.{advice}"),
            ),
            (FailureKind::Unresolved, _, None) => unconnected(
                ObstacleKind::Unresolved,
                format!("{base_url}{}", self.after()),
                "Check the spelling of the host name, and that this machine can resolve it.",
            ),
            (FailureKind::NotTls, ..) => {
                tls(&format!("If the server uses plain HTTP, use --base-url {}", in_scheme(base_url, "http")))
            }
            (FailureKind::Untrusted, ..) => tls("To trust it, name a PEM file with --ca-cert FILE."),
            (FailureKind::ClientCertificate, ..) => tls(CLIENT_CERTIFICATE),
            (FailureKind::NotHttp1, ..) => {
                tls("The judge speaks HTTP/1.1: let the server offer http/1.1 by ALPN, too.")
            }
            (FailureKind::Tls, ..) => {
                tls("Check that the certificate is valid for the host name in --base-url, and has not expired.")
            }
            (FailureKind::Timeout, ..) => {
                no_answer("Check that this is an HTTP server. If it is slow, increase --timeout.")
            }
            (FailureKind::Closed | FailureKind::Reset | FailureKind::Broken, ..) if base_url.starts_with("https:") => {
                no_answer("Check that this is an HTTP server.")
            }
            (FailureKind::Closed | FailureKind::Reset | FailureKind::Broken, ..) => no_answer(&format!(
                "If the server uses TLS, use --base-url {}\n  If it speaks only HTTP/2, let it speak HTTP/1.1, too.",
                in_scheme(base_url, "https")
            )),
        }
    }

    /// The time that the run waited for the server, at the end of a clause; empty if it did not wait.
    fn after(&self) -> String {
        if self.waited.is_zero() { String::new() } else { format!(" within {} s", self.waited.as_secs()) }
    }

    /// The error for a response of something in front of the service.
    fn behind(&self, response: &Response, remedy: &str) -> UnusableTarget {
        let detail = format!(
            "{} answers {} in the place of the service, without rate-limit headers",
            answerer::name_of(response),
            response.status
        );
        let problem = format!("{} cannot be judged{}", self.base_url, self.after());
        UnusableTarget::NotReached { kind: ObstacleKind::Intermediary, problem, detail, remedy: remedy.to_owned() }
    }

    /// The error for a base URL that is not that of the API, with a suggestion.
    fn another(&self, detail: String) -> UnusableTarget {
        let base_url = &self.base_url;
        let remedy = match base_url.find("/v1") {
            Some(at) if base_url.len() == at + 3 => "Check the host, port and path of --base-url.".to_owned(),
            Some(at) if base_url[at + 3..].starts_with('/') => {
                format!("The base URL of the API ends in /v1: did you mean {}?", &base_url[..at + 3])
            }
            _ => format!("The base URL of the API ends in /v1: did you mean {}/v1?", without_version(base_url)),
        };
        let problem = format!("{base_url} is not the base URL of the API");
        UnusableTarget::NotReached { kind: ObstacleKind::AnotherPlace, problem, detail, remedy }
    }
}

/// The URL without a trailing version segment.
fn without_version(base_url: &str) -> &str {
    match base_url.rsplit_once('/') {
        Some((rest, last))
            if last.len() > 1 && last.starts_with('v') && last[1..].bytes().all(|b| b.is_ascii_digit()) =>
        {
            rest
        }
        _ => base_url,
    }
}

fn in_scheme(base_url: &str, scheme: &str) -> String {
    let rest = base_url.split_once(':').map_or(base_url, |(_, rest)| rest);
    format!("{scheme}:{rest}")
}

/// The remedy for a status that an intermediary answers.
fn remedy(status: u16) -> Option<&'static str> {
    match status {
        407 => Some("A proxy asks for credentials of its own: give them with --proxy http://USER:PASSWORD@HOST:PORT."),
        502..=504 => Some("Check that the service behind it is running. If it is still starting, use --wait SECONDS."),
        _ => None,
    }
}

/// The remedy where a server demands a client certificate.
const CLIENT_CERTIFICATE: &str =
    "Name a PEM file with a certificate that the server accepts, and its private key, with --client-cert FILE.";

/// Returns true if a response says, like that of nginx, that the client sent no certificate.
fn demands_client_certificate(response: &Response) -> bool {
    String::from_utf8_lossy(&response.body).to_ascii_lowercase().contains("ssl certificate")
}

/// The defect that the text of a rejected key suggests, as a sentence; else empty.
fn oddity(key: &str) -> &'static str {
    if key.starts_with(['"', '\'']) {
        " It begins with a quotation mark."
    } else if key.starts_with(['$', '<', '{']) {
        " It looks like a variable or a placeholder."
    } else {
        ""
    }
}
