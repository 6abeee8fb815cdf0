//! Probes: they decide which requests to send, and judge nothing.
//!
//! A probe reads responses only to decide what to send next: whether a new animal can be read yet, whether a window is
//! exhausted, whether a simpler request breaks the same rule. Judging the responses is up to the rules.
//!
//! A function that sends requests or waits returns [`Stop`](session::Stop) when the run has to end, for example because its budget is
//! exhausted.

pub mod plan;
pub mod preflight;
pub mod session;
pub mod target;

mod cost;
mod credentials;
mod full_page;
mod gaps;
pub(crate) mod near_misses;
mod properties;
mod quota;
mod second_look;
mod sequence;
mod steps;
mod tour;

use crate::events::Event;
use crate::http::pacing::window_of;
use animal_store_rules::catalogue::RunPart;
use animal_store_rules::history::History;
use animal_store_rules::limits::Limiter;
use animal_store_rules::trace::exchange::Request;
use animal_store_rules::trace::keys::ApiKey;
use plan::{Probe, RunPlan, Turn};
use session::{Session, Stop};

/// Runs the probes that the options select, in an order in which ordinary traffic exhausts the windows. `after_each` examines the
/// trace after each probe, and may end the run.
///
/// # Errors
///
/// [`Stop`], when the run ended early; the requests sent until then are judged.
pub async fn run(
    session: &mut Session<'_>,
    mut after_each: impl FnMut(&Session<'_>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let options = session.options;
    let window = session.trace.exchanges.last().and_then(window_of);
    let plan_limits = Limiter::new(&History::without_bodies(&session.trace)).plan_limits(0);
    let mut plan = plan::plan(options, plan_limits, window);
    if quota::watch::is_slow(session) {
        plan.leave_windows_to_the_key(quota::watch::has_time_for_the_key_only(session));
    }
    session.tell(&Event::Planned { probes: plan.probes.len(), requests: plan.requests });
    session.vary(true);
    // The tour shows most defects, so with `--fail-fast` it does not wait for a window.
    let first_of_window = usize::from(options.budget.fail_fast);
    for (at, probe) in plan.probes.iter().enumerate() {
        let begun = if at == first_of_window { begin(session, &plan).await } else { Ok(()) };
        let sent = match begun {
            Ok(()) => carry_out(session, &plan, *probe).await,
            stopped => stopped,
        };
        // The requests of a probe that ended early are judged by the caller.
        if let Err(stop) = sent.and_then(|()| after_each(session)) {
            for part in plan.probes[at..].iter().filter_map(|probe| probe.fixed_part()) {
                session.leave_unfinished(part);
            }
            return Err(stop);
        }
    }
    let was_sent_aside = session.trace.exchanges.iter().any(|exchange| exchange.probe == near_misses::ASIDE_NAME);
    if plan.sends_aside && !was_sent_aside && (!plan.exhausts() || quota::watch::has_another_window(session)) {
        near_misses::aside(session, plan.exhausts()).await?;
        // The first animals must still be there, and those of refused creations must not.
        session.ask(steps::list("limit=100")).await?;
    }
    if !plan.exhausts() {
        second_look::run(session).await?;
        second_look::at_once(session).await?;
    }
    Ok(())
}

/// Sends the few requests that remain of a key that is exhausted for longer than the run waits, and one request over its limit. A
/// limit per day is tested in no other way.
pub async fn over_the_limit(session: &mut Session<'_>) -> Result<(), Stop> {
    let key = session.asking_key();
    let is_admitted = session.last_answer_to(&key).is_some_and(|last| last.status() != Some(429));
    let left = session.last_window(&key).map(|window| window.remaining).filter(|left| *left <= FEW_LEFT);
    let Some(left) = left.filter(|_| session.options.judging.scope.profile.exhausts() && is_admitted) else {
        return Ok(());
    };
    session.begin("quota");
    session.step("");
    for _ in 0..=left {
        let list = Request::new("GET", "/pets").query("limit=1");
        if session.send(session::bearing(list, &key)).await?.status() == Some(429) {
            break;
        }
    }
    Ok(())
}

/// The maximum number of requests that a run sends at once.
const CONCURRENCY: usize = 16;

/// The maximum number of requests that a run leaves when it finds no room for requests that belong together.
const FEW_LEFT: u64 = 10;

/// Sends the requests of the tour that need no key, if none of them was sent yet. The run calls this when the key cannot be used.
pub async fn without_a_key(session: &mut Session<'_>) -> Result<(), Stop> {
    if credentials::were_sent(session) {
        return Ok(());
    }
    session.begin("credentials");
    let id = session.known_ids().last().copied().unwrap_or(1);
    credentials::of_tour(session, id).await
}

async fn carry_out(session: &mut Session<'_>, plan: &RunPlan, probe: Probe) -> Result<(), Stop> {
    match probe {
        Probe::Tour => {
            let watches_window = plan.exhausts() && !session.options.budget.fail_fast;
            tour::run(session, watches_window, !plan.sends_keyless_last).await?;
            second_look::run(session).await
        }
        Probe::NearMisses(_) if !session.options.judging.scope.needs(RunPart::NearMisses) => {
            near_misses::other_ids(session).await
        }
        Probe::NearMisses(amount) => {
            let in_time = quota::watch::responses_in_time(session).filter(|_| plan.exhausts());
            near_misses::run(session, amount, plan.exhausts(), in_time).await?;
            gaps::run(session).await
        }
        Probe::Credentials(amount) => {
            if !plan.sends_keyless_last {
                return credentials::run(session, amount).await;
            }
            let id = session.known_ids().last().copied().unwrap_or(1);
            credentials::of_tour(session, id).await?;
            credentials::run(session, amount).await?;
            // Whether a creation without a valid key has stored an animal, is shown by no other part of the run any more.
            steps::ask(session, steps::list("limit=100"), "GET /pets?limit=100").await.map(drop)
        }
        Probe::FullPage => full_page::run(session).await,
        Probe::Properties(cases) => properties::run(session, cases).await,
        Probe::Sequence(steps) => sequence::run(session, steps).await,
        Probe::Quota(turn) => {
            // The second turn does not wait, so this is the last opportunity.
            if turn == Turn::Second {
                session.ask_with(1);
                second_look::run(session).await?;
                second_look::at_once(session).await?;
            }
            quota::run(session, turn, plan.sends_aside).await?;
            if turn == Turn::First {
                // The window of a key that has just recovered is used for nothing else, if there is another.
                if session.other_key().is_some() && plan.sends_aside && near_misses::has_room_aside(session) {
                    near_misses::aside(session, true).await?;
                }
                // From now on the other key is used, if there is one: ordinary traffic exhausts it. Where its limit is lower, it would take many
                // windows.
                if !session.other_key().is_some_and(|other| has_lower_limit(session, &other)) {
                    session.ask_with(1);
                }
                gaps::run(session).await?;
                quota::watch::later_with_the_second_key(session).await?;
            }
            Ok(())
        }
    }
}

/// Returns true if the limit of another key is lower than that of the key in use.
fn has_lower_limit(session: &Session<'_>, other: &ApiKey) -> bool {
    let limit = |key: &ApiKey| session.last_window(key).map(|window| window.limit);
    limit(other).zip(limit(&session.asking_key())).is_some_and(|(other, asking)| other < asking)
}

/// Waits for a window that has room for the planned requests.
async fn begin(session: &mut Session<'_>, plan: &RunPlan) -> Result<(), Stop> {
    if !plan.exhausts() {
        return quota::watch::too_short_a_window(session, quota::watch::ENOUGH).await;
    }
    if session.other_key().is_none() {
        return quota::watch::first_reset(session, plan.sends_aside).await;
    }
    // Two keys exhaust two windows in one minute, so the run does not wait for a Reset: the second key shows what a Reset restores.
    quota::watch::too_short_a_window(session, quota::watch::ENOUGH_FOR_TWO).await?;
    quota::keys::in_turn(session).await
}
