//! Probes: they decide which requests to send, and judge nothing.
//!
//! A probe reads responses only to decide what to send next: whether a new animal can be read yet, whether a window is
//! exhausted, whether a simpler request breaks the same rule. Judging the responses is up to the rules.

use std::time::Duration;

pub mod plan;
pub mod preflight;
pub mod session;

mod near_misses;
mod pace;
mod properties;
mod quota;
mod second_look;
mod sequence;
mod tour;

use crate::options::Options;
use animal_store_rules::history::History;
use animal_store_rules::limiter::Limiter;
use animal_store_rules::trace::rate_limit;
use plan::{Probe, Turn};
use session::{Session, Stop};

/// Runs the probes that the options select, in an order in which ordinary traffic exhausts the windows.
///
/// # Errors
///
/// [`Stop`], when the run ended early; the requests sent until then are judged.
pub async fn run(session: &mut Session<'_>, options: &Options) -> Result<(), Stop> {
    let profile = options.scope.profile;
    let last = session.trace.exchanges.last();
    let window = last.and_then(|exchange| rate_limit::read(exchange.response()?).window());
    let plan_limits = Limiter::new(&History::without_bodies(&session.trace)).plan_limits(0);
    let plan = plan::plan(options, plan_limits, window);
    session.announce(plan.probes.len(), plan.requests);
    if profile.exhausts() {
        begin_early_in_a_window(session).await?;
    }
    for (at, probe) in plan.probes.iter().enumerate() {
        if let Err(stop) = carry_out(session, options, *probe).await {
            plan.probes[at..]
                .iter()
                .filter_map(|probe| probe.fixed_part())
                .for_each(|part| session.leave_unfinished(part));
            return Err(stop);
        }
    }
    if !profile.exhausts() {
        second_look::run(session).await?;
    }
    Ok(())
}

async fn carry_out(session: &mut Session<'_>, options: &Options, probe: Probe) -> Result<(), Stop> {
    let profile = options.scope.profile;
    match probe {
        Probe::Tour => {
            tour::run(session, profile, options.concurrency).await?;
            second_look::run(session).await
        }
        Probe::NearMisses => near_misses::run(session, profile.creates()).await,
        Probe::Properties(cases) => properties::run(session, cases, options.replay, profile.creates()).await,
        Probe::Sequence(steps) => sequence::run(session, steps, profile.creates()).await,
        Probe::Quota(turn) => {
            // The second turn does not wait, so this is the last opportunity.
            if turn == Turn::Second {
                second_look::run(session).await?;
            }
            look_at_the_window(session, turn).await?;
            quota::run(session, turn, options.concurrency).await
        }
    }
}

/// Waits for the end of a window that would end during the tour: what the tour used of it would have to be used again.
async fn begin_early_in_a_window(session: &mut Session<'_>) -> Result<(), Stop> {
    const TOO_LITTLE: Duration = Duration::from_secs(6);
    match quota::time_left(session).filter(|left| *left < TOO_LITTLE && *left < session.time_left()) {
        Some(left) => session.wait(left, "the next window").await,
        None => Ok(()),
    }
}

/// Waits before the first turn, so that two responses of one window are far enough apart to show whether its reset is constant,
/// and whether requests are restored too early. The run waits for the window's end in any case, so most of that wait can be
/// before.
async fn look_at_the_window(session: &mut Session<'_>, turn: Turn) -> Result<(), Stop> {
    const MOMENT: Duration = Duration::from_secs(4);
    if turn == Turn::Second {
        return Ok(());
    }
    let enough = quota::time_to_exhaust(session);
    let most = quota::time_left(session).filter(|left| *left + enough < session.time_left());
    let wait = most.map_or(MOMENT, |left| left.saturating_sub(enough).max(MOMENT));
    session.wait(wait, "a later response in the same window").await
}

/// The bytes with every occurrence of a mark replaced. Marks are ASCII, so that all else stays as it is, broken UTF-8 too.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = rest.windows(from.len()).position(|window| window == from) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::replaced;

    #[test]
    fn marks_are_replaced_and_broken_bytes_are_kept() {
        assert_eq!(replaced(b"a@NAME@\xff@NAME@", b"@NAME@", b"x"), b"ax\xffx");
    }
}
