//! The bound on refusals: at most two requests of a key in a row are refused for the rate, with any header fields of the server.
//!
//! Two functions keep to it. [`Session::heed_refusals`] waits before a request whose key was refused that often. [`Session::room`]
//! bounds the number of concurrent requests to what certainly fits into a window.

use std::time::Duration;

use super::asking::MAY_BE_A_DAY;
use super::{Session, Stop};
use crate::http::pacing::{self, window_of};
use animal_store_rules::catalogue::plan::PLANS;
use animal_store_rules::request::bearer_key;
use animal_store_rules::tolerance::Tolerance;
use animal_store_rules::trace::exchange::{Exchange, Request};
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::trace::rate_limit::Window;

/// The maximum number of requests of a key that are refused in a row.
pub(super) const IN_A_ROW: usize = 2;

/// The time after which a minute of any limiter is over.
const A_MINUTE: Duration = Tolerance::LONGEST_MINUTE.unsigned();

/// The minimum wait after two refusals, even if the server announces a shorter one.
const LEAST_WAIT: Duration = Duration::from_secs(2);

impl Session<'_> {
    /// The number of further requests of a key that may be refused before the run has to wait.
    pub(in crate::probes) fn refusals_left(&self, key: &ApiKey) -> usize {
        IN_A_ROW.saturating_sub(self.refused_in_a_row(key).len())
    }

    /// Waits if the key of one of these requests was refused as often in a row as is allowed. The wait is as long as the last
    /// refusal announces, and from the third refusal on at least a whole minute.
    pub(super) async fn heed_refusals(&mut self, requests: &[Request]) -> Result<(), Stop> {
        for place in 0..self.trace().context.keys.len() {
            let context = &self.trace().context;
            let row = self.refused_in_a_row(&context.keys[place]);
            let is_sent = requests.iter().any(|request| bearer_key(request, context) == Some(place));
            let Some(last) = row.first().filter(|_| is_sent && row.len() >= IN_A_ROW) else { continue };
            let announced = pacing::announced(last).unwrap_or(A_MINUTE).clamp(LEAST_WAIT, pacing::LONGEST_WAIT);
            let wait = if row.len() > IN_A_ROW { announced.max(A_MINUTE) } else { announced };
            let passed = self.now().duration_since(last.received_at).unsigned_abs();
            if let Some(left) = wait.checked_sub(passed).filter(|left| !left.is_zero()) {
                self.wait(left, "the key was refused twice in a row").await?;
            }
        }
        Ok(())
    }

    /// The last exchange of a key, if it was refused for the rate and the time that it announces has not passed.
    pub(in crate::probes) fn refused_now(&self, key: &ApiKey) -> Option<&Exchange> {
        let last = self.last_answer_to(key).filter(|last| last.status() == Some(429))?;
        let announced = pacing::announced(last)?;
        (self.now().duration_since(last.received_at).unsigned_abs() < announced).then_some(last)
    }

    /// The latest refusals of a key in a row, the last one first. Requests without a response are skipped.
    fn refused_in_a_row(&self, key: &ApiKey) -> Vec<&Exchange> {
        let answered = self.exchanges_of(key).rev().filter(|exchange| exchange.status().is_some());
        answered.take_while(|exchange| exchange.status() == Some(429)).collect()
    }

    /// The number of requests with the key that may be sent concurrently, at least one. If the last response does not say how many
    /// remain, all of them may be refused. If it does, it may be wrong: while the requests of the last minute come close to the
    /// limit of a plan, all of them may be refused as well.
    pub(super) fn room(&self) -> usize {
        let key = self.asking_key();
        let Some(last) = self.last_answer_to(&key) else { return 1 };
        let in_a_row = self.refusals_left(&key).max(1);
        let Some(window) = window_of(last) else { return in_a_row };
        let by_headers = pacing::room(window);
        // Those of the last minute that were admitted.
        let since = self.now() - Tolerance::MINUTE.duration();
        let recent = self.exchanges_of(&key).rev().take_while(|exchange| exchange.received_at >= since);
        let sent = recent.filter(|exchange| exchange.status() != Some(429)).count();
        let plan = self.log.trace.context.plan_limits.map(|plan_limits| plan_limits.per_minute);
        let plans = plan.map_or_else(|| PLANS.iter().map(|(_, limits)| limits.per_minute).collect(), |plan| vec![plan]);
        let mut limits = plans.into_iter().map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
        // The window is one of a minute if its limit is that of the plan, or if it ends within a minute.
        let left = window.reset.saturating_sub(pacing::answered_at(last).as_second());
        let ends_soon = window.limit < MAY_BE_A_DAY || left <= Tolerance::LONGEST_MINUTE.duration().as_secs();
        let is_of_minute = plan.map_or(ends_soon, |plan| window.limit == plan);
        let near = if is_of_minute && self.counts_own(&key, last, window) {
            limits.filter(|limit| sent < limit + IN_A_ROW).min()
        } else {
            // No header field says how many remain of the minute: it may have begun with any request of the last one.
            limits.next().map(|limit| if sent < limit { limit } else { sent })
        };
        match near {
            Some(limit) if sent < limit => by_headers.min(limit - sent).max(1),
            Some(_) => by_headers.min(in_a_row),
            None => by_headers,
        }
    }

    /// Returns true if the window of the last response has as many requests used as this run has had admitted in it. If not, its
    /// Remaining is not reliable.
    fn counts_own(&self, key: &ApiKey, last: &Exchange, window: Window) -> bool {
        let (mut counted, mut used) = (0, 0);
        for exchange in self.exchanges_of(key) {
            let Some(reported) = window_of(exchange) else { continue };
            if reported.reset != window.reset || reported.limit != window.limit {
                continue;
            }
            counted += u64::from(exchange.status() != Some(429));
            // Requests at the same time have no order.
            if exchange.received_at > last.sent_at {
                used = used.max(reported.limit.saturating_sub(reported.remaining));
            }
        }
        // Remaining may be reported before the request is counted.
        used + 1 >= counted
    }
}
