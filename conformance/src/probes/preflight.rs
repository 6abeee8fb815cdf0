//! Preflight: is there an API behind the address, and does it take the key?
//!
//! It ends a run only where judging would be meaningless, with a sentence that says what to do next. An API that answers
//! wrongly is not turned away: that is what the judge is for. So a doubtful first answer asks for a second opinion.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use super::session::{Session, Stop};
use crate::progress::{Event, Listener};
use crate::wire::client::Client;
use crate::wire::exchange::{Exchange, FailureKind, Outcome, Request};

/// Why judging would be meaningless.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Unusable {
    /// Nothing listens.
    #[error(
        "nothing answers at {base_url}{} ({detail})\n  Is the server running, and are host and port right?{}",
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
    /// TLS fails.
    #[error(
        "no TLS session with {base_url} ({detail})\n  If its certificate comes from a private authority, give that with --ca-cert FILE; if the server speaks plain HTTP, use http://."
    )]
    Tls {
        /// The address.
        base_url: String,
        /// The client's words.
        detail: String,
    },
    /// Something listens and does not answer.
    #[error(
        "{base_url} takes connections and gives no HTTP answer ({detail})\n  Is this an HTTP server? If it speaks TLS, use https://; if it is slow, raise --timeout."
    )]
    NoAnswer {
        /// The address.
        base_url: String,
        /// The client's words.
        detail: String,
    },
    /// The key is refused everywhere.
    #[error(
        "the key was refused with 401 from the start\n  Check --api-key (or CONFORM_API_KEY): is it complete, issued for this environment, and not revoked?"
    )]
    KeyRefused,
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
        && failure.kind != FailureKind::Tls
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
    let base_url = session.trace.context.base_url.clone();
    let first = session.ask(Request::new("GET", "/pets").query("limit=100")).await?.clone();
    let Some(doubt) = doubt(&first, &base_url, waited) else { return Ok(()) };
    if matches!(doubt, Unusable::NothingThere { .. } | Unusable::Tls { .. }) {
        return Err(doubt.into());
    }
    let second = session.ask(Request::new("GET", "/store/orders")).await?;
    match self::doubt(second, &base_url, waited) {
        Some(_) => Err(doubt.into()),
        None => Ok(()),
    }
}

/// What makes an answer doubtful.
fn doubt(exchange: &Exchange, base_url: &str, waited: Duration) -> Option<Unusable> {
    let base_url = base_url.to_owned();
    let response = match &exchange.outcome {
        Outcome::Response(response) => response,
        Outcome::Failed(failure) => {
            let detail = failure.detail.clone();
            return Some(match failure.kind {
                FailureKind::Connect => Unusable::NothingThere { base_url, detail, waited },
                FailureKind::Tls => Unusable::Tls { base_url, detail },
                FailureKind::Timeout | FailureKind::Broken => Unusable::NoAnswer { base_url, detail },
            });
        }
    };
    let has_limits = response.headers.iter().any(|(name, _)| name.starts_with("x-ratelimit-"));
    let media_type = response.media_type().unwrap_or_default();
    let versioned = base_url.ends_with("/v1");
    let hint = || {
        if versioned {
            "Check host, port and path of --base-url.".to_owned()
        } else {
            format!("The base address of the API ends in /v1: did you mean {base_url}/v1?")
        }
    };
    let another = |detail: String| Some(Unusable::AnotherPlace { hint: hint(), detail, base_url: base_url.clone() });
    match response.status {
        401 => Some(Unusable::KeyRefused),
        300..=399 => another(format!(
            "it redirects to {}, which the judge does not follow",
            response.header("location").unwrap_or("nowhere")
        )),
        404 if !has_limits || !versioned => another("404, as for a path that it does not know".to_owned()),
        400 if !has_limits && media_type != "application/json" => {
            another("400 as for a request that it does not understand; perhaps it wants https://".to_owned())
        }
        _ if media_type == "text/html" && !has_limits => another("a web page instead of JSON".to_owned()),
        _ => None,
    }
}
