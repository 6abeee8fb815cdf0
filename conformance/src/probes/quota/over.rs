//! The requests that are sent while a window is exhausted: with its key over its limit, and without a valid key.

use std::iter;

use super::{bearing, fetches_work};
use crate::http::pacing::window_of;
use crate::probes::plan::{KEYLESS_OVER, Turn};
use crate::probes::session::{Session, Stop};
use crate::probes::steps::{self, fetch, filled};
use animal_store_rules::request::harmless;
use animal_store_rules::trace::exchange::{Exchange, Request};
use animal_store_rules::trace::keys::ApiKey;

/// The requests over the limit. The run sends as many of them as may be refused: two in a row.
///
/// In the first turn the list is sent only if no response shows which request is the last of the window. In the second turn the list and
/// one of three other operations are refused: one that was not counted when it failed, because it may be checked before the limit, else
/// the one that the seed of the run chooses.
pub(super) fn requests(session: &mut Session<'_>, turn: Turn, key: &ApiKey) -> Vec<Request> {
    let over = match turn {
        Turn::First => vec![list(turn), creation(session)],
        Turn::Second => {
            // A server that reads bodies before it checks the limit answers with 400.
            let malformed = Request::new("POST", "/pets").json(format!(r#"{{"name":"{}""#, session.fresh_name()));
            // A server may serve an animal that is there, and check the limit otherwise. Where a 404 costs nothing, an id that no animal
            // has shows whether the limit is checked last, as it does with half of the seeds.
            let is_404_free = is_free(session, key, |exchange| has_status(exchange, "GET", 404));
            let asks_for_known = !is_404_free && fetches_work(session) && session.seed % 2 == 1;
            let known = session.known_ids().last().copied().filter(|_| asks_for_known);
            let id = known.unwrap_or_else(|| session.random.i64(1 << 61..1 << 62));
            let orders = Request::new("GET", "/store/orders");
            let mut others = [
                (malformed, is_free(session, key, |exchange| has_status(exchange, "POST", 400))),
                (fetch(id), is_404_free),
                (orders, false),
            ];
            others.rotate_left((session.seed % 3) as usize);
            others.sort_by_key(|(_, is_free)| !is_free);
            // It names the address of another client, one for documentation (RFC 5737): the key is limited, not the address. With half of
            // the seeds, a server that reads parameters before it checks the limit answers with 400.
            let list = if session.seed.is_multiple_of(2) { steps::list("limit=0") } else { list(turn) };
            let list = list.header("X-Forwarded-For", "203.0.113.77");
            iter::once(list).chain(others.into_iter().map(|(request, _)| request)).collect()
        }
    };
    over.into_iter().map(|request| bearing(request, key)).collect()
}

/// Returns true if a request about animals was answered with this status. One for an unknown path may not reach the limiter.
fn has_status(exchange: &Exchange, method: &str, status: u16) -> bool {
    let Request { method: asked, path, .. } = &exchange.request;
    asked == method && path.starts_with("/pets") && exchange.status() == Some(status)
}

/// Returns true if a request of this kind was not counted: the responses before and after it, in one window, differ by one request only.
fn is_free(session: &Session<'_>, key: &ApiKey, is_of_kind: fn(&Exchange) -> bool) -> bool {
    let own: Vec<_> = session.exchanges_of(key).collect();
    own.windows(3).any(|neighbours| {
        let &[before, exchange, after] = neighbours else { return false };
        let in_order = before.received_at <= exchange.sent_at && exchange.received_at <= after.sent_at;
        in_order
            && is_of_kind(exchange)
            && window_of(before).zip(window_of(after)).is_some_and(|(before, after)| {
                before.reset == after.reset && before.remaining.checked_sub(after.remaining) == Some(1)
            })
    })
}

/// The list that is sent over the limit.
fn list(turn: Turn) -> Request {
    let query = match turn {
        Turn::First => "limit=1",
        // The near misses have asked for the same list, which a cache before the limiter would answer. One without a status shows
        // less, because a service may have two handlers.
        Turn::Second => "status=sold",
    };
    steps::list(query)
}

/// The request over the limit to send now. A creation that was sent and admitted before is replaced by another one, because no
/// response would show which of the two had stored an animal.
pub(super) fn next(session: &mut Session<'_>, request: &Request, key: &ApiKey) -> Request {
    let is_same = |exchange: &Exchange| harmless::plain(&exchange.request) == harmless::plain(request);
    let was_sent = session.trace().exchanges.iter().rev().any(is_same);
    let next = if request.method == "POST" && was_sent { bearing(creation(session), key) } else { request.clone() };
    if keeps_its_connection(session) { next.kept() } else { next }
}

/// Returns true if the seed chooses one kept connection for the request over the limit and the one that shows the recovery.
pub(super) fn keeps_its_connection(session: &Session<'_>) -> bool {
    session.seed & 4 != 0
}

/// A creation that is valid.
fn creation(session: &mut Session<'_>) -> Request {
    Request::new("POST", "/pets").json(filled(session, r#"{"name":"@NAME@","categoryId":@CATEGORY@}"#).1)
}

/// Sends requests without a key: a client without a key gets 401 also while a key is exhausted. A cache may have kept the refusal of the
/// list.
pub(super) async fn without_a_key(session: &mut Session<'_>, turn: Turn) -> Result<(), Stop> {
    let unknown = format!("Bearer conform-unknown-{:016x}", session.random.u64(..));
    let requests: [Request; KEYLESS_OVER] = [
        list(turn),
        Request::new("GET", "/pets/1").authorization(unknown.clone()),
        Request::new("GET", "/store/orders").authorization(unknown),
    ];
    for mut request in requests {
        request.authorization = request.authorization.filter(|_| session.sends_unknown_keys);
        session.send(request).await?;
    }
    Ok(())
}
