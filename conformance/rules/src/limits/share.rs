//! Shares: how much of the run's own requests is in the count that a response reports, under one hypothesis.

use std::collections::BTreeMap;

use super::hypothesis::{Cut, Failures, Hypothesis, Written};
use super::timeline::{DAY, Event, MINUTE, Micros, Outcome, SECOND};
use crate::tolerance::Tolerance;

/// How far the end of a window may be from where its report says: times are whole seconds.
const ROUNDING: Micros = SECOND;

/// Two ends this close to each other are those of one window.
const SAME_END: Micros = Tolerance::ROUNDING.seconds() * SECOND;

/// How long a request certainly stays in a log of the last minute.
const KEPT: Micros = Tolerance::KEPT.seconds() * SECOND;

/// How long a request may stay in a log of the last minute.
const NO_LONGER_KEPT: Micros = Tolerance::NO_LONGER_KEPT.seconds() * SECOND;

/// How long after its response a failed request may still be in the count from which it is given back.
const REFUND_LAG: Micros = SECOND;

/// No more requests than this are under way at the same time.
const AT_ONCE: usize = 256;

/// The part of requests that is in a count: at least and at most.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Share {
    pub(super) lo: i64,
    pub(super) hi: i64,
}

impl Share {
    pub(super) fn and(self, other: Share) -> Share {
        Share { lo: self.lo + other.lo, hi: self.hi + other.hi }
    }
}

/// Amounts by time, summed up from the beginning.
#[derive(Debug, Default)]
struct Sums {
    times: Vec<Micros>,
    totals: Vec<i64>,
}

impl Sums {
    /// Adds an amount. Times do not fall.
    fn push(&mut self, time: Micros, amount: i64) {
        if amount != 0 {
            let total = self.totals.last().copied().unwrap_or(0) + amount;
            self.times.push(time);
            self.totals.push(total);
        }
    }

    fn of(mut amounts: Vec<(Micros, i64)>) -> Sums {
        amounts.sort_unstable_by_key(|(time, _)| *time);
        let mut sums = Sums::default();
        amounts.into_iter().for_each(|(time, amount)| sums.push(time, amount));
        sums
    }

    fn total(&self, count: usize) -> i64 {
        count.checked_sub(1).map_or(0, |last| self.totals[last])
    }

    /// The sum up to a time, that time included.
    fn up_to(&self, time: Micros) -> i64 {
        self.total(self.times.partition_point(|at| *at <= time))
    }

    /// The sum before a time.
    fn before(&self, time: Micros) -> i64 {
        self.total(self.times.partition_point(|at| *at < time))
    }
}

/// The sums of a set of requests.
#[derive(Debug, Default)]
struct Counts {
    /// What certainly counts, by the time at which the response was complete.
    certain: Sums,
    /// What may count, by the time of sending.
    possible: Sums,
    /// What may have counted and certainly does not any more, by the time since when.
    gone: Sums,
    /// What certainly counts once it has come, by the time of sending.
    certain_sent: Sums,
    /// What may count, by the time at which the response was complete.
    settled: Sums,
    /// What may count and is given back, by the time of sending.
    refundable: Sums,
    /// Every request of the run, whatever it costs, by the time of sending, and by the time at which the response was complete.
    every: Sums,
    every_settled: Sums,
}

impl Counts {
    /// What counts when a request is dealt with, without the request itself.
    fn before(&self, event: &Event<'_>, own: Share) -> Share {
        let hi = self.possible.before(event.received) - own.hi - self.gone.up_to(event.sent);
        Share { lo: self.certain.up_to(event.sent), hi: hi.max(0) }
    }
}

/// What a response says of the rest of a window's count, which the requests that certainly count leave over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rest {
    /// The rest when any later response is written is no less than this.
    pub(super) least: i64,
    /// The rest when the request was dealt with is no more than this.
    pub(super) most: i64,
    /// The reported count beyond the requests that were complete before this one was sent. The second number assumes that each of them
    /// was counted.
    pub(super) unsettled: i64,
    pub(super) unsettled_of_all: i64,
}

/// A fixed window of a minute or a day.
#[derive(Debug)]
pub(super) struct Epoch {
    pub(super) is_day: bool,
    pub(super) end: Micros,
    counts: Counts,
}

impl Epoch {
    pub(super) fn begin(&self) -> Micros {
        self.end - if self.is_day { DAY } else { MINUTE }
    }
}

/// Where a request stands in a window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) epoch: usize,
    pub(super) is_certain: bool,
}

/// The shares of all events under one hypothesis.
#[derive(Debug)]
pub(super) struct Shares<'t, 'h> {
    pub(super) hypothesis: Hypothesis,
    pub(super) events: &'t [Event<'h>],
    pub(super) epochs: Vec<Epoch>,
    /// The minutes and the days, each in order, as places among the epochs.
    minutes: Vec<usize>,
    days: Vec<usize>,
    /// The grid on which minutes end, if the reports show it: the place of each minute by its number.
    grid: Option<Micros>,
    by_number: BTreeMap<i64, usize>,
    /// The window that each event reports.
    pub(super) reported: Vec<Option<usize>>,
    /// Whether the end that an event reports is no end of the hypothesis.
    pub(super) is_off: Vec<bool>,
    members: Vec<Vec<Member>>,
    /// Of all events together, for what slides.
    sliding: Counts,
    /// What certainly counts, by the time of sending.
    certain_by_sent: Sums,
    /// What no longer counts in a minute before the last one.
    gone_before: Sums,
    every_gone: Sums,
}

impl<'t, 'h> Shares<'t, 'h> {
    pub(super) fn new(hypothesis: Hypothesis, events: &'t [Event<'h>], by_received: &[usize]) -> Shares<'t, 'h> {
        let mut shares = Shares {
            hypothesis,
            events,
            epochs: Vec::new(),
            minutes: Vec::new(),
            days: Vec::new(),
            grid: None,
            by_number: BTreeMap::new(),
            reported: vec![None; events.len()],
            is_off: vec![false; events.len()],
            members: Vec::new(),
            sliding: Counts::default(),
            certain_by_sent: Sums::default(),
            gone_before: Sums::default(),
            every_gone: Sums::default(),
        };
        shares.find_days();
        if hypothesis.cut.is_on_grid() {
            shares.find_minutes_on_grid();
        } else if hypothesis.cut == Cut::First {
            shares.find_minutes_from_requests();
        }
        let confirmed = shares.confirmed(by_received);
        let reached = shares.reached(by_received);
        shares.members = (0..events.len()).map(|at| shares.members_of(at, &confirmed, reached[at])).collect();
        shares.sum(by_received);
        shares
    }

    /// Whether a report is that of the day.
    pub(super) fn reports_day(&self, event: &Event<'_>) -> bool {
        let figures = self.hypothesis.figures;
        let Some(report) = event.report else { return false };
        if figures.minute == figures.day {
            return report.reset - event.answer.0 > MINUTE + SAME_END;
        }
        figures.day == Some(report.limit)
    }

    /// Whether a report is that of the minute.
    pub(super) fn reports_minute(&self, event: &Event<'_>) -> bool {
        let is_of_figure = |report: super::timeline::Report| self.hypothesis.figures.minute == Some(report.limit);
        event.report.is_some_and(is_of_figure) && !self.reports_day(event)
    }

    fn find_days(&mut self) {
        let is_of_day = |at: &usize| !self.events[*at].may_be_ban && self.reports_day(&self.events[*at]);
        let of_days: Vec<usize> = (0..self.events.len()).filter(is_of_day).collect();
        self.days = self.cluster(&of_days, true);
        self.assign(&of_days, true);
    }

    /// The windows whose ends these events report. Ends close to each other are one.
    fn cluster(&mut self, events: &[usize], is_day: bool) -> Vec<usize> {
        let mut ends: Vec<Micros> = events.iter().filter_map(|at| Some(self.events[*at].report?.reset)).collect();
        ends.sort_unstable();
        let mut found: Vec<usize> = Vec::new();
        for end in ends {
            let is_new = found.last().is_none_or(|last| end - self.epochs[*last].end > SAME_END);
            if is_new {
                found.push(self.epochs.len());
                self.epochs.push(Epoch { is_day, end, counts: Counts::default() });
            }
        }
        found
    }

    fn assign(&mut self, events: &[usize], is_day: bool) {
        let ends: Vec<(Micros, usize)> = {
            let places = if is_day { &self.days } else { &self.minutes };
            places.iter().map(|place| (self.epochs[*place].end, *place)).collect()
        };
        for &at in events {
            let Some(report) = self.events[at].report else { continue };
            let next = ends.partition_point(|(end, _)| *end <= report.reset);
            let last = next.checked_sub(1).map(|place| ends[place]);
            self.reported[at] = last.filter(|(end, _)| report.reset - end <= SAME_END).map(|(_, place)| place);
        }
    }

    /// The events whose reports are of a minute. Those of a ban may say anything.
    fn of_minutes(&self) -> Vec<usize> {
        let is_of_minute = |at: &usize| !self.events[*at].may_be_ban && self.reports_minute(&self.events[*at]);
        (0..self.events.len()).filter(is_of_minute).collect()
    }

    fn find_minutes_on_grid(&mut self) {
        let of_minutes = self.of_minutes();
        let first = of_minutes.iter().find(|at| self.events[**at].outcome != Outcome::Refused).or(of_minutes.first());
        let Some(first) = first.and_then(|at| self.events[*at].report) else { return };
        let off = first.reset.rem_euclid(MINUTE);
        let is_whole = off <= ROUNDING || off >= MINUTE - ROUNDING;
        let phase = if is_whole || self.hypothesis.cut == Cut::WeightedNext { 0 } else { off };
        self.grid = Some(phase);
        let mut numbers: Vec<i64> = Vec::new();
        for event in self.events {
            let [from, to] = [event.arrival.0 - ROUNDING, event.answer.1 + ROUNDING]
                .map(|time| (time - phase).div_euclid(MINUTE) + 1);
            // Bounds of a clock that nobody saw span some minutes; more would mean that times are unknown.
            numbers.extend(from..=to.min(from + 5));
        }
        let is_by_reset = self.hypothesis.cut != Cut::WeightedNext;
        let number_of = |reset: Micros| {
            let number = (reset - phase + MINUTE / 2).div_euclid(MINUTE);
            ((reset - phase - number * MINUTE).abs() <= ROUNDING).then_some(number)
        };
        let mut reported: Vec<(usize, Option<i64>)> = Vec::new();
        if is_by_reset {
            for at in of_minutes {
                let number = self.events[at].report.and_then(|report| number_of(report.reset));
                numbers.extend(number);
                reported.push((at, number));
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
        for number in numbers {
            self.by_number.insert(number, self.epochs.len());
            self.minutes.push(self.epochs.len());
            self.epochs.push(Epoch { is_day: false, end: phase + number * MINUTE, counts: Counts::default() });
        }
        for (at, number) in reported {
            self.is_off[at] = number.is_none();
            self.reported[at] = number.and_then(|number| self.by_number.get(&number).copied());
        }
    }

    /// Where nothing is counted, no window runs, and the reported end is that of one which would begin now.
    fn find_minutes_from_requests(&mut self) {
        let of_minutes = self.of_minutes();
        let opens = |at: &&usize| {
            let event = &self.events[**at];
            let used = event.report.map_or(0, |report| report.used);
            let is_given_back = self.hypothesis.failures == Failures::Refunded
                && matches!(event.outcome, Outcome::Malformed | Outcome::Missing)
                && used <= self.under_way(**at);
            let counts = used > 0;
            event.outcome != Outcome::Refused && counts && !is_given_back
        };
        let opening: Vec<usize> = of_minutes.iter().filter(opens).copied().collect();
        self.minutes = self.cluster(&opening, false);
        self.assign(&of_minutes, false);
        for at in opening {
            self.is_off[at] = self.reported[at].is_none();
        }
    }

    /// How many requests were under way when one was, itself included.
    fn under_way(&self, at: usize) -> i64 {
        let event = &self.events[at];
        let sent_before =
            self.events[..at].iter().rev().take(AT_ONCE).filter(|other| other.received > event.sent).count();
        let sent_after = self.events[at..].iter().take_while(|other| other.sent < event.received).count();
        (sent_before + sent_after) as i64
    }

    /// Of header fields that are written when the response goes out: whether a response that was complete before a request was sent
    /// reported the same window, so that the request came within it.
    fn confirmed(&self, by_received: &[usize]) -> Vec<bool> {
        let mut confirmed = vec![false; self.events.len()];
        if self.hypothesis.written != Written::OnAnswer {
            return confirmed;
        }
        let mut earliest: BTreeMap<usize, Micros> = BTreeMap::new();
        for &at in by_received {
            if let Some(epoch) = self.reported[at].filter(|_| !self.events[at].may_be_ban) {
                earliest.entry(epoch).or_insert(self.events[at].received);
            }
        }
        for (at, confirmed) in confirmed.iter_mut().enumerate() {
            let first = self.reported[at].and_then(|epoch| earliest.get(&epoch));
            *confirmed = first.is_some_and(|first| *first <= self.events[at].sent);
        }
        confirmed
    }

    /// For each request, the latest ends of a minute and of a day that responses had reported before it was sent: it comes in no earlier
    /// window.
    fn reached(&self, by_received: &[usize]) -> Vec<[Micros; 2]> {
        let mut complete = by_received.iter().copied().peekable();
        let mut latest = [Micros::MIN; 2];
        let mut reached = Vec::with_capacity(self.events.len());
        for event in self.events {
            while let Some(other) = complete.next_if(|other| self.events[*other].received <= event.sent) {
                if let Some(epoch) = self.reported[other].map(|epoch| &self.epochs[epoch]) {
                    let latest = &mut latest[usize::from(epoch.is_day)];
                    *latest = epoch.end.max(*latest);
                }
            }
            reached.push(latest);
        }
        reached
    }

    /// The windows that a request may be counted in.
    fn members_of(&self, at: usize, confirmed: &[bool], reached: [Micros; 2]) -> Vec<Member> {
        let event = &self.events[at];
        let mut members = Vec::new();
        for is_day in [false, true] {
            let places = if is_day { &self.days } else { &self.minutes };
            let is_reported = |epoch: &usize| self.epochs[*epoch].is_day == is_day && !event.may_be_ban;
            let reported = self.reported[at].filter(is_reported);
            if let Some(epoch) = reported
                && self.hypothesis.written != Written::OnAnswer
            {
                members.push(Member { epoch, is_certain: true });
                continue;
            }
            let (from, to) = event.arrival;
            let first = places.partition_point(|place| self.epochs[*place].end + ROUNDING <= from);
            for &epoch in &places[first..] {
                let found = &self.epochs[epoch];
                if found.end < reached[usize::from(is_day)] {
                    continue;
                }
                if found.begin() - ROUNDING > to || reported.is_some_and(|last| self.epochs[last].end < found.end) {
                    break;
                }
                let is_inside = from >= found.begin() + ROUNDING && to < found.end - ROUNDING;
                let is_confirmed = reported == Some(epoch) && confirmed[at];
                if is_confirmed {
                    members.retain(|member: &Member| self.epochs[member.epoch].is_day != is_day);
                }
                members.push(Member { epoch, is_certain: is_inside || is_confirmed });
            }
        }
        members
    }

    /// How much of a request is counted at all, once it was dealt with.
    pub(super) fn counted(&self, event: &Event<'_>) -> Share {
        let (lo, hi) = match (event.outcome, self.hypothesis.failures) {
            (Outcome::Succeeded, _) | (Outcome::Malformed | Outcome::Missing, Failures::Count) => (1, 1),
            (Outcome::Refused, _) => {
                let counts = i64::from(self.hypothesis.counts_refusals);
                (if event.may_be_ban { 0 } else { counts }, counts)
            }
            (Outcome::Unknown, _) => (0, 1),
            (Outcome::Malformed | Outcome::Missing, Failures::Free) => (0, 0),
            (Outcome::Malformed | Outcome::Missing, Failures::Refunded) => (0, 1),
            (Outcome::Malformed, Failures::MalformedFree) | (Outcome::Missing, Failures::MissingFree) => (0, 0),
            (Outcome::Missing, Failures::MalformedFree) | (Outcome::Malformed, Failures::MissingFree) => (1, 1),
        };
        Share { lo: lo * event.cost, hi: hi * event.cost }
    }

    fn is_given_back(&self, event: &Event<'_>) -> bool {
        self.hypothesis.failures == Failures::Refunded && matches!(event.outcome, Outcome::Malformed | Outcome::Missing)
    }

    fn sum(&mut self, by_received: &[usize]) {
        let events = self.events;
        for (at, event) in events.iter().enumerate() {
            let counted = self.counted(event);
            for member in &self.members[at] {
                let counts = &mut self.epochs[member.epoch].counts;
                counts.possible.push(event.sent, counted.hi);
                counts.every.push(event.sent, event.cost);
                if member.is_certain {
                    counts.certain_sent.push(event.sent, counted.lo);
                }
                if self.hypothesis.failures == Failures::Refunded
                    && matches!(event.outcome, Outcome::Malformed | Outcome::Missing)
                {
                    counts.refundable.push(event.sent, counted.hi);
                }
            }
            self.sliding.possible.push(event.sent, counted.hi);
            self.sliding.every.push(event.sent, event.cost);
            self.certain_by_sent.push(event.sent, counted.lo);
        }
        for &at in by_received {
            let event = &events[at];
            let counted = self.counted(event);
            let is_given_back = self.is_given_back(event);
            for member in &self.members[at] {
                let counts = &mut self.epochs[member.epoch].counts;
                if member.is_certain {
                    counts.certain.push(event.received, counted.lo);
                }
                counts.settled.push(event.received, if is_given_back { 0 } else { counted.hi });
                counts.every_settled.push(event.received, event.cost);
                if is_given_back {
                    counts.gone.push(event.received + REFUND_LAG, counted.hi);
                }
            }
            self.sliding.certain.push(event.received, counted.lo);
        }
        let gone = |kept: Micros| {
            let when = |event: &Event<'_>| {
                event.received + if self.is_given_back(event) { REFUND_LAG.min(kept) } else { kept }
            };
            Sums::of(events.iter().map(|event| (when(event), self.counted(event).hi)).collect())
        };
        (self.sliding.gone, self.gone_before) = (gone(NO_LONGER_KEPT), gone(NO_LONGER_KEPT + MINUTE));
        self.every_gone = Sums::of(events.iter().map(|event| (event.received + NO_LONGER_KEPT, event.cost)).collect());
    }

    /// The windows that a request may be counted in.
    pub(super) fn members(&self, at: usize) -> &[Member] {
        &self.members[at]
    }

    /// The minutes that a request may be counted in.
    pub(super) fn minutes_of(&self, at: usize) -> impl Iterator<Item = Member> {
        self.members[at].iter().copied().filter(|member| !self.epochs[member.epoch].is_day)
    }

    /// Whether the ends of the minutes are known.
    pub(super) fn knows_minutes(&self) -> bool {
        !self.minutes.is_empty()
    }

    /// The minute before another one.
    pub(super) fn minute_before(&self, epoch: usize) -> Option<usize> {
        let at = self.minutes.iter().position(|place| *place == epoch)?;
        at.checked_sub(1).map(|before| self.minutes[before])
    }

    /// The bounds of the time at which the header fields of a response are written.
    pub(super) fn written(&self, event: &Event<'_>) -> (Micros, Micros) {
        if self.hypothesis.written == Written::OnAnswer { (event.arrival.0, event.answer.1) } else { event.arrival }
    }

    /// How much of itself a response reports.
    fn itself(&self, at: usize) -> Share {
        let event = &self.events[at];
        let counted = self.counted(event);
        match self.hypothesis.written {
            Written::Before => Share::default(),
            _ if self.is_given_back(event) => Share { lo: event.cost, hi: event.cost },
            _ => counted,
        }
    }

    /// What counts in a window when a request is dealt with: without the request itself, and what its response reports of itself.
    pub(super) fn in_epoch(&self, at: usize, epoch: usize) -> (Share, Share) {
        let event = &self.events[at];
        let member = self.members[at].iter().find(|member| member.epoch == epoch);
        let own = if member.is_some() { self.counted(event) } else { Share::default() };
        let before = self.epochs[epoch].counts.before(event, own);
        let itself = match member {
            None => Share::default(),
            Some(member) if member.is_certain => self.itself(at),
            Some(_) => Share { lo: 0, hi: self.itself(at).hi },
        };
        (before, itself)
    }

    /// What a response says of the rest of its window's count: all but what certainly counts.
    pub(super) fn rest(&self, at: usize, epoch: usize, used: i64) -> Rest {
        let (event, counts) = (&self.events[at], &self.epochs[epoch].counts);
        let (before, itself) = self.in_epoch(at, epoch);
        Rest {
            least: used - self.certain_by(at, epoch) - self.refundable(at, epoch)
                + if self.hypothesis.written == Written::Before { self.certain_of_itself(at, epoch) } else { 0 },
            most: used - before.lo - itself.lo,
            unsettled: used - counts.settled.up_to(event.sent),
            unsettled_of_all: used - counts.every_settled.up_to(event.sent),
        }
    }

    fn certain_of_itself(&self, at: usize, epoch: usize) -> i64 {
        let is_certain = self.members[at].iter().any(|member| member.epoch == epoch && member.is_certain);
        if is_certain { self.counted(&self.events[at]).lo } else { 0 }
    }

    /// What certainly counts of the requests that were sent before a response was complete.
    fn certain_by(&self, at: usize, epoch: usize) -> i64 {
        self.epochs[epoch].counts.certain_sent.before(self.events[at].received)
    }

    /// What may be given back of the requests that were sent before a response was complete.
    pub(super) fn refundable(&self, at: usize, epoch: usize) -> i64 {
        let (event, counts) = (&self.events[at], &self.epochs[epoch].counts);
        (counts.refundable.before(event.received) - counts.gone.up_to(event.sent)).max(0)
    }

    /// The most that certainly counts, and is given back, of the requests that may have been dealt with before this one.
    pub(super) fn before_at_most(&self, at: usize, epoch: usize) -> i64 {
        self.certain_by(at, epoch) - self.certain_of_itself(at, epoch) + self.refundable(at, epoch)
    }

    /// The most requests of the minute before, and the least, that weigh in the minute of an event.
    pub(super) fn weighing(&self, at: usize, epoch: usize) -> Share {
        let Some(before) = self.number_before(epoch) else { return Share::default() };
        let (event, counts) = (&self.events[at], &self.epochs[before].counts);
        Share { lo: counts.certain.up_to(event.sent), hi: counts.possible.before(event.received) }
    }

    /// How many requests of the run came in a window by then, whatever they cost, the request itself among them.
    pub(super) fn every_in_epoch(&self, at: usize, epoch: usize) -> i64 {
        self.epochs[epoch].counts.every.before(self.events[at].received)
    }

    /// What counts in the last minute when a request is dealt with.
    pub(super) fn in_last_minute(&self, at: usize) -> (Share, Share) {
        let event = &self.events[at];
        let counted = self.counted(event);
        let lo = self.sliding.certain.up_to(event.sent) - self.certain_by_sent.up_to(event.received - KEPT);
        let hi = self.sliding.possible.before(event.received) - counted.hi - self.sliding.gone.up_to(event.sent);
        (Share { lo: lo.max(0), hi: hi.max(0) }, self.itself(at))
    }

    /// How much certainly was counted within the minute that ends with a response, by the judge's clock.
    pub(super) fn within_a_minute(&self, at: usize) -> i64 {
        let event = &self.events[at];
        self.sliding.certain.up_to(event.received) - self.certain_by_sent.up_to(event.received - MINUTE)
    }

    /// How many requests of the run came in the last minute, whatever they cost, the request itself among them.
    pub(super) fn every_in_last_minute(&self, at: usize) -> i64 {
        let event = &self.events[at];
        self.sliding.every.before(event.received) - self.every_gone.up_to(event.sent)
    }

    /// The most that counts in the last two minutes.
    pub(super) fn in_last_two_minutes(&self, at: usize) -> i64 {
        let event = &self.events[at];
        let counted = self.counted(event);
        self.sliding.possible.before(event.received) - counted.hi - self.gone_before.up_to(event.sent)
    }

    /// What the requests of the minute before weigh, in the minute that an event reports; and how much they would weigh if every request
    /// had been counted.
    fn weight(&self, at: usize, epoch: usize) -> (Share, i64) {
        let Some(before) = self.number_before(epoch) else { return (Share::default(), 0) };
        let event = &self.events[at];
        let (end, counts) = (self.epochs[epoch].end, &self.epochs[before].counts);
        let past = Share {
            lo: counts.certain.up_to(event.sent),
            hi: counts.possible.before(event.received) - counts.gone.up_to(event.sent),
        };
        let (from, to) = self.written(event);
        // Some servers calculate in whole seconds.
        let part = |time: Micros| (end - time).clamp(0, MINUTE);
        let most = |count: i64| (count * part(from - SECOND) + MINUTE - 1) / MINUTE;
        let share = Share { lo: past.lo * part(to + SECOND) / MINUTE, hi: most(past.hi) };
        (share, most(counts.every.before(event.received)))
    }

    fn number_before(&self, epoch: usize) -> Option<usize> {
        let number = (self.epochs[epoch].end - self.grid?).div_euclid(MINUTE);
        self.by_number.get(&(number - 1)).copied()
    }

    /// What counts of the minute when a request is dealt with, where minutes slide; and every request of the run.
    pub(super) fn sliding(&self, at: usize) -> (Share, Share, i64) {
        if matches!(self.hypothesis.cut, Cut::Log | Cut::Drain) {
            let (before, itself) = self.in_last_minute(at);
            return (before, itself, self.every_in_last_minute(at));
        }
        let mut found: Option<(Share, Share, i64)> = None;
        let reported = self.reported[at].into_iter();
        let candidates: Vec<usize> = if self.reported[at].is_some() {
            reported.collect()
        } else {
            self.minutes_of(at).map(|member| member.epoch).collect()
        };
        for epoch in candidates {
            let (before, itself) = self.in_epoch(at, epoch);
            let (weight, every) = self.weight(at, epoch);
            let (before, every) = (before.and(weight), every + self.every_in_epoch(at, epoch));
            found = Some(match found {
                None => (before, itself, every),
                Some((b, i, e)) => (
                    Share { lo: b.lo.min(before.lo), hi: b.hi.max(before.hi) },
                    Share { lo: i.lo.min(itself.lo), hi: i.hi.max(itself.hi) },
                    e.max(every),
                ),
            });
        }
        found.unwrap_or_else(|| {
            let every = self.every_in_last_minute(at);
            (Share { lo: 0, hi: self.in_last_two_minutes(at) }, Share { lo: 0, hi: self.itself(at).hi }, every)
        })
    }
}
