//! The quota run: exhausts the window of a key, exceeds the limit by at most two requests, waits, and checks that the key works again.
//!
//! With a second key, each is exhausted once, and the other must work meanwhile.

use std::time::Duration;

use jiff::SignedDuration;

use super::plan::{Probe, Turn};
use super::session::{Session, Stop, bearing, created_id};
use animal_store_rules::history::History;
use animal_store_rules::limits::{KeyLimits, Limiter};
use animal_store_rules::tolerance::Tolerance;
use animal_store_rules::trace::exchange::{Exchange, Request};
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::trace::rate_limit::{self, Window};

pub(super) mod keys;
pub(super) mod watch;

mod over;
mod recovery;
mod unreported;

/// Requests after the exhaustion: another one over the limit, those that show whether the key has recovered, and their repetition.
const AFTERWARDS: usize = 8;

/// The last requests of a window, which are sent one after the other so that their order is known.
const KEPT: usize = 6;

/// How often the last request over the limit is sent until it is refused.
const LAST_ATTEMPTS: usize = 3;

/// After a refusal within a window that promised more requests the run waits and goes on, at most this often: further ones show nothing
/// new.
const EARLY_REFUSALS: usize = 2;

/// The requests that exhaust a window: lawful lists that the tour does not contain, and the default list again, when no read lags
/// any more.
const FILLERS: [&str; 7] = [
    "status=sold&limit=100",
    "",
    "limit=2&status=sold",
    "status=pending",
    "limit=1",
    "limit=21",
    "status=available&limit=2",
];

/// Exhausts the key that requests are sent with, if the budget allows.
///
/// # Errors
///
/// [`Stop`] when the budget is exhausted.
pub(super) async fn run(session: &mut Session<'_>, turn: Turn, concurrency: usize) -> Result<(), Stop> {
    session.begin("quota");
    let key = session.asking_key();
    if turn == Turn::First {
        watch::rest_of_window(session).await?;
    }
    // A request at its end may have found the window exhausted: another one would be refused in vain.
    let met = match session.refused_now(&key) {
        Some(refused) => Some(refused.request.clone()),
        None => {
            let first = session.send(list_of(0, &key)).await?;
            (first.status() == Some(429)).then(|| list_of(0, &key))
        }
    };
    let Some(window) = session.last_window(&key) else {
        return unreported::run(session, concurrency).await;
    };
    let most = limits(session, |key| needed(window, key));
    if !has_budget(session, most) {
        let reason = format!(
            "exhausting a limit of {} takes up to {most} requests, and {} remain in the budget (--max-requests)",
            window.limit,
            session.requests_left()
        );
        // What the first turn showed is judged, whether there is room for a second or not.
        match turn {
            Turn::First => session.leave_out("quota.", reason),
            Turn::Second => {
                if let Some(part) = Probe::Quota(turn).fixed_part() {
                    session.leave_unfinished(format!("{part} ({reason})"));
                }
            }
        }
        return Ok(());
    }

    let over = over::requests(session, turn, &key);
    // The first of two requests over the limit may have been the one that looked at the window.
    let ended = exhaust(session, turn, concurrency, &over, met, most).await?;
    match (turn, ended) {
        (Turn::First, false) => {
            let reason = format!("the limit of {} was not reached before its windows ended", window.limit);
            session.leave_out("quota.", reason);
            Ok(())
        }
        (Turn::First, true) => recovery::run(session, &key).await,
        (Turn::Second, _) => Ok(()),
    }
}

/// Sends requests until the window is exhausted, and those over the limit; whether one was refused.
async fn exhaust(
    session: &mut Session<'_>,
    turn: Turn,
    concurrency: usize,
    over: &[Request],
    mut refused: Option<Request>,
    most: u64,
) -> Result<bool, Stop> {
    let key = session.asking_key();
    let (mut sent, mut step, mut batch, mut early) = (0, 0, 1, 0);
    let mut beyond = over.iter().cycle().take(over.len() * LAST_ATTEMPTS);
    // A window may end meanwhile, so the count may start over once.
    while refused.is_none() && sent <= 2 * most {
        if is_over_admitted(session) {
            break;
        }
        if turn == Turn::First && session.last_answer_to(&key).is_some_and(shows_the_last) {
            keys::ask_with_the_other(session).await?;
            // Only one request over the limit, the creation: a second could cause a ban, and the rest would show less.
            let creation = over::next(session, &over[1], &key);
            if session.send(creation).await?.status() == Some(429) {
                over::without_a_key(session, turn).await?;
                keys::ask_with_the_other(session).await?;
                return Ok(true);
            }
        }
        // All but the last few at once, so that the window of a slow server is exhausted before it ends.
        let wanted = room(session, batch).saturating_sub(KEPT).min(concurrency.max(1));
        batch = session.at_once(wanted);
        if batch > 0 {
            let requests = fillers(session, sent as usize, batch, &key);
            let promised = session.promised(&key);
            let mut refusals: Vec<Exchange> = session.send_together(requests).await?.into_iter().cloned().collect();
            refusals.retain(|sent| sent.status() == Some(429));
            sent += batch as u64;
            // Of several at once, which one was the last of the window does not show.
            if !refusals.is_empty() && (batch > 1 || is_amid(promised, &mut early)) {
                session.heed(&key, &refusals, 0.0).await?;
            } else {
                refused = refusals.pop().map(|refusal| refusal.request);
            }
            continue;
        }
        batch = 1;
        let remain = session.last_window(&key).map_or(0, |window| window.remaining);
        if remain <= 1 {
            keys::ask_with_the_other(session).await?;
        }
        let request = match turn {
            // The last new animal has been fetched before. Over the limit, lists show most.
            Turn::First if step % 2 == 0 && remain > 1 && fetches_work(session) => {
                fetch_of(&session.known_ids(), step / 2 + 1, &key)
            }
            Turn::First => list_of(step / 2 + 1, &key),
            // A server that refuses these otherwise, as under a ban, would refuse more of them alike.
            Turn::Second if remain == 0 => match beyond.next() {
                Some(request) => request.clone(),
                None => break,
            },
            Turn::Second => read_of(session, step, &key),
        };
        let promised = session.promised(&key);
        let exchange = session.send(request).await?.clone();
        if exchange.status() == Some(429) {
            if is_amid(promised, &mut early) {
                session.heed(&key, &[exchange], 0.0).await?;
            } else {
                refused = Some(exchange.request);
            }
        } else if exchange.status().is_none() || turn == Turn::First && is_refused_otherwise(&exchange) {
            break;
        }
        sent += 1;
        step += 1;
    }
    // Further requests over the limit, for other operations: they too must get 429, and must not create an animal.
    let is_other = |request: &&Request| !refused.as_ref().is_some_and(|refused| is_alike(refused, request));
    let others: Vec<Request> = over.iter().filter(is_other).cloned().collect();
    let mut is_refused = refused.is_some();
    if turn == Turn::Second {
        for other in others {
            if session.refusals_left(&key) == 0 {
                break;
            }
            is_refused |= session.send(other).await?.status() == Some(429);
        }
    } else if let Some(last) = others.last().or(over.last()) {
        for _ in 0..LAST_ATTEMPTS {
            let last = over::next(session, last, &key);
            if session.send(last).await?.status() == Some(429) {
                is_refused = true;
                break;
            }
            // What drops out of a log may have made room for this one.
            if !is_refused {
                break;
            }
        }
    }
    over::without_a_key(session, turn).await?;
    keys::ask_with_the_other(session).await?;
    Ok(is_refused)
}

/// One of the reads that exhaust a window the second time: fetches and orders, and a list after two of them that were refused, which may
/// cost nothing.
fn read_of(session: &Session<'_>, step: usize, key: &ApiKey) -> Request {
    let mut answers = session.trace.exchanges.iter().rev().take(2);
    let is_in_vain = answers.all(|answer| matches!(answer.status(), Some(400..=599)));
    if is_in_vain {
        list_of(step, key)
    } else if step.is_multiple_of(2) {
        // A different animal each time: one fetch does not show that the others work.
        fetch_next(session, step / 2, key)
    } else {
        bearing(Request::new("GET", "/store/orders"), key)
    }
}

/// Whether this response reports that none remain in its window.
fn shows_the_last(exchange: &Exchange) -> bool {
    exchange.status() == Some(200) && window_of(exchange).is_some_and(|window| window.remaining == 0)
}

/// Whether a list was rejected with Remaining 0, but not with 429: further ones would show the same.
fn is_refused_otherwise(exchange: &Exchange) -> bool {
    matches!(exchange.status(), Some(400..=599)) && window_of(exchange).is_some_and(|window| window.remaining == 0)
}

/// Whether two requests are for the same operation.
fn is_alike(one: &Request, other: &Request) -> bool {
    let [a, b] = [one, other].map(|request| request.path.rsplit_once('/').map_or("", |(above, _)| above));
    one.method == other.method && a == b
}

/// The requests that exhaust a window: lists, alternating with fetches of animals if those work and no animal is so new that
/// reads may lag.
fn fillers(session: &Session<'_>, sent: usize, count: usize, key: &ApiKey) -> Vec<Request> {
    let settled = session.now() - Tolerance::READ_LAG.duration();
    let exchanges = &session.trace.exchanges;
    let is_new = exchanges.iter().any(|exchange| exchange.received_at > settled && created_id(exchange).is_some());
    let fetched = (!is_new && fetches_work(session)).then(|| session.known_ids());
    let request = |at: usize| match &fetched {
        Some(ids) if at % 2 == 1 => fetch_of(ids, at / 2, key),
        _ => list_of(at / 2, key),
    };
    (sent..sent + count).map(request).collect()
}

/// One of the lists that exhaust a window.
fn list_of(place: usize, key: &ApiKey) -> Request {
    let list = Request::new("GET", "/pets");
    match FILLERS[place % FILLERS.len()] {
        "" => bearing(list, key),
        query => bearing(list.query(query), key),
    }
}

/// Whether fetching an animal works: the operation may have been removed.
fn fetches_work(session: &Session<'_>) -> bool {
    let is_fetch = |exchange: &Exchange| exchange.request.path.starts_with("/pets/") && exchange.status() == Some(200);
    session.trace.exchanges.iter().any(is_fetch)
}

/// Whether a refusal came in the middle of a window that promised many more requests: then that window is not exhausted. Only the first few
/// refusals are treated like this.
fn is_amid(promised: u64, early: &mut usize) -> bool {
    let is_amid = promised > KEPT as u64 && *early < EARLY_REFUSALS;
    *early += usize::from(is_amid);
    is_amid
}

/// The fetch of one of these animals, counted backwards from the last created one.
fn fetch_of(ids: &[i64], place: usize, key: &ApiKey) -> Request {
    fetch_animal(ids.iter().rev().cycle().nth(place).copied().unwrap_or(1), key)
}

fn fetch_animal(id: i64, key: &ApiKey) -> Request {
    bearing(Request::new("GET", format!("/pets/{id}")), key)
}

/// The fetch of an animal that is available, then of those after the first that is sold: several in a row show it when only some can be
/// fetched. The near misses fetch one that is pending.
fn fetch_next(session: &Session<'_>, place: usize, key: &ApiKey) -> Request {
    let ids = session.known_ids();
    if let Some(available) = session.created_as("available").filter(|_| place == 0) {
        return fetch_animal(available, key);
    }
    let first = session.created_as("sold").and_then(|sold| ids.iter().position(|id| *id == sold)).unwrap_or(0);
    fetch_animal(ids.iter().cycle().nth(first + 1 + place).copied().unwrap_or(1), key)
}

/// How many requests certainly remain after the last responses, which were concurrent and have no order.
fn room(session: &Session<'_>, answers: usize) -> usize {
    let last = session.trace.exchanges.iter().rev().take(answers);
    // Nothing is certain after an unusual response.
    let windows: Option<Vec<Window>> =
        last.map(|sent| window_of(sent).filter(|_| sent.status() == Some(200))).collect();
    let Some(window) = windows.and_then(|windows| windows.into_iter().min_by_key(|window| window.remaining)) else {
        return 0;
    };
    let left = limits(session, |key| match key.minute_behind_day() {
        Some(per_minute) => per_minute.saturating_sub(key.sent_in_minute(session.now())),
        None => window.remaining,
    });
    usize::try_from(left).unwrap_or(usize::MAX).min(session.requests_left())
}

/// What the facts about the limits of the key say that requests are sent with, as the rules will see them.
fn limits<R>(session: &Session<'_>, ask: impl FnOnce(&KeyLimits<'_>) -> R) -> R {
    let history = History::without_bodies(&session.trace);
    let limiter = Limiter::new(&history);
    ask(&limiter.keys()[session.asking()])
}

/// How many requests it may take to meet the limit: what remains, or the minute's limit where the headers report the day.
fn needed(window: Window, key: &KeyLimits<'_>) -> u64 {
    match key.minute_behind_day() {
        Some(per_minute) => window.remaining.min(2 * per_minute),
        None => window.limit.max(window.remaining),
    }
}

/// Whether the budget allows for exhausting a limit that takes this many requests.
fn has_budget(session: &Session<'_>, most: u64) -> bool {
    most + AFTERWARDS as u64 <= session.requests_left() as u64
}

/// Whether the present window has admitted more than its limit, so that there is nothing left to wait for.
fn is_over_admitted(session: &Session<'_>) -> bool {
    limits(session, |key| key.is_over_admitted(session.now()))
}

/// How long the present minute of the key still lasts, if its last answer reports one.
pub(super) fn time_left(session: &Session<'_>) -> Option<Duration> {
    limits(session, |key| key.minute_left(session.now())).map(SignedDuration::unsigned_abs)
}

fn window_of(exchange: &Exchange) -> Option<Window> {
    exchange.response().and_then(|response| rate_limit::read(response).window())
}
