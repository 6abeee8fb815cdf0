//! Admissions: whether there was room for the requests that were admitted.

use super::super::hypothesis::{Cut, Failures, Written};
use super::super::timeline::{Event, MINUTE, Outcome, SECOND};
use super::{Bound, Evaluator, Kind};

impl Evaluator<'_, '_, '_> {
    /// The refusal that exhausted the window of a request which got another answer, and reports no room either: nothing can have made room.
    fn reopened(&self, at: usize) -> Option<usize> {
        let event = &self.events[at];
        let hypothesis = self.hypothesis();
        let operation = &event.entry.operation;
        let is_judged = event.is_own
            && event.outcome != Outcome::Refused
            && event.entry.status().is_some()
            && (operation.is_certainly_valid() || operation.is_certainly_at_fault());
        let is_empty = self.is_capped(at)
            && !hypothesis.others
            && hypothesis.written != Written::Before
            && hypothesis.failures == Failures::Count
            && self.shares.reports_minute(event);
        let epoch = self.shares.reported[at].filter(|_| is_judged && is_empty)?;
        self.others[epoch].exhausted
    }

    /// Whether a response that was complete before this request reports the end of the same window, and that nothing remains in it.
    fn is_after_the_last(&self, at: usize) -> bool {
        let event = &self.events[at];
        let is_last = |other: &Event<'_>| {
            let is_same = other.report.zip(event.report).is_some_and(|(one, two)| one.is_same(two));
            is_same && other.precedes(event) && other.is_admitted()
        };
        (0..at).rev().find(|other| is_last(&self.events[*other])).is_some_and(|last| self.is_capped(last))
    }

    /// Whether the Reset of a log shows that the oldest request that counts is one of the run.
    pub(super) fn is_oldest_of_the_run(&self, at: usize) -> bool {
        let event = &self.events[at];
        let Some(report) = event.report.filter(|_| self.hypothesis().cut == Cut::Log && !event.may_be_ban) else {
            return false;
        };
        // Where nothing counts, the Reset may be anything.
        let is_later = |first: &Event<'_>| report.reset - MINUTE - SECOND > first.arrival.0;
        report.used > 0 && event.outcome != Outcome::Refused && self.events.first().is_some_and(is_later)
    }

    /// Of header fields that are written before a request is counted: whether a success reports that nothing remained for it, which neither
    /// other clients nor failures that are given back explain.
    fn shows_no_room(&self, at: usize) -> bool {
        let event = &self.events[at];
        let is_before = self.hypothesis().written == Written::Before && !self.hypothesis().others;
        let is_success = event.outcome == Outcome::Succeeded;
        let is_given_back = || {
            let mut epochs = self.shares.reported[at].into_iter();
            epochs.any(|epoch| self.shares.refundable(at, epoch) > 0)
        };
        is_before && is_success && self.is_capped(at) && !is_given_back()
    }

    /// Whether more successes in a row report that nothing remains than can have been restored to a counter that slides: its last minute
    /// loses weight evenly. Returns the first of them.
    fn outruns_decay(&mut self, at: usize) -> Option<usize> {
        let event = &self.events[at];
        if !matches!(self.hypothesis().cut, Cut::Weighted | Cut::WeightedNext) || self.shares.reports_day(event) {
            return None;
        }
        let report = event.report?;
        let is_last_one = event.outcome == Outcome::Succeeded && self.is_capped(at);
        let Some((first, count)) = self.last_ones.filter(|_| is_last_one) else {
            self.last_ones = is_last_one.then_some((at, 1));
            return None;
        };
        if !self.events[first].precedes(event) {
            return None;
        }
        self.last_ones = Some((first, count + 1));
        let elapsed = event.received - self.events[first].sent;
        (count > report.limit.saturating_mul(elapsed) / MINUTE + 1).then_some(first)
    }

    /// Whether there was room for a request that was admitted. A full window answers 429, and nothing else.
    pub(super) fn admission(&mut self, at: usize) {
        let event = &self.events[at];
        let operation = &event.entry.operation;
        if let Some(with) = self.reopened(at) {
            let limit = event.report.map_or(0, |report| report.limit);
            self.contradict(Kind::Reopened, at, Some(with), limit, limit);
            return;
        }
        let is_owed = operation.name() == "GET /pets" && operation.is_certainly_valid();
        let is_otherwise = event.outcome == Outcome::Unknown
            && is_owed
            && event.entry.status().is_some_and(|status| status >= 400)
            && self.is_capped(at);
        if !event.is_admitted() && !is_otherwise {
            return;
        }
        let kind = if is_otherwise { Kind::OtherStatus } else { Kind::OverAdmitted };
        if self.shows_no_room(at) {
            let limit = event.report.map_or(0, |report| report.limit);
            self.contradict(kind, at, self.before(at), limit + 1, limit);
            return;
        }
        if let Some(first) = self.outruns_decay(at) {
            let limit = event.report.map_or(0, |report| report.limit);
            self.contradict(kind, at, Some(first), limit + 1, limit);
            return;
        }
        let figures = self.hypothesis().figures;
        if let Some((until, with)) = self.full_until
            && event.arrival.1 < until - 2 * SECOND
            && self.hypothesis().failures != Failures::Refunded
        {
            let limit = figures.minute.unwrap_or(0);
            self.contradict(kind, at, Some(with), limit + 1, limit);
            return;
        }
        if let Some(most) = figures.minute.map(|limit| 2 * limit).filter(|_| event.is_admitted()) {
            let recent = self.shares.within_a_minute(at);
            if recent > most {
                self.contradict(Kind::Burst, at, self.before(at), recent, most);
                return;
            }
        }
        for is_day in [false, true] {
            let Some(limit) = (if is_day { figures.day } else { figures.minute }) else { continue };
            let (before, least, last) = if is_day || self.hypothesis().cut.is_fixed() {
                let mut members =
                    self.shares.members(at).iter().filter(|member| self.shares.epochs[member.epoch].is_day == is_day);
                let (Some(only), None) = (members.next(), members.next()) else { continue };
                if !only.is_certain {
                    continue;
                }
                let others = &self.others[only.epoch];
                (self.shares.in_epoch(at, only.epoch).0, others.least, others.last.map(|(last, _)| last))
            } else if self.shares.knows_minutes() || matches!(self.hypothesis().cut, Cut::Log | Cut::Drain) {
                (self.shares.sliding(at).0, Bound { value: 0, at: None }, None)
            } else {
                continue;
            };
            let used = before.lo + least.value.max(0);
            // What reports that nothing remains, and comes after a response that does so too, is no last request of a window.
            let is_after_the_last = is_otherwise && self.is_after_the_last(at);
            if used >= limit || is_after_the_last {
                let with = least.at.or(last).or_else(|| self.before(at));
                self.contradict(kind, at, with, used + 1, limit);
            }
        }
    }
}
