//! The quota run: exhausts the window of a key, exceeds the limit by at most two requests, waits, and checks that the key works again.
//!
//! With a second key, each is exhausted once, and the other must work meanwhile.

use std::time::Duration;

use jiff::SignedDuration;

use super::CONCURRENCY;
use super::plan::{Probe, Turn};
use super::session::{Session, Stop, bearing};
use super::steps::{fetch, list};
use crate::http::pacing;
use animal_store_rules::history::History;
use animal_store_rules::limits::{KeyLimits, Limiter};
use animal_store_rules::tolerance::Tolerance;
use animal_store_rules::trace::exchange::{Exchange, Request};
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::trace::rate_limit::Window;
use exhaustion::Exhaustion;

pub(super) mod keys;
pub(super) mod watch;

mod exhaustion;
mod recovery;

/// The number of requests after the exhaustion: another one over the limit, those that show whether the key has recovered, and
/// their repetition.
const AFTERWARDS: usize = 8;

/// The number of requests at the end of a window that are sent one after the other, so that their order is known.
const KEPT: usize = 6;

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

/// Exhausts the key that requests are sent with, if the budget allows. If the run `sends_aside`, another key sends near misses meanwhile.
pub(super) async fn run(session: &mut Session<'_>, turn: Turn, sends_aside: bool) -> Result<(), Stop> {
    session.begin("quota");
    let key = session.asking_key();
    if turn == Turn::First {
        watch::rest_of_window(session).await?;
    }
    // The window may be exhausted by now, and then another request would be refused in vain.
    let mut met = session.refused_now(&key).map(|refused| refused.request.clone());
    if met.is_none() && session.send(list_of(0, &key)).await?.status() == Some(429) {
        met = Some(list_of(0, &key));
    }
    let Some(window) = session.last_window(&key) else {
        return exhaust_unreported(session).await;
    };
    let most = limits(session, |key| needed(window, key));
    if !has_budget(session, most) {
        let reason = format!(
            "exhausting a limit of {} takes up to {most} requests, and {} remain in the budget (--max-requests)",
            window.limit,
            session.requests_left()
        );
        // The first turn is judged, whether the budget allows a second one or not.
        match turn {
            Turn::First => session.leave_out("quota.", reason),
            Turn::Second => {
                let part = Probe::Quota(turn).fixed_part().unwrap_or_default();
                session.leave_unfinished(format!("{part} ({reason})"));
            }
        }
        return Ok(());
    }

    // The first of two requests over the limit may have been the one that looked at the window.
    let ended = Exhaustion::new(session, turn, met).run(most).await?;
    match (turn, ended) {
        (Turn::First, false) => {
            let limit = window.limit;
            let reason = if session.exchanges_of(&key).any(|exchange| exchange.status() == Some(429)) {
                format!("no request after the last of a limit of {limit} was refused by itself: 429 came earlier")
            } else {
                format!("the limit of {limit} was not reached before its windows ended")
            };
            session.leave_out("quota.", reason);
            Ok(())
        }
        (Turn::First, true) => recovery::run(session, &key, sends_aside).await,
        (Turn::Second, _) => Ok(()),
    }
}

/// Exhausts a limit that no header reports: where the plan is known, the clock alone shows whether it is enforced. Sends more requests within a minute than two windows admit, or until one is refused.
async fn exhaust_unreported(session: &mut Session<'_>) -> Result<(), Stop> {
    let key = session.asking_key();
    let per_minute = limits(session, |key| key.plan_limits().map(|plan_limits| plan_limits.per_minute));
    let most = per_minute.map_or(0, |per_minute| 2 * per_minute as usize + 1);
    let is_refused =
        |session: &Session<'_>| session.last_answer_to(&key).is_some_and(|last| last.status() == Some(429));
    let mut sent = 0;
    while sent < most.min(session.requests_left()) && !is_over_admitted(session) && !is_refused(session) {
        let batch = session.at_once(CONCURRENCY.min(most - sent));
        let requests = fillers(session, sent, batch, &key);
        let answers = session.send_together(requests).await?;
        let refusal = answers.into_iter().find(|sent| sent.status() == Some(429)).cloned();
        sent += batch;
        if let Some(refusal) = refusal {
            session.follow(pacing::after_refusal(&refusal, 1, 0.0), "Retry-After").await?;
            return recovery::run(session, &key, false).await;
        }
    }
    session.leave_out("quota.", "the responses have no usable rate-limit headers");
    Ok(())
}

/// The requests that exhaust a window: lists, alternating with fetches of animals if those work and no animal is so new that
/// reads may lag.
fn fillers(session: &Session<'_>, sent: usize, count: usize, key: &ApiKey) -> Vec<Request> {
    let settled = session.now() - Tolerance::READ_LAG.duration();
    let exchanges = &session.trace.exchanges;
    let is_new = exchanges.iter().any(|exchange| exchange.received_at > settled && exchange.created_id().is_some());
    let fetched = (!is_new && fetches_work(session)).then(|| session.known_ids());
    let request = |at: usize| match &fetched {
        Some(ids) if at % 2 == 1 => fetch_of(ids, at / 2, key),
        _ => list_of(at / 2, key),
    };
    (sent..sent + count).map(request).collect()
}

/// One of the lists that exhaust a window.
fn list_of(place: usize, key: &ApiKey) -> Request {
    bearing(list(FILLERS[place % FILLERS.len()]), key)
}

/// Returns true if fetching an animal works: the operation may have been removed.
fn fetches_work(session: &Session<'_>) -> bool {
    let is_fetch = |exchange: &Exchange| exchange.request.path.starts_with("/pets/") && exchange.status() == Some(200);
    session.trace.exchanges.iter().any(is_fetch)
}

/// The fetch of one of these animals, counted backwards from the last created one.
fn fetch_of(ids: &[i64], place: usize, key: &ApiKey) -> Request {
    fetch_animal(ids.iter().rev().cycle().nth(place).copied().unwrap_or(1), key)
}

fn fetch_animal(id: i64, key: &ApiKey) -> Request {
    bearing(fetch(id), key)
}

/// Reads the limits of the key in use, as the rules will see them.
fn limits<R>(session: &Session<'_>, ask: impl FnOnce(&KeyLimits<'_>) -> R) -> R {
    let history = History::without_bodies(&session.trace);
    let limiter = Limiter::new(&history);
    ask(&limiter.keys()[session.asking()])
}

/// The number of requests that may be needed to meet the limit: those that remain, or the limit of the minute where the headers
/// report the day.
fn needed(window: Window, key: &KeyLimits<'_>) -> u64 {
    match key.minute_behind_day() {
        Some(per_minute) => window.remaining.min(2 * per_minute),
        None => window.limit.max(window.remaining),
    }
}

/// Returns true if the budget allows for exhausting a limit that takes this many requests.
fn has_budget(session: &Session<'_>, most: u64) -> bool {
    most + AFTERWARDS as u64 <= session.requests_left() as u64
}

/// Returns true if the present window has admitted more than its limit, so that there is no refusal left to wait for.
fn is_over_admitted(session: &Session<'_>) -> bool {
    limits(session, |key| key.is_over_admitted(session.now()))
}

/// The time that is left of the present minute of the key, if its last answer reports one.
pub(super) fn time_left(session: &Session<'_>) -> Option<Duration> {
    limits(session, |key| key.minute_left(session.now())).map(SignedDuration::unsigned_abs)
}
