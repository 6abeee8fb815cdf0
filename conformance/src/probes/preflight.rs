//! Preflight: is there an API behind the address, and does it take the key?
//!
//! It ends a run only where judging would be meaningless, with a sentence that says what to do next. An API that answers
//! wrongly is not turned away: that is what the judge is for. So a doubtful first answer asks for a second opinion.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use super::session::{Session, Stop};
use crate::events::{Event, Listener};
use crate::http::client::Client;
use crate::redaction::without_password;
use animal_store_rules::trace::exchange::{Exchange, Failure, FailureKind, Outcome, Request};
use animal_store_rules::trace::keys::ApiKey;

/// Why judging would be meaningless.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Unusable {
    /// Nothing listens.
    #[error(
        "nothing answers at {base_url}{}: {detail}\n  Is the server running, and are host and port right?{}",
        after(.waited), advice(.waited)
    )]
    NothingThere {
        /// The address.
        base_url: String,
        /// The client's words.
        detail: String,
        /// How long the run waited for something to answer.
        waited: Duration,
    },
    /// The name of the host is unknown.
    #[error(
        "nothing answers at {base_url}{}: {detail}\n  Is the host spelt right, and known on this machine? In a container, localhost is the container itself.",
        after(.waited)
    )]
    Unresolved {
        /// The address.
        base_url: String,
        /// The client's words.
        detail: String,
        /// How long the run waited for something to answer.
        waited: Duration,
    },
    /// The proxy is not there.
    #[error(
        "the proxy {proxy} cannot be used: {detail}\n  Check --proxy (or CONFORM_PROXY); without one, the judge connects directly."
    )]
    NoProxy {
        /// The address of the proxy.
        proxy: String,
        /// The client's words.
        detail: String,
    },
    /// TLS fails.
    #[error("no TLS session with {base_url}: {detail}\n  {hint}")]
    Tls {
        /// The address.
        base_url: String,
        /// The client's words.
        detail: String,
        /// What to try.
        hint: String,
    },
    /// Something listens and does not answer.
    #[error("{base_url} takes connections and gives no HTTP answer: {detail}\n  {hint}")]
    NoAnswer {
        /// The address.
        base_url: String,
        /// The client's words.
        detail: String,
        /// What to try.
        hint: String,
    },
    /// The key is refused everywhere.
    #[error(
        "the key was refused with 401 from the start\n  Check --api-key (or CONFORM_API_KEY): is it complete, issued for this environment, and not revoked?{hint}"
    )]
    KeyRefused {
        /// What looks odd about the key, if anything does.
        hint: &'static str,
    },
    /// The key is over its limit, and stays so.
    #[error(
        "every request was answered with 429 from the start: {reason}\n  Run again when the key's limit has reset, and when nobody else uses the key; or judge with another key."
    )]
    Limited {
        /// Why the run did not go on.
        reason: String,
    },
    /// The address is that of something else.
    #[error("{base_url} answers, but not as this API: {detail}\n  {hint}")]
    AnotherPlace {
        /// The address.
        base_url: String,
        /// What came.
        detail: String,
        /// What to try.
        hint: String,
    },
}

fn after(waited: &Duration) -> String {
    if waited.is_zero() { String::new() } else { format!(" after a wait of {} s", waited.as_secs()) }
}

fn advice(waited: &Duration) -> &'static str {
    if waited.is_zero() { " If it is still starting, wait for it with --wait SECONDS." } else { "" }
}

/// How preflight ends when it does not pass.
#[derive(Debug, thiserror::Error)]
pub enum Abort {
    /// Judging would be meaningless.
    #[error(transparent)]
    Unusable(#[from] Unusable),
    /// The budget did not allow it.
    #[error(transparent)]
    Stop(#[from] Stop),
}

/// Waits until something answers HTTP at the base URL, or for as long as `patience` says, but no longer than a day. A TLS
/// failure ends the wait: time does not mend it. None of this is part of the run: it spends neither requests nor time of it.
pub async fn await_server(client: &Client, patience: Duration, listener: &Listener) {
    let deadline = Instant::now() + patience.min(A_DAY);
    let mut told = false;
    // A server that is just starting may drop connections (a container's port does), or take them and stay silent.
    while let Ok(Err(failure)) = timeout_at(deadline, client.poll()).await
        && !matches!(failure.kind, FailureKind::Tls | FailureKind::Untrusted | FailureKind::NotTls)
    {
        if !told {
            listener(&Event::NothingYet { patience, detail: failure.detail });
            told = true;
        }
        if Instant::now() + POLL_INTERVAL >= deadline {
            return;
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// How long to wait between two looks whether something answers.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

const A_DAY: Duration = Duration::from_secs(86_400);

/// Asks for a list of 100, and for the orders when the answer is doubtful. The list also tells what is there already.
/// How long the run has waited for an answer changes nothing but the words of a refusal.
///
/// # Errors
///
/// [`Abort`] when judging would be meaningless or the budget does not allow it.
pub async fn run(session: &mut Session<'_>, waited: Duration) -> Result<(), Abort> {
    session.begin("preflight");
    let target = Target {
        base_url: session.trace.context.base_url.clone(),
        proxy: session.proxy().map(without_password),
        key: session.key(),
        waited,
    };
    let first = session.ask(Request::new("GET", "/pets").query("limit=100")).await?.clone();
    let Some(doubt) = target.doubt(&first) else { return Ok(()) };
    let unreachable = |kind| !matches!(kind, FailureKind::Timeout | FailureKind::Broken);
    if matches!(&first.outcome, Outcome::Failed(failure) if unreachable(failure.kind)) {
        return Err(doubt.into());
    }
    let second = session.ask(Request::new("GET", "/store/orders")).await?;
    match target.doubt(second) {
        Some(_) => Err(doubt.into()),
        None => Ok(()),
    }
}

/// What was asked for, as far as a refusal may have to name it.
struct Target {
    base_url: String,
    proxy: Option<String>,
    key: ApiKey,
    waited: Duration,
}

impl Target {
    /// What makes an answer doubtful.
    fn doubt(&self, exchange: &Exchange) -> Option<Unusable> {
        let response = match &exchange.outcome {
            Outcome::Response(response) => response,
            Outcome::Failed(failure) => return Some(self.unreachable(failure)),
        };
        let has_limits = response.headers.iter().any(|(name, _)| name.starts_with("x-ratelimit-"));
        let media_type = response.media_type().unwrap_or_default();
        let versioned = self.base_url.ends_with("/v1");
        let another = |detail: &str| Some(self.another(detail.to_owned()));
        match response.status {
            401 => Some(Unusable::KeyRefused { hint: oddity(self.key.reveal()) }),
            300..=399 => {
                let place = response.header("location").unwrap_or("nowhere");
                another(&format!("it redirects to {place}, which the judge does not follow"))
            }
            404 if !has_limits || !versioned => another("404, as for a path that it does not know"),
            400 if !has_limits && media_type != "application/json" => {
                another("400 as for a request that it does not understand; perhaps it wants https://")
            }
            _ if media_type == "text/html" && !has_limits => another("a web page instead of JSON"),
            _ => None,
        }
    }

    fn unreachable(&self, failure: &Failure) -> Unusable {
        let (base_url, detail, waited) = (self.base_url.clone(), failure.detail.clone(), self.waited);
        let tls =
            |hint: &str| Unusable::Tls { base_url: base_url.clone(), detail: detail.clone(), hint: hint.to_owned() };
        match (failure.kind, &self.proxy) {
            (FailureKind::Connect | FailureKind::Unresolved, Some(proxy)) => {
                Unusable::NoProxy { proxy: proxy.clone(), detail }
            }
            (FailureKind::Connect, None) => Unusable::NothingThere { base_url, detail, waited },
            (FailureKind::Unresolved, None) => Unusable::Unresolved { base_url, detail, waited },
            (FailureKind::NotTls, _) => {
                tls(&format!("If it speaks plain HTTP, use http://: --base-url {}", in_scheme(&base_url, "http")))
            }
            (FailureKind::Untrusted, _) => tls("If that is meant to be so, name a PEM file to trust: --ca-cert FILE"),
            (FailureKind::Tls, _) => tls(
                "Is the host in --base-url the one that the certificate is for, and is the certificate still valid?",
            ),
            (FailureKind::Timeout, _) => {
                let hint = "Is this an HTTP server? If it is slow, raise --timeout.".to_owned();
                Unusable::NoAnswer { base_url, detail, hint }
            }
            (FailureKind::Broken, _) => {
                let hint = if base_url.starts_with("https:") {
                    "Is this an HTTP server?".to_owned()
                } else {
                    format!("If it speaks TLS, use https://: --base-url {}", in_scheme(&base_url, "https"))
                };
                Unusable::NoAnswer { base_url, detail, hint }
            }
        }
    }

    /// Something else answers: where the API may be.
    fn another(&self, detail: String) -> Unusable {
        let base_url = self.base_url.clone();
        let hint = match base_url.find("/v1") {
            Some(at) if base_url.len() == at + 3 => "Check host, port and path of --base-url.".to_owned(),
            Some(at) if base_url[at + 3..].starts_with('/') => {
                format!("The base address of the API ends in /v1: did you mean {}?", &base_url[..at + 3])
            }
            _ => format!("The base address of the API ends in /v1: did you mean {}/v1?", without_version(&base_url)),
        };
        Unusable::AnotherPlace { base_url, detail, hint }
    }
}

/// The address without another version than the one of the API.
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

/// What looks odd about a key that is refused.
fn oddity(key: &str) -> &'static str {
    if key.starts_with(['"', '\'']) {
        " It begins with a quotation mark."
    } else if key.starts_with(['$', '<', '{']) {
        " It looks like the name of a variable, or like a placeholder."
    } else {
        ""
    }
}
