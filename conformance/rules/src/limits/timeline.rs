//! The timeline of a key: its requests as events with bounds on when the server saw them, and what each response reports.

use jiff::{SignedDuration, Timestamp};

use super::hypothesis::{Figures, Occasions};
use crate::history::Entry;
use crate::tolerance::Tolerance;
use crate::trace::rate_limit::RateHeaders;

/// A time in microseconds.
pub(super) type Micros = i64;

pub(super) const SECOND: Micros = 1_000_000;
pub(super) const MINUTE: Micros = 60 * SECOND;
pub(super) const DAY: Micros = 86_400 * SECOND;

/// How a request was dealt with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Outcome {
    /// It succeeded.
    Succeeded,
    /// It was malformed, or could not be processed.
    Malformed,
    /// It asked for something that does not exist.
    Missing,
    /// It was refused for the rate.
    Refused,
    /// It got another answer, or none: whether it was counted is unknown.
    Unknown,
}

/// What the three header fields of a response say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    pub(super) limit: i64,
    pub(super) used: i64,
    pub(super) reset: Micros,
}

impl Report {
    /// Whether both are of one window.
    pub(super) fn is_same(self, other: Report) -> bool {
        self.limit == other.limit && (self.reset - other.reset).abs() <= Tolerance::ROUNDING.seconds() * SECOND
    }
}

/// A request of the run, as far as it bears on a count.
#[derive(Debug)]
pub(super) struct Event<'h> {
    pub(super) entry: &'h Entry<'h>,
    /// By the judge's clock.
    pub(super) sent: Micros,
    pub(super) received: Micros,
    /// Bounds on its arrival and on its response by the server's clock.
    pub(super) arrival: (Micros, Micros),
    pub(super) answer: (Micros, Micros),
    pub(super) outcome: Outcome,
    /// How much it lowers a count.
    pub(super) cost: i64,
    pub(super) report: Option<Report>,
    /// Whether the request certainly came with the key.
    pub(super) is_own: bool,
    /// Whether the refusal may belong to a ban, whose report and end are the service's choice.
    pub(super) may_be_ban: bool,
    /// How long the response asks to wait.
    pub(super) wait: Option<SignedDuration>,
    /// Whether it asks so in seconds, and not until a date.
    pub(super) asks_in_seconds: bool,
    /// When the response was made: by its `Date`, else by the judge's clock.
    pub(super) dated_at: Micros,
    pub(super) is_dated: bool,
}

impl Event<'_> {
    /// Whether this exchange was complete before the other request was sent.
    pub(super) fn precedes(&self, other: &Event<'_>) -> bool {
        self.received <= other.sent
    }

    pub(super) fn is_own_refusal(&self) -> bool {
        self.is_own && self.outcome == Outcome::Refused
    }

    /// Whether the server let the request pass its limit.
    pub(super) fn is_admitted(&self) -> bool {
        matches!(self.outcome, Outcome::Succeeded | Outcome::Malformed | Outcome::Missing)
    }
}

/// How a request bears on a key: what the filters before the engine say of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Whether the request certainly came with the key.
    pub(crate) is_certain: bool,
    /// Whether its report is that of the key, and not of another client.
    pub(crate) is_report: bool,
    /// Whether its report may be a copy of an earlier one.
    pub(crate) is_copy: bool,
    pub(crate) may_be_ban: bool,
    pub(crate) cost: i64,
}

/// The requests that bear on the count of a key, in the order of sending.
#[derive(Debug)]
pub(super) struct Timeline<'h> {
    pub(super) events: Vec<Event<'h>>,
}

fn micros(time: Timestamp) -> Micros {
    time.as_microsecond()
}

/// The bounds on how far the server's clock is ahead of the judge's.
fn clock_offset<'h>(entries: impl Iterator<Item = &'h Entry<'h>>) -> (Micros, Micros) {
    let slack = Tolerance::CLOCK_SLACK.seconds() * SECOND;
    let (mut least, mut most) = (Micros::MIN, Micros::MAX);
    for entry in entries {
        let Some(date) = entry.server_time() else { continue };
        let precision = entry.exchange.known.precision.as_micros() as Micros;
        least = least.max(micros(date) - micros(entry.exchange.received_at) - precision - slack);
        most = most.min(micros(date) + SECOND - micros(entry.exchange.sent_at) + precision + slack);
    }
    match (least, most) {
        // Without a Date the server's clock is unknown.
        (Micros::MIN, _) => (-UNKNOWN_CLOCK, UNKNOWN_CLOCK),
        // Of two clocks, one is further ahead than the other at the most.
        (least, most) if least > most => (most - SECOND - 2 * slack, least + SECOND + 2 * slack),
        bounds => bounds,
    }
}

/// How far a clock may be off that no Date shows.
const UNKNOWN_CLOCK: Micros = 90 * SECOND;

impl<'h> Timeline<'h> {
    /// The timeline of these requests, of which the responses with some numbers report nothing of their own.
    pub(super) fn new(parts: &[(&'h Entry<'h>, Part)], ignored: &[usize]) -> Timeline<'h> {
        let slack = Tolerance::CLOCK_SLACK.seconds() * SECOND;
        let (least, most) = clock_offset(parts.iter().map(|(entry, _)| *entry));
        let mut events: Vec<Event<'h>> = Vec::with_capacity(parts.len());
        for &(entry, part) in parts {
            let exchange = entry.exchange;
            let precision = (exchange.known.precision.as_micros() as Micros).min(DAY);
            let sent = micros(exchange.sent_at);
            let received = (micros(exchange.received_at) + precision).max(sent + 1);
            let (mut arrival, mut answer) =
                ((sent - precision + least, received + most), (sent - precision + least, received + most));
            if let Some(date) = entry.server_time() {
                let (from, to) = (micros(date) - slack, micros(date) + SECOND + slack);
                arrival = (arrival.0.max(from - (received - sent)), arrival.1.min(to));
                answer = (answer.0.max(from), answer.1.min(to));
            }
            let is_report = part.is_report && !ignored.contains(&exchange.number);
            let certain = if part.is_certain { outcome(entry) } else { Outcome::Unknown };
            events.push(Event {
                entry,
                sent,
                received,
                arrival: (arrival.0, arrival.1.max(arrival.0)),
                answer: (answer.0, answer.1.max(answer.0)),
                outcome: certain,
                cost: part.cost,
                report: entry.rate.as_ref().filter(|_| is_report).and_then(report),
                is_own: part.is_certain,
                may_be_ban: part.may_be_ban,
                wait: entry.wait_asked_for(),
                asks_in_seconds: entry.asks_in_seconds(),
                dated_at: entry.server_time().map_or(received, micros),
                is_dated: entry.server_time().is_some(),
            });
        }
        events.sort_by_key(|event| (event.sent, event.entry.exchange.number));
        Timeline { events }
    }

    /// Each success with the next one, where both report the same window and the first was complete before the second was sent.
    pub(super) fn successive(&self) -> Vec<[usize; 2]> {
        let is_success =
            |at: &usize| self.events[*at].outcome == Outcome::Succeeded && self.events[*at].report.is_some();
        let successes: Vec<usize> = (0..self.events.len()).filter(is_success).collect();
        let pairs = successes.windows(2).map(|pair| [pair[0], pair[1]]);
        let is_of_window = |[before, after]: &[usize; 2]| {
            let [before, after] = [before, after].map(|at| &self.events[*at]);
            before.precedes(after) && before.report.zip(after.report).is_some_and(|(one, two)| one.is_same(two))
        };
        pairs.filter(is_of_window).collect()
    }

    /// Whether successes follow each other, each with some others right before it, for longer than any minute: a window that ends
    /// meanwhile forgets requests that a log still keeps.
    pub(super) fn outlasts_a_window(&self) -> bool {
        /// Of a window that has just begun, none of them is counted, and a response may report its own request or not.
        const RECENT: usize = 3;
        let kept = Tolerance::KEPT.seconds() * SECOND;
        let is_success = |event: &&Event<'_>| event.outcome == Outcome::Succeeded && event.report.is_some();
        let successes: Vec<&Event<'_>> = self.events.iter().filter(is_success).collect();
        let mut chain: Option<&Event<'_>> = None;
        successes.iter().enumerate().any(|(at, event)| {
            let first = successes[..at].partition_point(|earlier| event.received - earlier.sent > kept);
            let recent = successes[first..at].iter().filter(|earlier| earlier.precedes(event)).take(RECENT).count();
            chain = if recent < RECENT { None } else { chain.or(Some(event)) };
            chain.is_some_and(|first| event.sent - first.received > Tolerance::LONGEST_MINUTE.seconds() * SECOND)
        })
    }

    /// Which distinctions between hypotheses the events have occasion for.
    pub(super) fn occasions(&self) -> Occasions {
        let any = |outcome| self.events.iter().any(|event| event.outcome == outcome);
        Occasions { malformed: any(Outcome::Malformed), missing: any(Outcome::Missing), refused: any(Outcome::Refused) }
    }

    /// The figures that the reports may be of, given those of the plan if they are known.
    pub(super) fn figures(&self, plan: Option<(i64, i64)>) -> Vec<Figures> {
        if let Some((minute, day)) = plan {
            return vec![Figures { minute: Some(minute), day: Some(day) }];
        }
        let reports = self.events.iter().filter(|event| !event.may_be_ban);
        let reports: Vec<(&Event<'_>, Report)> = reports.filter_map(|event| Some((event, event.report?))).collect();
        let mut limits: Vec<i64> = reports.iter().map(|(_, report)| report.limit).collect();
        limits.sort_unstable();
        limits.dedup();
        // The end of a day is seen while it lies further ahead than that of a minute, or comes at midnight.
        let longest = Tolerance::LONGEST_MINUTE.seconds() * SECOND;
        let is_far = reports.iter().any(|(event, report)| report.reset - event.answer.1 > longest);
        let is_midnight = reports.iter().any(|(_, report)| report.reset.rem_euclid(DAY) <= SECOND);
        match limits[..] {
            [] => vec![Figures { minute: None, day: None }],
            [one] if is_far => vec![Figures { minute: None, day: Some(one) }],
            [one] if !is_midnight => vec![Figures { minute: Some(one), day: None }],
            [one] => {
                vec![Figures { minute: Some(one), day: None }, Figures { minute: None, day: Some(one) }]
            }
            [minute, day, ..] => vec![Figures { minute: Some(minute), day: Some(day) }],
        }
    }
}

fn outcome(entry: &Entry<'_>) -> Outcome {
    match entry.status() {
        Some(200..=399) => Outcome::Succeeded,
        Some(429) => Outcome::Refused,
        Some(404 | 410) => Outcome::Missing,
        Some(401 | 403) | None => Outcome::Unknown,
        Some(400..=499) => Outcome::Malformed,
        Some(_) => Outcome::Unknown,
    }
}

/// Figures and times further off than this are brought back to it, so that sums of a few never overflow.
const FAR: i64 = i64::MAX / 8;

fn report(rate: &RateHeaders) -> Option<Report> {
    let window = rate.window()?;
    let [limit, remaining] =
        [window.limit, window.remaining].map(|figure| i64::try_from(figure).unwrap_or(FAR).min(FAR));
    let reset = window.reset.saturating_mul(SECOND).clamp(-FAR, FAR);
    (limit > 0).then_some(Report { limit, used: limit - remaining, reset })
}
