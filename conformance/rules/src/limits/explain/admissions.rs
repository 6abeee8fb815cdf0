//! Admissions: whether there was room for the requests that were admitted.

use super::super::hypothesis::{Failures, Outcome, Written};
use super::super::timeline::{MINUTE, SECOND};
use super::{Evaluator, Kind, UseByOthers};
use crate::request::{CreateBody, Operation};

impl Evaluator<'_, '_, '_> {
    /// The refusal that exhausted the minute of a request which got another answer. Where every request is counted for good and nobody else
    /// uses the key, no policy makes room again.
    fn reopened(&self, at: usize) -> Option<usize> {
        let event = &self.events[at];
        let hypothesis = self.hypothesis();
        // Within the limit, the request certainly succeeds or fails.
        let is_certain = match &event.entry.operation {
            Operation::Create(CreateBody::Malformed | CreateBody::Faulty(..)) => true,
            operation => operation.is_certainly_valid(),
        };
        let is_judged =
            is_certain && event.is_own && event.outcome != Outcome::Refused && event.entry.status().is_some();
        let is_empty = event.is_capped()
            && !hypothesis.has_others()
            && hypothesis.written != Written::Before
            && hypothesis.failures == Failures::Count
            && self.shares.reports_minute(event);
        let epoch = self.shares.reported[at].filter(|_| is_judged && is_empty)?;
        self.others[epoch].exhausted
    }

    /// Returns true if the last admitted request of the same window left nothing remaining.
    fn is_after_the_last(&self, at: usize) -> bool {
        let mut admitted = self.earlier(at).filter(|other| self.events[*other].is_admitted());
        let last = admitted.find(|other| self.report_one_window(*other, at));
        last.is_some_and(|last| self.events[last].is_capped())
    }

    /// The response before a success that reports that nothing remained for it, and its limit, where header fields are written before a
    /// request is counted. Neither other clients nor failures that are given back explain that.
    fn shows_no_room(&self, at: usize) -> Option<(Option<usize>, i64)> {
        let hypothesis = self.hypothesis();
        let is_spent = hypothesis.written == Written::Before
            && !hypothesis.has_others()
            && self.events[at].outcome == Outcome::Succeeded
            && self.events[at].is_capped()
            && self.shares.reported[at].is_none_or(|epoch| self.shares.refundable(at, epoch) <= 0);
        let report = self.events[at].report.filter(|_| is_spent)?;
        Some((self.before(at), report.limit))
    }

    /// The first of the successes in a row that report that nothing remains, and their limit, if there are more of them than a sliding
    /// counter can have restored meanwhile: the weight of its last minute decays evenly.
    fn outruns_decay(&mut self, at: usize) -> Option<(Option<usize>, i64)> {
        let event = &self.events[at];
        let report = event.report?;
        let cut = self.hypothesis().cut;
        if cut.is_fixed() || cut.is_log() || self.shares.reports_day(event) {
            return None;
        }
        let is_last_one = event.outcome == Outcome::Succeeded && event.is_capped();
        let Some((first, count)) = self.sliding.last_ones.filter(|_| is_last_one) else {
            self.sliding.last_ones = is_last_one.then_some((at, 1));
            return None;
        };
        if !self.events[first].precedes(event) {
            return None;
        }
        self.sliding.last_ones = Some((first, count + 1));
        let elapsed = event.received - self.events[first].sent;
        // Refusals that are counted may weigh more than the limit.
        let minutes = self.shares.minutes.members[at].iter();
        let heaviest = minutes.map(|member| self.shares.weighing(at, member.epoch).hi).max().unwrap_or(0);
        let restored = heaviest.max(report.limit).saturating_mul(elapsed) / MINUTE;
        (count > restored + 1).then_some((Some(first), report.limit))
    }

    /// The success that announced that a sliding count has no room before a Reset, and the limit, if a request came before that Reset.
    fn precedes_restoration(&self, at: usize) -> Option<(Option<usize>, i64)> {
        let (until, with) = self.sliding.full_until?;
        let is_before = self.events[at].arrival.1 < until - 2 * SECOND;
        (is_before && !matches!(self.hypothesis().failures, Failures::GivenBack(_)))
            .then(|| (Some(with), self.hypothesis().figures.minute.unwrap_or(0)))
    }

    /// The kind of the contradiction if there was no room for a request. `None` if the request may have been dealt with elsewhere.
    fn kind_of_admission(&self, at: usize) -> Option<Kind> {
        let event = &self.events[at];
        if event.is_admitted() {
            return Some(Kind::OverAdmitted);
        }
        let entry = event.entry;
        let is_owed = matches!(entry.operation, Operation::List(_))
            && entry.operation.is_certainly_valid()
            && entry.is_of_operation();
        let is_error = event.outcome == Outcome::Unknown && event.entry.status().is_some_and(|status| status >= 400);
        (is_owed && is_error && event.is_capped()).then_some(Kind::OtherStatus)
    }

    /// Checks that there was room for a request that was admitted, or that got another status than 429.
    pub(super) fn admission(&mut self, at: usize) {
        if let Some(refusal) = self.reopened(at) {
            let limit = self.events[at].report.map_or(0, |report| report.limit);
            self.contradict(Kind::Reopened, at, Some(refusal), limit, limit);
            return;
        }
        let Some(kind) = self.kind_of_admission(at) else { return };
        let announced = self.shows_no_room(at).or_else(|| self.outruns_decay(at));
        if let Some((with, limit)) = announced.or_else(|| self.precedes_restoration(at)) {
            self.contradict(kind, at, with, limit + 1, limit);
            return;
        }
        let figures = self.hypothesis().figures;
        let recent = self.shares.within_a_minute(at);
        if let Some(most) = figures.minute.map(|limit| 2 * limit).filter(|most| recent > *most)
            && kind == Kind::OverAdmitted
        {
            self.contradict(Kind::Burst, at, self.before(at), recent, most);
            return;
        }
        // If the response before reports nothing remaining too, this request is not the last one that the window admits.
        let is_after_the_last = kind == Kind::OtherStatus && self.is_after_the_last(at);
        for (is_day, limit) in [(false, figures.minute), (true, figures.day)] {
            let Some((limit, (used, with))) = limit.zip(self.least_used(at, is_day)) else { continue };
            if used >= limit || is_after_the_last {
                self.contradict(kind, at, with.or_else(|| self.before(at)), used + 1, limit);
            }
        }
    }

    /// The least that was used of the minute or of the day when a request was dealt with, and the response that shows it. `None` if the
    /// window of the request is uncertain.
    fn least_used(&self, at: usize, is_day: bool) -> Option<(i64, Option<usize>)> {
        if !is_day && !self.hypothesis().cut.is_fixed() {
            let is_known = self.shares.knows_minutes() || self.hypothesis().cut.is_log();
            return is_known.then(|| (self.shares.sliding_by_completion(at), None));
        }
        let windows = if is_day { &self.shares.days } else { &self.shares.minutes };
        let [only] = windows.members[at][..] else { return None };
        let UseByOthers { least, last, .. } = &self.others[only.epoch];
        let used = self.shares.by_completion(at, only.epoch) + least.value.max(0);
        only.is_certain.then(|| (used, least.at.or(last.map(|(last, _)| last))))
    }
}
