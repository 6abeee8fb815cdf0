//! The quota run: exhausts the window, exceeds the limit by at most two requests, waits, and checks that the key works
//! again.

use std::time::Duration;

use jiff::SignedDuration;

use super::plan::{Probe, Turn};
use super::session::{Session, Stop, bearing, created_id, credential};
use crate::http::pacing::{self, Advice};
use animal_store_rules::history::History;
use animal_store_rules::limiter::{KeyLimits, Limiter};
use animal_store_rules::tolerance::Tolerance;
use animal_store_rules::trace::exchange::{Exchange, Request};
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::trace::rate_limit::{self, Window};

/// Requests after the exhaustion: another one over the limit, a list after the wait, and its repetition.
const AFTERWARDS: usize = 4;

/// The longest ban that the run waits for.
const LONGEST_BAN: Duration = Duration::from_secs(330);

/// The last requests of a window, which are sent one after the other so that their order is known.
const KEPT: usize = 6;

/// The requests that exhaust a window: lawful lists that the tour does not contain, and the default list again, when no read lags
/// any more.
const FILLERS: [&str; 6] =
    ["status=sold&limit=100", "", "limit=2&status=sold", "status=pending", "limit=1", "limit=21"];

/// The time that exhausting the rest of a window takes: the last requests are sent one after the other.
pub(super) fn time_to_exhaust(session: &Session<'_>) -> Duration {
    let lasted = |exchange: &Exchange| exchange.received_at.duration_since(exchange.sent_at).unsigned_abs();
    let slowest = session.trace.exchanges.iter().map(lasted).max().unwrap_or_default();
    Duration::from_secs(15) + slowest * (KEPT as u32 + AFTERWARDS as u32)
}

/// Exhausts the quota key, if the budget allows.
///
/// # Errors
///
/// [`Stop`] when the budget is exhausted.
pub(super) async fn run(session: &mut Session<'_>, turn: Turn, concurrency: usize) -> Result<(), Stop> {
    session.begin("quota");
    let key = session.quota_key();
    let first = session.send(list_of(0, &key)).await?;
    let met_at_once = first.status() == Some(429);
    let Some(window) = window_of(first) else {
        session.leave_out("quota.", "the responses have no usable rate-limit headers");
        return Ok(());
    };
    let most = limits(session, |key| needed(window, key));
    if most + AFTERWARDS as u64 > session.requests_left() as u64 {
        let reason = format!(
            "exhausting a limit of {} takes up to {most} requests, and {} remain in the budget (--max-requests)",
            window.limit,
            session.requests_left()
        );
        // What the first turn showed is judged, whether there is room for a second or not.
        match turn {
            Turn::First => session.leave_out("quota.", reason),
            Turn::Second => Probe::Quota(turn).fixed_part().into_iter().for_each(|part| session.leave_unfinished(part)),
        }
        return Ok(());
    }

    let over = over_the_limit(session, turn, &key);
    // The first of two requests over the limit may have been the one that looked at the window.
    let mut refused = met_at_once.then(|| list_of(0, &key));
    let (mut sent, mut step, mut batch, mut beyond) = (0, 0, 1, over.iter().cycle());
    // A window may end meanwhile, so the count may start over once.
    while refused.is_none() && sent <= 2 * most {
        if is_over_admitted(session) {
            break;
        }
        // All but the last few at once, so that the window of a slow server is exhausted before it ends.
        let wanted = room(session, batch).saturating_sub(KEPT).min(concurrency.max(1));
        batch = session.at_once(wanted);
        if batch > 0 {
            let requests = fillers(session, sent as usize, batch, &key);
            session.send_together(requests).await?;
            sent += batch as u64;
            continue;
        }
        batch = 1;
        let remain = session.last_answer_to(&key).and_then(window_of).map_or(0, |window| window.remaining);
        let request = match turn {
            // The last new animal has been fetched before. Over the limit, lists show most.
            Turn::First if step % 2 == 0 && remain > 1 && fetches_work(session) => {
                fetch_of(session, step / 2 + 1, &key)
            }
            Turn::First => list_of(step / 2 + 1, &key),
            Turn::Second if remain == 0 => beyond.next().unwrap_or(&over[0]).clone(),
            // A different animal each time: one fetch does not show that the others work.
            Turn::Second if step % 2 == 0 => fetch_next(session, step / 2, &key),
            Turn::Second => bearing(Request::new("GET", "/store/orders"), &key),
        };
        let exchange = session.send(request).await?;
        if exchange.status() == Some(429) {
            refused = Some(exchange.request.clone());
        } else if turn == Turn::First && shows_the_last(exchange) {
            // Only one request over the limit: a second could cause a ban, and the rest would show less.
            if session.send(over[1].clone()).await?.status() == Some(429) {
                return recover(session, &key).await;
            }
        } else if exchange.status().is_none() || turn == Turn::First && is_refused_otherwise(exchange) {
            break;
        }
        sent += 1;
        step += 1;
    }
    // The second and last request over the limit, for another operation: it too must get 429, and must not create an animal.
    let is_other = |request: &&Request| !refused.as_ref().is_some_and(|refused| is_alike(refused, request));
    let last = over.iter().rev().find(is_other).unwrap_or(&over[1]).clone();
    let refused = session.send(last).await?.status() == Some(429) || refused.is_some();
    match (turn, refused) {
        (Turn::First, false) => {
            let reason = format!("the limit of {} was not reached before its windows ended", window.limit);
            session.leave_out("quota.", reason);
            Ok(())
        }
        (Turn::First, true) => recover(session, &key).await,
        (Turn::Second, _) => Ok(()),
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

/// The two requests that are sent over the limit. Orders come last: their lawful responses are open until another request got
/// 429.
fn over_the_limit(session: &mut Session<'_>, turn: Turn, key: &ApiKey) -> [Request; 2] {
    let list = Request::new("GET", "/pets").query("limit=1");
    let pair = match turn {
        Turn::First => {
            let (name, category) = (session.fresh_name(), session.trace.context.category_id);
            let body = format!(r#"{{"name":"{name}","categoryId":{category}}}"#);
            [list, Request::new("POST", "/pets").json(body)]
        }
        Turn::Second => {
            // This id does not exist, which shows whether the limit is checked last.
            let fetch = Request::new("GET", format!("/pets/{}", session.random.i64(-(1 << 62)..-(1 << 61))));
            let orders = Request::new("GET", "/store/orders");
            match session.seed() % 4 {
                0 => [list, fetch],
                3 => [list, orders],
                _ => [fetch, orders],
            }
        }
    };
    pair.map(|request| bearing(request, key))
}

/// The requests that exhaust a window: lists, alternating with fetches of animals if those work and no animal is so new that
/// reads may lag.
fn fillers(session: &Session<'_>, sent: usize, count: usize, key: &ApiKey) -> Vec<Request> {
    let settled = session.now() - Tolerance::READ_LAG.duration();
    let exchanges = &session.trace.exchanges;
    let is_new = exchanges.iter().any(|exchange| created_id(exchange).is_some() && exchange.received_at > settled);
    let fetches = !is_new && fetches_work(session);
    let request =
        |at: usize| if fetches && at % 2 == 1 { fetch_of(session, at / 2, key) } else { list_of(at / 2, key) };
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

/// The fetch of an animal, counted backwards from the last created one.
fn fetch_of(session: &Session<'_>, place: usize, key: &ApiKey) -> Request {
    let ids = session.known_ids();
    let id = ids.iter().rev().cycle().nth(place).copied().unwrap_or(1);
    bearing(Request::new("GET", format!("/pets/{id}")), key)
}

/// The fetch of one of the animals after the one that the near misses fetch: several in a row show it when only some can be
/// fetched.
fn fetch_next(session: &Session<'_>, place: usize, key: &ApiKey) -> Request {
    let ids = session.known_ids();
    let first = session.created_as("sold").and_then(|sold| ids.iter().position(|id| *id == sold)).unwrap_or(0);
    let id = ids.iter().cycle().nth(first + 1 + place).copied().unwrap_or(1);
    bearing(Request::new("GET", format!("/pets/{id}")), key)
}

/// How many requests certainly remain after the last responses, which were concurrent and have no order.
fn room(session: &Session<'_>, answers: usize) -> usize {
    let last = session.trace.exchanges.iter().rev().take(answers);
    // Nothing is certain after an unusual response.
    let windows: Option<Vec<Window>> = last.map(|e| window_of(e).filter(|_| e.status() == Some(200))).collect();
    let Some(window) = windows.and_then(|windows| windows.into_iter().min_by_key(|window| window.remaining)) else {
        return 0;
    };
    let left = limits(session, |key| match key.minute_behind_day() {
        Some(per_minute) => per_minute.saturating_sub(key.sent_in_minute(window, session.now())),
        None => window.remaining,
    });
    usize::try_from(left).unwrap_or(usize::MAX).min(session.requests_left())
}

/// What the facts about the limits of the quota key say, as the rules will see them.
fn limits<R>(session: &Session<'_>, ask: impl FnOnce(&KeyLimits<'_>) -> R) -> R {
    let history = History::without_bodies(&session.trace);
    let limiter = Limiter::new(&history);
    // The quota key is the last one, and there is one at the least.
    ask(&limiter.keys()[session.trace.context.keys.len() - 1])
}

/// How many requests it may take to meet the limit: what remains, or the minute's limit where the headers report the day.
fn needed(window: Window, key: &KeyLimits<'_>) -> u64 {
    match key.minute_behind_day() {
        Some(per_minute) => window.remaining.min(2 * per_minute),
        None => window.limit.max(window.remaining),
    }
}

/// Whether the present window has admitted more than its limit, so that there is nothing left to wait for.
fn is_over_admitted(session: &Session<'_>) -> bool {
    let Some(last) = session.last_answer_to(&session.quota_key()) else { return false };
    window_of(last).is_none() || limits(session, |key| key.is_over_admitted(session.now()))
}

/// How long the present minute of the quota key still lasts, if its last answer reports one.
pub(super) fn time_left(session: &Session<'_>) -> Option<Duration> {
    limits(session, |key| key.minute_left(session.now())).map(SignedDuration::unsigned_abs)
}

fn window_of(exchange: &Exchange) -> Option<Window> {
    exchange.response().and_then(|response| rate_limit::read(response).window())
}

/// Waits as reported and until the reset, asks again, and does so once more if that was not enough.
async fn recover(session: &mut Session<'_>, key: &ApiKey) -> Result<(), Stop> {
    let slack = Tolerance::CLOCK_SLACK.unsigned();
    let all = bearing(Request::new("GET", "/pets").query("limit=100"), key);
    for attempt in 0..2 {
        let Some(refused) = session.last_answer_to(key) else { return Ok(()) };
        let advice = match pacing::after_refusal(refused, 0, 0.0) {
            // As long as the rules take for heeding it.
            Advice::Wait(reported) => {
                Advice::Wait((reported + slack).max(window_end(session, attempt)) + slack * attempt)
            }
            other => other,
        };
        let advice = match advice {
            // The second 429 may have caused a ban, which is lawful; the first one cannot.
            Advice::TooLong(time) if time <= LONGEST_BAN && refusals(session, key) > 1 => Advice::Wait(time),
            other => other,
        };
        if let Advice::TooLong(time) = advice {
            let reason = format!(
                "the server requests a wait of {} s, and the judge waits at most {} s",
                time.as_secs(),
                pacing::LONGEST_WAIT.as_secs()
            );
            session.leave_out("quota.recovers", reason.clone());
            session.leave_out("quota.refused-stores-nothing", reason);
            return Ok(());
        }
        session.follow(advice, "Retry-After").await?;
        let repeated = refusals(session, key) > 1;
        let status = session.send(all.clone()).await?.status();
        // After repeated requests over the limit, another rejection may be a ban.
        if status != Some(429) && !(repeated && matches!(status, Some(401 | 403))) {
            break;
        }
    }
    Ok(())
}

/// The number of consecutive rejected requests with the key, up to the last.
fn refusals(session: &Session<'_>, key: &ApiKey) -> usize {
    let credential = credential(key);
    let exchanges = session.trace.exchanges.iter().rev();
    let own = exchanges.filter(|exchange| exchange.request.authorization.as_ref() == Some(&credential));
    own.take_while(|exchange| matches!(exchange.status(), Some(401 | 403 | 429))).count()
}

/// How long until the window of the last 429 is over. Where the headers report the day, `Retry-After` is believed at first, and after
/// that a whole minute is certain to be enough.
fn window_end(session: &Session<'_>, attempt: u32) -> Duration {
    let longest = SignedDuration::from_secs(pacing::LONGEST_WAIT.as_secs().cast_signed());
    limits(session, |key| match key.answers().last() {
        Some(refused) if key.minute_behind_day().is_none() => {
            let left = key.window_ends_in(refused).clamp(SignedDuration::ZERO, longest);
            left.unsigned_abs() + Tolerance::CLOCK_SLACK.unsigned()
        }
        _ => Tolerance::LONGEST_MINUTE.unsigned() * attempt,
    })
}
