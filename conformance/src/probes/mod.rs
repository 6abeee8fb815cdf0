//! Probes: they decide which requests to send, and judge nothing.
//!
//! A probe looks at answers only to decide what to ask next: whether a creation can be read back yet, whether a window is
//! used up. What the answers mean is for the rules.

pub mod preflight;
pub mod session;

mod quota;
mod tour;

pub(crate) use tour::toggle_case;

use crate::options::Options;
use session::{Session, Stop};

/// Sends everything that the options ask for, in an order in which ordinary traffic does the exhausting.
///
/// # Errors
///
/// [`Stop`] says why the run ended before its plan did; what was sent until then is judged all the same.
pub async fn run(session: &mut Session<'_>, options: &Options) -> Result<(), Stop> {
    tour::run(session, options.scope.profile).await?;
    if options.scope.profile.exhausts() {
        quota::run(session).await?;
    }
    Ok(())
}
