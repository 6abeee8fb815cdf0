//! The usability of an address: its first responses show whether the API is there, and accepts the key.

use std::time::Duration;

use crate::options::{Invoked, Transport};
use crate::redaction::{Redactor, printable, without_secrets};
use animal_store_rules::request::credential_of;
use animal_store_rules::trace::Trace;
use animal_store_rules::trace::answerer;
use animal_store_rules::trace::exchange::{Exchange, Failure, FailureKind, Outcome, Response};

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
    /// The key, from this option or variable, is rejected on every request.
    #[error(
        "the key was rejected with 401\n  Check that {0} is complete, issued for this environment, and not revoked."
    )]
    KeyRefused(String),
    /// The second key, from this option or variable, is rejected on every request.
    #[error(
        "the second key was rejected with 401\n  Check that {0} is complete, issued for this environment, and not revoked."
    )]
    QuotaKeyRefused(String),
    /// The key remains rate-limited, and the run ended for this reason.
    #[error(
        "every response to the key was 429: {0}\n  Rerun when the limit of the key has reset and nothing else uses the key, or use another key."
    )]
    Limited(String),
    /// Another address of the service (`--replica`) cannot be judged.
    #[error("{}", .0.to_string().replace("--base-url", "--replica"))]
    Replica(Box<UnusableTarget>),
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
    pub(crate) fn invoked(mut self, invoked: &Invoked) -> UnusableTarget {
        let (option, variable, source) = match &mut self {
            UnusableTarget::KeyRefused(source) => ("--api-key-file", &invoked.key_variables[0], source),
            UnusableTarget::QuotaKeyRefused(source) => ("--quota-key-file", &invoked.key_variables[1], source),
            _ => return self,
        };
        let file = invoked.given.iter().find(|(name, _)| name == option).map(|(_, file)| format!("the key in {file}"));
        if let Some(given) = file.or_else(|| variable.clone()) {
            *source = given;
        }
        self
    }
}

/// Returns true if there was no usable connection, so that further requests are pointless.
pub(super) fn is_unreachable(exchange: &Exchange) -> bool {
    let Outcome::Failed(failure) = &exchange.outcome else { return false };
    !failure.kind.is_end() && !matches!(failure.kind, FailureKind::Timeout | FailureKind::Broken)
}

/// The reason why another address than the base URL cannot be judged, if the exchanges from this place on show it: the first request to the
/// address found no connection, or both responses to its first two reads with a key are inconclusive. The first requests of the run to an
/// address are its preflight, so that it costs no extra requests. An address that accepts no key may still be judged, because others accept
/// it.
pub(super) fn unusable_replica(trace: &Trace, transport: &Transport, from: usize) -> Option<UnusableTarget> {
    let is_read = |exchange: &&Exchange| {
        ["/pets", "/store/orders"].contains(&exchange.request.path.as_str())
            && !credential_of(exchange, &trace.context).is_invalid()
    };
    trace.exchanges[from..].iter().find_map(|exchange| {
        let replica = exchange.request.replica.filter(|replica| *replica > 0);
        let mut of_replica = trace.exchanges.iter().filter(|other| other.request.replica == replica).peekable();
        let base_url = trace.context.address_of(&exchange.request);
        let target = Target { base_url, transport, waited: Duration::ZERO };
        let doubt = if is_unreachable(exchange) && of_replica.peek()?.number == exchange.number {
            target.doubt(exchange)?
        } else {
            let mut reads = of_replica.filter(is_read);
            let (first, second) = (reads.next()?, reads.next().filter(|second| second.number == exchange.number)?);
            let refuses_key = |doubt: &UnusableTarget| matches!(doubt, UnusableTarget::KeyRefused(_));
            target.doubt(second).filter(|doubt| !refuses_key(doubt))?;
            target.doubt(first).filter(|doubt| !refuses_key(doubt))?
        };
        replica.map(|_| UnusableTarget::Replica(Box::new(doubt)))
    })
}

/// An address of the service, and the settings that an error message may contain.
pub(super) struct Target<'t> {
    pub(super) base_url: &'t str,
    pub(super) transport: &'t Transport,
    /// The time that the run has waited for the server.
    pub(super) waited: Duration,
}

impl Target<'_> {
    /// The reason why a response is inconclusive, if it is.
    pub(super) fn doubt(&self, exchange: &Exchange) -> Option<UnusableTarget> {
        let response = match &exchange.outcome {
            Outcome::Response(response) => response,
            Outcome::Failed(failure) => return Some(self.unreachable(failure)),
        };
        let has_limits = answerer::shows_limits(response);
        let media_type = response.media_type().unwrap_or_default();
        let another = |detail: &str| self.another(detail.to_owned());
        let behind = |remedy: &str| self.behind(response, remedy);
        Some(match response.status {
            401 => UnusableTarget::KeyRefused("--api-key (or CONFORM_API_KEY)".to_owned()),
            300..=399 => {
                let place = response.header("location").unwrap_or("no location");
                another(&format!("the response redirects to {place}, and the judge follows no redirects"))
            }
            404 if !has_limits || !self.base_url.ends_with("/v1") => another("the response is 404"),
            _ if has_limits => return None,
            407 => behind(
                "A proxy asks for credentials of its own: give them with --proxy http://USER:PASSWORD@HOST:PORT.",
            ),
            502..=504 => {
                behind("Check that the service behind it is running. If it is still starting, use --wait SECONDS.")
            }
            // As nginx says that the client sent no certificate.
            400 | 403 | 496 if String::from_utf8_lossy(&response.body).to_lowercase().contains("ssl certificate") => {
                behind(CLIENT_CERTIFICATE)
            }
            400 if media_type != "application/json" => another("the response is 400; the server may require https://"),
            400 | 403 | 451 => behind(
                "A gateway in front of the API refuses the judge: give what it asks for, such as a key or a tenant, with --header.",
            ),
            _ if media_type == "text/html" => another("the response is HTML instead of JSON"),
            _ => return None,
        })
    }

    fn unreachable(&self, failure: &Failure) -> UnusableTarget {
        let Target { base_url, transport, waited, .. } = self;
        let kind = match failure.kind {
            FailureKind::Connect if transport.unix_socket.is_some() => ObstacleKind::NoSocket,
            FailureKind::Connect | FailureKind::Unresolved if transport.proxy.is_some() => ObstacleKind::NoProxy,
            FailureKind::Connect => ObstacleKind::NothingThere,
            FailureKind::Unresolved => ObstacleKind::Unresolved,
            failure if failure.is_of_tls() => ObstacleKind::Tls,
            _ => ObstacleKind::NoAnswer,
        };
        let problem = match (kind, &transport.unix_socket, &transport.proxy) {
            (ObstacleKind::Tls, ..) => format!("TLS handshake with {base_url} failed"),
            (ObstacleKind::NoAnswer, ..) => format!("no HTTP response from {base_url}"),
            (ObstacleKind::NoSocket, Some(path), _) => {
                format!("cannot connect to the Unix socket {}{}", path.display(), self.after())
            }
            (ObstacleKind::NoProxy, _, Some(proxy)) => {
                format!("cannot connect to the proxy {}", without_secrets(proxy))
            }
            _ => format!("cannot connect to {base_url}{}", self.after()),
        };
        let (scheme, rest) = base_url.split_once(':').unwrap_or_default();
        let remedy = match (kind, failure.kind) {
            (ObstacleKind::NoSocket, _) => {
                "Check that the server is running, and that --unix-socket names the socket that it listens on."
            }
            (ObstacleKind::NoProxy, _) => {
                "Check --proxy (or CONFORM_PROXY); without a proxy, the judge connects directly."
            }
            (ObstacleKind::NothingThere, _) => "Check that the server is running, and the host and port of --base-url.",
            (ObstacleKind::Unresolved, _) => {
                "Check the spelling of the host name, and that this machine can resolve it."
            }
            (_, FailureKind::NotTls) => &format!("If the server uses plain HTTP, use --base-url http:{rest}"),
            (_, FailureKind::Untrusted) => "To trust it, name a PEM file with --ca-cert FILE.",
            (_, FailureKind::ClientCertificate) => CLIENT_CERTIFICATE,
            (_, FailureKind::NotHttp1) => "The judge speaks HTTP/1.1: let the server offer http/1.1 by ALPN, too.",
            (ObstacleKind::Tls, _) => {
                "Check that the certificate is valid for the host name in --base-url, and has not expired."
            }
            (_, FailureKind::Timeout) => "Check that this is an HTTP server. If it is slow, increase --timeout.",
            _ if scheme == "https" => "Check that this is an HTTP server.",
            _ => &format!(
                "If the server uses TLS, use --base-url https:{rest}\n  If it speaks only HTTP/2, let it speak HTTP/1.1, too."
            ),
        };
        let is_starting = matches!(kind, ObstacleKind::NoSocket | ObstacleKind::NothingThere) && waited.is_zero();
        let advice = if is_starting { " If it is still starting, use --wait SECONDS." } else { "" };
        let (detail, remedy) = (failure.detail.clone(), format!("{remedy}{advice}"));
        UnusableTarget::NotReached { kind, problem, detail, remedy }
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
            _ => {
                // Another version may be at the end.
                let unversioned = base_url.trim_end_matches(|c: char| c.is_ascii_digit()).strip_suffix("/v");
                let place = unversioned.unwrap_or(base_url);
                format!("The base URL of the API ends in /v1: did you mean {place}/v1?")
            }
        };
        let problem = format!("{base_url} is not the base URL of the API");
        UnusableTarget::NotReached { kind: ObstacleKind::AnotherPlace, problem, detail, remedy }
    }
}

/// The remedy where a server demands a client certificate.
const CLIENT_CERTIFICATE: &str =
    "Name a PEM file with a certificate that the server accepts, and its private key, with --client-cert FILE.";
