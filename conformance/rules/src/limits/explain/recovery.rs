//! Recovery: whether a key is refused again after the wait that a refusal asked for.

use super::super::hypothesis::{Others, Outcome};
use super::super::timeline::{Event, MINUTE, Micros, SECOND};
use super::{Evaluator, Kind};
use crate::history::bans::REPEATED;
use crate::tolerance::Tolerance;

/// The least number of refusals after whole waits that other clients do not explain, if no request was admitted after such a wait.
const MANY: usize = 3;

const SLACK: Micros = Tolerance::CLOCK_SLACK.seconds() * SECOND;

impl Evaluator<'_, '_, '_> {
    /// Checks each refusal that follows another one after the wait and the Reset that the first one announced.
    ///
    /// The announcement holds for every way of counting, unless requests in between used up the restored ones. These are requests of the
    /// run, or of other clients if they use the key. Other clients do not use up everything each time.
    pub(super) fn recovery(&mut self) {
        let mut refused_again: Vec<(usize, usize)> = Vec::new();
        let mut is_served = false;
        let mut last: Option<usize> = None;
        for (at, event) in self.events.iter().enumerate().filter(|(_, event)| event.is_own) {
            if let Some(before) = last.replace(at).filter(|before| self.has_waited(*before, at)) {
                is_served |= event.is_admitted();
                let is_refused = event.outcome == Outcome::Refused && !self.is_used_meanwhile(before, at);
                if is_refused && !self.may_have_begun_a_ban(before) {
                    refused_again.push((before, at));
                }
            }
        }
        let is_shared = self.evaluation.shows_others_beside_admitted || is_served || refused_again.len() < MANY;
        let may_be_by_others = self.hypothesis().others == Others::Shown && is_shared;
        for (before, at) in refused_again {
            if may_be_by_others && self.is_restored(before, at) {
                continue;
            }
            let waited = self.events[at].sent - self.events[before].received;
            let asked = self.events[before].wait.map_or(0, |wait| wait.as_secs());
            self.contradict(Kind::StillLimited, at, Some(before), waited / SECOND, asked);
        }
    }

    /// Returns true if a request was sent when the wait that a refusal asks for, and its Reset, had passed.
    fn has_waited(&self, before: usize, at: usize) -> bool {
        let (refused, event) = (&self.events[before], &self.events[at]);
        let (Some(wait), Some(report)) = (refused.wait, refused.report) else { return false };
        let is_day = self.shares.reports_day(refused);
        let is_behind_day = self.is_behind_day(refused);
        let ends_in = match refused.date() {
            Some(date) if !is_behind_day => report.reset - date,
            // The minute behind a day that is not exhausted is exhausted.
            Some(_) => MINUTE,
            // The server's clock is unknown, and with it the distance of a date. A minute ends after a minute at the latest.
            None if refused.entry.asks_in_seconds() && (!is_day || is_behind_day) => MINUTE,
            None => return false,
        };
        let waited = event.sent - refused.received;
        refused.outcome == Outcome::Refused && waited >= ends_in.max(wait.as_micros() as Micros) + SLACK
    }

    /// Returns true if a response reports a day that is not exhausted. A refusal then comes from the minute behind the day.
    fn is_behind_day(&self, event: &Event<'_>) -> bool {
        self.shares.reports_day(event) && !event.is_capped()
    }

    /// Returns true if requests may have been restored between two refusals, which other clients may have used. Within one window none are.
    fn is_restored(&self, before: usize, at: usize) -> bool {
        let Some((earlier, later)) = self.events[before].report.zip(self.events[at].report) else { return true };
        self.is_behind_day(&self.events[before]) || later.reset > earlier.reset + SLACK
    }

    /// Returns true if another request of the run may have used the restored requests between two refusals.
    fn is_used_meanwhile(&self, before: usize, at: usize) -> bool {
        let (refused, event) = (&self.events[before], &self.events[at]);
        let from = self.events.partition_point(|other| other.sent < refused.sent);
        self.events[from..].iter().any(|other| {
            let is_between = other.received > refused.received && other.sent < event.received;
            let is_other = !std::ptr::eq(other, event) && other.outcome != Outcome::Refused;
            is_between && is_other && self.shares.counted(other).hi > 0
        })
    }

    /// Returns true if a refusal may have begun a ban that it does not report yet: it was repeated, and its request was sent too early.
    fn may_have_begun_a_ban(&self, at: usize) -> bool {
        let refusals: Vec<usize> = (0..=at).filter(|other| self.events[*other].is_own_refusal()).collect();
        let [.., before, _] = refusals[..] else { return false };
        refusals.len() >= REPEATED && !self.has_waited(before, at)
    }
}
