//! The second look: reads that did not show what had just been created are repeated when no read may lag any more.
//!
//! A server whose reads never lag costs nothing here, and neither does one that is right by then.

use std::collections::BTreeSet;
use std::time::Duration;

use super::session::{Session, Stop};
use animal_store_rules::rules;
use animal_store_rules::tolerance::Tolerance;
use animal_store_rules::trace::exchange::Request;

/// No more requests are repeated: several that show the same tell no more than one.
const MOST: usize = 8;

/// Repeats the doubtful reads. A list of everything follows them, which shows that what was missing had not gone.
///
/// # Errors
///
/// [`Stop`] when the budget is spent.
pub(super) async fn run(session: &mut Session<'_>) -> Result<(), Stop> {
    let doubtful = rules::premature(&session.trace);
    if doubtful.is_empty() {
        return Ok(());
    }
    session.begin("second look");
    session.step("");
    let mut targets = BTreeSet::new();
    let exchanges = &session.trace.exchanges;
    let read = |number: &usize| exchanges.get(number.checked_sub(1)?).map(|exchange| exchange.request.clone());
    let requests: Vec<Request> =
        doubtful.iter().rev().filter_map(read).filter(|request| targets.insert(request.target())).take(MOST).collect();
    session.wait(Tolerance::READ_LAG.unsigned() + MARGIN, "what was created to be seen by every read").await?;
    for request in requests {
        session.ask(request).await?;
    }
    session.ask(Request::new("GET", "/pets").query("limit=100")).await?;
    Ok(())
}

/// Beyond the lag, so that rounding cannot deceive.
const MARGIN: Duration = Duration::from_millis(100);
