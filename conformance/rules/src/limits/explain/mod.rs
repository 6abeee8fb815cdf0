//! The explanation: the way of counting that explains the responses to a key best, and the responses that contradict it.
//!
//! The rest of a reported count, beyond the requests of the run, was used by other clients. In a fixed window the rest never falls, and it
//! is constant if nobody else uses the key. Nearly every constraint follows from the two bounds on the rest that each response gives: at
//! least `used - own.hi`, and at most `used - own.lo`.
//!
//! | request | own requests in the window | used, as reported | rest | conclusion |
//! |---|---|---|---|---|
//! | 1 | 1 | 1 | 0 | no other client so far |
//! | 2 | 2 | 5 | 3 | other clients used 3 |
//! | 3 | 3 | 5 | 2 | the rest falls: a contradiction |

mod admissions;
mod choice;
mod counts;
mod recovery;
mod refusals;
mod resets;

pub(super) use choice::explain;

use super::hypothesis::{Cut, Hypothesis, Outcome};
use super::share::{FAR, Rest, Shares};
use super::timeline::{Event, MINUTE, Micros, SECOND, Sums, Timeline};

/// The kinds of contradictions between a way of counting and a trace.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Kind {
    /// A Limit is neither figure of the hypothesis.
    Figure,
    /// A response reports fewer requests used than certainly count.
    NotCounted,
    /// A response reports fewer requests used than an earlier response of its window.
    Rises,
    /// A response reports more requests used than the run sent, although nobody else uses the key.
    Excess,
    /// A count goes on from where it was, although its Reset has passed.
    NotRestored,
    /// A request was admitted although there was no room for it.
    OverAdmitted,
    /// More requests were admitted within a minute than the two windows that the minute touches admit.
    Burst,
    /// A request was admitted after a refusal in the same window, although nothing remains in it.
    Reopened,
    /// A request for which there was no room got another status than 429.
    OtherStatus,
    /// A request was refused although there was room for it.
    Early,
    /// A request was refused between two responses of one window that both show room.
    Interrupted,
    /// A request was refused after the wait that the refusal before it asked for.
    StillLimited,
    /// A Reset is not the end that the way of counting predicts.
    ResetOff,
    /// A Reset has moved while its window ran.
    ResetMoves,
}

/// A response that a hypothesis does not explain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contradiction {
    pub(super) kind: Kind,
    /// The event of the response, and the event that it is compared with, if any.
    pub(super) at: usize,
    pub(super) with: Option<usize>,
    /// The number of requests or Unix time that the response shows, and the least or the most that the hypothesis allows.
    pub(super) found: i64,
    pub(super) bound: i64,
}

/// The result of evaluating a hypothesis.
#[derive(Debug)]
pub(super) struct Evaluation {
    pub(super) hypothesis: Hypothesis,
    pub(super) contradictions: Vec<Contradiction>,
    /// Whether responses show that other clients use the key, whatever the requests of the run cost.
    shows_others: bool,
    /// Whether responses to admitted requests show that other clients use the key.
    pub(super) shows_others_beside_admitted: bool,
    /// The refusals that were judged.
    pub(super) refusals: Vec<usize>,
    /// The refusal that the requests of the run alone explain.
    pub(super) earned: Option<usize>,
    /// The number of requests of other clients that the reports show.
    excess: i64,
    /// A refusal in the window that other clients have exhausted unseen.
    exhausted_unseen: Option<usize>,
}

/// The number of earlier responses that are searched for a higher count.
const FEW: usize = 64;

/// The least count that is unlikely to be found again after a Reset by chance.
const MUCH: i64 = 2;

/// A bound on the use of a window by other clients, and the response that shows it.
#[derive(Clone, Copy, Debug)]
struct Bound {
    value: i64,
    at: Option<usize>,
}

/// The use of one fixed window by other clients, as the complete responses show it to later ones.
#[derive(Clone, Copy, Debug)]
struct UseByOthers {
    /// The least rest of the count.
    least: Bound,
    /// The smallest reported count beyond the requests that were complete by then. The second number assumes that each of them was counted.
    unsettled: Bound,
    unsettled_of_all: i64,
    /// The response that reports the highest count, and that count. Of equal counts, the one that was complete last.
    last: Option<(usize, i64)>,
    /// Whether the count of the window before goes on in this one.
    goes_on: bool,
    /// The first refusal that reports that nothing remains of a minute.
    exhausted: Option<usize>,
    /// The number of requests that the reports lack and contradictions have named already.
    uncounted: i64,
    /// The number by which the last report exceeds the requests of the run.
    excess: i64,
}

impl Default for UseByOthers {
    fn default() -> UseByOthers {
        UseByOthers {
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

/// The use of a count that slides, beside the requests of the run, as the complete responses show it to later ones.
struct Sliding {
    /// The most that was used before the run, and the time until which it may still count.
    prior: i64,
    prior_until: Micros,
    /// The last success with a bound on the use by other clients, and that bound.
    last_rest: Option<(usize, Rest)>,
    /// The latest Reset that was reported, with its response.
    latest_reset: Option<(Micros, usize)>,
    /// The latest time until which a success announced that there is no room, with its response.
    full_until: Option<(Micros, usize)>,
    /// The number by which the last report exceeds the requests of the run.
    excess: i64,
    /// The first of the successes in a row that report that nothing remains, and their number.
    last_ones: Option<(usize, i64)>,
}

/// The evaluation of one hypothesis in progress.
pub(super) struct Evaluator<'s, 't, 'h> {
    pub(super) shares: &'s Shares<'t, 'h>,
    timeline: &'t Timeline<'h>,
    pub(super) events: &'t [Event<'h>],
    pub(super) evaluation: Evaluation,
    /// The weight against the best hypothesis so far.
    stop_at: i64,
    /// The rest of the count that each response reports, by event.
    rests: Vec<Option<Rest>>,
    /// The use by other clients, by window.
    others: Vec<UseByOthers>,
    /// The window of each refusal, and its smallest unsettled count when the refused request was sent.
    seen_before: Vec<Option<(usize, Bound)>>,
    /// The latest Reset that was reported before each event, with its response, where the count slides.
    latest_before: Vec<Option<(Micros, usize)>>,
    sliding: Sliding,
    /// The number of requests that may open a window, by the earliest and by the latest time of their arrival.
    arrivals: [Sums; 2],
}

/// Evaluates a hypothesis. The evaluation ends early if it has more contradictions than `stop_at`.
fn evaluate(hypothesis: Hypothesis, timeline: &Timeline<'_>, stop_at: i64) -> Evaluation {
    let shares = Shares::new(hypothesis, timeline);
    // A request that is not counted may begin a window, or be the newest of a log when headers are written.
    let uncounted_may_open = hypothesis.day_drains || matches!(hypothesis.cut, Cut::First | Cut::Drain);
    let may_open = timeline.events.iter().filter(|event| uncounted_may_open || shares.counted(event).hi > 0);
    let logged = may_open.map(|event| shares.logged(event));
    let (earliest, latest) = logged.map(|(from, to)| ((from, 1), (to, 1))).unzip();
    let forgets_within = if hypothesis.cut.is_on_grid() { 2 * MINUTE } else { MINUTE + SECOND };
    let mut evaluator = Evaluator {
        timeline,
        events: &timeline.events,
        evaluation: Evaluation {
            hypothesis,
            contradictions: Vec::new(),
            shows_others: timeline.falls_by_more,
            shows_others_beside_admitted: false,
            refusals: Vec::new(),
            earned: None,
            excess: 0,
            exhausted_unseen: None,
        },
        stop_at,
        rests: vec![None; timeline.events.len()],
        others: vec![UseByOthers::default(); shares.epochs.len()],
        seen_before: vec![None; timeline.events.len()],
        latest_before: vec![None; timeline.events.len()],
        sliding: Sliding {
            prior: FAR,
            prior_until: timeline.events.first().map_or(0, |first| first.received + forgets_within),
            last_rest: None,
            latest_reset: None,
            full_until: None,
            excess: 0,
            last_ones: None,
        },
        arrivals: [earliest, latest].map(Sums::from_unsorted),
        shares: &shares,
    };
    evaluator.forward();
    evaluator.refusals();
    evaluator.recovery();
    evaluator.evaluation
}

impl Evaluator<'_, '_, '_> {
    pub(super) fn hypothesis(&self) -> Hypothesis {
        self.shares.hypothesis
    }

    /// Returns true if a request that may open a window may have arrived between two times.
    fn may_open_between(&self, (from, to): (Micros, Micros)) -> bool {
        let [earliest, latest] = &self.arrivals;
        earliest.up_to(to) > latest.before(from)
    }

    pub(super) fn contradict(&mut self, kind: Kind, at: usize, with: Option<usize>, found: i64, bound: i64) {
        self.evaluation.contradictions.push(Contradiction { kind, at, with, found, bound });
    }

    /// Records that a report exceeds the requests of the run and the reports before by `more` requests. Either other clients use the key,
    /// or the hypothesis is wrong.
    fn exceeds(&mut self, at: usize, with: Option<usize>, used: i64, more: i64) {
        let more = more.max(0);
        self.evaluation.excess += more;
        if more > 0 && !self.hypothesis().has_others() {
            self.contradict(Kind::Excess, at, with, used, used - more);
        }
    }

    /// Records whether a response shows that other clients use the key.
    fn shows_others(&mut self, at: usize, is_shown: bool) {
        self.evaluation.shows_others |= is_shown;
        self.evaluation.shows_others_beside_admitted |= is_shown && self.events[at].is_admitted();
    }

    /// Returns true if there are more contradictions than the best hypothesis so far weighs, not counting those that other clients would
    /// explain. Each contradiction weighs at least 1.
    fn is_stopped(&self) -> bool {
        let contradictions = &self.evaluation.contradictions;
        // The length is compared first, so that the contradictions are rarely counted.
        contradictions.len() as i64 > self.stop_at
            && contradictions.iter().filter(|found| found.kind != Kind::Excess).count() as i64 > self.stop_at
    }

    /// Visits each event in the order of sending, after the responses that were complete before it was sent.
    fn forward(&mut self) {
        let mut complete = self.timeline.by_received.iter().copied().peekable();
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
                && let Some(member) = self.shares.members(at).next()
            {
                let epoch = self.shares.reported[at].unwrap_or(member.epoch);
                self.seen_before[at] = Some((epoch, self.others[epoch].unsettled));
            }
            self.latest_before[at] = self.sliding.latest_reset;
            self.reports(at);
            self.admission(at);
        }
    }

    /// Records the bounds that a response puts on the rest of its count, once the response is complete.
    fn complete(&mut self, at: usize) {
        let Some(rest) = self.rests[at] else { return };
        let Some(epoch) = self.shares.reported[at].filter(|_| self.is_fixed(&self.events[at])) else {
            self.sliding.prior = self.sliding.prior.min(rest.most);
            if rest.least > -FAR && self.events[at].outcome == Outcome::Succeeded {
                self.sliding.last_rest = Some((at, rest));
            }
            self.complete_sliding(at);
            return;
        };
        let used = self.events[at].report.map_or(0, |report| report.used);
        let is_exhausted = self.events[at].outcome == Outcome::Refused && self.events[at].is_capped();
        let is_minute = self.shares.reports_minute(&self.events[at]);
        let others = &mut self.others[epoch];
        if is_exhausted && is_minute {
            others.exhausted = others.exhausted.or(Some(at));
        }
        // Requests of yesterday may drop out of a log of the last day, so that the rest falls.
        if rest.least > others.least.value && (is_minute || !self.evaluation.hypothesis.day_drains) {
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

    /// The most requests of other clients that can have been restored since a report, which bounded their use by `most`.
    fn restored_at_most(&self, since: usize, most: i64, at: usize) -> i64 {
        let (before, event) = (&self.events[since], &self.events[at]);
        let Some((earlier, later)) = before.report.zip(event.report) else { return FAR };
        match self.hypothesis().cut {
            // The oldest request drops out of a log at the Reset, and no other one before it.
            Cut::Log if earlier.limit == later.limit && event.answer.1 < earlier.reset - 2 * SECOND => 0,
            // The weight of the minute before decays evenly. Some servers calculate in whole seconds.
            Cut::Weighted | Cut::WeightedNext { .. } if earlier.limit == later.limit => {
                let elapsed = event.received - before.sent + SECOND;
                let written = self.shares.written(before).1;
                let end = match self.hypothesis().cut {
                    Cut::Weighted => earlier.reset,
                    _ => self.shares.end_of_minute(written).unwrap_or(written),
                };
                let left = end - SECOND - written;
                if elapsed >= left || most >= FAR { FAR } else { (most.max(0) * elapsed + left - 1) / left }
            }
            _ => FAR,
        }
    }

    /// Records the Reset of a count that slides, if it announces the next restoration. Such a Reset never falls, and a full count has no
    /// room before it.
    fn complete_sliding(&mut self, at: usize) {
        let event = &self.events[at];
        let Some(report) = event.report.filter(|report| report.used > 0) else { return };
        let cut = self.hypothesis().cut;
        if !(cut == Cut::Log || cut.announces_the_next()) || event.outcome != Outcome::Succeeded {
            return;
        }
        let is_later = |than: Option<(Micros, usize)>| than.is_none_or(|(reset, _)| reset < report.reset);
        if is_later(self.sliding.latest_reset) {
            self.sliding.latest_reset = Some((report.reset, at));
        }
        if event.is_capped() && is_later(self.sliding.full_until) {
            self.sliding.full_until = Some((report.reset, at));
        }
    }
}
