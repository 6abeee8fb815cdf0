//! Resets: whether a Reset is the end that the hypothesis predicts.

use super::super::hypothesis::Cut;
use super::super::timeline::{DAY, Event, MINUTE, Micros, Outcome, SECOND};
use super::{Evaluator, FAR, Kind, Others};
use crate::tolerance::Tolerance;

impl Evaluator<'_, '_, '_> {
    /// Whether a Reset is the end that the hypothesis predicts.
    pub(super) fn reset(&mut self, at: usize) {
        let event = &self.events[at];
        let Some(report) = event.report else { return };
        // Without a `Date`, the clock of the server may be far off.
        let unknown = if event.is_dated { 0 } else { DAY };
        let (from, to) = self.shares.written(event);
        let (from, to) = (from - unknown, to + unknown);
        let is_day = self.shares.reports_day(event);
        let cut = self.hypothesis().cut;
        if is_day || matches!(cut, Cut::Clock | Cut::Weighted) {
            let length = if is_day { DAY } else { MINUTE };
            let is_ahead = report.reset + SECOND > from && report.reset - length - SECOND <= to;
            if self.shares.is_off[at] || !is_ahead {
                self.contradict(Kind::ResetOff, at, self.before(at), report.reset / SECOND, to / SECOND);
            } else if let Some(other) =
                self.shares.reported[at].filter(|_| is_day).and_then(|day| self.day_within_a_day_of(day))
            {
                let (with, end) = (self.others[other].last.map(|(at, _)| at), self.shares.epochs[other].end);
                self.contradict(Kind::ResetMoves, at, with, report.reset / SECOND, end / SECOND);
            }
            return;
        }
        // The bounds of the time at which the minute that is reported began, or the request came that is reported.
        let begun = (report.reset - MINUTE - SECOND, report.reset - MINUTE + SECOND);
        let is_empty = report.used == 0 && begun.0 <= to && begun.1 >= from;
        if is_empty {
            return;
        }
        if report.reset + SECOND <= from || begun.0 > to {
            self.contradict(Kind::ResetOff, at, None, report.reset / SECOND, to / SECOND);
            return;
        }
        match cut {
            Cut::First => self.reset_of_first(at, begun),
            Cut::Log | Cut::WeightedNext
                if self.latest_before[at].is_some_and(|(latest, _)| report.reset < latest - 2 * SECOND) =>
            {
                let (latest, with) = self.latest_before[at].unwrap_or_default();
                self.contradict(Kind::ResetMoves, at, Some(with), report.reset / SECOND, latest / SECOND);
            }
            Cut::Log | Cut::Drain if event.outcome != Outcome::Refused => self.reset_of_log(at, begun),
            Cut::WeightedNext if event.outcome != Outcome::Refused => {
                self.reset_of_next(at, report.reset, (from, to));
            }
            _ => {}
        }
    }

    /// A day that has been reported and ends less than a day before or after another one.
    fn day_within_a_day_of(&self, day: usize) -> Option<usize> {
        let least = DAY - Tolerance::LONGEST_MINUTE.seconds() * SECOND;
        let epochs = self.shares.epochs.iter().enumerate();
        let mut reported = epochs.filter(|(other, _)| *other != day && self.others[*other].last.is_some());
        let is_close = |end: Micros| (self.shares.epochs[day].end - end).abs() < least;
        reported.find(|(_, epoch)| epoch.is_day && is_close(epoch.end)).map(|(other, _)| other)
    }

    fn reset_of_first(&mut self, at: usize, begun: (Micros, Micros)) {
        let reset = self.events[at].report.map_or(0, |report| report.reset) / SECOND;
        let Some(epoch) = self.shares.reported[at] else {
            // What opens no window reports the one that runs.
            let runs = |(epoch, others): (usize, &Others)| {
                let (with, _) = others.last?;
                let end = self.shares.epochs[epoch].end;
                (!self.shares.epochs[epoch].is_day && end - 2 * SECOND > self.events[at].answer.1)
                    .then_some((with, end))
            };
            if let Some((with, end)) = self.others.iter().enumerate().find_map(runs) {
                self.contradict(Kind::ResetMoves, at, Some(with), reset, end / SECOND);
            }
            return;
        };
        if let Some(before) = self.shares.minute_before(epoch) {
            let (end, begin) = (self.shares.epochs[before].end, self.shares.epochs[epoch].begin());
            if begin < end - Tolerance::ROUNDING.seconds() * SECOND {
                let with = self.others[before].last.map(|(at, _)| at);
                self.contradict(Kind::ResetMoves, at, with, reset, end / SECOND);
                return;
            }
            if !self.hypothesis().others && !self.arrivals.has(begun.0, begun.1) {
                self.contradict(Kind::ResetOff, at, None, reset, begun.0 / SECOND);
            }
        }
    }

    /// The next request of the minute before is restored when its weight has fallen by one; where none weighs, and at the latest, at the
    /// end of the minute.
    fn reset_of_next(&mut self, at: usize, reset: Micros, (from, to): (Micros, Micros)) {
        let others = self.hypothesis().others;
        let is_possible = |epoch: usize| {
            let (weighing, end) = (self.shares.weighing(at, epoch), self.shares.epochs[epoch].end);
            let next = if others { end } else { to + MINUTE / weighing.lo.max(1) };
            (reset - end).abs() <= SECOND
                || (others || weighing.hi > 0) && reset + SECOND > from && reset <= next.min(end) + SECOND
        };
        let minutes: Vec<usize> = self.shares.minutes_of(at).map(|member| member.epoch).collect();
        if !minutes.is_empty() && !minutes.into_iter().any(is_possible) {
            self.contradict(Kind::ResetOff, at, None, reset / SECOND, to / SECOND);
        }
    }

    fn reset_of_log(&mut self, at: usize, begun: (Micros, Micros)) {
        let event = &self.events[at];
        let reset = event.report.map_or(0, |report| report.reset) / SECOND;
        let is_early = self.events.first().is_some_and(|first| event.sent - first.received < MINUTE + SECOND);
        let is_drain = self.hypothesis().cut == Cut::Drain;
        let of_own = self.arrivals.has(begun.0, begun.1);
        let may_be_of_others = self.hypothesis().others || is_early && self.prior > 0 && self.prior < FAR / 2;
        let kept = Tolerance::KEPT.seconds() * SECOND;
        let certain = |other: &Event<'_>| self.shares.counted(other).lo > 0;
        let wrong = if is_drain {
            // Nothing newer counts.
            let mut earlier = (0..at).rev().filter(|other| self.events[*other].precedes(event));
            earlier.find(|other| certain(&self.events[*other])).filter(|other| self.events[*other].arrival.0 > begun.1)
        } else {
            // Nothing older counts.
            let first = self.events.partition_point(|other| other.sent <= event.received - kept);
            let mut kept = (first..at).filter(|other| self.events[*other].precedes(event));
            kept.find(|other| certain(&self.events[*other])).filter(|other| self.events[*other].arrival.1 < begun.0)
        };
        if wrong.is_some() || !of_own && !may_be_of_others {
            self.contradict(Kind::ResetOff, at, wrong, reset, begun.0 / SECOND);
        }
    }
}
