//! The explanation: which ways of counting explain what a key was answered, and what contradicts the best of them.
//!
//! The part of a reported count that the run's own requests leave over was used by others. In a fixed window that part never falls, and
//! where nobody else uses the key it is constant. Nearly every constraint follows from the two bounds on it that each response gives:
//! `used - own.hi` at least and `used - own.lo` at most.

use std::collections::HashMap;

use jiff::SignedDuration;

use super::hypothesis::{Cut, Failures, Figures, Hypothesis, Written, hypotheses};
use super::share::{Rest, Shares};
use super::timeline::{DAY, Event, MINUTE, Micros, Outcome, SECOND, Timeline};
use crate::tolerance::Tolerance;

/// The kinds of contradictions between a way of counting and a trace.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Kind {
    /// A Limit that is neither figure.
    Figure,
    /// More of the run's own requests were complete than the response reports used.
    NotCounted,
    /// Less is reported used than before, in one window.
    Rises,
    /// More is reported used than the run's own requests explain, and nobody else uses the key.
    Excess,
    /// The count went on from where it was, although its Reset had passed.
    NotRestored,
    /// A request was admitted that found no room.
    OverAdmitted,
    /// More requests were admitted within a minute than the two windows that it touches admit.
    Burst,
    /// A request was admitted after the refusal of another one, in a window without remaining requests.
    Reopened,
    /// A request that found no room got another status than 429.
    OtherStatus,
    /// A request was refused that found room.
    Early,
    /// A request was refused between two responses of one window that both show room.
    Interrupted,
    /// A request was refused after the wait that the refusal before it asked for.
    StillLimited,
    /// A Reset that is not the end that the way of counting predicts.
    ResetOff,
    /// A Reset that has moved while its window ran.
    ResetMoves,
}

/// A place where a hypothesis does not explain what was answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contradiction {
    pub(super) kind: Kind,
    /// The event that contradicts, and the one that it is compared with, if there is one.
    pub(super) at: usize,
    pub(super) with: Option<usize>,
    /// The reported number or Unix time, and its bound: the least, the most, or the limit.
    pub(super) found: i64,
    pub(super) bound: i64,
}

/// The result of evaluating a hypothesis.
#[derive(Debug, Default)]
pub(super) struct Evaluation {
    pub(super) contradictions: Vec<Contradiction>,
    /// Whether something shows that other clients use the key, whatever the requests of the run cost.
    shows_others: bool,
    /// Whether responses to admitted requests show it.
    pub(super) shows_others_beside_admitted: bool,
    /// The refusals that were judged.
    pub(super) refusals: Vec<usize>,
    /// How many requests of other clients the reports show.
    excess: i64,
}

/// So many responses before one are looked through for a higher count.
const FEW: usize = 64;

/// More than any count.
const FAR: i64 = i64::MAX / 4;

/// A count that goes on from less than this may do so by chance.
const MUCH: i64 = 2;

/// Bounds on what others used in a window.
#[derive(Clone, Copy, Debug)]
struct Bound {
    value: i64,
    at: Option<usize>,
}

/// Everything about one fixed window that later responses of it are compared with.
#[derive(Clone, Copy, Debug)]
struct Others {
    /// The rest of the count is at least this much, by a response that was complete.
    least: Bound,
    /// The smallest reported count beyond the requests that were complete by then. The second number assumes that each of them was counted.
    unsettled: Bound,
    unsettled_of_all: i64,
    /// The last response that reports the count of this window.
    last: Option<(usize, i64)>,
    /// Whether the count of the window before goes on in this one.
    goes_on: bool,
    /// A refusal which reports that nothing remains.
    exhausted: Option<usize>,
    /// How many requests the reports lack that contradictions have named already, and by how much they exceed those of the run.
    uncounted: i64,
    excess: i64,
}

impl Default for Others {
    fn default() -> Others {
        Others {
            least: Bound { value: 0, at: None },
            unsettled: Bound { value: FAR, at: None },
            unsettled_of_all: FAR,
            last: None,
            goes_on: false,
            exhausted: None,
            uncounted: 0,
            excess: 0,
        }
    }
}

/// The bounds that a response puts on the use of others in a count that slides.
#[derive(Clone, Copy, Debug)]
struct LastRest {
    at: usize,
    least: i64,
    most: i64,
}

pub(super) struct Evaluator<'s, 't, 'h> {
    pub(super) shares: &'s Shares<'t, 'h>,
    pub(super) events: &'t [Event<'h>],
    by_received: &'t [usize],
    pub(super) found: Evaluation,
    stop_at: i64,
    /// The rest of the count that each response reports, by its place.
    rests: Vec<Option<Rest>>,
    others: Vec<Others>,
    /// Of each refusal, what had been reported of its window by then.
    seen_before: Vec<Option<(usize, Bound)>>,
    /// Of what slides: the most that was used before the run, and until when it may still count.
    prior: i64,
    prior_until: Micros,
    /// Of what slides: the latest Reset that was reported, and the time until which no room was announced; each with its response.
    latest_reset: Option<(Micros, usize)>,
    /// The last report of a count that slides: its bounds on what others used.
    last_rest: Option<LastRest>,
    full_until: Option<(Micros, usize)>,
    /// Of what slides: by how much the last report exceeds the requests of the run.
    excess: i64,
    /// Of a counter that slides: the first of the successes in a row that report that nothing remains, and how many there are.
    last_ones: Option<(usize, i64)>,
    arrivals: Arrivals,
}

/// Arrivals in the order of their earliest time, each with the latest time of all up to it.
#[derive(Debug)]
struct Arrivals {
    earliest: Vec<Micros>,
    latest: Vec<Micros>,
}

impl Arrivals {
    fn new<'e>(events: impl Iterator<Item = &'e Event<'e>>) -> Arrivals {
        let mut all: Vec<(Micros, Micros)> = events.map(|event| event.arrival).collect();
        all.sort_unstable();
        let mut latest = Micros::MIN;
        let (earliest, latest) = all
            .into_iter()
            .map(|(from, to)| {
                latest = latest.max(to);
                (from, latest)
            })
            .unzip();
        Arrivals { earliest, latest }
    }

    /// Whether some request may have arrived between two times.
    fn has(&self, from: Micros, to: Micros) -> bool {
        let count = self.earliest.partition_point(|at| *at <= to);
        count.checked_sub(1).is_some_and(|last| self.latest[last] >= from)
    }
}

/// Evaluates a hypothesis, as far as it has no more contradictions than the best so far.
fn evaluate(
    hypothesis: Hypothesis,
    timeline: &Timeline<'_>,
    by_received: &[usize],
    falls: bool,
    stop_at: i64,
) -> Evaluation {
    let shares = Shares::new(hypothesis, &timeline.events, by_received);
    let counted = |event: &&Event<'_>| shares.counted(event).hi > 0 || hypothesis.cut == Cut::First;
    let mut evaluator = Evaluator {
        events: &timeline.events,
        by_received,
        found: Evaluation { shows_others: falls, ..Evaluation::default() },
        stop_at,
        rests: vec![None; timeline.events.len()],
        others: vec![Others::default(); shares.epochs.len()],
        seen_before: vec![None; timeline.events.len()],
        prior: FAR,
        latest_reset: None,
        last_rest: None,
        full_until: None,
        excess: 0,
        last_ones: None,
        prior_until: timeline
            .events
            .first()
            .map_or(0, |first| first.received + if hypothesis.cut.is_on_grid() { 2 * MINUTE } else { MINUTE + SECOND }),
        arrivals: Arrivals::new(timeline.events.iter().filter(counted)),
        shares: &shares,
    };
    evaluator.forward();
    evaluator.refusals();
    evaluator.recovery();
    evaluator.found
}

impl Evaluator<'_, '_, '_> {
    pub(super) fn hypothesis(&self) -> Hypothesis {
        self.shares.hypothesis
    }

    pub(super) fn contradict(&mut self, kind: Kind, at: usize, with: Option<usize>, found: i64, bound: i64) {
        self.found.contradictions.push(Contradiction { kind, at, with, found, bound });
    }

    /// So many more are reported than the requests of the run explain, and the reports before: other clients use the key, or the hypothesis
    /// is wrong.
    fn exceeds(&mut self, at: usize, with: Option<usize>, used: i64, more: i64) {
        let more = more.max(0);
        self.found.excess += more;
        if more > 0 && !self.hypothesis().others {
            self.contradict(Kind::Excess, at, with, used, used - more);
        }
    }

    /// Takes in whether the response at this place shows that other clients use the key.
    fn shows_others(&mut self, at: usize, is_shown: bool) {
        self.found.shows_others |= is_shown;
        self.found.shows_others_beside_admitted |= is_shown && self.events[at].is_admitted();
    }

    /// Whether the hypothesis has more contradictions than the best so far, other than those that other clients would explain.
    fn is_stopped(&self) -> bool {
        let found = &self.found.contradictions;
        // Each weighs one at the least.
        let is_over = |count: usize| i64::try_from(count).is_ok_and(|count| count > self.stop_at);
        is_over(found.len()) && is_over(found.iter().filter(|found| found.kind != Kind::Excess).count())
    }

    /// Looks at each event in the order of sending, with what was complete before it.
    fn forward(&mut self) {
        let mut complete = self.by_received.iter().copied().peekable();
        for at in 0..self.events.len() {
            let event = &self.events[at];
            while let Some(other) = complete.next_if(|other| self.events[*other].received <= event.sent) {
                self.complete(other);
            }
            if self.is_stopped() {
                return;
            }
            if event.may_be_ban {
                continue;
            }
            if event.outcome == Outcome::Refused
                && let Some(member) = self.shares.members(at).first()
            {
                let epoch = self.shares.reported[at].unwrap_or(member.epoch);
                self.seen_before[at] = Some((epoch, self.others[epoch].unsettled));
            }
            self.reports(at);
            self.admission(at);
        }
    }

    /// Takes in what a response says of the rest of a count, once it is complete.
    fn complete(&mut self, at: usize) {
        let Some(rest) = self.rests[at] else { return };
        let Some(epoch) = self.shares.reported[at].filter(|_| self.is_fixed(&self.events[at])) else {
            self.prior = self.prior.min(rest.most);
            if rest.least > -FAR && self.events[at].outcome == Outcome::Succeeded {
                self.last_rest = Some(LastRest { at, least: rest.least, most: rest.most });
            }
            self.complete_of_what_slides(at);
            return;
        };
        let used = self.events[at].report.map_or(0, |report| report.used);
        let is_exhausted = self.events[at].outcome == Outcome::Refused && self.is_capped(at);
        let is_minute = self.shares.reports_minute(&self.events[at]);
        let others = &mut self.others[epoch];
        if is_exhausted && is_minute {
            others.exhausted = others.exhausted.or(Some(at));
        }
        if rest.least > others.least.value {
            others.least = Bound { value: rest.least, at: Some(at) };
        }
        if rest.unsettled < others.unsettled.value {
            others.unsettled = Bound { value: rest.unsettled, at: Some(at) };
        }
        others.unsettled_of_all = others.unsettled_of_all.min(rest.unsettled_of_all);
        if others.last.is_none_or(|(_, before)| used >= before) {
            others.last = Some((at, used));
        }
    }

    /// The most of what others used that can have been restored between two reports.
    fn restored_at_most(&self, last: LastRest, at: usize) -> i64 {
        let (before, event) = (&self.events[last.at], &self.events[at]);
        let Some((earlier, later)) = before.report.zip(event.report) else { return FAR };
        match self.hypothesis().cut {
            // What drops out of a log is its oldest, at the Reset.
            Cut::Log if earlier.limit == later.limit && event.answer.1 < earlier.reset - 2 * SECOND => 0,
            // What the last minute weighs decays evenly. Some servers calculate in whole seconds.
            Cut::Weighted | Cut::WeightedNext if earlier.limit == later.limit => {
                let elapsed = event.received - before.sent + SECOND;
                let written = self.shares.written(before).1;
                let end = match self.hypothesis().cut {
                    Cut::Weighted => earlier.reset,
                    _ => (written.div_euclid(MINUTE) + 1) * MINUTE,
                };
                let left = end - SECOND - written;
                if elapsed >= left || last.most >= FAR { FAR } else { (last.most.max(0) * elapsed + left - 1) / left }
            }
            _ => FAR,
        }
    }

    /// Takes in the Reset of what slides, where that is the next restoration: it never falls, and what is full has no room before it.
    fn complete_of_what_slides(&mut self, at: usize) {
        let event = &self.events[at];
        let Some(report) = event.report.filter(|report| report.used > 0) else { return };
        if !matches!(self.hypothesis().cut, Cut::Log | Cut::WeightedNext) || event.outcome != Outcome::Succeeded {
            return;
        }
        let later = (report.reset, at);
        if self.latest_reset.is_none_or(|(reset, _)| reset < report.reset) {
            self.latest_reset = Some(later);
        }
        if self.is_capped(at) && self.full_until.is_none_or(|(reset, _)| reset < report.reset) {
            self.full_until = Some(later);
        }
    }

    /// Whether an event's report is that of a fixed window.
    fn is_fixed(&self, event: &Event<'_>) -> bool {
        self.hypothesis().cut.is_fixed() || self.shares.reports_day(event)
    }

    fn reports(&mut self, at: usize) {
        let event = &self.events[at];
        let Some(report) = event.report else { return };
        let figures = self.hypothesis().figures;
        if ![figures.minute, figures.day].contains(&Some(report.limit)) {
            self.contradict(Kind::Figure, at, None, report.limit, 0);
            return;
        }
        // A status that says nothing of counting may come from anywhere, and a refusal may say that nothing remains whatever there was.
        let is_refused = event.outcome == Outcome::Refused;
        if event.outcome == Outcome::Unknown {
            return;
        }
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

    /// The last event that was complete before this one was sent.
    fn before(&self, at: usize) -> Option<usize> {
        (0..at).rev().find(|other| self.events[*other].precedes(&self.events[at]))
    }

    /// Less is reported used than there must be: Remaining has risen, or a request was not counted.
    fn too_little(&mut self, at: usize, with: Option<usize>, used: i64, least: i64) {
        let event = &self.events[at];
        let is_of_window = |other: &usize| {
            let (Some(one), Some(report)) = (self.events[*other].report, event.report) else { return false };
            one.is_same(report)
                && self.events[*other].precedes(event)
                && one.used > report.used
                && !self.events[*other].may_be_ban
        };
        let higher = with.filter(is_of_window).or_else(|| (0..at).rev().take(FEW).find(is_of_window));
        // Where time has passed, requests were restored that the run's own have used again.
        let restored = with.filter(|other| {
            let (Some(one), Some(report)) = (self.events[*other].report, event.report) else { return false };
            one.is_same(report) && event.sent - self.events[*other].received > Tolerance::UNSEEN.seconds() * SECOND
        });
        match higher.or(restored) {
            Some(_) => self.contradict(Kind::Rises, at, higher.or(restored), used, least),
            None => self.contradict(Kind::NotCounted, at, with.or_else(|| self.before(at)), used, least),
        }
    }

    /// The rest of the count does not fall in a fixed window; and if nobody else uses the key, it does not rise.
    fn in_fixed_window(&mut self, at: usize, epoch: usize, used: i64, is_refused: bool) {
        let reported = used;
        let lacks = self.others[epoch].least.value - self.shares.rest(at, epoch, reported).most;
        let uncounted = lacks.clamp(0, self.others[epoch].uncounted);
        self.others[epoch].uncounted = uncounted;
        let used = reported + uncounted;
        let rest = self.shares.rest(at, epoch, used);
        let most = if self.is_capped(at) { FAR } else { rest.most };
        let says_least = !is_refused;
        self.rests[at] = Some(Rest {
            least: if says_least { rest.least } else { -FAR },
            most,
            unsettled: if says_least || used < FAR && !self.is_capped(at) { rest.unsettled } else { FAR },
            unsettled_of_all: if says_least { rest.unsettled_of_all } else { FAR },
        });
        let others = self.others[epoch];
        if others.least.value > most {
            let (before, itself) = self.shares.in_epoch(at, epoch);
            let with = others.least.at;
            self.too_little(at, with, reported, before.lo + itself.lo + others.least.value - others.uncounted);
            self.others[epoch].uncounted += others.least.value - most;
            return;
        }
        if is_refused {
            return;
        }
        let window = &self.shares.epochs[epoch];
        let is_fresh = !window.is_day && self.events.first().is_some_and(|first| first.arrival.1 < window.begin());
        let (before, itself) = self.shares.in_epoch(at, epoch);
        let every = self.shares.every_in_epoch(at, epoch);
        let own = before.hi + itself.hi;
        if is_fresh
            && others.last.is_none()
            && used > own
            && !self.hypothesis().others
            && self.goes_on(epoch, used, every, own)
        {
            let before = self.shares.minute_before(epoch).and_then(|epoch| self.others[epoch].last);
            self.others[epoch].goes_on = true;
            self.contradict(Kind::NotRestored, at, before.map(|(at, _)| at), used, own);
            return;
        }
        if others.goes_on {
            return;
        }
        let base = if is_fresh { 0 } else { FAR };
        if used > own + others.unsettled.value.min(base) {
            // Of two reports, one has its own request or lacks that of the other.
            let since = every - self.events[at].cost;
            let by_others = used > (every + base).min(since + others.unsettled_of_all);
            self.shows_others(at, by_others);
            let excess = used - own - others.unsettled.value.min(base);
            let more = excess - std::mem::replace(&mut self.others[epoch].excess, excess);
            self.exceeds(at, others.unsettled.at, used, more);
        }
    }

    /// A response that reports no window that runs: none that certainly counts a request may.
    fn without_window(&mut self, at: usize, used: i64) {
        let is_counted = if self.shares.knows_minutes() {
            let mut minutes = self.shares.minutes_of(at);
            match (minutes.next(), minutes.next()) {
                (Some(only), None) if only.is_certain => self.shares.in_epoch(at, only.epoch).0.lo,
                _ => 0,
            }
        } else {
            self.shares.in_last_minute(at).0.lo
        };
        if used < is_counted {
            self.too_little(at, None, used, is_counted);
        }
    }

    fn is_capped(&self, at: usize) -> bool {
        self.events[at].report.is_some_and(|report| report.used >= report.limit)
    }

    /// Whether the count at the beginning of a minute is that of the end of the one before, with any of the requests since.
    fn goes_on(&self, epoch: usize, used: i64, every: i64, own: i64) -> bool {
        let before = self.shares.minute_before(epoch).filter(|before| {
            let apart = self.shares.epochs[epoch].begin() - self.shares.epochs[*before].end;
            apart < 2 * SECOND || self.hypothesis().cut == Cut::First
        });
        let last = before.and_then(|before| self.others[before].last);
        last.is_some_and(|(_, last)| last >= MUCH && (used - every.max(own)..=used).contains(&last))
    }

    /// What a count of the last minute has beyond the run's own requests was used by others, or before the run: what slides forgets that
    /// within two minutes.
    fn in_sliding_minute(&mut self, at: usize, used: i64, is_refused: bool) {
        let (before, itself, every) = self.shares.sliding(at);
        let own = before.and(itself);
        if self.is_oldest_of_the_run(at) {
            self.prior = 0;
        }
        let most = if self.is_capped(at) { FAR } else { used - own.lo };
        let least = if is_refused { -FAR } else { used - own.hi };
        self.rests[at] = Some(Rest { least, most, unsettled: FAR, unsettled_of_all: FAR });
        if most < 0 {
            self.too_little(at, None, used, own.lo);
            return;
        }
        if let Some(last) = self.last_rest
            && last.least - most > self.restored_at_most(last, at)
        {
            self.too_little(at, Some(last.at), used, own.lo + last.least);
            return;
        }
        let event = &self.events[at];
        let bound = if event.sent < self.prior_until { self.prior } else { 0 };
        if is_refused {
            return;
        }
        let excess = (used - own.hi - bound).max(0);
        let more = excess - std::mem::replace(&mut self.excess, excess);
        if excess == 0 {
            return;
        }
        // A count that only goes on from the one before has not dropped anything.
        let tells = |other: &usize| {
            let other = &self.events[*other];
            other.precedes(event) && other.is_admitted() && other.report.is_some() && !other.may_be_ban
        };
        let last = (0..at).rev().find(tells);
        let goes_on = last
            .and_then(|last| self.events[last].report)
            .is_some_and(|last| last.used >= MUCH && last.used < used && used <= last.used + every);
        self.shows_others(at, used - every > bound && !goes_on);
        if goes_on && !self.hypothesis().others {
            self.contradict(Kind::NotRestored, at, last, used, own.hi);
            return;
        }
        self.exceeds(at, last, used, more);
    }

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
    fn is_oldest_of_the_run(&self, at: usize) -> bool {
        let event = &self.events[at];
        let Some(report) = event.report.filter(|_| self.hypothesis().cut == Cut::Log && !event.may_be_ban) else {
            return false;
        };
        // Where nothing counts, the Reset may be anything.
        let is_later = |first: &Event<'_>| report.reset - MINUTE - SECOND > first.arrival.0;
        report.used > 0 && event.outcome != Outcome::Refused && self.events.first().is_some_and(is_later)
    }

    /// Of header fields that are written before a request is counted: whether a success reports that nothing remained for it, which neither
    /// other clients nor failures that are given back explain. Returns the response before it.
    fn shows_no_room(&self, at: usize) -> Option<Option<usize>> {
        let event = &self.events[at];
        let is_before = self.hypothesis().written == Written::Before && !self.hypothesis().others;
        let is_success = event.outcome == Outcome::Succeeded;
        let is_given_back = || {
            let mut epochs = self.shares.reported[at].into_iter();
            epochs.any(|epoch| self.shares.refundable(at, epoch) > 0)
        };
        (is_before && is_success && self.is_capped(at) && !is_given_back()).then(|| self.before(at))
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
    fn admission(&mut self, at: usize) {
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
        if let Some(with) = self.shows_no_room(at) {
            let limit = event.report.map_or(0, |report| report.limit);
            self.contradict(kind, at, with, limit + 1, limit);
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

    /// Whether there was no room for the requests that were refused. What others used before a refusal is at most what they used
    /// before any later response, and if nobody else uses the key, before any other.
    fn refusals(&mut self) {
        let mut later: Vec<Option<(i64, usize)>> = vec![None; self.others.len()];
        let mut refusals: Vec<usize> = Vec::new();
        let mut sent_later = (0..self.events.len()).rev().peekable();
        for &at in self.by_received.iter().rev() {
            let event = &self.events[at];
            while let Some(other) = sent_later.next_if(|other| self.events[*other].sent >= event.received) {
                let (Some(Rest { most, .. }), Some(epoch)) = (self.rests[other], self.shares.reported[other]) else {
                    continue;
                };
                if later[epoch].is_none_or(|(before, _)| most < before) {
                    later[epoch] = Some((most, other));
                }
            }
            if event.outcome != Outcome::Refused || self.is_stopped() {
                continue;
            }
            if let Some((with, used, limit)) = self.interrupted(at, &later) {
                refusals.push(at);
                self.contradict(Kind::Interrupted, at, Some(with), used, limit);
                continue;
            }
            if event.may_be_ban || self.may_be_for_longer(at) {
                continue;
            }
            refusals.push(at);
            if let Some((with, used, limit)) = self.early(at, &later) {
                self.contradict(Kind::Early, at, with, used, limit);
            } else {
                self.reset(at);
            }
        }
        refusals.reverse();
        self.found.refusals = refusals;
    }

    /// The later response that shows that a refused request found room in its window, the most that was used, and the limit. What is full
    /// stays full, so that no ban explains it: one follows refusals for a window without room.
    fn interrupted(&self, at: usize, later: &[Option<(i64, usize)>]) -> Option<(usize, i64, i64)> {
        let event = &self.events[at];
        let limit = self.hypothesis().figures.minute?;
        if !self.hypothesis().cut.is_fixed() || self.shares.reports_day(event) || self.may_be_for_longer(at) {
            return None;
        }
        let mut best: Option<(usize, i64, i64)> = None;
        let mut is_any = false;
        for member in self.shares.minutes_of(at) {
            is_any = true;
            let (most, with) = later[member.epoch]?;
            let used = most.saturating_add(self.shares.before_at_most(at, member.epoch));
            if used >= limit {
                return None;
            }
            best = best.filter(|(_, before, _)| *before > used).or(Some((with, used, limit)));
        }
        best.filter(|_| is_any && (self.hypothesis().written != Written::OnAnswer || self.is_decided_in_its_window(at)))
    }

    /// Of header fields that are written when the response goes out: whether the request certainly came in the window that is reported.
    fn is_decided_in_its_window(&self, at: usize) -> bool {
        let event = &self.events[at];
        let before = self.shares.minutes_of(at).next().and_then(|member| self.shares.minute_before(member.epoch));
        before.is_none_or(|before| event.arrival.0 >= self.shares.epochs[before].end + SECOND)
    }

    /// The response that shows that a refused request found room, the most that was used, and the limit.
    fn early(&self, at: usize, later: &[Option<(i64, usize)>]) -> Option<(Option<usize>, i64, i64)> {
        let event = &self.events[at];
        let hypothesis = self.hypothesis();
        if self.shares.reports_day(event) {
            let (limit, epoch) = (hypothesis.figures.day?, self.shares.reported[at]?);
            let (with, used) = self.most_used(at, epoch, later)?;
            return (used < limit && !self.may_hide_a_full_minute(at)).then_some((with, used, limit));
        }
        let limit = hypothesis.figures.minute?;
        if !hypothesis.cut.is_fixed() {
            let used = self.shares.sliding(at).0.hi + self.prior_at(at);
            return (!hypothesis.others && used < limit).then_some((self.before(at), used, limit));
        }
        let mut members: Vec<usize> = self.shares.minutes_of(at).map(|member| member.epoch).collect();
        if members.is_empty() {
            // A minute that nothing reports: at most the requests of the last minute count.
            let used = self.shares.in_last_minute(at).0.hi;
            let is_unopened = hypothesis.cut == Cut::First && event.report.is_some();
            return (!hypothesis.others && (used < limit || is_unopened) && self.shares.knows_minutes()).then_some((
                self.before(at),
                used,
                limit,
            ));
        }
        if hypothesis.written == Written::OnAnswer
            && let Some(epoch) = self.shares.reported[at]
            && let Some(before) = self.shares.minute_before(epoch)
            && event.arrival.0 < self.shares.epochs[before].end + SECOND
        {
            members.push(before);
        }
        let mut best: Option<(Option<usize>, i64, i64)> = None;
        for epoch in members {
            let (with, used) = self.most_used(at, epoch, later)?;
            if used >= limit {
                return None;
            }
            best = best.filter(|(_, before, _)| *before > used).or(Some((with, used, limit)));
        }
        best
    }

    /// How much may have been used before the run, where minutes slide.
    fn prior_at(&self, at: usize) -> i64 {
        if self.events[at].sent >= self.prior_until {
            return 0;
        }
        // Nothing that was reported before this request leaves room for more.
        let reported = self.before(at).is_some_and(|before| self.rests[before].is_some());
        if reported { self.prior.max(0) } else { FAR }
    }

    /// The most that was used of a window when a request was refused, and the response that shows it. `None` if nothing bounds what others
    /// used.
    fn most_used(&self, at: usize, epoch: usize, later: &[Option<(i64, usize)>]) -> Option<(Option<usize>, i64)> {
        let own = self.shares.in_epoch(at, epoch).0.hi;
        let others = self.others_before(at, epoch);
        // By a response that came later, and by the refusal's own report.
        let later = later[epoch].map(|(most, with)| (most.saturating_add(self.shares.before_at_most(at, epoch)), with));
        let mut found: Option<(Option<usize>, i64)> = later.map(|(used, with)| (Some(with), used));
        let reported =
            self.events[at].report.filter(|_| self.shares.reported[at] == Some(epoch) && !self.is_capped(at));
        let mut take = |with: Option<usize>, used: i64| {
            if found.is_none_or(|(_, most)| used < most) {
                found = Some((with, used));
            }
        };
        if let Some(report) = reported {
            // What is given back while the response is under way was there when the request was dealt with.
            take(self.before(at), report.used + self.shares.refundable(at, epoch));
        }
        if !self.hypothesis().others {
            if others.0.value < FAR {
                take(others.0.at, others.0.value.saturating_add(own));
            }
            let window = &self.shares.epochs[epoch];
            let is_fresh = !window.is_day && self.events.first().is_some_and(|first| first.arrival.1 < window.begin());
            if is_fresh && !others.1 {
                take(others.0.at.or_else(|| self.before(at)), own);
            }
        }
        found
    }

    /// The least that was reported beyond the requests that were complete by then, by a response that was complete before this request was
    /// sent; and whether the window goes on from the one before.
    fn others_before(&self, at: usize, epoch: usize) -> (Bound, bool) {
        let goes_on = self.others[epoch].goes_on;
        (
            self.seen_before[at]
                .filter(|(of, _)| *of == epoch)
                .map_or(Bound { value: FAR, at: None }, |(_, bound)| bound),
            goes_on,
        )
    }

    /// Whether a refusal asks for a wait that outlasts any minute, or ends with a day, and nothing was admitted before its end: then a day
    /// that no header shows may be exhausted, or the key may be banned for what others did with it.
    fn may_be_for_longer(&self, at: usize) -> bool {
        let event = &self.events[at];
        let Some(wait) = event.wait else { return false };
        let longest = Tolerance::LONGEST_MINUTE.duration() + Tolerance::LONGER_WAIT.duration();
        let wait_micros = (wait.as_micros() as Micros).clamp(0, 3 * DAY);
        let ends = event.answer.1 + wait_micros;
        let to_midnight = (event.arrival.0.div_euclid(DAY) + 1) * DAY - 3 * SECOND;
        let is_long = wait > longest || ends >= to_midnight && event.answer.0 < to_midnight + DAY;
        let slack = Tolerance::LONGER_WAIT.seconds() * SECOND;
        let until = event.received + (wait_micros - slack).max(0);
        let first = self.events.partition_point(|other| other.sent < event.received);
        let is_served = self.events[first..].iter().take_while(|other| other.received < until).any(Event::is_admitted);
        is_long && !is_served && wait > SignedDuration::ZERO
    }

    /// Whether the minute behind a reported day may be exhausted.
    fn may_hide_a_full_minute(&self, at: usize) -> bool {
        let Some(minute) = self.hypothesis().figures.minute else { return true };
        if self.hypothesis().others {
            return true;
        }
        let own = if self.hypothesis().cut.is_fixed() || matches!(self.hypothesis().cut, Cut::Log | Cut::Drain) {
            self.shares.in_last_minute(at).0.hi
        } else {
            self.shares.in_last_two_minutes(at)
        };
        let is_early =
            self.events.first().is_some_and(|first| self.events[at].sent - first.received < MINUTE + 2 * SECOND);
        own >= minute || is_early
    }

    /// Whether a Reset is the end that the hypothesis predicts.
    fn reset(&mut self, at: usize) {
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

/// Whether the reported count rises between two responses by more than the run sent in between, whatever its requests cost.
fn falls_by_more(timeline: &Timeline<'_>, by_received: &[usize]) -> bool {
    let events = &timeline.events;
    let mut costs = vec![0; events.len() + 1];
    for (at, event) in events.iter().enumerate() {
        costs[at + 1] = costs[at] + event.cost;
    }
    let mut complete = vec![(Micros::MIN, 0)];
    for &at in by_received {
        let total = complete.last().map_or(0, |(_, total)| *total) + events[at].cost;
        complete.push((events[at].received, total));
    }
    let tells = |event: &&Event<'_>| !event.may_be_ban && event.is_admitted() && event.report.is_some();
    let telling: Vec<&Event<'_>> = events.iter().filter(tells).collect();
    telling.windows(2).any(|pair| {
        let (Some(before), Some(after)) = (pair[0].report, pair[1].report) else { return false };
        let sent = costs[events.partition_point(|event| event.sent < pair[1].received)];
        let done = complete[complete.partition_point(|(received, _)| *received <= pair[0].sent) - 1].1;
        pair[0].precedes(pair[1])
            && before.limit == after.limit
            // Of a window that is new, nothing was used before.
            && after.used - before.used > sent - done - pair[0].cost
    })
}

/// How much speaks against a hypothesis: an excess by the requests that it does not explain. A refusal that came early weighs less, if it
/// reports that nothing remains: other clients may have used the rest without a trace.
fn weight(evaluation: &Evaluation, timeline: &Timeline<'_>) -> i64 {
    let weight = |found: &Contradiction| {
        let report = timeline.events[found.at].report;
        let is_empty = report.is_some_and(|report| report.used >= report.limit);
        match found.kind {
            Kind::Early if is_empty => 1,
            Kind::Excess => (found.found - found.bound).max(2),
            _ => 2,
        }
    };
    evaluation.contradictions.iter().map(weight).sum()
}

/// Whether contradictions, each with how far it is off, show that a Reset has restored nothing: at least two, or one of so large a count
/// that other clients are unlikely to have used exactly that number since.
pub(super) fn shows_no_restoration(contradictions: impl Iterator<Item = (Kind, i64)>) -> bool {
    const LARGE: i64 = 10;
    let of_kind: Vec<i64> = contradictions.filter(|(kind, _)| *kind == Kind::NotRestored).map(|(_, off)| off).collect();
    of_kind.len() > 1 || of_kind.iter().any(|off| *off >= LARGE)
}

/// The best explanation of a timeline.
#[derive(Debug)]
pub(super) struct Best {
    pub(super) hypothesis: Option<Hypothesis>,
    pub(super) evaluation: Evaluation,
}

/// Whether other clients are likely, given how much speaks against a plain way of counting without them. Those that would have to
/// explain far more are none: what they explain are the failures of the run, which count. More is believed where they explain everything.
fn is_likely(shared: &Evaluation, plain: i64) -> bool {
    shared.excess <= if shared.contradictions.is_empty() { 2 * plain } else { plain }
}

/// The first hypothesis of windows with other clients that explains everything. What slides would explain nearly anything with clients that
/// nothing shows.
fn unseen_others(
    timeline: &Timeline<'_>,
    plan: Option<(i64, i64)>,
    by_received: &[usize],
    plain: i64,
) -> Option<(Hypothesis, Evaluation)> {
    let all = hypotheses(&timeline.figures(plan), timeline.occasions());
    all.into_iter().filter(|hypothesis| hypothesis.cut.is_fixed()).find_map(|hypothesis| {
        let shared = Hypothesis { others: true, ..hypothesis };
        let found = evaluate(shared, timeline, by_received, true, 0);
        let is_likely = hypothesis.is_plain() || is_likely(&found, plain);
        (found.contradictions.is_empty() && is_likely).then_some((shared, found))
    })
}

/// The hypothesis with the fewest contradictions.
pub(super) fn explain(timeline: &Timeline<'_>, plan: Option<(i64, i64)>) -> Best {
    let mut by_received: Vec<usize> = (0..timeline.events.len()).collect();
    by_received.sort_by_key(|at| timeline.events[*at].received);
    let falls = falls_by_more(timeline, &by_received);
    let mut fewest: HashMap<Figures, usize> = HashMap::new();
    let mut plain = FAR;
    let mut best = Best { hypothesis: None, evaluation: Evaluation::default() };
    let is_whole = |event: &Event<'_>| event.report.is_none_or(|report| report.reset.rem_euclid(MINUTE) == 0);
    let all_whole = timeline.events.iter().all(is_whole);
    let is_dated = timeline.events.iter().all(|event| event.entry.server_time().is_some());
    for hypothesis in hypotheses(&timeline.figures(plan), timeline.occasions()) {
        // Where each Reset is the end of a minute, the two counters that slide are one. Without the server's clock nothing shows where
        // the minutes of the second one begin.
        if hypothesis.cut == Cut::WeightedNext && (all_whole || !is_dated) {
            continue;
        }
        let most = best.hypothesis.map_or(FAR, |_| weight(&best.evaluation, timeline));
        let is_plain = hypothesis.is_plain();
        let stop_at = if is_plain { FAR } else { most };
        let mut candidate = (hypothesis, evaluate(hypothesis, timeline, &by_received, falls, stop_at));
        let contradictions = &candidate.1.contradictions;
        let is_of_counts = |found: &Contradiction| matches!(found.kind, Kind::Excess | Kind::NotCounted | Kind::Rises);
        let off = contradictions.iter().filter(|found| is_of_counts(found)).count();
        let fewest = fewest.entry(hypothesis.figures).or_insert(usize::MAX);
        if is_plain {
            *fewest = off.min(*fewest);
            plain = plain.min(weight(&candidate.1, timeline));
        }
        // An excess that is the failures of the run shows that failures count, and nobody else.
        let is_by_others = |found: &Contradiction| matches!(found.kind, Kind::Excess | Kind::NotRestored);
        let is_excess_alone = !contradictions.is_empty()
            && contradictions.iter().all(is_by_others)
            && !shows_no_restoration(contradictions.iter().map(|found| (found.kind, found.found - found.bound)))
            && *fewest > 0;
        if candidate.1.shows_others && !contradictions.is_empty() || is_excess_alone {
            let shared = Hypothesis { others: true, ..hypothesis };
            let found = evaluate(shared, timeline, &by_received, falls, most);
            if is_plain || is_likely(&found, plain) {
                candidate = (shared, found);
            }
        }
        let count = weight(&candidate.1, timeline);
        // Where nothing explains everything, a plain way of counting is left for one that explains more than twice as much.
        let least = if count > 0 && !is_plain && best.hypothesis.is_some_and(|best| best.is_plain()) {
            2 * count
        } else {
            count
        };
        if best.hypothesis.is_none() || least < most {
            best = Best { hypothesis: Some(candidate.0), evaluation: candidate.1 };
            if count == 0 {
                break;
            }
        }
    }
    let is_of_refusals = |found: &Contradiction| matches!(found.kind, Kind::Early | Kind::StillLimited);
    let off = best.evaluation.contradictions.iter().map(|found| (found.kind, found.found - found.bound));
    // Other clients use requests up, and make room for none.
    let is_of_admission = |found: &Contradiction| {
        matches!(found.kind, Kind::Reopened | Kind::OverAdmitted | Kind::Burst | Kind::OtherStatus)
    };
    if !best.evaluation.contradictions.iter().all(is_of_refusals)
        && !best.evaluation.contradictions.iter().any(is_of_admission)
        && !shows_no_restoration(off)
        && let Some((shared, found)) = unseen_others(timeline, plan, &by_received, plain)
    {
        // Of what only other clients explain that nothing shows, the refusals remain: a limiter that refuses early looks the same.
        best.evaluation.contradictions.retain(is_of_refusals);
        if best.evaluation.contradictions.is_empty() {
            best = Best { hypothesis: Some(shared), evaluation: found };
        }
    }
    let is_explained = best.evaluation.contradictions.iter().all(|found| found.kind == Kind::Excess);
    if let Some(hypothesis) = best.hypothesis.filter(|best| !is_explained && !best.cut.is_fixed()) {
        // Either the counts are wrong for a Reset that moves, or the Reset is for the counts.
        let fixed = Hypothesis { cut: Cut::First, others: false, ..hypothesis };
        let evaluation = evaluate(fixed, timeline, &by_received, falls, FAR);
        best.evaluation
            .contradictions
            .extend(evaluation.contradictions.into_iter().find(|found| found.kind == Kind::ResetMoves));
    }
    best
}
