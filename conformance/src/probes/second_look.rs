//! The second look: reads that did not show a new animal are repeated when reads may no longer lag. Reads that broke a rule although
//! nearly all similar ones kept it are repeated once, which shows whether the failure is intermittent or lasts.
//!
//! For a server whose reads never lag and break no rule, it sends nothing.

use std::collections::BTreeSet;
use std::time::Duration;

use super::session::{Session, Stop, bearing};
use super::steps::list;
use animal_store_rules::request::harmless;
use animal_store_rules::rules;
use animal_store_rules::rules::alike::{self, Doubtful};
use animal_store_rules::tolerance::Tolerance;
use animal_store_rules::trace::exchange::Request;

/// The maximum number of requests that are repeated: more would show nothing new.
const MOST: usize = 8;

/// Repeats lagging reads, each at the replica that it was sent to, because each may lag separately. A list of everything follows, which
/// shows that a missing animal was not removed.
pub(super) async fn run(session: &mut Session<'_>) -> Result<(), Stop> {
    let doubtful = rules::premature(&session.trace);
    if doubtful.is_empty() {
        return Ok(());
    }
    let requests = again(session, &doubtful);
    session.wait(Tolerance::READ_LAG.unsigned() + MARGIN, "new animals to be visible to every read").await?;
    for request in requests {
        session.ask(request).await?;
    }
    session.ask(list("limit=100")).await?;
    Ok(())
}

/// Repeats reads that broke a rule, where one more read shows whether the failure is intermittent. Requests whose failures may be due to
/// harmless header fields that they share are repeated without the fields, and then with them.
pub(super) async fn at_once(session: &mut Session<'_>) -> Result<(), Stop> {
    let Doubtful { undecided, varied } = alike::doubtful(&session.trace);
    session.vary(false);
    if !undecided.is_empty() {
        for request in again(session, &undecided) {
            send(session, request).await?;
        }
    }
    for number in varied.into_iter().take(MOST / 2) {
        let exchange = &session.trace.exchanges[number - 1];
        let (request, step) = (exchange.request.clone(), exchange.step.clone());
        session.begin_aside("second look");
        session.step(step);
        for request in [harmless::plain(&request).at(request.replica), request] {
            let request = session.renewed(request);
            send(session, request).await?;
        }
    }
    session.step("");
    session.vary(true);
    Ok(())
}

async fn send(session: &mut Session<'_>, request: Request) -> Result<(), Stop> {
    let mut keys = session.trace.context.keys.iter();
    if keys.any(|key| request.authorization == bearing(request.clone(), key).authorization) {
        session.ask(request).await?;
    } else {
        session.send(request).await?;
    }
    Ok(())
}

/// Begins the second look, and returns its requests: the latest first, and each target once with each credential.
fn again(session: &mut Session<'_>, numbers: &BTreeSet<usize>) -> Vec<Request> {
    session.begin_aside("second look");
    session.step("");
    let mut targets = BTreeSet::new();
    let mut requests = Vec::new();
    for number in numbers.iter().rev() {
        let request = &session.trace.exchanges[number - 1].request;
        if targets.insert((request.replica, request.target(), request.authorization.clone())) {
            requests.push(request.clone());
        }
    }
    requests.truncate(MOST);
    requests
}

/// The time that is added to the read lag, because times are rounded.
const MARGIN: Duration = Duration::from_millis(100);
