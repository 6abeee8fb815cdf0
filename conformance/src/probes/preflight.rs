//! Preflight: checks that the API is at the base URL, and accepts the key.
//!
//! It ends a run only where the target cannot be judged, with a message that suggests a remedy. A defective API is judged and not
//! rejected here. So an inconclusive first response leads to a second request.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use super::session::{Session, Stop, bearing};
use super::steps::{list, listed};
use super::target::{Target, is_unreachable};
use crate::events::{Event, Listener};
use crate::http::client::Client;
use crate::options::Options;
use animal_store_rules::trace::answerer;
use animal_store_rules::trace::exchange::{Exchange, Failure, FailureKind, Outcome, Request};

/// Waits for the service at every address, and until it knows every key, as long as the options say, and at most a day. A failure that time does
/// not mend ends the wait. This is not part of the run and does not count against its budget.
pub async fn await_server(client: &Client, options: &Options, listener: &Listener) {
    let timeout = options.budget.wait;
    let deadline = Instant::now() + timeout.min(A_DAY);
    let mut reported = false;
    for place in 0..options.transport.addresses().count() {
        let list = || list("limit=1").at(Some(place));
        // The first request has no key: what answers it may not be the service.
        let requests = std::iter::once((list(), 1)).chain(options.keys().map(|key| (bearing(list(), key), ACCEPTED)));
        for (request, wanted) in requests {
            let (mut answered, mut pause) = (0, POLL_INTERVAL);
            while answered < wanted {
                let Ok(outcome) = timeout_at(deadline, client.send(&request)).await else { return };
                let detail = match readiness(&request, outcome) {
                    Readiness::Ready => {
                        answered += 1;
                        continue;
                    }
                    Readiness::Never => return,
                    Readiness::NotYet(detail) => detail,
                };
                answered = 0;
                if !reported {
                    listener(&Event::NoResponseYet { timeout, detail });
                    reported = true;
                }
                if Instant::now() + pause >= deadline {
                    return;
                }
                sleep(pause).await;
                // A service may lock out an address that sends many unknown keys.
                pause = if request.authorization.is_some() { (2 * pause).min(LONGEST_PAUSE) } else { pause };
            }
        }
    }
}

/// The readiness of the service, by the outcome of a request before the run.
enum Readiness {
    Ready,
    /// The service may become ready. The obstacle is named in words.
    NotYet(String),
    /// Time does not mend the obstacle.
    Never,
}

/// The readiness that an outcome shows. A server that is starting may reset connections (as a container's port does), accept them without a
/// response, or have no certificate yet. A balancer answers while its backend is starting, or has no route to it yet. A new key may not be
/// known everywhere.
fn readiness(request: &Request, outcome: Outcome) -> Readiness {
    match outcome {
        Outcome::Failed(Failure { kind: FailureKind::Untrusted | FailureKind::Tls, detail }) => {
            Readiness::NotYet(detail)
        }
        Outcome::Failed(failure) if failure.kind.is_of_tls() => Readiness::Never,
        Outcome::Failed(failure) => Readiness::NotYet(failure.detail),
        Outcome::Response(response) => match response.status {
            404 | 502..=504 if !answerer::shows_limits(&response) => {
                Readiness::NotYet(format!("{} answers {}", answerer::name_of(&response), response.status))
            }
            401 if request.authorization.is_some() => Readiness::NotYet("the key is refused with 401".to_owned()),
            _ => Readiness::Ready,
        },
    }
}

/// The number of responses in a row that show a key to be known: several replicas may answer in turn.
const ACCEPTED: usize = 3;

/// The interval between two polls.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The longest interval between two polls with a key.
const LONGEST_PAUSE: Duration = Duration::from_secs(4);

const A_DAY: Duration = Duration::from_hours(24);

/// Requests a list of 100, and the orders when the response is inconclusive. The list also shows the existing animals, and with them a
/// category.
///
/// # Errors
///
/// [`Stop`] when the target cannot be judged or the budget is too small.
pub async fn run(session: &mut Session<'_>) -> Result<(), Stop> {
    session.begin("preflight");
    let first = session.ask(list("limit=100")).await?.clone();
    session.take_category_of(&listed(Some(&first)));
    let doubt = |session: &Session<'_>, exchange: &Exchange| {
        let base_url = session.trace.context.address_of(&exchange.request);
        let (transport, waited) = (&session.options.transport, session.options.budget.wait);
        Target { base_url, transport, waited }.doubt(exchange)
    };
    let Some(unusable) = doubt(session, &first) else { return Ok(()) };
    if !is_unreachable(&first) {
        let orders = Request::new("GET", "/store/orders").at(first.request.replica);
        let second = session.ask(orders).await?.clone();
        if doubt(session, &second).is_none() {
            return Ok(());
        }
    }
    Err(Stop::Unusable(Box::new(unusable)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use animal_store_rules::trace::exchange::Response;

    #[test]
    fn what_time_may_mend_is_waited_for_and_nothing_else() {
        let response = |status: u16, fields: &[(&str, &str)]| {
            let headers = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            Outcome::Response(Response { status, headers, body: Vec::new(), cut: false })
        };
        let failed = |kind| Outcome::Failed(Failure { kind, detail: String::new() });
        let limits = [("x-ratelimit-limit", "60")];
        for (what, with_key, outcome, expected) in [
            ("an ingress without a route", false, response(404, &[]), "not yet"),
            ("a backend that starts", false, response(503, &[]), "not yet"),
            ("the 404 of the service", false, response(404, &limits), "ready"),
            ("the service", false, response(401, &limits), "ready"),
            ("a key that is new", true, response(401, &limits), "not yet"),
            ("a key that is known", true, response(200, &limits), "ready"),
            ("a key that is limited", true, response(429, &limits), "ready"),
            ("a certificate of the ingress", false, failed(FailureKind::Untrusted), "not yet"),
            ("a certificate for another name", false, failed(FailureKind::Tls), "not yet"),
            ("nobody listens", false, failed(FailureKind::Connect), "not yet"),
            ("plain HTTP", false, failed(FailureKind::NotTls), "never"),
        ] {
            let request = Request::new("GET", "/pets");
            let request = if with_key { request.authorization("Bearer sk-1") } else { request };
            let found = match readiness(&request, outcome) {
                Readiness::Ready => "ready",
                Readiness::NotYet(_) => "not yet",
                Readiness::Never => "never",
            };
            assert_eq!(found, expected, "{what}");
        }
    }
}
