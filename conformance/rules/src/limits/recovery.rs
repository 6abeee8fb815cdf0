//! Recovery: whether a key that waited as a refusal asked for is refused again.

use super::explain::{Evaluator, Kind};
use super::timeline::{Event, MINUTE, Micros, Outcome, SECOND};
use crate::history::bans::REPEATED;
use crate::tolerance::Tolerance;

/// So many refusals after whole waits, and nothing else after one, are not due to other clients that no admitted request has met.
const MANY: usize = 3;

const SLACK: Micros = Tolerance::CLOCK_SLACK.seconds() * SECOND;

impl Evaluator<'_, '_, '_> {
    /// Looks at each refusal that follows another one, after the wait and the Reset that the first one announced.
    ///
    /// What the first one announces is true whatever is counted, unless requests in between used what was restored: those of the run, or
    /// where other clients use the key, theirs. They do not use it up each time.
    pub(super) fn recovery(&mut self) {
        let mut refused_again: Vec<(usize, usize)> = Vec::new();
        let mut is_served = false;
        let mut last: Option<usize> = None;
        let own: Vec<usize> = (0..self.events.len()).filter(|at| self.events[*at].is_own).collect();
        for at in own {
            let event = &self.events[at];
            if let Some(before) = last.replace(at).filter(|before| self.has_waited(*before, at)) {
                is_served |= event.is_admitted();
                let is_refused = event.outcome == Outcome::Refused && !self.is_used_meanwhile(before, at);
                if is_refused && !self.may_have_begun_a_ban(before) {
                    refused_again.push((before, at));
                }
            }
        }
        let is_shared = self.evaluation.shows_others_beside_admitted || is_served || refused_again.len() < MANY;
        let may_be_by_others = self.hypothesis().others && is_shared;
        for (before, at) in refused_again {
            if may_be_by_others && self.is_restored(before, at) {
                continue;
            }
            let waited = self.events[at].sent - self.events[before].received;
            let asked = self.events[before].wait.map_or(0, |wait| wait.as_secs());
            self.contradict(Kind::StillLimited, at, Some(before), waited / SECOND, asked);
        }
    }

    /// Whether a request was sent when the wait that a refusal asks for, and its Reset, had passed.
    fn has_waited(&self, before: usize, at: usize) -> bool {
        let (refused, event) = (&self.events[before], &self.events[at]);
        let (Some(wait), Some(report)) = (refused.wait, refused.report) else { return false };
        let is_day = self.shares.reports_day(refused);
        let is_behind_day = is_day && report.used < report.limit;
        let ends_in = match (refused.is_dated, is_behind_day) {
            (true, false) => report.reset - refused.dated_at,
            // Behind a day that is not exhausted it is the minute that is.
            (true, true) => MINUTE,
            // The server's clock is unknown, and with it how far off a date is. No minute lasts longer than one.
            (false, _) if refused.asks_in_seconds && (!is_day || is_behind_day) => MINUTE,
            (false, _) => return false,
        };
        let waited = event.sent - refused.received;
        refused.outcome == Outcome::Refused && waited >= ends_in.max(wait.as_micros() as Micros) + SLACK
    }

    /// Whether anything was restored between two refusals that other clients may have used: of the same window, nothing was.
    fn is_restored(&self, before: usize, at: usize) -> bool {
        let Some((earlier, later)) = self.events[before].report.zip(self.events[at].report) else { return true };
        let is_behind_day = self.shares.reports_day(&self.events[before]) && earlier.used < earlier.limit;
        is_behind_day || later.reset > earlier.reset + SLACK
    }

    /// Whether a request of the run may have used what was restored.
    fn is_used_meanwhile(&self, before: usize, at: usize) -> bool {
        let (refused, event) = (&self.events[before], &self.events[at]);
        let is_between = |other: &Event<'_>| other.received > refused.received && other.sent < event.received;
        let from = self.events.partition_point(|other| other.sent < refused.sent);
        let mut others = self.events[from..].iter().filter(|other| !std::ptr::eq(*other, event) && is_between(other));
        others.any(|other| other.outcome != Outcome::Refused && self.shares.counted(other).hi > 0)
    }

    /// Whether a refusal may have begun a ban that it does not report yet: it was repeated, and came before it was time.
    fn may_have_begun_a_ban(&self, at: usize) -> bool {
        let refusals: Vec<usize> = (0..=at).filter(|other| self.events[*other].is_own_refusal()).collect();
        let [.., before, _] = refusals[..] else { return false };
        refusals.len() >= REPEATED && !self.has_waited(before, at)
    }
}
