//! Counts: whether the number of requests that a response reports used agrees with the requests of the run.

use super::super::hypothesis::{Cut, Outcome};
use super::super::share::Rest;
use super::super::timeline::{Event, MINUTE, SECOND};
use super::{Evaluator, FAR, FEW, Kind, MUCH};
use crate::tolerance::Tolerance;

impl Evaluator<'_, '_, '_> {
    /// Returns true if an event reports a fixed window.
    pub(super) fn is_fixed(&self, event: &Event<'_>) -> bool {
        self.hypothesis().cut.is_fixed() || self.shares.reports_day(event)
    }

    /// Compares the report of an event with the hypothesis.
    pub(super) fn reports(&mut self, at: usize) {
        let event = &self.events[at];
        let Some(report) = event.report else { return };
        let figures = self.hypothesis().figures;
        if ![figures.minute, figures.day].contains(&Some(report.limit)) {
            self.contradict(Kind::Figure, at, None, report.limit, 0);
            return;
        }
        // A response with an unknown outcome may come from anywhere.
        if event.outcome == Outcome::Unknown {
            return;
        }
        let is_refused = event.outcome == Outcome::Refused;
        if !self.is_fixed(event) {
            self.in_sliding_minute(at, report.used, is_refused);
        } else if let Some(epoch) = self.shares.reported[at] {
            self.in_fixed_window(at, epoch, report.used, is_refused);
        } else {
            self.without_window(at, report.used);
        }
        if !is_refused {
            self.reset(at);
        }
    }

    /// The requests whose exchanges were complete before this one was sent, the last one first.
    pub(super) fn earlier(&self, at: usize) -> impl Iterator<Item = usize> {
        (0..at).rev().filter(move |other| self.events[*other].precedes(&self.events[at]))
    }

    /// The last request whose exchange was complete before this one was sent.
    pub(super) fn before(&self, at: usize) -> Option<usize> {
        self.earlier(at).next()
    }

    /// Returns true if both events report the same window.
    pub(super) fn report_one_window(&self, one: usize, other: usize) -> bool {
        self.events[one].report.zip(self.events[other].report).is_some_and(|(one, other)| one.is_same(other))
    }

    /// Returns true if an earlier response of the same window reports more used. The report of a possible ban does not count.
    fn reported_more_before(&self, earlier: usize, at: usize) -> bool {
        let [before, after] = [&self.events[earlier], &self.events[at]];
        self.report_one_window(earlier, at)
            && before.precedes(after)
            && before.report.zip(after.report).is_some_and(|(before, after)| before.used > after.used)
            && !before.may_be_ban
    }

    /// Records that a response reports fewer requests used than there must be: Remaining has risen, or a request was not counted.
    fn too_little(&mut self, at: usize, with: Option<usize>, used: i64, least: i64) {
        let higher = with
            .filter(|other| self.reported_more_before(*other, at))
            .or_else(|| (0..at).rev().take(FEW).find(|other| self.reported_more_before(*other, at)));
        // After a pause, the run may have used requests again that were restored meanwhile.
        let restored = with.filter(|other| {
            let pause = self.events[at].sent - self.events[*other].received;
            self.report_one_window(*other, at) && pause > Tolerance::UNSEEN.seconds() * SECOND
        });
        match higher.or(restored) {
            Some(with) => self.contradict(Kind::Rises, at, Some(with), used, least),
            None => self.contradict(Kind::NotCounted, at, with.or_else(|| self.before(at)), used, least),
        }
    }

    /// Returns true if a window is a minute that began after the first request of the run, so that its count began at 0.
    pub(super) fn is_fresh(&self, epoch: usize) -> bool {
        let window = &self.shares.epochs[epoch];
        self.shares.minutes.places.contains(&epoch)
            && self.events.first().is_some_and(|first| first.arrival.1 < window.begin)
    }

    /// Checks that the rest of the count does not fall in a fixed window and, if nobody else uses the key, does not rise.
    fn in_fixed_window(&mut self, at: usize, epoch: usize, used: i64, is_refused: bool) {
        let reported = used;
        // The requests that contradictions have named already are added, so that each is named once.
        let lacks = self.others[epoch].least.value - self.shares.rest(at, epoch, reported).most;
        let uncounted = lacks.clamp(0, self.others[epoch].uncounted);
        self.others[epoch].uncounted = uncounted;
        let used = reported + uncounted;
        let rest = self.shares.rest(at, epoch, used);
        let most = if self.events[at].is_capped() { FAR } else { rest.most };
        // A refusal may report that nothing remains, whatever the count is.
        let says_least = !is_refused || !self.events[at].is_capped();
        self.rests[at] = Some(Rest { most, ..if says_least { rest } else { Rest::UNKNOWN } });
        let others = self.others[epoch];
        if others.least.value > most {
            let (before, itself) = self.shares.in_epoch(at, epoch);
            let with = others.least.at;
            self.too_little(at, with, reported, before.lo + itself.lo + others.least.value - others.uncounted);
            self.others[epoch].uncounted += others.least.value - most;
            return;
        }
        if !says_least {
            return;
        }
        let is_fresh = self.is_fresh(epoch);
        let (before, itself) = self.shares.in_epoch(at, epoch);
        let every = self.shares.every_in_epoch(at, epoch);
        let own = before.hi + itself.hi;
        if others.goes_on {
            return;
        }
        if is_fresh
            && others.last.is_none()
            && used > own
            && !self.hypothesis().has_others()
            && self.goes_on(epoch, used, every, own)
        {
            let before = epoch.checked_sub(1).and_then(|epoch| self.others[epoch].last);
            self.others[epoch].goes_on = true;
            self.contradict(Kind::NotRestored, at, before.map(|(at, _)| at), used, own);
            return;
        }
        let base = if is_fresh { 0 } else { FAR };
        if used > own + others.unsettled.value.min(base) {
            // One of two reports may include its own request, or lack that of the other.
            let since = every - self.events[at].cost;
            let by_others = used > (every + base).min(since + others.unsettled_of_all);
            self.shows_others(at, by_others);
            let excess = used - own - others.unsettled.value.min(base);
            let more = excess - std::mem::replace(&mut self.others[epoch].excess, excess);
            self.exceeds(at, others.unsettled.at, used, more);
        }
    }

    /// Checks a response whose Reset is that of no running window. The requests that certainly count must be in its count.
    fn without_window(&mut self, at: usize, used: i64) {
        let counted = if self.shares.knows_minutes() {
            match self.shares.minutes.members[at][..] {
                [only] if only.is_certain => self.shares.in_epoch(at, only.epoch).0.lo,
                _ => 0,
            }
        } else {
            self.shares.in_last_minute(at).0.lo
        };
        if used < counted {
            self.too_little(at, None, used, counted);
        }
    }

    /// Returns true if the count at the beginning of a minute is the count at the end of the minute before, with any of the requests since.
    fn goes_on(&self, epoch: usize, used: i64, every: i64, own: i64) -> bool {
        let before = epoch.checked_sub(1).filter(|before| {
            let apart = self.shares.epochs[epoch].begin - self.shares.epochs[*before].end;
            apart < 2 * SECOND || self.hypothesis().cut == Cut::First
        });
        let last = before.and_then(|before| self.others[before].last);
        last.is_some_and(|(_, last)| last >= MUCH && (used - every.max(own)..=used).contains(&last))
    }

    /// Returns true if the Reset of a log shows that the oldest request that counts is one of the run.
    fn is_oldest_of_the_run(&self, at: usize) -> bool {
        let event = &self.events[at];
        let Some(report) = event.report.filter(|_| self.hypothesis().cut == Cut::Log && !event.may_be_ban) else {
            return false;
        };
        // If no request counts, the Reset may be anything.
        let origin = report.reset - MINUTE - SECOND;
        report.used > 0
            && event.outcome != Outcome::Refused
            && self.events.first().is_some_and(|first| origin > first.arrival.0)
    }

    /// Compares the reported count of a sliding minute with the requests of the run. The rest was used by other clients, or before the
    /// run. A sliding minute forgets the requests before the run within two minutes.
    fn in_sliding_minute(&mut self, at: usize, used: i64, is_refused: bool) {
        let (before, itself, every) = self.shares.sliding(at);
        let own = before.plus(itself);
        if self.is_oldest_of_the_run(at) {
            self.sliding.prior = 0;
        }
        let most = if self.events[at].is_capped() { FAR } else { used - own.lo };
        let least = if is_refused { -FAR } else { used - own.hi };
        self.rests[at] = Some(Rest { least, most, ..Rest::UNKNOWN });
        if most < 0 {
            self.too_little(at, None, used, own.lo);
            return;
        }
        if let Some((since, last)) = self.sliding.last_rest
            && last.least - most > self.restored_at_most(since, last.most, at)
        {
            self.too_little(at, Some(since), used, own.lo + last.least);
            return;
        }
        if is_refused {
            return;
        }
        let event = &self.events[at];
        let bound = if event.sent < self.sliding.prior_until { self.sliding.prior } else { 0 };
        let excess = (used - own.hi - bound).max(0);
        let more = excess - std::mem::replace(&mut self.sliding.excess, excess);
        if excess == 0 {
            return;
        }
        let last = self.earlier(at).find(|other| {
            let other = &self.events[*other];
            other.is_admitted() && other.report.is_some() && !other.may_be_ban
        });
        // A count that only goes on from the last one has dropped no request.
        let goes_on = last
            .and_then(|last| self.events[last].report)
            .is_some_and(|last| last.used >= MUCH && last.used < used && used <= last.used + every);
        self.shows_others(at, used - every > bound && !goes_on);
        if goes_on && !self.hypothesis().has_others() {
            if more > 0 {
                self.contradict(Kind::NotRestored, at, last, used, own.hi);
            }
            return;
        }
        self.exceeds(at, last, used, more);
    }
}
