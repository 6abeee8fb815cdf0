//! The choice of the hypothesis that speaks for the server: the one with the fewest contradictions.

use std::collections::HashSet;

use super::super::hypothesis::{Cut, Figures, Hypothesis, hypotheses};
use super::super::timeline::{MINUTE, Micros, Timeline};
use super::{Contradiction, Evaluation, FAR, Kind, MUCH, evaluate};

/// Returns true if Remaining falls between two responses by more than the run sent in between, whatever its requests cost.
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
    let mut last = None;
    for event in events.iter().filter(|event| !event.may_be_ban && event.is_admitted()) {
        let Some(after) = event.report else { continue };
        let Some((earlier, before)) = last.replace((event, after)) else { continue };
        let sent = costs[events.partition_point(|other| other.sent < event.received)];
        let done = complete[complete.partition_point(|(received, _)| *received <= earlier.sent) - 1].1;
        // The count of a new window begins at 0, which makes the difference smaller.
        if earlier.precedes(event)
            && before.limit == after.limit
            && after.used - before.used > sent - done - earlier.cost
        {
            return true;
        }
    }
    false
}

/// The weight of the contradictions of a hypothesis. Each weighs 2, but an excess weighs at least as much as the requests that it does not
/// explain. An early refusal that reports nothing remaining weighs 1: other clients may have used the rest without a trace.
fn weight(evaluation: &Evaluation, timeline: &Timeline<'_>) -> i64 {
    let mut sum = 0;
    for contradiction in &evaluation.contradictions {
        let report = timeline.events[contradiction.at].report;
        sum += match contradiction.kind {
            Kind::Early if report.is_some_and(|report| report.used >= report.limit) => 1,
            Kind::Excess => (contradiction.found - contradiction.bound).max(2),
            _ => 2,
        };
    }
    sum
}

/// Returns true if contradictions, each with its distance from the bound, show that a Reset has restored nothing. There must be two with
/// several requests, or one with so many that other clients are unlikely to have used exactly that number since.
pub(in crate::limits) fn shows_no_restoration(contradictions: impl Iterator<Item = (Kind, i64)>) -> bool {
    const LARGE: i64 = 10;
    let of_kind: Vec<i64> = contradictions.filter(|(kind, _)| *kind == Kind::NotRestored).map(|(_, off)| off).collect();
    of_kind.iter().filter(|off| **off >= MUCH).count() > 1 || of_kind.iter().any(|off| *off >= LARGE)
}

/// The hypothesis that speaks for the server, with its evaluation.
#[derive(Debug)]
pub(in crate::limits) struct Best {
    pub(in crate::limits) hypothesis: Option<Hypothesis>,
    pub(in crate::limits) evaluation: Evaluation,
}

/// Returns true if other clients are a likely explanation, given the weight against the best plain way of counting without them. They may
/// explain as many requests as that weight, or twice as many if they explain everything. More requests than that are failures of the run,
/// which count.
fn is_likely(shared: &Evaluation, plain: i64) -> bool {
    shared.excess <= if shared.contradictions.is_empty() { 2 * plain } else { plain }
}

/// Returns true if all early refusals report that nothing remains of one window. Other clients may have used the rest of one window unseen,
/// but not of several.
fn may_be_used_up(evaluation: &Evaluation, timeline: &Timeline<'_>) -> bool {
    let mut exhausted = None;
    for early in evaluation.contradictions.iter().filter(|found| found.kind == Kind::Early) {
        let Some(report) = timeline.events[early.at].report else { return false };
        let is_exhausted = report.limit == early.bound && report.used >= report.limit;
        if !is_exhausted || !report.is_same(*exhausted.get_or_insert(report)) {
            return false;
        }
    }
    true
}

/// Returns true if the use of the key by other clients explains a contradiction.
fn is_by_others(contradiction: &Contradiction) -> bool {
    matches!(contradiction.kind, Kind::Excess | Kind::NotRestored)
}

/// Returns true if a contradiction is about a refusal.
fn is_of_refusal(contradiction: &Contradiction) -> bool {
    matches!(contradiction.kind, Kind::Early | Kind::StillLimited)
}

/// The search for the hypothesis that speaks for the server.
struct Search<'t, 'h> {
    timeline: &'t Timeline<'h>,
    hypotheses: Vec<Hypothesis>,
    by_received: Vec<usize>,
    /// Whether Remaining falls by more than the run sent.
    falls: bool,
    /// The figures whose counts a plain way of counting explains without other clients.
    counted: HashSet<Figures>,
    /// The weight against the best plain way of counting.
    plain: i64,
    best: Best,
}

/// Finds the hypothesis with the fewest contradictions, by weight.
pub(in crate::limits) fn explain(timeline: &Timeline<'_>, plan: Option<(i64, i64)>) -> Best {
    let mut by_received: Vec<usize> = (0..timeline.events.len()).collect();
    by_received.sort_by_key(|at| timeline.events[*at].received);
    let mut search = Search {
        timeline,
        hypotheses: hypotheses(&timeline.figures(plan), timeline.occasions()),
        falls: falls_by_more(timeline, &by_received),
        by_received,
        counted: HashSet::new(),
        plain: FAR,
        best: Best { hypothesis: None, evaluation: Evaluation::default() },
    };
    search.drop_indistinguishable();
    for hypothesis in search.hypotheses.clone() {
        if search.consider(hypothesis) {
            break;
        }
    }
    search.consider_unseen_others();
    if may_be_used_up(&search.best.evaluation, timeline) {
        search.best.evaluation.contradictions.retain(|found| found.kind != Kind::Early);
    }
    search.name_a_reset_that_moves();
    search.best
}

impl Search<'_, '_> {
    /// Drops [`Cut::WeightedNext`] if nothing distinguishes it. Where each Reset is the end of a minute, it is like [`Cut::Weighted`].
    /// Where a `Date` is missing, nothing shows when its minutes begin.
    fn drop_indistinguishable(&mut self) {
        let events = &self.timeline.events;
        let is_dated = events.iter().all(|event| event.entry.server_time().is_some());
        if !is_dated
            || events.iter().filter_map(|event| event.report).all(|report| report.reset.rem_euclid(MINUTE) == 0)
        {
            self.hypotheses.retain(|hypothesis| hypothesis.cut != Cut::WeightedNext);
        }
    }

    /// Returns true if every response is from the same address of the service and reports the limit of the minute.
    fn reports_minutes_of_one_address(&self, hypothesis: Hypothesis) -> bool {
        let Figures { minute, day } = hypothesis.figures;
        let reports = self.timeline.events.iter().filter_map(|event| event.report);
        minute != day
            && reports.map(|report| Some(report.limit)).all(|limit| limit == minute)
            && self.timeline.is_of_one_address()
    }

    fn evaluate(&self, hypothesis: Hypothesis, stop_at: i64) -> Evaluation {
        evaluate(hypothesis, self.timeline, &self.by_received, self.falls, stop_at)
    }

    /// Compares a hypothesis with the best so far, with other clients if something shows them. Returns true if it explains everything.
    fn consider(&mut self, hypothesis: Hypothesis) -> bool {
        let most = self.best.hypothesis.map_or(FAR, |_| weight(&self.best.evaluation, self.timeline));
        let is_plain = hypothesis.is_plain();
        let mut candidate = (hypothesis, self.evaluate(hypothesis, if is_plain { FAR } else { most }));
        if is_plain {
            self.plain = self.plain.min(weight(&candidate.1, self.timeline));
            let contradictions = &candidate.1.contradictions;
            if !contradictions.iter().any(|found| matches!(found.kind, Kind::Excess | Kind::NotCounted | Kind::Rises)) {
                self.counted.insert(hypothesis.figures);
            }
        }
        let shared = Hypothesis { others: true, ..hypothesis };
        if self.may_have_others(hypothesis, &candidate.1) {
            let evaluation = self.evaluate(shared, most);
            let is_shown = self.falls && hypothesis.cut == Cut::Log && evaluation.contradictions.is_empty();
            if is_plain || is_shown || is_likely(&evaluation, self.plain) {
                candidate = (shared, evaluation);
            }
        }
        // A count that slides restores little at a time, so that other clients may use all of it. Remaining shows them by its falls,
        // unless those are the differences between the counters of several addresses.
        let may_slide = self.falls && !hypothesis.cut.is_fixed() && self.reports_minutes_of_one_address(hypothesis);
        if may_slide && !candidate.1.contradictions.is_empty() {
            let evaluation = self.evaluate(shared, 0);
            if evaluation.contradictions.is_empty() {
                candidate = (shared, evaluation);
            }
        }
        let count = weight(&candidate.1, self.timeline);
        // A plain way of counting is left for one that explains everything, or that has less than half of its weight.
        let is_plain_left = count > 0 && !is_plain && self.best.hypothesis.is_some_and(|best| best.is_plain());
        let least = if is_plain_left { 2 * count } else { count };
        if self.best.hypothesis.is_some() && least >= most {
            return false;
        }
        self.best = Best { hypothesis: Some(candidate.0), evaluation: candidate.1 };
        count == 0
    }

    /// Returns true if other clients may explain the contradictions of a hypothesis. Either responses show them, or they explain each
    /// contradiction and no plain way of counting explains the counts: an excess by the failures of the run shows that failures count.
    fn may_have_others(&self, hypothesis: Hypothesis, evaluation: &Evaluation) -> bool {
        let contradictions = &evaluation.contradictions;
        if evaluation.shows_others && !contradictions.is_empty() {
            return true;
        }
        contradictions.iter().any(is_by_others)
            && contradictions.iter().all(|found| is_by_others(found) || self.may_be_hidden(found, hypothesis.figures))
            && !shows_no_restoration(contradictions.iter().map(|found| (found.kind, found.found - found.bound)))
            && !self.counted.contains(&hypothesis.figures)
    }

    /// Returns true if an early refusal reports a day that is not exhausted. Other clients may have exhausted the minute behind the day.
    fn may_be_hidden(&self, contradiction: &Contradiction, figures: Figures) -> bool {
        let report = self.timeline.events[contradiction.at].report.filter(|report| figures.day == Some(report.limit));
        contradiction.kind == Kind::Early
            && figures.minute != figures.day
            && report.is_some_and(|day| day.used < day.limit)
    }

    /// Adopts other clients that no response shows, if they explain everything. Contradictions about refusals remain all the same,
    /// because a limiter that refuses early looks like that. Admissions rule such clients out: other clients use requests up, and make no
    /// room.
    fn consider_unseen_others(&mut self) {
        let contradictions = &self.best.evaluation.contradictions;
        let is_over_admitted = contradictions
            .iter()
            .any(|found| matches!(found.kind, Kind::Reopened | Kind::OverAdmitted | Kind::Burst | Kind::OtherStatus));
        if is_over_admitted
            || contradictions.iter().all(is_of_refusal)
            || shows_no_restoration(contradictions.iter().map(|found| (found.kind, found.found - found.bound)))
        {
            return;
        }
        let Some(best) = self.unseen_others() else { return };
        self.best.evaluation.contradictions.retain(is_of_refusal);
        if self.best.evaluation.contradictions.is_empty() {
            self.best = best;
        }
    }

    /// Finds the first hypothesis of fixed windows with other clients that explains everything. A sliding count would explain nearly
    /// anything with clients that no response shows.
    fn unseen_others(&self) -> Option<Best> {
        for hypothesis in self.hypotheses.iter().filter(|hypothesis| hypothesis.cut.is_fixed()) {
            let shared = Hypothesis { others: true, ..*hypothesis };
            let evaluation = self.evaluate(shared, 0);
            let is_believed = hypothesis.is_plain() || is_likely(&evaluation, self.plain);
            if is_believed && evaluation.contradictions.is_empty() {
                return Some(Best { hypothesis: Some(shared), evaluation });
            }
        }
        None
    }

    /// Adds the first Reset that moves to the contradictions of a count that slides. Either the counts are wrong for a Reset that moves, or
    /// the Reset is wrong for the counts.
    fn name_a_reset_that_moves(&mut self) {
        let is_explained = self.best.evaluation.contradictions.iter().all(|found| found.kind == Kind::Excess);
        let Some(sliding) = self.best.hypothesis.filter(|best| !is_explained && !best.cut.is_fixed()) else { return };
        let fixed = self.evaluate(Hypothesis { cut: Cut::First, others: false, ..sliding }, FAR);
        let moves = fixed.contradictions.into_iter().find(|found| found.kind == Kind::ResetMoves);
        self.best.evaluation.contradictions.extend(moves);
    }
}
