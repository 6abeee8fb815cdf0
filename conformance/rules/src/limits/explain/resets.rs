//! Resets: whether the Reset of a response is the end that the hypothesis predicts.

use super::super::hypothesis::{Cut, Outcome};
use super::super::timeline::{DAY, MINUTE, Micros, SECOND};
use super::{Evaluator, FAR, Kind};
use crate::tolerance::Tolerance;

impl Evaluator<'_, '_, '_> {
    /// Checks that the Reset of a response is the end that the hypothesis predicts.
    pub(super) fn reset(&mut self, at: usize) {
        let event = &self.events[at];
        let Some(report) = event.report else { return };
        // Without a `Date`, the clock of the server may be far off.
        let unknown = if event.date().is_some() { 0 } else { DAY };
        let (from, to) = self.shares.written(event);
        let (from, to) = (from - unknown, to + unknown);
        let is_day = self.shares.reports_day(event);
        let cut = self.hypothesis().cut;
        if is_day || matches!(cut, Cut::Clock | Cut::Weighted) {
            let length = if is_day { DAY } else { MINUTE };
            let is_ahead = report.reset + SECOND > from && report.reset - length - SECOND <= to;
            let is_no_end = self.shares.reported[at].is_none() && self.shares.reports_minute(event);
            if is_no_end || !is_ahead {
                self.contradict_reset(at, self.before(at), to);
            } else if is_day && self.hypothesis().day_drains && event.outcome != Outcome::Refused {
                let may_be_prior = !self.earlier(at).any(|other| self.shares.counted(&self.events[other]).lo > 0);
                self.reset_of_drain(at, (report.reset - DAY - SECOND, report.reset - DAY + SECOND), may_be_prior);
            } else if let Some(day) = self.shares.reported[at].filter(|_| is_day) {
                self.day_before_within_a_day_of(at, day).into_iter().for_each(|other| self.contradict_move(at, other));
            }
            return;
        }
        // The bounds of the time at which the reported minute began, or at which the request came whose end is reported.
        let origin = (report.reset - MINUTE - SECOND, report.reset - MINUTE + SECOND);
        let is_empty = report.used == 0 && origin.0 <= to && origin.1 >= from - self.hypothesis().slot * SECOND;
        if is_empty {
            return;
        }
        if report.reset + SECOND <= from || origin.0 > to {
            self.contradict_reset(at, None, to);
            return;
        }
        match cut {
            Cut::First => self.reset_of_first(at, origin),
            Cut::Log | Cut::WeightedNext { .. }
                if let Some((latest, with)) =
                    self.latest_before[at].filter(|(latest, _)| report.reset < latest - 2 * SECOND) =>
            {
                self.contradict(Kind::ResetMoves, at, Some(with), report.reset / SECOND, latest / SECOND);
            }
            Cut::Log if event.outcome != Outcome::Refused => self.reset_of_log(at, origin),
            Cut::Drain if event.outcome != Outcome::Refused => {
                let may_be_prior = self.may_have_prior(at);
                self.reset_of_drain(at, origin, may_be_prior);
            }
            Cut::WeightedNext { .. } if event.outcome != Outcome::Refused => {
                self.reset_of_next(at, report.reset, (from, to));
            }
            _ => {}
        }
    }

    /// Records that the Reset of a response is not the end that is `due`.
    fn contradict_reset(&mut self, at: usize, with: Option<usize>, due: Micros) {
        let reset = self.events[at].report.map_or(0, |report| report.reset);
        self.contradict(Kind::ResetOff, at, with, reset / SECOND, due / SECOND);
    }

    /// Records that the Reset of a response has moved from the end of a window that still runs.
    fn contradict_move(&mut self, at: usize, from: usize) {
        let reset = self.events[at].report.map_or(0, |report| report.reset);
        let (with, end) = (self.others[from].last.map(|(at, _)| at), self.shares.epochs[from].end);
        self.contradict(Kind::ResetMoves, at, with, reset / SECOND, end / SECOND);
    }

    /// Another day that had been reported when a request was sent, and ends less than a day before or after this one.
    fn day_before_within_a_day_of(&self, at: usize, day: usize) -> Option<usize> {
        let least = DAY - Tolerance::LONGEST_MINUTE.seconds() * SECOND;
        self.shares.days.places.clone().find(|other| {
            let epoch = &self.shares.epochs[*other];
            let distance = (self.shares.epochs[day].end - epoch.end).abs();
            let mut earlier = self.earlier(at);
            *other != day && distance < least && earlier.any(|earlier| self.shares.reported[earlier] == Some(*other))
        })
    }

    /// Checks the Reset of a minute that its first request opened. No minute begins before the one before has ended, and a request of the
    /// run opened it, unless other clients use the key.
    fn reset_of_first(&mut self, at: usize, origin: (Micros, Micros)) {
        let Some(epoch) = self.shares.reported[at] else {
            // A request that opens no minute reports the one that runs.
            let running = self.shares.minutes.places.clone().find(|epoch| {
                let end = self.shares.epochs[*epoch].end;
                end - 2 * SECOND > self.events[at].answer.1 && self.others[*epoch].last.is_some()
            });
            running.into_iter().for_each(|minute| self.contradict_move(at, minute));
            return;
        };
        if let Some(before) = epoch.checked_sub(1) {
            let (end, begin) = (self.shares.epochs[before].end, self.shares.epochs[epoch].begin);
            if begin < end - Tolerance::ROUNDING.seconds() * SECOND {
                self.contradict_move(at, before);
            } else if !self.hypothesis().has_others() && !self.may_open_between(origin) {
                self.contradict_reset(at, None, origin.0);
            }
        }
    }

    /// Checks that a Reset is the time of the next restoration: when the weight of the minute before has fallen by one request. If no
    /// request weighs, and at the latest, the next restoration is at the end of the minute.
    fn reset_of_next(&mut self, at: usize, reset: Micros, (from, to): (Micros, Micros)) {
        let others = self.hypothesis().has_others();
        let mut is_in_a_minute = false;
        for member in &self.shares.minutes.members[at] {
            is_in_a_minute = true;
            let (weighing, end) = (self.shares.weighing(at, member.epoch), self.shares.epochs[member.epoch].end);
            let next = if others { end } else { to + MINUTE / weighing.lo.max(1) };
            // The weight falls by one in steps of equal length, which end with the minute.
            let step = MINUTE / weighing.hi.max(1);
            let off = (end - reset).rem_euclid(step);
            let is_certain = !others && weighing.lo == weighing.hi;
            if is_certain && off.min(step - off) > 2 * SECOND {
                continue;
            }
            if (reset - end).abs() <= SECOND
                || (others || weighing.hi > 0) && reset + SECOND > from && reset <= next.min(end) + SECOND
            {
                return;
            }
        }
        if is_in_a_minute {
            self.contradict_reset(at, None, to);
        }
    }

    /// Returns true if requests from before the run may be in the log of the last minute.
    fn may_have_prior(&self, at: usize) -> bool {
        let is_early = self.events.first().is_some_and(|first| self.events[at].sent - first.received < MINUTE + SECOND);
        let prior = self.rests[at].map_or(FAR, |rest| rest.most).min(self.sliding.prior);
        is_early && prior > 0 && prior < FAR / 2
    }

    /// Checks that a Reset is a minute after the oldest request in a log. That request is one of the run, unless requests of other clients or
    /// from before the run may be in the log.
    fn reset_of_log(&mut self, at: usize, origin: (Micros, Micros)) {
        let event = &self.events[at];
        // An older request that counts makes the Reset wrong.
        let kept_since = event.received - (Tolerance::KEPT.seconds() - self.hypothesis().slot) * SECOND;
        let first = self.events.partition_point(|other| other.sent <= kept_since);
        let mut kept = (first..at).filter(|other| self.events[*other].precedes(event));
        let oldest = kept.find(|other| self.shares.counted(&self.events[*other]).lo > 0);
        let wrong = oldest.filter(|oldest| self.shares.logged(&self.events[*oldest]).1 < origin.0);
        self.contradict_origin(at, wrong, origin, self.may_have_prior(at));
    }

    /// Checks that the newest request in a log came at the `origin` of a Reset: one of the run, unless it may be one of other clients or from
    /// before the run.
    fn reset_of_drain(&mut self, at: usize, origin: (Micros, Micros), may_be_prior: bool) {
        // A newer request that counts makes the Reset wrong.
        let newest = self.earlier(at).find(|other| self.shares.counted(&self.events[*other]).lo > 0);
        let wrong = newest.filter(|newest| self.shares.logged(&self.events[*newest]).0 > origin.1);
        self.contradict_origin(at, wrong, origin, may_be_prior);
    }

    /// Records that a Reset is wrong if a request of the run contradicts it, or if no request came at its origin.
    fn contradict_origin(&mut self, at: usize, wrong: Option<usize>, origin: (Micros, Micros), may_be_prior: bool) {
        let is_explained = self.may_open_between(origin) || self.hypothesis().has_others() || may_be_prior;
        if wrong.is_some() || !is_explained {
            self.contradict_reset(at, wrong, origin.0);
        }
    }
}
