//! The choice of the hypothesis that speaks for the server: the one with the fewest contradictions.

use std::collections::HashSet;

use super::super::hypothesis::{Cut, Figures, Hypothesis, hypotheses};
use super::super::timeline::{Event, MINUTE, Micros, Timeline};
use super::{Contradiction, Evaluation, FAR, Kind, MUCH, evaluate};

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

/// Whether contradictions, each with how far it is off, show that a Reset has restored nothing: at least two of several requests, or one of
/// so large a count that other clients are unlikely to have used exactly that number since.
pub(in crate::limits) fn shows_no_restoration(contradictions: impl Iterator<Item = (Kind, i64)>) -> bool {
    const LARGE: i64 = 10;
    let of_kind: Vec<i64> = contradictions.filter(|(kind, _)| *kind == Kind::NotRestored).map(|(_, off)| off).collect();
    of_kind.iter().filter(|off| **off >= MUCH).count() > 1 || of_kind.iter().any(|off| *off >= LARGE)
}

/// The best explanation of a timeline.
#[derive(Debug)]
pub(in crate::limits) struct Best {
    pub(in crate::limits) hypothesis: Option<Hypothesis>,
    pub(in crate::limits) evaluation: Evaluation,
}

/// Whether other clients are likely, given how much speaks against a plain way of counting without them. Those that would have to
/// explain far more are none: what they explain are the failures of the run, which count. More is believed where they explain everything.
fn is_likely(shared: &Evaluation, plain: i64) -> bool {
    shared.excess <= if shared.contradictions.is_empty() { 2 * plain } else { plain }
}

/// Whether the refusals that came early all report that nothing remains of one window: other clients may have used the rest of one window
/// unseen, but not of several.
fn may_be_used_up(evaluation: &Evaluation, timeline: &Timeline<'_>) -> bool {
    let early = || evaluation.contradictions.iter().filter(|found| found.kind == Kind::Early);
    let report = |found: &Contradiction| timeline.events[found.at].report.filter(|report| report.limit == found.bound);
    let first = early().next().and_then(report);
    let is_of_window = |found| {
        let reports = first.zip(report(found));
        reports.is_some_and(|(first, report)| report.used >= report.limit && report.is_same(first))
    };
    early().all(is_of_window)
}

/// The search for the hypothesis that speaks for the server.
struct Search<'t, 'h> {
    timeline: &'t Timeline<'h>,
    hypotheses: Vec<Hypothesis>,
    by_received: Vec<usize>,
    /// Whether the reported count rises by more than the run sent.
    falls: bool,
    /// The figures whose counts a plain way of counting explains without other clients.
    counted: HashSet<Figures>,
    /// How much speaks against the best plain way of counting.
    plain: i64,
    best: Best,
}

/// The hypothesis with the fewest contradictions.
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
    search.drop_what_nothing_tells_apart();
    for hypothesis in search.hypotheses.clone() {
        if search.ask(hypothesis) {
            break;
        }
    }
    search.ask_others_that_nothing_shows();
    if may_be_used_up(&search.best.evaluation, timeline) {
        search.best.evaluation.contradictions.retain(|found| found.kind != Kind::Early);
    }
    search.name_a_reset_that_moves();
    search.best
}

impl Search<'_, '_> {
    /// Where each Reset is the end of a minute, the two counters that slide are one. Without the server's clock nothing shows where the
    /// minutes of the second one begin.
    fn drop_what_nothing_tells_apart(&mut self) {
        let events = &self.timeline.events;
        let is_whole = |event: &Event<'_>| event.report.is_none_or(|report| report.reset.rem_euclid(MINUTE) == 0);
        let is_dated = events.iter().all(|event| event.entry.server_time().is_some());
        if !is_dated || events.iter().all(is_whole) {
            self.hypotheses.retain(|hypothesis| hypothesis.cut != Cut::WeightedNext);
        }
    }

    fn evaluate(&self, hypothesis: Hypothesis, stop_at: i64) -> Evaluation {
        evaluate(hypothesis, self.timeline, &self.by_received, self.falls, stop_at)
    }

    /// Compares a hypothesis with the best so far, with other clients where something shows them. Returns true if it explains everything.
    fn ask(&mut self, hypothesis: Hypothesis) -> bool {
        let most = self.best.hypothesis.map_or(FAR, |_| weight(&self.best.evaluation, self.timeline));
        let is_plain = hypothesis.is_plain();
        let mut candidate = (hypothesis, self.evaluate(hypothesis, if is_plain { FAR } else { most }));
        if is_plain {
            self.plain = self.plain.min(weight(&candidate.1, self.timeline));
            let is_of_counts =
                |found: &Contradiction| matches!(found.kind, Kind::Excess | Kind::NotCounted | Kind::Rises);
            if !candidate.1.contradictions.iter().any(is_of_counts) {
                self.counted.insert(hypothesis.figures);
            }
        }
        if self.may_have_others(hypothesis, &candidate.1) {
            let shared = Hypothesis { others: true, ..hypothesis };
            let found = self.evaluate(shared, most);
            let is_shown = self.falls && hypothesis.cut == Cut::Log && found.contradictions.is_empty();
            if is_plain || is_shown || is_likely(&found, self.plain) {
                candidate = (shared, found);
            }
        }
        let count = weight(&candidate.1, self.timeline);
        // Where nothing explains everything, a plain way of counting is left for one that explains more than twice as much.
        let is_plain_left = count > 0 && !is_plain && self.best.hypothesis.is_some_and(|best| best.is_plain());
        let least = if is_plain_left { 2 * count } else { count };
        if self.best.hypothesis.is_some() && least >= most {
            return false;
        }
        self.best = Best { hypothesis: Some(candidate.0), evaluation: candidate.1 };
        count == 0
    }

    /// Whether other clients may explain what a hypothesis does not. An excess that is the failures of the run shows that failures count, and
    /// nobody else.
    fn may_have_others(&self, hypothesis: Hypothesis, found: &Evaluation) -> bool {
        let contradictions = &found.contradictions;
        if found.shows_others && !contradictions.is_empty() {
            return true;
        }
        let is_by_others = |found: &Contradiction| matches!(found.kind, Kind::Excess | Kind::NotRestored);
        // Other clients that the count of a day shows may have exhausted the minute that is hidden behind it.
        let is_hidden = |found: &Contradiction| {
            let figures = hypothesis.figures;
            let report = self.timeline.events[found.at].report.filter(|report| figures.day == Some(report.limit));
            found.kind == Kind::Early && figures.minute != figures.day && report.is_some_and(|day| day.used < day.limit)
        };
        contradictions.iter().any(is_by_others)
            && contradictions.iter().all(|found| is_by_others(found) || is_hidden(found))
            && !shows_no_restoration(contradictions.iter().map(|found| (found.kind, found.found - found.bound)))
            && !self.counted.contains(&hypothesis.figures)
    }

    /// Believes in other clients that nothing shows where they explain everything but refusals: a limiter that refuses early looks the same,
    /// so that the refusals remain. Other clients use requests up, and make room for none.
    fn ask_others_that_nothing_shows(&mut self) {
        let is_of_refusals = |found: &Contradiction| matches!(found.kind, Kind::Early | Kind::StillLimited);
        let is_of_admission = |found: &Contradiction| {
            matches!(found.kind, Kind::Reopened | Kind::OverAdmitted | Kind::Burst | Kind::OtherStatus)
        };
        let contradictions = &self.best.evaluation.contradictions;
        if contradictions.iter().all(is_of_refusals)
            || contradictions.iter().any(is_of_admission)
            || shows_no_restoration(contradictions.iter().map(|found| (found.kind, found.found - found.bound)))
        {
            return;
        }
        let Some(best) = self.unseen_others() else { return };
        self.best.evaluation.contradictions.retain(is_of_refusals);
        if self.best.evaluation.contradictions.is_empty() {
            self.best = best;
        }
    }

    /// The first hypothesis of windows with other clients that explains everything. What slides would explain nearly anything with clients
    /// that nothing shows.
    fn unseen_others(&self) -> Option<Best> {
        let fixed = self.hypotheses.iter().filter(|hypothesis| hypothesis.cut.is_fixed());
        fixed.copied().find_map(|hypothesis| {
            let shared = Hypothesis { others: true, ..hypothesis };
            let evaluation = self.evaluate(shared, 0);
            let is_likely = hypothesis.is_plain() || is_likely(&evaluation, self.plain);
            (evaluation.contradictions.is_empty() && is_likely).then_some(Best { hypothesis: Some(shared), evaluation })
        })
    }

    /// Adds the first Reset that moves to what speaks against a count that slides: either the counts are wrong for a Reset that moves, or the
    /// Reset is for the counts.
    fn name_a_reset_that_moves(&mut self) {
        let is_explained = self.best.evaluation.contradictions.iter().all(|found| found.kind == Kind::Excess);
        let Some(sliding) = self.best.hypothesis.filter(|best| !is_explained && !best.cut.is_fixed()) else { return };
        let fixed = self.evaluate(Hypothesis { cut: Cut::First, others: false, ..sliding }, FAR);
        let moves = fixed.contradictions.into_iter().find(|found| found.kind == Kind::ResetMoves);
        self.best.evaluation.contradictions.extend(moves);
    }
}
