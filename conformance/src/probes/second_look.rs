//! The second look: reads that did not show a new animal are repeated when reads may not lag any more.
//!
//! For a server whose reads never lag, it sends nothing.

use std::collections::BTreeSet;
use std::time::Duration;

use super::session::{Session, Stop};
use animal_store_rules::rules;
use animal_store_rules::tolerance::Tolerance;
use animal_store_rules::trace::exchange::Request;

/// The maximum number of requests that are repeated: more would show the same.
const MOST: usize = 8;

/// Repeats these reads, each at the replica that it was sent to, which may lag by itself. A list of everything follows, which shows that a missing animal was not removed.
///
/// # Errors
///
/// [`Stop`] when the budget is exhausted.
pub(super) async fn run(session: &mut Session<'_>) -> Result<(), Stop> {
    let doubtful = rules::premature(&session.trace);
    if doubtful.is_empty() {
        return Ok(());
    }
    session.begin_aside("second look");
    session.step("");
    let mut targets = BTreeSet::new();
    let exchanges = &session.trace.exchanges;
    let read = |number: &usize| exchanges.get(number.checked_sub(1)?).map(|exchange| exchange.request.clone());
    let requests: Vec<Request> = doubtful
        .iter()
        .rev()
        .filter_map(read)
        .filter(|request| targets.insert((request.replica, request.target())))
        .take(MOST)
        .collect();
    session.wait(Tolerance::READ_LAG.unsigned() + MARGIN, "new animals to be visible to every read").await?;
    for request in requests {
        session.ask(request).await?;
    }
    session.ask(Request::new("GET", "/pets").query("limit=100")).await?;
    Ok(())
}

/// Added to the lag, because times are rounded.
const MARGIN: Duration = Duration::from_millis(100);
