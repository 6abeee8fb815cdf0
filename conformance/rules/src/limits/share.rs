//! Shares: the part of the run's own requests that is in the count that a response reports, under one hypothesis.

use std::ops::Range;

use super::hypothesis::{Cut, Failures, Hypothesis, Outcome, Span, Written};
use super::timeline::{DAY, Event, MINUTE, Micros, SECOND, Sums, Timeline};
use crate::tolerance::Tolerance;

/// The furthest that the end of a window may be from its reported end, because reported times are whole seconds.
const ROUNDING: Micros = SECOND;

/// The furthest that two reported ends of one window may be apart.
const SAME_END: Micros = Tolerance::ROUNDING.seconds() * SECOND;

/// The shortest time for which a request stays in a log of the last minute.
const KEPT: Micros = Tolerance::KEPT.seconds() * SECOND;

/// The longest time for which a request stays in a log of the last minute.
const NO_LONGER_KEPT: Micros = Tolerance::NO_LONGER_KEPT.seconds() * SECOND;

/// The longest time for which a request that is given back after its response may still be in the count.
const REFUND_LAG: Micros = SECOND;

/// The most requests that are under way at the same time.
const AT_ONCE: usize = 256;

/// A number above any count.
pub(super) const FAR: i64 = i64::MAX / 4;

/// The amount that requests add to a count, at least (`lo`) and at most (`hi`).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Share {
    pub(super) lo: i64,
    pub(super) hi: i64,
}

impl Share {
    pub(super) fn plus(self, other: Share) -> Share {
        Share { lo: self.lo + other.lo, hi: self.hi + other.hi }
    }

    /// The bounds that hold if one of two shares is right.
    fn either(self, other: Share) -> Share {
        Share { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }
}

/// The sums of a set of requests. "Completed" is the time at which the response was complete.
#[derive(Debug, Default)]
struct Counts {
    /// The amount that certainly counts, by the time completed.
    certain: Sums,
    /// The amount that may count, by the time of sending.
    possible: Sums,
    /// The amount that may have counted and certainly no longer does, by the time from which that is certain.
    gone: Sums,
    /// The amount that certainly counts, by the time of sending.
    certain_sent: Sums,
    /// The amount that may count and is not given back, by the time completed.
    settled: Sums,
    /// The amount that may count and is given back, by the time of sending.
    refundable: Sums,
    /// The cost of every request of the run, whether it counts or not, by the time of sending and by the time completed.
    every: Sums,
    every_settled: Sums,
}

impl Counts {
    /// Adds a request, in the order of sending.
    fn send(&mut self, event: &Event<'_>, share: Share, is_given_back: bool) {
        self.possible.push(event.sent, share.hi);
        self.certain_sent.push(event.sent, share.lo);
        self.every.push(event.sent, event.cost);
        self.refundable.push(event.sent, if is_given_back { share.hi } else { 0 });
    }

    /// Adds a request, in the order of completion.
    fn complete(&mut self, event: &Event<'_>, share: Share, is_given_back: bool, refund_lag: Micros) {
        let (settled, gone) = if is_given_back { (0, share.hi) } else { (share.hi, 0) };
        self.certain.push(event.received, share.lo);
        self.every_settled.push(event.received, event.cost);
        self.settled.push(event.received, settled);
        self.gone.push(event.received + refund_lag, gone);
    }

    /// The count when a request is dealt with, without the request itself.
    fn before(&self, event: &Event<'_>, own: Share) -> Share {
        let hi = self.possible.before(event.received) - own.hi - self.gone.up_to(event.sent);
        Share { lo: self.certain.up_to(event.sent), hi: hi.max(0) }
    }
}

/// The bounds that a response puts on the rest of a count: the part beyond the requests of the run that certainly count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rest {
    /// The least rest at the time of any later response.
    pub(super) least: i64,
    /// The most rest at the time when the request was dealt with.
    pub(super) most: i64,
    /// The reported count beyond the requests that were complete before this one was sent. The second number assumes that each of them
    /// was counted.
    pub(super) unsettled: i64,
    pub(super) unsettled_of_all: i64,
}

impl Rest {
    /// The bounds of a response that shows nothing about the rest.
    pub(super) const UNKNOWN: Rest = Rest { least: -FAR, most: FAR, unsettled: FAR, unsettled_of_all: FAR };
}

/// A fixed window of a minute or a day.
#[derive(Debug)]
pub(super) struct Epoch {
    pub(super) begin: Micros,
    pub(super) end: Micros,
    counts: Counts,
}

impl Epoch {
    fn new(end: Micros, length: Micros) -> Epoch {
        Epoch { begin: end - length, end, counts: Counts::default() }
    }
}

/// The fixed windows of one length.
#[derive(Debug, Default)]
pub(super) struct Windows {
    /// The places of the windows among the epochs, in the order of their ends.
    pub(super) places: Range<usize>,
    /// The windows in which each event may be counted.
    pub(super) members: Vec<Vec<Member>>,
}

/// A window in which a request may be counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    /// The index of the window among the epochs.
    pub(super) epoch: usize,
    /// Whether the request falls into this window, and into no other one of its length.
    pub(super) is_certain: bool,
}

impl Member {
    /// The part of the share of its request that is in this window.
    fn of(self, share: Share) -> Share {
        Share { lo: if self.is_certain { share.lo } else { 0 }, ..share }
    }
}

/// The shares of all events under one hypothesis.
#[derive(Debug)]
pub(super) struct Shares<'t, 'h> {
    pub(super) hypothesis: Hypothesis,
    pub(super) events: &'t [Event<'h>],
    by_received: &'t [usize],
    /// The fixed windows: the minutes, and then the days.
    pub(super) epochs: Vec<Epoch>,
    pub(super) minutes: Windows,
    pub(super) days: Windows,
    /// The window that each event reports.
    pub(super) reported: Vec<Option<usize>>,
    /// The sums of all events, for counts that slide.
    sliding: Counts,
    /// The amount that no longer counts in the last two minutes, by the time from which that is certain.
    gone_before: Sums,
    /// The cost of every request that is no longer in the last minute, by the time from which that is certain.
    every_gone: Sums,
    /// The amount that certainly counts, by the earliest time from which it counts in a log.
    certain_from: Sums,
}

/// The number of the minute on the grid that ends this long after the offset of the grid, if one ends there within rounding.
fn minute_number(end: Micros) -> Option<i64> {
    let number = (end + MINUTE / 2).div_euclid(MINUTE);
    ((end - number * MINUTE).abs() <= ROUNDING).then_some(number)
}

impl<'t, 'h> Shares<'t, 'h> {
    pub(super) fn new(hypothesis: Hypothesis, timeline: &'t Timeline<'h>) -> Shares<'t, 'h> {
        let events = &timeline.events;
        let mut shares = Shares {
            hypothesis,
            events,
            by_received: &timeline.by_received,
            epochs: Vec::new(),
            minutes: Windows::default(),
            days: Windows::default(),
            reported: vec![None; events.len()],
            sliding: Counts::default(),
            gone_before: Sums::default(),
            every_gone: Sums::default(),
            certain_from: Sums::default(),
        };
        if hypothesis.cut.is_on_grid() {
            shares.find_minutes_on_grid();
        } else if hypothesis.cut == Cut::First {
            shares.find_minutes_from_requests();
        }
        let minutes = shares.epochs.len();
        let of_days = shares.reporting(Span::Day);
        if hypothesis.day_drains {
            shares.add_log_of_day(&of_days);
        } else {
            shares.add_windows(&of_days, &of_days, DAY);
        }
        shares.minutes = shares.windows(0..minutes);
        shares.days = shares.windows(minutes..shares.epochs.len());
        shares.sum();
        shares
    }

    /// Returns true if an event reports the day.
    pub(super) fn reports_day(&self, event: &Event<'_>) -> bool {
        event.span(self.hypothesis.figures) == Some(Span::Day)
    }

    /// Returns true if an event reports the minute.
    pub(super) fn reports_minute(&self, event: &Event<'_>) -> bool {
        event.span(self.hypothesis.figures) == Some(Span::Minute)
    }

    /// The events that report a window of this length. The report of a possible ban may say anything.
    fn reporting(&self, span: Span) -> Vec<usize> {
        let is_reported = |event: &Event<'_>| !event.may_be_ban && event.span(self.hypothesis.figures) == Some(span);
        (0..self.events.len()).filter(|at| is_reported(&self.events[*at])).collect()
    }

    /// Adds the windows whose ends the `opening` events report, and assigns to each of the `reporting` events the window whose end it
    /// reports. Ends close to each other are one.
    fn add_windows(&mut self, opening: &[usize], reporting: &[usize], length: Micros) {
        let first = self.epochs.len();
        let mut ends: Vec<Micros> = opening.iter().filter_map(|at| Some(self.events[*at].report?.reset)).collect();
        ends.sort_unstable();
        for end in ends {
            if self.epochs[first..].last().is_none_or(|last| end - last.end > SAME_END) {
                self.epochs.push(Epoch::new(end, length));
            }
        }
        for &at in reporting {
            let Some(report) = self.events[at].report else { continue };
            let count = self.epochs[first..].partition_point(|window| window.end <= report.reset + SAME_END);
            let last = count.checked_sub(1).map(|last| first + last);
            let last = last.filter(|last| report.reset - self.epochs[*last].end <= SAME_END);
            self.reported[at] = last.filter(|last| self.may_be_refused_in(at, *last));
        }
    }

    /// Adds the log of the last day as one window that no request of the run leaves, and that all of these events report.
    fn add_log_of_day(&mut self, reporting: &[usize]) {
        let times = self.events.iter().flat_map(|event| [event.arrival.0, event.answer.1]);
        let bounds = times.clone().min().zip(times.max()).filter(|_| !reporting.is_empty());
        let Some((first, last)) = bounds else { return };
        reporting.iter().for_each(|at| self.reported[*at] = Some(self.epochs.len()));
        self.epochs.push(Epoch { begin: first - DAY, end: last + DAY, counts: Counts::default() });
    }

    /// Returns true unless a request was refused at another time than that of a window. The Reset of such a refusal is wrong, and it counts in
    /// the window of its time.
    fn may_be_refused_in(&self, at: usize, epoch: usize) -> bool {
        let (event, window) = (&self.events[at], &self.epochs[epoch]);
        let is_during = event.arrival.0 < window.end + ROUNDING && event.answer.1 > window.begin - ROUNDING;
        event.outcome != Outcome::Refused || is_during
    }

    /// The part of a minute by which the minutes of a grid begin after those of the clock, as the first report shows it.
    fn phase_of_grid(&self, of_minutes: &[usize]) -> Option<Micros> {
        let first = of_minutes.iter().find(|at| self.events[**at].outcome != Outcome::Refused).or(of_minutes.first());
        let first = first?;
        if self.hypothesis.cut == (Cut::WeightedNext { on_clock: true }) {
            return Some(0);
        }
        let off = self.events[*first].report?.reset.rem_euclid(MINUTE);
        let is_whole = off <= ROUNDING || off >= MINUTE - ROUNDING;
        Some(if is_whole { 0 } else { off })
    }

    /// Finds the minutes on the grid that the reports show: those that events report, and those in which requests may have come.
    fn find_minutes_on_grid(&mut self) {
        let of_minutes = self.reporting(Span::Minute);
        let Some(phase) = self.phase_of_grid(&of_minutes) else { return };
        let mut numbers: Vec<i64> = Vec::new();
        for event in self.events {
            let [from, to] = [event.arrival.0 - ROUNDING, event.answer.1 + ROUNDING]
                .map(|time| (time - phase).div_euclid(MINUTE) + 1);
            // The bounds of an unknown clock span a few minutes. More than that would mean that times are unknown.
            numbers.extend(from..=to.min(from + 5));
        }
        let mut reported: Vec<(usize, i64)> = Vec::new();
        // The time of the next restoration is not the end of a minute.
        for at in of_minutes.into_iter().filter(|_| !self.hypothesis.cut.announces_the_next()) {
            let number = self.events[at].report.and_then(|report| minute_number(report.reset - phase));
            reported.extend(number.map(|number| (at, number)));
        }
        numbers.extend(reported.iter().map(|(_, number)| *number));
        numbers.sort_unstable();
        numbers.dedup();
        for number in &numbers {
            self.epochs.push(Epoch::new(phase + number * MINUTE, MINUTE));
        }
        for (at, number) in reported {
            let place = numbers.binary_search(&number).ok();
            self.reported[at] = place.filter(|epoch| self.may_be_refused_in(at, *epoch));
        }
    }

    /// Finds the minutes that requests opened. A response that reports none used, or only requests that may be given back, shows no minute:
    /// it reports the end of a window that would begin now.
    fn find_minutes_from_requests(&mut self) {
        let of_minutes = self.reporting(Span::Minute);
        let mut opening: Vec<usize> = Vec::new();
        for &at in &of_minutes {
            let event = &self.events[at];
            let used = event.report.map_or(0, |report| report.used);
            let may_all_be_given_back = self.is_given_back(event) && used <= self.under_way(at);
            if event.outcome != Outcome::Refused && used > 0 && !may_all_be_given_back {
                opening.push(at);
            }
        }
        self.add_windows(&opening, &of_minutes, MINUTE);
    }

    /// The number of requests that were under way at the same time as this one, itself included.
    fn under_way(&self, at: usize) -> i64 {
        let event = &self.events[at];
        let sent_before =
            self.events[..at].iter().rev().take(AT_ONCE).filter(|other| other.received > event.sent).count();
        let sent_after = self.events[at..].iter().take_while(|other| other.sent < event.received).count();
        (sent_before + sent_after) as i64
    }

    /// The windows at these places, which have one length, with the requests that may be counted in them.
    fn windows(&self, places: Range<usize>) -> Windows {
        let mut complete = self.by_received.iter().copied().peekable();
        // The windows that the complete responses reported, and the latest end among them.
        let mut is_reported = vec![false; self.epochs.len()];
        let mut reached = Micros::MIN;
        let mut members = Vec::with_capacity(self.events.len());
        for (at, event) in self.events.iter().enumerate() {
            while let Some(other) = complete.next_if(|other| self.events[*other].received <= event.sent) {
                if let Some(epoch) = self.reported[other].filter(|epoch| places.contains(epoch)) {
                    is_reported[epoch] = true;
                    reached = reached.max(self.epochs[epoch].end);
                }
            }
            let is_confirmed = self.reported[at].is_some_and(|epoch| is_reported[epoch]);
            members.push(self.members_of(at, &places, is_confirmed, reached));
        }
        Windows { places, members }
    }

    /// The windows of one length that a request may be counted in. It falls into no window that ended before `reached`, which responses had
    /// reported before it was sent. If its own window was reported by then (`is_confirmed`), it certainly came within that window.
    fn members_of(&self, at: usize, places: &Range<usize>, is_confirmed: bool, reached: Micros) -> Vec<Member> {
        let reported = self.reported[at].filter(|epoch| places.contains(epoch));
        if let Some(epoch) = reported
            && self.hypothesis.written != Written::OnAnswer
        {
            return vec![Member { epoch, is_certain: true }];
        }
        let (from, to) = self.events[at].arrival;
        let ended = self.epochs[places.clone()].partition_point(|window| window.end + ROUNDING <= from);
        let mut members = Vec::new();
        for epoch in places.start + ended..places.end {
            let window = &self.epochs[epoch];
            if window.end < reached {
                continue;
            }
            if window.begin - ROUNDING > to || reported.is_some_and(|last| self.epochs[last].end < window.end) {
                break;
            }
            if is_confirmed && reported == Some(epoch) {
                return vec![Member { epoch, is_certain: true }];
            }
            let is_certain = from >= window.begin + ROUNDING && to < window.end - ROUNDING;
            members.push(Member { epoch, is_certain });
        }
        members
    }

    /// The amount that a request adds to the count once it has been dealt with.
    pub(super) fn counted(&self, event: &Event<'_>) -> Share {
        let (lo, hi) = match (event.outcome, self.hypothesis.failures) {
            (Outcome::Refused, _) => {
                let counts = i64::from(self.hypothesis.counts_refusals);
                (if event.may_be_ban { 0 } else { counts }, counts)
            }
            (Outcome::Unknown, _) => (0, 1),
            // A server that learns of the failure when it has been dealt with may count the request until then.
            (outcome, failures) if failures.spare(outcome) || failures.may_spare(outcome) => (0, 1),
            _ => (1, 1),
        };
        Share { lo: lo * event.cost, hi: hi * event.cost }
    }

    /// Returns true if a request failed, and does not count once it has been dealt with.
    fn is_given_back(&self, event: &Event<'_>) -> bool {
        self.hypothesis.failures.spare(event.outcome)
    }

    /// The longest time after its response for which a failed request may still be in the count from which it is given back.
    fn refund_lag(&self) -> Micros {
        if matches!(self.hypothesis.failures, Failures::GivenBack(_)) { REFUND_LAG } else { 0 }
    }

    /// Sums up the amounts of all events, for each window and for counts that slide.
    fn sum(&mut self) {
        let events = self.events;
        for (at, event) in events.iter().enumerate() {
            let (counted, is_given_back) = (self.counted(event), self.is_given_back(event));
            for member in self.minutes.members[at].iter().chain(&self.days.members[at]) {
                self.epochs[member.epoch].counts.send(event, member.of(counted), is_given_back);
            }
            self.sliding.send(event, counted, is_given_back);
        }
        let refund_lag = self.refund_lag();
        for &at in self.by_received {
            let event = &events[at];
            let (counted, is_given_back) = (self.counted(event), self.is_given_back(event));
            for member in self.minutes.members[at].iter().chain(&self.days.members[at]) {
                self.epochs[member.epoch].counts.complete(event, member.of(counted), is_given_back, refund_lag);
            }
            self.sliding.certain.push(event.received, counted.lo);
        }
        self.sliding.gone = self.gone_after(NO_LONGER_KEPT);
        self.gone_before = self.gone_after(NO_LONGER_KEPT + MINUTE);
        let every_gone = events.iter().map(|event| (self.counts_from(event).1 + NO_LONGER_KEPT, event.cost));
        self.every_gone = Sums::from_unsorted(every_gone.collect());
        let certain = events.iter().map(|event| (self.counts_from(event).0, self.counted(event).lo));
        self.certain_from = Sums::from_unsorted(certain.collect());
    }

    /// The time from which a request counts in a log, at least and at most, by the server's clock: its arrival, or the begin of the slot that
    /// it arrived in.
    pub(super) fn logged(&self, event: &Event<'_>) -> (Micros, Micros) {
        let Hypothesis { slot, first_slot, .. } = self.hypothesis;
        if slot == 0 {
            return event.arrival;
        }
        // Where slots do not begin with those of the clock, a Reset may be rounded up.
        let rounded = if first_slot == 0 { 0 } else { SECOND };
        let begin = |time: Micros, first: Micros| time - (time - first).rem_euclid(slot * SECOND);
        let first = first_slot * SECOND;
        (begin(event.arrival.0, first) - rounded, begin(event.arrival.1, first - rounded) + rounded)
    }

    /// The time from which a request counts in a log, at least and at most, by the judge's clock.
    fn counts_from(&self, event: &Event<'_>) -> (Micros, Micros) {
        if self.hypothesis.slot == 0 {
            return (event.sent, event.received);
        }
        let (earliest, latest) = self.logged(event);
        let (least_ahead, most_ahead) = (event.arrival.0 - event.sent, event.arrival.1 - event.received);
        (earliest - most_ahead.max(least_ahead), (latest - least_ahead.min(most_ahead)).min(event.received))
    }

    /// The amount that no longer counts, where requests count for this time after their responses, by the time from which that is certain.
    fn gone_after(&self, kept: Micros) -> Sums {
        let mut amounts = Vec::with_capacity(self.events.len());
        for event in self.events {
            let gone = self.counts_from(event).1 + kept;
            let gone = if self.is_given_back(event) { gone.min(event.received + self.refund_lag()) } else { gone };
            amounts.push((gone, self.counted(event).hi));
        }
        Sums::from_unsorted(amounts)
    }

    /// The windows that a request may be counted in, the minutes first.
    pub(super) fn members(&self, at: usize) -> impl Iterator<Item = &Member> {
        self.minutes.members[at].iter().chain(&self.days.members[at])
    }

    /// Returns true if the reports or the grid show fixed minutes.
    pub(super) fn knows_minutes(&self) -> bool {
        !self.minutes.places.is_empty()
    }

    /// The bounds of the time at which the header fields of a response are written.
    pub(super) fn written(&self, event: &Event<'_>) -> (Micros, Micros) {
        if self.hypothesis.written == Written::OnAnswer { (event.arrival.0, event.answer.1) } else { event.arrival }
    }

    /// The amount of its own request that a response reports.
    fn itself(&self, at: usize) -> Share {
        let event = &self.events[at];
        let counted = self.counted(event);
        match self.hypothesis.written {
            Written::Before => Share::default(),
            _ if !self.is_given_back(event) => counted,
            _ if matches!(self.hypothesis.failures, Failures::Free(_)) => Share::default(),
            _ => Share { lo: event.cost, hi: event.cost },
        }
    }

    /// The count of a window when a request is dealt with, without the request itself; and the amount of its own request that the response
    /// reports.
    pub(super) fn in_epoch(&self, at: usize, epoch: usize) -> (Share, Share) {
        let (event, counts) = (&self.events[at], &self.epochs[epoch].counts);
        match self.member(at, epoch) {
            None => (counts.before(event, Share::default()), Share::default()),
            Some(member) => (counts.before(event, self.counted(event)), member.of(self.itself(at))),
        }
    }

    fn member(&self, at: usize, epoch: usize) -> Option<&Member> {
        self.members(at).find(|member| member.epoch == epoch)
    }

    /// The bounds that a response puts on the rest of its window's count, if it reports this number used.
    pub(super) fn rest(&self, at: usize, epoch: usize, used: i64) -> Rest {
        let (event, counts) = (&self.events[at], &self.epochs[epoch].counts);
        let (before, itself) = self.in_epoch(at, epoch);
        Rest {
            least: used
                - self.before_at_most(at, epoch)
                - if self.hypothesis.written == Written::Before { 0 } else { self.certain_of_itself(at, epoch) },
            most: used - before.lo - itself.lo,
            unsettled: used - counts.settled.up_to(event.sent),
            unsettled_of_all: used - counts.every_settled.up_to(event.sent),
        }
    }

    /// The amount of its own that a request certainly adds to a window.
    fn certain_of_itself(&self, at: usize, epoch: usize) -> i64 {
        self.member(at, epoch).map_or(0, |member| member.of(self.counted(&self.events[at])).lo)
    }

    /// The amount that may still be given back of the requests that were sent before a response was complete. The response itself reports
    /// its own request among them only if that is given back later.
    pub(super) fn refundable(&self, at: usize, epoch: usize) -> i64 {
        let (event, counts) = (&self.events[at], &self.epochs[epoch].counts);
        let is_gone = self.is_given_back(event) && self.refund_lag() == 0 && self.member(at, epoch).is_some();
        let itself = if is_gone { event.cost } else { 0 };
        (counts.refundable.before(event.received) - itself - counts.gone.up_to(event.sent)).max(0)
    }

    /// The amount of a window that certainly counts of the requests that were complete when this one was, without itself. Whichever of them
    /// was dealt with last found at least that amount. A request that may not count takes no place from the others, and may have come first.
    pub(super) fn by_completion(&self, at: usize, epoch: usize) -> i64 {
        self.epochs[epoch].counts.certain.up_to(self.counted_until(at)) - self.certain_of_itself(at, epoch)
    }

    /// The time until which the requests were complete that an event may not have preceded.
    fn counted_until(&self, at: usize) -> Micros {
        let event = &self.events[at];
        if self.counted(event).lo > 0 { event.received } else { event.sent }
    }

    /// The amount of a sliding minute that certainly counts of these requests.
    pub(super) fn sliding_by_completion(&self, at: usize) -> i64 {
        let event = &self.events[at];
        if self.hypothesis.cut.is_log() {
            let gone = self.certain_from.up_to(event.received - KEPT);
            return self.sliding.certain.up_to(self.counted_until(at)) - self.counted(event).lo - gone;
        }
        let minutes = self.sliding_minutes(at).into_iter();
        minutes.map(|epoch| self.by_completion(at, epoch) + self.weight(at, epoch).0.lo).min().unwrap_or(0)
    }

    /// The most that the requests of the run which certainly count, or are given back, can have added before this one was dealt with.
    pub(super) fn before_at_most(&self, at: usize, epoch: usize) -> i64 {
        let certain = self.epochs[epoch].counts.certain_sent.before(self.events[at].received);
        certain - self.certain_of_itself(at, epoch) + self.refundable(at, epoch)
    }

    /// The amount of the minute before that weighs in the minute of an event.
    pub(super) fn weighing(&self, at: usize, epoch: usize) -> Share {
        let Some(before) = self.minute_before_on_grid(epoch) else { return Share::default() };
        let (event, counts) = (&self.events[at], &self.epochs[before].counts);
        Share { lo: counts.certain.up_to(event.sent), hi: counts.possible.before(event.received) }
    }

    /// The cost of all requests that may be in a window and were sent before a response was complete, its own request included.
    pub(super) fn every_in_epoch(&self, at: usize, epoch: usize) -> i64 {
        self.epochs[epoch].counts.every.before(self.events[at].received)
    }

    /// The count of the last minute when a request is dealt with, without the request itself; and the amount of its own request that the
    /// response reports.
    pub(super) fn in_last_minute(&self, at: usize) -> (Share, Share) {
        let event = &self.events[at];
        let before = self.sliding.before(event, self.counted(event));
        let lo = before.lo - self.certain_from.up_to(event.received - KEPT);
        (Share { lo: lo.max(0), ..before }, self.itself(at))
    }

    /// The amount that was certainly counted within the minute that ends with a response, by the judge's clock.
    pub(super) fn within_a_minute(&self, at: usize) -> i64 {
        let event = &self.events[at];
        self.sliding.certain.up_to(event.received) - self.sliding.certain_sent.up_to(event.received - MINUTE)
    }

    /// The cost of all requests that may be in the last minute and were sent before a response was complete, its own request included.
    pub(super) fn every_in_last_minute(&self, at: usize) -> i64 {
        let event = &self.events[at];
        self.sliding.every.before(event.received) - self.every_gone.up_to(event.sent)
    }

    /// The most that counts in the last two minutes when a request is dealt with, without the request itself.
    pub(super) fn in_last_two_minutes(&self, at: usize) -> i64 {
        let event = &self.events[at];
        self.sliding.possible.before(event.received) - self.counted(event).hi - self.gone_before.up_to(event.sent)
    }

    /// The weight of the minute before in the minute that an event reports; and its most if every request had been counted.
    fn weight(&self, at: usize, epoch: usize) -> (Share, i64) {
        let Some(before) = self.minute_before_on_grid(epoch) else { return (Share::default(), 0) };
        let event = &self.events[at];
        let (end, counts) = (self.epochs[epoch].end, &self.epochs[before].counts);
        let past = counts.before(event, Share::default());
        let (from, to) = self.written(event);
        // The time that is left of the minute, at most and at least. Some servers calculate in whole seconds.
        let [most_left, least_left] = [from - SECOND, to + SECOND].map(|time| (end - time).clamp(0, MINUTE));
        let weight_at_most = |count: i64| (count * most_left + MINUTE - 1) / MINUTE;
        let share = Share { lo: past.lo * least_left / MINUTE, hi: weight_at_most(past.hi) };
        (share, weight_at_most(counts.every.before(event.received)))
    }

    /// The end of the fixed minute that a time falls into.
    pub(super) fn end_of_minute(&self, time: Micros) -> Option<Micros> {
        let minutes = &self.epochs[self.minutes.places.clone()];
        minutes.get(minutes.partition_point(|minute| minute.end <= time)).map(|minute| minute.end)
    }

    /// The minute before another one on the grid.
    fn minute_before_on_grid(&self, epoch: usize) -> Option<usize> {
        let end = self.epochs[epoch].end - MINUTE;
        self.epochs[self.minutes.places.clone()].binary_search_by_key(&end, |minute| minute.end).ok()
    }

    /// The minutes on the grid that a response may be about. It may report the day, whose count says nothing about the minute.
    fn sliding_minutes(&self, at: usize) -> Vec<usize> {
        match self.reported[at].filter(|epoch| self.minutes.places.contains(epoch)) {
            Some(epoch) => vec![epoch],
            None => self.minutes.members[at].iter().map(|member| member.epoch).collect(),
        }
    }

    /// The count of a sliding minute when a request is dealt with, without the request itself; the amount of its own request that the
    /// response reports; and the count if every request of the run had been counted.
    pub(super) fn sliding(&self, at: usize) -> (Share, Share, i64) {
        if self.hypothesis.cut.is_log() {
            let (before, itself) = self.in_last_minute(at);
            return (before, itself, self.every_in_last_minute(at));
        }
        let mut widest: Option<(Share, Share, i64)> = None;
        for epoch in self.sliding_minutes(at) {
            let (before, itself) = self.in_epoch(at, epoch);
            let (weight, every) = self.weight(at, epoch);
            let (before, every) = (before.plus(weight), every + self.every_in_epoch(at, epoch));
            widest = Some(match widest {
                None => (before, itself, every),
                Some((count, own, most)) => (count.either(before), own.either(itself), most.max(every)),
            });
        }
        widest.unwrap_or_else(|| {
            let every = self.every_in_last_minute(at);
            (Share { lo: 0, hi: self.in_last_two_minutes(at) }, Share { lo: 0, hi: self.itself(at).hi }, every)
        })
    }
}
