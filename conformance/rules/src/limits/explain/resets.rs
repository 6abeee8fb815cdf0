//! Resets: whether a Reset is the end that the hypothesis predicts.

use super::super::hypothesis::Cut;
use super::super::timeline::{DAY, Event, MINUTE, Micros, Outcome, SECOND};
use super::{Evaluator, FAR, Kind};
use crate::tolerance::Tolerance;

impl Evaluator<'_, '_, '_> {
    /// Whether a Reset is the end that the hypothesis predicts.
    pub(super) fn reset(&mut self, at: usize) {
        let event = &self.events[at];
        let Some(report) = event.report else { return };
        let (from, to) = self.shares.written(event);
        let is_day = self.shares.reports_day(event);
        let cut = self.hypothesis().cut;
        if is_day || matches!(cut, Cut::Clock | Cut::Weighted) {
            let length = if is_day { DAY } else { MINUTE };
            let is_ahead = report.reset + SECOND > from && report.reset - length - SECOND <= to;
            if self.shares.is_off[at] || !is_ahead {
                self.contradict(Kind::ResetOff, at, None, report.reset / SECOND, to / SECOND);
            } else if is_day
                && let Some(before) = self.shares.reported[at].and_then(|epoch| self.shares.day_before(epoch))
                && report.reset - self.shares.epochs[before].end < DAY - Tolerance::LONGEST_MINUTE.seconds() * SECOND
            {
                let (with, end) = (self.others[before].last.map(|(at, _)| at), self.shares.epochs[before].end);
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
                if event.outcome == Outcome::Succeeded
                    && self.latest_reset.is_some_and(|(latest, _)| report.reset < latest - 2 * SECOND) =>
            {
                let (latest, with) = self.latest_reset.unwrap_or_default();
                self.contradict(Kind::ResetMoves, at, Some(with), report.reset / SECOND, latest / SECOND);
            }
            Cut::Log | Cut::Drain if event.outcome != Outcome::Refused => self.reset_of_log(at, begun),
            Cut::WeightedNext if event.outcome != Outcome::Refused => {
                self.reset_of_next(at, report.reset, (from, to));
            }
            _ => {}
        }
    }

    fn reset_of_first(&mut self, at: usize, begun: (Micros, Micros)) {
        let Some(epoch) = self.shares.reported[at] else { return };
        let reset = self.events[at].report.map_or(0, |report| report.reset) / SECOND;
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
