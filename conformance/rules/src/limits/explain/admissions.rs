//! Admissions: whether there was room for the requests that were admitted.

use super::super::hypothesis::{Cut, Failures, Written};
use super::super::timeline::{MINUTE, Outcome, SECOND};
use super::{Bound, Evaluator, Kind};

impl Evaluator<'_, '_, '_> {
    /// The refusal that exhausted the minute of a request which got another answer. Where every request is counted for good and nobody else
    /// uses the key, no policy makes room again.
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

    /// Returns true if the last admitted request of the same window left nothing remaining.
    fn is_after_the_last(&self, at: usize) -> bool {
        let event = &self.events[at];
        let last = (0..at).rev().find(|other| {
            let before = &self.events[*other];
            self.report_one_window(*other, at) && before.precedes(event) && before.is_admitted()
        });
        last.is_some_and(|last| self.is_capped(last))
    }

    /// Returns true if the Reset of a log shows that the oldest request that counts is one of the run.
    pub(super) fn is_oldest_of_the_run(&self, at: usize) -> bool {
        let event = &self.events[at];
        let Some(report) = event.report.filter(|_| self.hypothesis().cut == Cut::Log && !event.may_be_ban) else {
            return false;
        };
        // If no request counts, the Reset may be anything.
        let begun = report.reset - MINUTE - SECOND;
        report.used > 0
            && event.outcome != Outcome::Refused
            && self.events.first().is_some_and(|first| begun > first.arrival.0)
    }

    /// Returns true if a success reports that nothing remained for it, where header fields are written before a request is counted. Neither
    /// other clients nor failures that are given back explain that.
    fn shows_no_room(&self, at: usize) -> bool {
        let hypothesis = self.hypothesis();
        hypothesis.written == Written::Before
            && !hypothesis.others
            && self.events[at].outcome == Outcome::Succeeded
            && self.is_capped(at)
            && self.shares.reported[at].is_none_or(|epoch| self.shares.refundable(at, epoch) <= 0)
    }

    /// Returns the first of the successes in a row that report that nothing remains, if there are more of them than a sliding counter can
    /// have restored meanwhile: the weight of its last minute decays evenly.
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

    /// Checks that there was room for a request that was admitted, or that got another status than 429.
    pub(super) fn admission(&mut self, at: usize) {
        let event = &self.events[at];
        let operation = &event.entry.operation;
        let reported_limit = event.report.map_or(0, |report| report.limit);
        if let Some(with) = self.reopened(at) {
            self.contradict(Kind::Reopened, at, Some(with), reported_limit, reported_limit);
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
            self.contradict(kind, at, self.before(at), reported_limit + 1, reported_limit);
            return;
        }
        if let Some(first) = self.outruns_decay(at) {
            self.contradict(kind, at, Some(first), reported_limit + 1, reported_limit);
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
            // If the response before reports nothing remaining too, this request is not the last one that the window admits.
            let is_after_the_last = is_otherwise && self.is_after_the_last(at);
            if used >= limit || is_after_the_last {
                let with = least.at.or(last).or_else(|| self.before(at));
                self.contradict(kind, at, with, used + 1, limit);
            }
        }
    }
}
