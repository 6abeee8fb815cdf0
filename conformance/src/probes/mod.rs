//! Probes: they decide which requests to send, and judge nothing.
//!
//! A probe looks at answers only to decide what to ask next: whether a creation can be read back yet, whether a window is
//! used up, whether a simpler case breaks the same rule. What the answers mean is for the rules.

use std::time::Duration;

pub mod plan;
pub mod preflight;
pub mod session;

mod near_misses;
mod properties;
mod quota;
mod sequence;
mod tour;

pub(crate) use tour::{basic, toggle_case};

use crate::options::Options;
use crate::rules::docket::Docket;
use crate::rules::rate;
use plan::Probe;
use quota::Turn;
use session::{Session, Stop};

/// Sends everything that the options ask for, in an order in which ordinary traffic does the exhausting.
///
/// # Errors
///
/// [`Stop`] says why the run ended before its plan did; what was sent until then is judged all the same.
pub async fn run(session: &mut Session<'_>, options: &Options) -> Result<(), Stop> {
    let profile = options.scope.profile;
    let last = session.trace.exchanges.last();
    let window = last.and_then(|exchange| rate::read(exchange.response()?).window());
    let figures = Docket::new(&session.trace).figures(0);
    for probe in plan::plan(options, figures, window).probes {
        match probe {
            Probe::Tour => tour::run(session, profile, options.concurrency).await?,
            Probe::NearMisses => near_misses::run(session, profile.creates()).await?,
            Probe::Properties(cases) => properties::run(session, cases, options.replay, profile.creates()).await?,
            Probe::Sequence(steps) => sequence::run(session, steps, profile.creates()).await?,
            Probe::Quota(turn) => {
                look_at_the_window(session, turn).await?;
                quota::run(session, turn, options.concurrency).await?;
            }
        }
    }
    Ok(())
}

/// Lets a moment pass before the first turn, so that two answers of one window lie far enough apart to show whether its reset
/// stands still.
async fn look_at_the_window(session: &mut Session<'_>, turn: Turn) -> Result<(), Stop> {
    const MOMENT: Duration = Duration::from_secs(4);
    if turn == Turn::First {
        session.wait(MOMENT, "the window to show whether its reset stands still").await
    } else {
        Ok(())
    }
}
