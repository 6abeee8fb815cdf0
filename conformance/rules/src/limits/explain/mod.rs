//! The explanation: which ways of counting explain what a key was answered, and what contradicts the best of them.
//!
//! The part of a reported count that the run's own requests leave over was used by others. In a fixed window that part never falls, and
//! where nobody else uses the key it is constant. Nearly every constraint follows from the two bounds on it that each response gives:
//! `used - own.hi` at least and `used - own.lo` at most.

mod admissions;
mod choice;
mod counts;
mod refusals;
mod resets;

pub(super) use choice::{explain, shows_no_restoration};

use super::hypothesis::{Cut, Hypothesis};
use super::share::{Rest, Shares};
use super::timeline::{Event, MINUTE, Micros, Outcome, SECOND, Timeline};

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
    /// The refusal that the requests of the run alone explain.
    pub(super) earned: Option<usize>,
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
    /// Whether the count rises by more than the run sent: other clients use the key, whatever the hypothesis.
    falls_by_more: bool,
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
    /// Of what slides: the latest Reset that was reported before each event, with its response.
    latest_before: Vec<Option<(Micros, usize)>>,
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
    // What is not counted may begin a window, or be the newest of a log when headers are written.
    let is_taken_in = matches!(hypothesis.cut, Cut::First | Cut::Drain);
    let counted = |event: &&Event<'_>| shares.counted(event).hi > 0 || is_taken_in;
    let mut evaluator = Evaluator {
        events: &timeline.events,
        by_received,
        found: Evaluation { shows_others: falls, ..Evaluation::default() },
        falls_by_more: falls,
        stop_at,
        rests: vec![None; timeline.events.len()],
        others: vec![Others::default(); shares.epochs.len()],
        seen_before: vec![None; timeline.events.len()],
        prior: FAR,
        latest_reset: None,
        latest_before: vec![None; timeline.events.len()],
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
            self.latest_before[at] = self.latest_reset;
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
}
