//! Preflight: checks that the API is at the base URL, and accepts the key.
//!
//! It ends a run only where the target cannot be judged, with a message that suggests a remedy. A defective API is judged and not
//! rejected here. So an inconclusive first response leads to a second request.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use super::session::{Session, Stop};
use super::steps::{list, listed};
use super::target::{Target, Unusable, is_unreachable};
use crate::events::{Event, Listener};
use crate::http::client::Client;
use animal_store_rules::trace::answerer;
use animal_store_rules::trace::exchange::Request;

/// The reason why preflight does not pass.
#[derive(Debug, thiserror::Error)]
pub enum Abort {
    /// The target cannot be judged.
    #[error(transparent)]
    Unusable(#[from] Unusable),
    /// The budget is too small.
    #[error(transparent)]
    Stop(#[from] Stop),
}

/// Waits for an HTTP response at every address of the service, up to `timeout` in all, and at most a day. A TLS failure ends the wait,
/// because it is permanent. This is not part of the run and does not count against its budget.
pub async fn await_server(client: &Client, timeout: Duration, listener: &Listener) {
    let deadline = Instant::now() + timeout.min(A_DAY);
    for address in client.transport().addresses() {
        await_address(client, address, timeout, deadline, listener).await;
    }
}

async fn await_address(client: &Client, address: &str, timeout: Duration, deadline: Instant, listener: &Listener) {
    let mut reported = false;
    // A server that is starting may reset connections (as a container's port does), or accept them without a response.
    // A balancer answers while its backend is starting.
    while let Ok(polled) = timeout_at(deadline, client.poll(address)).await {
        let detail = match polled {
            Err(failure) if failure.kind.is_of_tls() => return,
            Err(failure) => failure.detail,
            Ok(response) if matches!(response.status, 502..=504) && !answerer::shows_limits(&response) => {
                format!("{} answers {}", answerer::name_of(&response), response.status)
            }
            Ok(_) => return,
        };
        if !reported {
            listener(&Event::NoResponseYet { timeout, detail });
            reported = true;
        }
        if Instant::now() + POLL_INTERVAL >= deadline {
            return;
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// The interval between two polls.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

const A_DAY: Duration = Duration::from_hours(24);

/// Requests a list of 100, and the orders when the response is inconclusive. The list also shows the existing animals, and with them a
/// category. `waited` only affects the error message.
///
/// # Errors
///
/// [`Abort`] when the target cannot be judged or the budget is too small.
pub async fn run(session: &mut Session<'_>, waited: Duration) -> Result<(), Abort> {
    session.begin("preflight");
    let first = session.ask(list("limit=100")).await?.clone();
    session.take_category_of(&listed(Some(&first)));
    let target = Target::of(&session.trace().context, &first.request, session.transport(), session.key(), waited);
    let Some(doubt) = target.doubt(&first) else { return Ok(()) };
    if is_unreachable(&first) {
        return Err(doubt.into());
    }
    let second = session.ask(Request::new("GET", "/store/orders").at(first.request.replica)).await?;
    match target.doubt(second) {
        Some(_) => Err(doubt.into()),
        None => Ok(()),
    }
}
