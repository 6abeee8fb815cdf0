//! Recovery: whether the key works again when the announced times have passed.

use std::time::Duration;

use jiff::SignedDuration;

use super::watch::AFTER_RESET;
use super::{fetch_animal, fetch_of, keys, limits};
use crate::http::pacing::{self, Advice};
use crate::probes::session::{Session, Stop, bearing};
use crate::probes::steps::{creation, list};
use animal_store_rules::tolerance::Tolerance;
use animal_store_rules::trace::exchange::Request;
use animal_store_rules::trace::keys::ApiKey;

/// The bit of the seed with which a creation is the first request of a new window.
const CREATES_FIRST: u64 = 16;

/// Waits for `Retry-After`, then sends the request again: after a single refusal without any further wait, because a client that obeys is
/// not refused again. If it is refused, waits until some seconds after the reset as well, and sends it once more. After a success a POST and a GET of one animal must succeed too.
/// If the run `sends_aside`, the other key sends near misses meanwhile.
pub(super) async fn run(session: &mut Session<'_>, key: &ApiKey, sends_aside: bool) -> Result<(), Stop> {
    let begun = session.now();
    if sends_aside {
        keys::near_misses_with_the_other(session).await?;
    }
    let passed = session.now().duration_since(begun).unsigned_abs();
    for attempt in 0..2 {
        let Some(refused) = session.last_answer_to(key) else { return Ok(()) };
        if session.refusals(key) == 0 {
            break;
        }
        let repeated = session.refusals(key) > 1;
        match pacing::after_refusal(refused, attempt, 0.0) {
            Advice::Go => {}
            // The rules take this wait for heeding the announcement.
            Advice::Wait(reported) if repeated => {
                let time = (reported + AFTER_RESET).max(window_end(session, attempt));
                keys::wait_with_the_other(session, time).await?;
            }
            Advice::Wait(reported) => keys::wait_with_the_other(session, reported.saturating_sub(passed)).await?,
            // The second 429 may have caused a ban, which is lawful; the first one cannot.
            Advice::TooLong(time) if time <= pacing::LONGEST_BAN && repeated => {
                keys::wait_with_the_other(session, time).await?;
            }
            Advice::TooLong(time) => {
                let reason = format!(
                    "the server requests a wait of {} s, and the judge waits at most {} s",
                    time.as_secs(),
                    pacing::LONGEST_WAIT.as_secs()
                );
                session.leave_out("quota.recovers", reason.clone());
                session.leave_out("quota.refused-stores-nothing", reason);
                let [first, _] = first_requests(session, key);
                return asked_for_too_much(session, key, first.kept()).await;
            }
        }
        let [first, _] = first_requests(session, key);
        let status = session.send(first.kept()).await?.status();
        // After repeated requests over the limit, another rejection may be a ban.
        if status != Some(429) && !(repeated && matches!(status, Some(401 | 403))) {
            break;
        }
    }
    all_operations(session, key).await
}

/// Sends the request once more when the window is over. If the key is served then, the announced wait was too long. With one key,
/// the next part of the run shows this.
async fn asked_for_too_much(session: &mut Session<'_>, key: &ApiKey, request: Request) -> Result<(), Stop> {
    let end = window_end(session, 1);
    if session.other_key().is_some() && session.refusals(key) == 1 && end <= pacing::LONGEST_WAIT {
        session.wait(end, "the window of the key to reset").await?;
        session.send(request).await?;
    }
    Ok(())
}

/// A list of all animals and a creation, in the order that the seed chooses: any request is admitted in a new window.
fn first_requests(session: &mut Session<'_>, key: &ApiKey) -> [Request; 2] {
    let creation = creation(session, r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"sold"}"#);
    let mut requests = [list("limit=100"), creation].map(|request| bearing(request, key));
    if session.options.seed & CREATES_FIRST != 0 {
        requests.reverse();
    }
    requests
}

/// Sends the other one of the first requests and a fetch, once the key is admitted again.
async fn all_operations(session: &mut Session<'_>, key: &ApiKey) -> Result<(), Stop> {
    let [_, second] = first_requests(session, key);
    // An animal without a status, which lists have shown long ago: whether it still has none, shows now. Of several replicas, the newest
    // animal shows more.
    let unset = session.created_without_status().filter(|_| session.trace.context.replicas.is_empty());
    let fetch = unset.map_or_else(|| fetch_of(&session.known_ids(), 0, key), |id| fetch_animal(id, key));
    for request in [second, fetch] {
        if session.refusals(key) > 0 {
            break;
        }
        // In a log of the last minute only one request may have dropped out, and a second refusal may cause a ban.
        session.make_room(key, 1).await?;
        session.send(request).await?;
    }
    Ok(())
}

/// The time until the window of the last 429 is over. Where the headers report the day, `Retry-After` is believed at first, and
/// after that a whole minute is certain to be enough.
fn window_end(session: &Session<'_>, attempt: u32) -> Duration {
    let longest = SignedDuration::from_secs(pacing::LONGEST_WAIT.as_secs().cast_signed());
    limits(session, |key| match key.answers().last() {
        Some(refused) if key.minute_behind_day().is_none() => {
            let left = key.window_ends_in(refused).clamp(SignedDuration::ZERO, longest);
            left.unsigned_abs() + AFTER_RESET
        }
        _ => Tolerance::LONGEST_MINUTE.unsigned() * attempt,
    })
}
