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

/// The first hypothesis of windows with other clients that explains everything. What slides would explain nearly anything with clients that
/// nothing shows.
fn unseen_others(
    timeline: &Timeline<'_>,
    plan: Option<(i64, i64)>,
    by_received: &[usize],
    falls: bool,
    plain: i64,
) -> Option<(Hypothesis, Evaluation)> {
    let all = hypotheses(&timeline.figures(plan), timeline.occasions());
    all.into_iter().filter(|hypothesis| hypothesis.cut.is_fixed()).find_map(|hypothesis| {
        let shared = Hypothesis { others: true, ..hypothesis };
        let found = evaluate(shared, timeline, by_received, falls, 0);
        let is_likely = hypothesis.is_plain() || is_likely(&found, plain);
        (found.contradictions.is_empty() && is_likely).then_some((shared, found))
    })
}

/// The hypothesis with the fewest contradictions.
pub(in crate::limits) fn explain(timeline: &Timeline<'_>, plan: Option<(i64, i64)>) -> Best {
    let mut by_received: Vec<usize> = (0..timeline.events.len()).collect();
    by_received.sort_by_key(|at| timeline.events[*at].received);
    let falls = falls_by_more(timeline, &by_received);
    // The figures whose counts a plain way of counting explains without other clients, and how much speaks against the best plain one.
    let mut counted: HashSet<Figures> = HashSet::new();
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
        if is_plain {
            plain = plain.min(weight(&candidate.1, timeline));
            if !contradictions.iter().any(is_of_counts) {
                counted.insert(hypothesis.figures);
            }
        }
        // An excess that is the failures of the run shows that failures count, and nobody else.
        let is_by_others = |found: &Contradiction| matches!(found.kind, Kind::Excess | Kind::NotRestored);
        // Those that the count of a day shows may have exhausted the minute that is hidden behind it.
        let is_hidden = |found: &Contradiction| {
            let figures = hypothesis.figures;
            let report = timeline.events[found.at].report.filter(|report| figures.day == Some(report.limit));
            found.kind == Kind::Early && figures.minute != figures.day && report.is_some_and(|day| day.used < day.limit)
        };
        let is_excess_alone = contradictions.iter().any(is_by_others)
            && contradictions.iter().all(|found| is_by_others(found) || is_hidden(found))
            && !shows_no_restoration(contradictions.iter().map(|found| (found.kind, found.found - found.bound)))
            && !counted.contains(&hypothesis.figures);
        if candidate.1.shows_others && !contradictions.is_empty() || is_excess_alone {
            let shared = Hypothesis { others: true, ..hypothesis };
            let found = evaluate(shared, timeline, &by_received, falls, most);
            let is_shown = falls && hypothesis.cut == Cut::Log && found.contradictions.is_empty();
            if is_plain || is_shown || is_likely(&found, plain) {
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
        && let Some((shared, found)) = unseen_others(timeline, plan, &by_received, falls, plain)
    {
        // Of what only other clients explain that nothing shows, the refusals remain: a limiter that refuses early looks the same.
        best.evaluation.contradictions.retain(is_of_refusals);
        if best.evaluation.contradictions.is_empty() {
            best = Best { hypothesis: Some(shared), evaluation: found };
        }
    }
    if may_be_used_up(&best.evaluation, timeline) {
        best.evaluation.contradictions.retain(|found| found.kind != Kind::Early);
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
