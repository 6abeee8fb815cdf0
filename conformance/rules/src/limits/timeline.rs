//! The timeline of a key: its requests as events, with bounds on the times at which the server saw them, and with the reports of the
//! responses.

use jiff::{SignedDuration, Timestamp};

use super::hypothesis::{Figures, Outcome, Sent, Span};
use crate::history::Entry;
use crate::request::{CreateBody, Fault, Operation, PetId};
use crate::tolerance::Tolerance;
use crate::trace::rate_limit::RateHeaders;

/// A time in microseconds.
pub(super) type Micros = i64;

pub(super) const SECOND: Micros = 1_000_000;
pub(super) const MINUTE: Micros = 60 * SECOND;
pub(super) const DAY: Micros = 86_400 * SECOND;

/// Prefix sums of amounts, ordered by time.
#[derive(Debug, Default)]
pub(super) struct Sums {
    times: Vec<Micros>,
    totals: Vec<i64>,
}

impl Sums {
    /// Adds an amount at a time that is not before the last one.
    pub(super) fn push(&mut self, time: Micros, amount: i64) {
        if amount != 0 {
            let total = self.totals.last().copied().unwrap_or(0) + amount;
            self.times.push(time);
            self.totals.push(total);
        }
    }

    /// Sums up amounts in any order of time.
    pub(super) fn from_unsorted(mut amounts: Vec<(Micros, i64)>) -> Sums {
        amounts.sort_unstable_by_key(|(time, _)| *time);
        let mut sums = Sums::default();
        amounts.into_iter().for_each(|(time, amount)| sums.push(time, amount));
        sums
    }

    /// The sum of the first amounts.
    fn total(&self, count: usize) -> i64 {
        count.checked_sub(1).map_or(0, |last| self.totals[last])
    }

    /// The sum up to a time, that time included.
    pub(super) fn up_to(&self, time: Micros) -> i64 {
        self.total(self.times.partition_point(|at| *at <= time))
    }

    /// The sum before a time.
    pub(super) fn before(&self, time: Micros) -> i64 {
        self.total(self.times.partition_point(|at| *at < time))
    }
}

/// The values of the three header fields of a response. `used` is Limit minus Remaining.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    pub(super) limit: i64,
    pub(super) used: i64,
    pub(super) reset: Micros,
}

impl Report {
    /// Returns true if both reports are of one window.
    pub(super) fn is_same(self, other: Report) -> bool {
        self.limit == other.limit && (self.reset - other.reset).abs() <= Tolerance::ROUNDING.seconds() * SECOND
    }
}

/// A request of the run that bears on a count, with its response.
#[derive(Debug)]
pub(super) struct Event<'h> {
    pub(super) entry: &'h Entry<'h>,
    /// The times of sending and of the complete response, by the judge's clock.
    pub(super) sent: Micros,
    pub(super) received: Micros,
    /// The bounds on the times of the arrival and of the response, by the server's clock.
    pub(super) arrival: (Micros, Micros),
    pub(super) answer: (Micros, Micros),
    pub(super) outcome: Outcome,
    /// The number by which the request lowers Remaining if it is counted.
    pub(super) cost: i64,
    pub(super) report: Option<Report>,
    /// Whether the request certainly came with the key.
    pub(super) is_own: bool,
    /// Whether the refusal may belong to a ban, whose report and end are the service's choice.
    pub(super) may_be_ban: bool,
    /// The wait that the response asks for.
    pub(super) wait: Option<SignedDuration>,
}

impl Event<'_> {
    /// The time of the response by its `Date`.
    pub(super) fn date(&self) -> Option<Micros> {
        self.entry.server_time().map(micros)
    }

    /// Returns true if this exchange was complete before the other request was sent.
    pub(super) fn precedes(&self, other: &Event<'_>) -> bool {
        self.received <= other.sent
    }

    /// Returns true if a request that certainly came with the key was refused.
    pub(super) fn is_own_refusal(&self) -> bool {
        self.is_own && self.outcome == Outcome::Refused
    }

    /// The window that the response reports by these figures, if its Limit is one of them. The distance of Reset from the earliest time of
    /// the response decides between equal figures.
    pub(super) fn span(&self, figures: Figures) -> Option<Span> {
        let report = self.report?;
        let is_far = report.reset - self.answer.0 > MINUTE + Tolerance::ROUNDING.seconds() * SECOND;
        if if figures.minute == figures.day { is_far } else { figures.day == Some(report.limit) } {
            return Some(Span::Day);
        }
        (figures.minute == Some(report.limit)).then_some(Span::Minute)
    }

    /// Returns true if the response reports that nothing remains.
    pub(super) fn is_capped(&self) -> bool {
        self.report.is_some_and(|report| report.used >= report.limit)
    }

    /// Returns true if the server let the request pass its limit.
    pub(super) fn is_admitted(&self) -> bool {
        matches!(self.outcome, Outcome::Succeeded | Outcome::Failed { .. })
    }
}

/// The results of the filters for a request that bears on the count of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Whether the request certainly came with the key.
    pub(crate) is_own: bool,
    /// Whether the response reports a window of the key, and not of another client.
    pub(crate) is_report: bool,
    /// Whether the response may be a copy of an earlier one.
    pub(crate) is_copy: bool,
    /// Whether the refusal may belong to a ban.
    pub(crate) may_be_ban: bool,
    /// The number by which the request lowers Remaining if it is counted.
    pub(crate) cost: i64,
}

/// The requests that bear on the count of a key.
#[derive(Debug)]
pub(super) struct Timeline<'h> {
    /// The requests in the order of sending.
    pub(super) events: Vec<Event<'h>>,
    /// The indices of the events in the order in which their responses were complete.
    pub(super) by_received: Vec<usize>,
    /// Whether Remaining falls by more than the run sent, so that other clients use the key in every way of counting.
    pub(super) falls_by_more: bool,
}

fn micros(time: Timestamp) -> Micros {
    time.as_microsecond()
}

/// The least and the most by which the server's clock is ahead of the judge's, and whether each `Date` shows that clock.
fn clock_offset<'h>(entries: impl Iterator<Item = &'h Entry<'h>>) -> (Micros, Micros, bool) {
    let slack = Tolerance::CLOCK_SLACK.seconds() * SECOND;
    let (mut least, mut most) = (Micros::MIN, Micros::MAX);
    for entry in entries {
        let Some(date) = entry.server_time() else { continue };
        let precision = entry.exchange.known.precision.as_micros() as Micros;
        least = least.max(micros(date) - micros(entry.exchange.received_at) - precision);
        most = most.min(micros(date) + SECOND - micros(entry.exchange.sent_at) + precision);
    }
    if least == Micros::MIN {
        // Without a `Date` the server's clock is unknown.
        (-UNKNOWN_CLOCK, UNKNOWN_CLOCK, false)
    } else if least > most + 2 * SECOND {
        // A `Date` is stamped at most a second early or late. Bounds that exclude each other even so are those of several clocks, or of one
        // that stands still now and then. Where they are near, each of these times may be the server's; else each `Date` is right by one.
        (most - SECOND - slack, least + SECOND + slack, least - most > NEAR)
    } else if least - slack > 0 && least < NEAR || most + slack < 0 && most > -NEAR {
        // A clock that stands still may look like one that is a little off, so that the judge's clock may be the server's.
        ((least - slack).min(0), (most + slack).max(0), false)
    } else {
        (least - slack, most + slack, true)
    }
}

/// The distance from the judge's clock up to which a `Date` may be due to a clock that stands still now and then.
const NEAR: Micros = 10 * SECOND;

/// The furthest that a server's clock is taken to be off when no `Date` shows it.
const UNKNOWN_CLOCK: Micros = 90 * SECOND;

impl<'h> Timeline<'h> {
    /// The timeline of these requests. The reports of the responses with the `ignored` numbers are left out.
    pub(super) fn new(parts: &[(&'h Entry<'h>, Part)], ignored: &[usize]) -> Timeline<'h> {
        let slack = Tolerance::CLOCK_SLACK.seconds() * SECOND;
        let (least, most, is_dated) = clock_offset(parts.iter().map(|(entry, _)| *entry));
        let mut events: Vec<Event<'h>> = Vec::with_capacity(parts.len());
        for &(entry, part) in parts {
            let exchange = entry.exchange;
            let precision = (exchange.known.precision.as_micros() as Micros).min(DAY);
            let sent = micros(exchange.sent_at);
            let received = (micros(exchange.received_at) + precision).max(sent + 1);
            let mut arrival = (sent - precision + least, received + most);
            let mut answer = arrival;
            if let Some(date) = entry.server_time().filter(|_| is_dated) {
                let (from, to) = (micros(date) - slack, micros(date) + SECOND + slack);
                arrival = (arrival.0.max(from - (received - sent)), arrival.1.min(to));
                answer = (answer.0.max(from), answer.1.min(to));
            }
            let is_report = part.is_report && !ignored.contains(&exchange.number);
            events.push(Event {
                entry,
                sent,
                received,
                arrival: (arrival.0, arrival.1.max(arrival.0)),
                answer: (answer.0, answer.1.max(answer.0)),
                outcome: if part.is_own { outcome(entry) } else { Outcome::Unknown },
                cost: part.cost,
                report: entry.rate.as_ref().filter(|_| is_report).and_then(report),
                is_own: part.is_own,
                may_be_ban: part.may_be_ban,
                wait: entry.wait_asked_for(),
            });
        }
        events.sort_by_key(|event| (event.sent, event.entry.exchange.number));
        let mut by_received: Vec<usize> = (0..events.len()).collect();
        by_received.sort_by_key(|at| events[*at].received);
        Timeline { falls_by_more: falls_by_more(&events, &by_received), by_received, events }
    }

    /// The pairs of successive successes that report the same window, where the first was complete before the second was sent.
    pub(super) fn successive(&self) -> Vec<[usize; 2]> {
        let mut pairs = Vec::new();
        let mut last: Option<(usize, Report)> = None;
        for (at, event) in self.events.iter().enumerate() {
            let Some(report) = event.report.filter(|_| event.outcome == Outcome::Succeeded) else { continue };
            let Some((before, earlier)) = last.replace((at, report)) else { continue };
            if self.events[before].precedes(event) && earlier.is_same(report) {
                pairs.push([before, at]);
            }
        }
        pairs
    }

    /// Returns true if the second event reports no more used than the first, although something remains.
    pub(super) fn is_flat(&self, pair: [usize; 2]) -> bool {
        let [before, after] = pair.map(|at| self.events[at].report);
        before.zip(after).is_some_and(|(before, after)| after.used <= before.used && after.used < after.limit)
    }

    /// Returns true if successes follow each other for longer than any minute, each with some earlier ones within the minute before it. A
    /// window that ends meanwhile forgets requests that a log still keeps.
    pub(super) fn outlasts_a_window(&self) -> bool {
        /// A window that has just begun counts none of them, and a response may report its own request or not.
        const RECENT: usize = 3;
        let kept = Tolerance::KEPT.seconds() * SECOND;
        let longest = Tolerance::LONGEST_MINUTE.seconds() * SECOND;
        let mut successes: Vec<&Event<'_>> = Vec::new();
        // The first of the successes without a pause.
        let mut first: Option<&Event<'_>> = None;
        for event in self.events.iter().filter(|event| event.outcome == Outcome::Succeeded && event.report.is_some()) {
            let kept_from = successes.partition_point(|earlier| event.received - earlier.sent > kept);
            let recent = successes[kept_from..].iter().filter(|earlier| earlier.precedes(event)).take(RECENT).count();
            first = if recent < RECENT { None } else { first.or(Some(event)) };
            if first.is_some_and(|first| event.sent - first.received > longest) {
                return true;
            }
            successes.push(event);
        }
        false
    }

    /// The figures that the reports may be about, given the figures of the plan if they are known.
    pub(super) fn figures(&self, plan: Option<Figures>) -> Vec<Figures> {
        if let Some(figures) = plan {
            return vec![figures];
        }
        // A day is recognised by an end that lies further ahead than the end of a minute can, or that is at midnight.
        let longest = Tolerance::LONGEST_MINUTE.seconds() * SECOND;
        let (mut is_far, mut is_midnight) = (false, false);
        let mut limits: Vec<i64> = Vec::new();
        for event in self.events.iter().filter(|event| !event.may_be_ban) {
            let Some(report) = event.report else { continue };
            is_far |= report.reset - event.answer.1 > longest;
            is_midnight |= report.reset.rem_euclid(DAY) <= SECOND;
            limits.push(report.limit);
        }
        limits.sort_unstable();
        limits.dedup();
        match limits[..] {
            [] => vec![Figures { minute: None, day: None }],
            [limit] if is_far => vec![Figures { minute: None, day: Some(limit) }],
            [limit] if !is_midnight => vec![Figures { minute: Some(limit), day: None }],
            [limit] => {
                vec![Figures { minute: Some(limit), day: None }, Figures { minute: None, day: Some(limit) }]
            }
            [minute, day, ..] => vec![Figures { minute: Some(minute), day: Some(day) }],
        }
    }
}

/// Returns true if Remaining falls between two responses by more than the run sent in between, whatever its requests cost.
fn falls_by_more(events: &[Event<'_>], by_received: &[usize]) -> bool {
    let (mut sent, mut complete) = (Sums::default(), Sums::default());
    events.iter().for_each(|event| sent.push(event.sent, event.cost));
    by_received.iter().for_each(|at| complete.push(events[*at].received, events[*at].cost));
    let mut last = None;
    for event in events.iter().filter(|event| !event.may_be_ban && event.is_admitted()) {
        let Some(after) = event.report else { continue };
        let Some((earlier, before)) = last.replace((event, after)) else { continue };
        let since = sent.before(event.received) - complete.up_to(earlier.sent) - earlier.cost;
        // The count of a new window begins at 0, which makes the difference smaller.
        if earlier.precedes(event) && before.limit == after.limit && after.used - before.used > since {
            return true;
        }
    }
    false
}

/// The outcome of a request by the status of its response.
pub(super) fn outcome(entry: &Entry<'_>) -> Outcome {
    // An identifier that is no int64 may be malformed, or that of an animal which does not exist, whatever the response says.
    let is_of_no_integer = matches!(&entry.operation, Operation::Get(id) if !matches!(id, PetId::Int64(_)));
    // A body that is a NewPet may be refused for another reason, for example because it is nested deeply.
    let is_of_pet = matches!(entry.operation, Operation::Create(CreateBody::NewPet(..) | CreateBody::Unclear));
    match entry.status() {
        Some(200..=399) => Outcome::Succeeded,
        Some(429) => Outcome::Refused,
        Some(400..=499) if is_of_no_integer => Outcome::Unknown,
        Some(400 | 422) if is_of_pet => Outcome::Unknown,
        Some(404 | 410) => Outcome::Failed { status: 404, sent: sent(entry) },
        Some(status @ (400 | 422)) => Outcome::Failed { status, sent: sent(entry) },
        // A server may count a request that it refuses for another reason like a success, like a malformed one, or not at all.
        Some(_) | None => Outcome::Unknown,
    }
}

/// The body of a request, as parsers of JSON read it.
fn sent(entry: &Entry<'_>) -> Sent {
    let Operation::Create(read) = &entry.operation else { return Sent::NoBody };
    let bytes = entry.exchange.request.body.as_ref().map_or(&[][..], |body| &body.bytes);
    let is_json = serde_json::from_slice::<serde_json::Value>(bytes).is_ok();
    match read {
        // Some parsers replace what is not UTF-8.
        CreateBody::Malformed | CreateBody::Extended if !is_json && std::str::from_utf8(bytes).is_ok() => {
            Sent::Unparsed
        }
        CreateBody::Faulty(faults, _) if is_json && !faults.contains(&Fault::NoObject) => Sent::Json,
        _ => Sent::Unclear,
    }
}

/// The largest figure or time that is kept. Larger ones are reduced to it, so that sums of a few never overflow.
const FAR: i64 = i64::MAX / 8;

/// The values of the three header fields, if all of them can be read and Limit is above 0.
fn report(rate: &RateHeaders) -> Option<Report> {
    let window = rate.window()?;
    let [limit, remaining] =
        [window.limit, window.remaining].map(|figure| i64::try_from(figure).unwrap_or(FAR).min(FAR));
    let reset = window.reset.saturating_mul(SECOND).clamp(-FAR, FAR);
    (limit > 0).then_some(Report { limit, used: limit - remaining, reset })
}
