//! Two keys: each has a limit of its own, and works while the other is exhausted.

use std::time::Duration;

use super::watch::{self, AFTER_RESET};
use super::{bearing, limits, list_of, time_left};
use crate::probes::near_misses;
use crate::probes::plan::{IN_TURN, OF_THE_OTHER};
use crate::probes::session::{Session, Stop};
use crate::probes::steps::list;
use crate::probes::target::UnusableTarget;
use animal_store_rules::trace::exchange::Exchange;
use animal_store_rules::trace::keys::ApiKey;

/// Sends lists with both keys in turn, which shows whether the requests of one are counted for the other, and whether the second is
/// accepted at all.
///
/// # Errors
///
/// [`Stop`] when the budget is exhausted, or the second key cannot be used.
pub(in crate::probes) async fn in_turn(session: &mut Session<'_>) -> Result<(), Stop> {
    session.begin_aside("keys");
    let mut of_second = Vec::new();
    for place in IN_TURN {
        session.ask_with(place);
        let asked = session.ask(list("limit=1")).await.map(Exchange::status);
        session.ask_with(0);
        let asked = asked?;
        if place == 1 {
            of_second.push(asked);
            if of_second == [Some(401); TO_BE_SURE] {
                let source = "--quota-key (or CONFORM_QUOTA_KEY)".to_owned();
                return Err(Stop::Unusable(Box::new(UnusableTarget::QuotaKeyRefused(source))));
            }
        }
    }
    Ok(())
}

/// The number of answers that shows whether the second key is accepted.
const TO_BE_SURE: usize = 2;

/// Sends lists with the key that is not being exhausted, if there is one: right before and after the other key is refused, they
/// must be admitted. There are two lists, because a server that counts them for the first key, which has one request left, then
/// refuses the second.
pub(super) async fn ask_with_the_other(session: &mut Session<'_>) -> Result<(), Stop> {
    let Some(other) = session.other_key() else { return Ok(()) };
    if has_few_left(session, &other) {
        return Ok(());
    }
    for _ in 0..OF_THE_OTHER {
        if session.send(bearing(list("limit=1"), &other)).await?.status() == Some(429) {
            break;
        }
    }
    Ok(())
}

/// Sends near misses with the key that is not being exhausted, if there is one: the run waits for the exhausted key in any case. A count
/// that slides would not forget them before this key is exhausted in its turn.
pub(super) async fn near_misses_with_the_other(session: &mut Session<'_>) -> Result<(), Stop> {
    let is_fixed = || limits(session, |key| key.explanation().hypothesis.cut.is_fixed());
    if session.other_key().is_none_or(|other| session.refused_now(&other).is_some())
        || watch::is_slow(session)
        || !is_fixed()
    {
        return Ok(());
    }
    let asking = session.asking();
    session.ask_with(1 - asking.min(1));
    let sent = near_misses::meanwhile(session).await;
    session.ask_with(asking);
    sent
}

/// Waits this long for the exhausted key. If the window of the other key ends meanwhile, a list some seconds after its Reset shows
/// whether that has restored anything. With the exhausted key, this would take another refusal.
pub(super) async fn wait_with_the_other(session: &mut Session<'_>, time: Duration) -> Result<(), Stop> {
    const REASON: &str = "Retry-After";
    let asking = session.asking();
    let other = session.other_key().filter(|other| !has_few_left(session, other));
    session.ask_with(1 - asking.min(1));
    let left = time_left(session).map(|left| left + AFTER_RESET);
    session.ask_with(asking);
    let (Some(other), Some(left)) = (other, left.filter(|left| *left < time)) else {
        return session.wait(time, REASON).await;
    };
    session.wait(left, "the window of the other key to reset").await?;
    session.send(list_of(1, &other)).await?;
    session.wait(time.saturating_sub(left), REASON).await
}

/// Returns true if so few requests of a key remain that it may be exhausted itself.
fn has_few_left(session: &Session<'_>, key: &ApiKey) -> bool {
    session.last_window(key).is_some_and(|window| window.remaining < super::KEPT as u64)
}
