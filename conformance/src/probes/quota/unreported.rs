//! A limit that no header reports: where the plan is known, the clock alone shows whether it is enforced.

use super::{fillers, is_over_admitted, limits, recovery};
use crate::http::pacing;
use crate::probes::CONCURRENCY;
use crate::probes::session::{Session, Stop};

/// Sends more requests within a minute than two windows admit, or until one is refused.
pub(super) async fn run(session: &mut Session<'_>) -> Result<(), Stop> {
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
            return recovery::run(session, &key).await;
        }
    }
    session.leave_out("quota.", "the responses have no usable rate-limit headers");
    Ok(())
}
