//! The full page: creates more animals than any list may show, so that a missing maximum shows. A Free key allows too few requests
//! for this.

use std::collections::BTreeSet;

use super::CONCURRENCY;
use super::cost::Cost;
use super::session::{Session, Stop};
use super::steps::{ask, creation, list, listed_ids};

/// The number of animals that shows whether a list ends at the maximum.
const ENOUGH: usize = 101;

/// Lists that must show at most 100 animals; a list of one status must show as many as its limit.
const LISTS: [&str; 13] = [
    "limit=100",
    "limit=101",
    "limit=1000",
    "limit=0",
    "limit=-1",
    "",
    "limit=",
    "limit=ten",
    "limit=1e3",
    "limit=99",
    "status=sold",
    "status=sold&limit=100",
    "status=sold&limit=99",
];

/// The maximum cost of this probe.
pub(super) const COST: Cost = Cost { keyed: ENOUGH + LISTS.len(), keyless: 0, animals: ENOUGH };

/// Creates as many animals as are missing, and lists them.
pub(super) async fn run(session: &mut Session<'_>) -> Result<(), Stop> {
    session.begin("full page");
    let mut left = ENOUGH.saturating_sub(known(session));
    while left > 0 {
        let size = session.at_once(left.min(CONCURRENCY));
        let template = r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"sold"}"#;
        let requests = (0..size).map(|_| creation(session, template)).collect();
        session.step("POST /pets, many at once");
        if !session.ask_together(requests).await?.iter().any(|exchange| exchange.created_id().is_some()) {
            // A server that creates nothing more is judged for that.
            break;
        }
        left -= size;
    }
    for query in LISTS {
        let request = list(query);
        let step = format!("GET {}, of a full page", request.target());
        ask(session, request, &step).await?;
    }
    session.step("");
    Ok(())
}

/// The number of animals that were created or listed.
fn known(session: &Session<'_>) -> usize {
    let mut known = BTreeSet::from_iter(session.known_ids());
    for exchange in &session.trace.exchanges {
        if exchange.request.method == "GET" && exchange.request.path == "/pets" {
            known.extend(listed_ids(Some(exchange)));
        }
    }
    known.len()
}
