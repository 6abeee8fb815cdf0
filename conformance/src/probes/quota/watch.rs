//! Requests at other times than the first moments of a window: in its middle, towards its end, and some seconds after its Reset.
//! Their responses must agree with the header fields before.

use std::time::Duration;

use super::{fetch_of, fetches_work, has_budget, limits, list_of, needed, time_left};
use crate::probes::near_misses;
use crate::probes::session::{Session, Stop};
use animal_store_rules::tolerance::Tolerance;
use animal_store_rules::trace::exchange::Exchange;

/// The time after a Reset when requests show whether the limit has reset: more than clocks may differ by.
pub(super) const AFTER_RESET: Duration = Tolerance::CLOCK_SLACK.unsigned().saturating_mul(2);

/// The bit of the seed with which requests come shortly before the end of a window, and how long before.
const LATE: u64 = 8;
const SHORTLY_BEFORE: Duration = Duration::from_secs(6);

/// The minimum time that the rest of a run takes.
const REST_OF_A_RUN: Duration = Duration::from_secs(75);

/// The maximum number of requests that are sent at intervals.
const AT_INTERVALS: u64 = 4;

/// The number of requests that have to be left for the end of the window.
const LEFT: u64 = 2;

/// One of so many seeds exhausts the first window of a key.
const EXHAUSTS_THE_FIRST: u64 = 4;

/// The interval between requests to a log that may drain: several of them lie in its last minute.
const LINK: Duration = Duration::from_secs(12);

/// The number of requests to a log that may drain: they take more than two minutes.
const LINKS: usize = 12;

/// The length of the windows that a run waits for.
const A_WINDOW: Duration = Tolerance::MINUTE.unsigned();

/// The longest pause between two parts of the tour.
const PAUSE: Duration = Duration::from_secs(10);

/// The number of responses in a row of the tour and of the exhaustion that follows it, and those of them without a valid key.
const RESPONSES_OF_THE_TOUR: u32 = 92;
const KEYLESS_OF_THE_TOUR: u32 = 20;

/// The longest time of a tour that nearly fits into a window. Some of its requests are concurrent, and few may precede the window.
const NEARLY_A_WINDOW: Duration = Duration::from_secs(68);

/// The mean response time from which the requests between two exhaustions take longer than a window.
const SLOW: Duration = Duration::from_millis(350);

/// The mean response time up to which a window has time for more: a log of the last minute has to forget it soon after its end.
const FAST: Duration = Duration::from_millis(50);

/// The interval between two requests where the end of the window is unknown.
const MOMENT: Duration = Duration::from_secs(2);

/// Returns true if the seed chooses to exhaust the first window of the key.
fn exhausts_the_first(session: &Session<'_>) -> bool {
    session.options.seed % EXHAUSTS_THE_FIRST == 1
}

/// The mean time from a request to the next one, where requests are sent one after the other.
fn pace(session: &Session<'_>) -> Duration {
    let exchanges = &session.trace.exchanges;
    let all: Duration = exchanges.iter().map(lasted).sum();
    (all / u32::try_from(exchanges.len().max(1)).unwrap_or(u32::MAX)).max(session.interval())
}

/// Returns true if responses are so slow that a window has no time for all requests that a run sends between two exhaustions. Such a run
/// sends fewer near misses, so that it needs no further window, whose limit other requests would have to use up.
pub(in crate::probes) fn is_slow(session: &Session<'_>) -> bool {
    pace(session) >= SLOW
}

/// Returns true if responses are so slow that the tour and the exhaustion fit into one window only without the requests that have no valid
/// key. Otherwise the exhaustion takes the next window as well.
pub(in crate::probes) fn has_time_for_the_key_only(session: &Session<'_>) -> bool {
    is_slow(session) && pace(session) * (RESPONSES_OF_THE_TOUR - KEYLESS_OF_THE_TOUR) <= NEARLY_A_WINDOW
}

/// The time that the tour takes, with the exhaustion that follows it.
fn time_of_tour(session: &Session<'_>) -> Duration {
    let left_out = if has_time_for_the_key_only(session) { KEYLESS_OF_THE_TOUR } else { 0 };
    pace(session) * (RESPONSES_OF_THE_TOUR - left_out)
}

/// The number of requests that the window has time for before it is exhausted. None if responses are fast.
pub(in crate::probes) fn responses_in_time(session: &Session<'_>) -> Option<usize> {
    let left = time_left(session).filter(|_| is_slow(session))?;
    Some(left.saturating_sub(time_to_exhaust(session)).div_duration_f64(pace(session)) as usize)
}

/// Returns true if the run has exhausted its first window, so that the next one is free for what the first one had no room for.
pub(in crate::probes) fn has_another_window(session: &Session<'_>) -> bool {
    !is_slow(session)
        && exhausts_the_first(session)
        && session.other_key().is_none()
        && session.time_left() > REST_OF_A_RUN
}

/// Waits for the end of a window that has been used little, with a request in its middle or shortly before its end. Only its Reset can
/// restore anything then. The run uses the next window, and in this one there is room for some near misses. Where responses are so slow
/// that the tour takes longer than a window, it begins earlier, and ends with a window: then most of its requests are in the window that is
/// exhausted.
pub(in crate::probes) async fn first_reset(session: &mut Session<'_>, sends_aside: bool) -> Result<(), Stop> {
    let Some(left) = time_left(session) else { return Ok(()) };
    if left + AFTER_RESET + REST_OF_A_RUN >= session.time_left() || !may_exhaust(session) {
        return Ok(());
    }
    let tour = time_of_tour(session);
    if exhausts_the_first(session) && left > tour.max(ENOUGH_FOR_TWO) {
        return Ok(());
    }
    let key = session.asking_key();
    // The near misses come first, so that a log of the last minute has forgotten them as well when the window ends.
    if sends_aside && !is_slow(session) && near_misses::has_room_aside(session) {
        near_misses::aside(session, pace(session) <= FAST).await?;
    }
    let earlier = tour.saturating_sub(A_WINDOW.saturating_sub(AFTER_RESET));
    let mut until = time_left(session).unwrap_or(left) + AFTER_RESET;
    while until < earlier {
        until += A_WINDOW;
    }
    until -= earlier;
    let to_the_end = until.saturating_sub(AFTER_RESET);
    let is_late = session.options.seed & LATE != 0 && to_the_end > 2 * SHORTLY_BEFORE;
    let later = if is_late { to_the_end.saturating_sub(SHORTLY_BEFORE) } else { to_the_end / 2 };
    session.wait(later, "a later response in the same window").await?;
    session.send(list_of(1, &key)).await?;
    session.wait(until.saturating_sub(later), "the next window").await
}

/// The time that must be left of a window for the tour of a run that exhausts two keys in it.
pub(in crate::probes) const ENOUGH_FOR_TWO: Duration = Duration::from_secs(15);

/// The time that must be left of a window for a run that exhausts none. Shortly before a Reset, clocks may disagree whether it has
/// passed, so responses then show little.
pub(in crate::probes) const ENOUGH: Duration = AFTER_RESET;

/// Waits for the end of a window if less than this is left of it.
pub(in crate::probes) async fn too_short_a_window(session: &mut Session<'_>, enough: Duration) -> Result<(), Stop> {
    match time_left(session).filter(|left| *left < enough && *left + AFTER_RESET < session.time_left()) {
        Some(left) => session.wait(left + AFTER_RESET, "the next window").await,
        None => Ok(()),
    }
}

/// Pauses between two parts of the tour, in a window that the run waits for in any case: later requests show whether a server
/// answers alike at all times.
pub(in crate::probes) async fn pause(session: &mut Session<'_>) -> Result<(), Stop> {
    let enough = time_to_exhaust(session).max(time_of_tour(session));
    let left = time_left(session).filter(|left| *left + REST_OF_A_RUN < session.time_left() && may_exhaust(session));
    match left.and_then(|left| left.checked_sub(enough)) {
        Some(left) => session.wait((left / 3).min(PAUSE), "a later response in the same window").await,
        None => Ok(()),
    }
}

/// Sends a fetch and a list later in the window of a second key, before most of it is used. The run does not wait for the end of
/// that window. A fetch that is refused between two other answers of the window was refused at certain times only.
pub(in crate::probes) async fn later_with_the_second_key(session: &mut Session<'_>) -> Result<(), Stop> {
    if session.other_key().is_none() || !may_exhaust(session) {
        return Ok(());
    }
    let key = session.asking_key();
    session.send(list_of(0, &key)).await?;
    pause(session).await?;
    if fetches_work(session) {
        let fetch = fetch_of(&session.known_ids(), 0, &key);
        session.send(fetch).await?;
    }
    session.send(list_of(1, &key)).await.map(drop)
}

/// Spreads requests over the rest of the window, which the run waits for in any case: they show whether its Reset is constant, whether
/// requests are restored too early, and whether any are refused at certain times. Where responses are slow, the tour is spread already.
pub(super) async fn rest_of_window(session: &mut Session<'_>) -> Result<(), Stop> {
    if is_slow(session) {
        return Ok(());
    }
    let key = session.asking_key();
    let enough = time_to_exhaust(session);
    let left = time_left(session).filter(|left| *left + enough < session.time_left());
    let count = session.last_window(&key).map_or(0, |window| window.remaining.saturating_sub(LEFT).min(AT_INTERVALS));
    let least = MOMENT * 2;
    let rest = left.map_or(least, |left| left.saturating_sub(enough).max(least));
    if count == 0 {
        return session.wait(rest, "a later response in the same window").await;
    }
    let interval = rest / count as u32;
    for place in 0..count as usize {
        // A refusal now is not the end of the window, and several would show no more than one.
        if later(session, interval, place).await? == Some(429) {
            return Ok(());
        }
    }
    until_drained(session).await
}

/// Goes on for more than a minute if each request has moved the Reset. A log of the last minute does so lawfully, a window does
/// not. The difference shows when some requests have dropped out of the log.
async fn until_drained(session: &mut Session<'_>) -> Result<(), Stop> {
    let key = session.asking_key();
    for place in 0..LINKS {
        let has_room = session.last_window(&key).is_some_and(|window| window.remaining > LEFT);
        let has_time = LINK + REST_OF_A_RUN < session.time_left();
        if !has_room
            || !has_time
            || !limits(session, |limits| limits.explanation().may_be_draining())
            || later(session, LINK, place).await? == Some(429)
        {
            break;
        }
    }
    Ok(())
}

/// Sends a fetch or a list after this time, and returns the status of its response.
async fn later(session: &mut Session<'_>, interval: Duration, place: usize) -> Result<Option<u16>, Stop> {
    session.wait(interval, "a later response in the same window").await?;
    let key = session.asking_key();
    let fetch = place.is_multiple_of(2) && fetches_work(session);
    let request = if fetch { fetch_of(&session.known_ids(), place, &key) } else { list_of(place, &key) };
    Ok(session.send(request).await?.status())
}

/// Returns true if the budget allows for exhausting the window that the last answer reports. Otherwise the run does not wait for
/// it.
fn may_exhaust(session: &Session<'_>) -> bool {
    let window = session.last_window(&session.asking_key());
    window.is_none_or(|window| has_budget(session, limits(session, |key| needed(window, key))))
}

/// The time that exhausting the rest of a window takes: the last requests are sent one after the other.
fn time_to_exhaust(session: &Session<'_>) -> Duration {
    let slowest = session.trace.exchanges.iter().map(lasted).max().unwrap_or_default();
    let least = if session.options.seed & LATE != 0 { SHORTLY_BEFORE } else { Duration::from_secs(15) };
    least + slowest * (super::KEPT as u32 + super::AFTERWARDS as u32)
}

/// The time from the request of an exchange to the end of its response.
fn lasted(exchange: &Exchange) -> Duration {
    exchange.received_at.duration_since(exchange.sent_at).unsigned_abs()
}
