//! The choice of the hypothesis that speaks for the server: the one with the fewest contradictions.

use std::collections::HashSet;

use super::super::common::CommonFacts;
use super::super::hypothesis::{Cut, Failures, Figures, Hypothesis, Others, Outcome, Span, Written};
use super::super::timeline::{DAY, Event, MINUTE, SECOND, Timeline};
use super::{Contradiction, Evaluation, FAR, Kind, MUCH, evaluate};
use crate::tolerance::Tolerance;

/// The weight of the contradictions of a hypothesis. Each weighs 2, but an excess weighs at least as much as the requests that it does not
/// explain. An early refusal that reports nothing remaining weighs 1: other clients may have used the rest without a trace.
fn weight(evaluation: &Evaluation, timeline: &Timeline<'_>) -> i64 {
    let mut sum = 0;
    for contradiction in &evaluation.contradictions {
        sum += match contradiction.kind {
            Kind::Early if timeline.events[contradiction.at].is_capped() => 1,
            Kind::Excess => (contradiction.found - contradiction.bound).max(2),
            _ => 2,
        };
    }
    sum
}

impl Evaluation {
    /// Returns true if the contradictions show that a Reset has restored nothing. There must be two with several requests, or one with so
    /// many that other clients are unlikely to have used exactly that number since.
    pub(in crate::limits) fn restores_nothing(&self) -> bool {
        const LARGE: i64 = 10;
        let of_kind = self.contradictions.iter().filter(|found| found.kind == Kind::NotRestored);
        let mut kept = of_kind.map(|found| found.found - found.bound);
        kept.clone().filter(|count| *count >= MUCH).count() > 1 || kept.any(|count| count >= LARGE)
    }
}

/// Returns true if other clients are a likely explanation, given the weight against the best plain way of counting without them. They may
/// explain as many requests as that weight, or twice as many if they explain everything. More requests than that are failures of the run,
/// which count. Where failures are free, the excess may be nothing but these: then other clients do not explain a server that leaves
/// requests uncounted.
fn is_likely(shared: &Evaluation, plain: i64) -> bool {
    let leaves_uncounted = shared.contradictions.iter().any(|found| found.kind == Kind::NotCounted);
    if leaves_uncounted && shared.hypothesis.failures != Failures::Count {
        return false;
    }
    shared.excess <= if shared.contradictions.is_empty() { 2 * plain } else { plain }
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
    /// Whether only the run uses the key.
    is_key_exclusive: bool,
    hypotheses: Vec<Hypothesis>,
    /// The figures whose counts a plain way of counting explains without other clients.
    counted: HashSet<Figures>,
    /// The weight against the best plain way of counting.
    plain: i64,
}

/// Finds the hypothesis with the fewest contradictions, by weight. If the key is exclusive, no hypothesis has other clients.
pub(in crate::limits) fn explain(timeline: &Timeline<'_>, plan: Option<Figures>, common: CommonFacts) -> Evaluation {
    let hypotheses = hypotheses(&timeline.figures(plan), &timeline.events, common);
    let is_key_exclusive = common.is_exclusive;
    let mut search = Search { timeline, is_key_exclusive, hypotheses, counted: HashSet::new(), plain: FAR };
    let mut best = search.with_likely_others(search.hypotheses[0], FAR);
    for at in 1..search.hypotheses.len() {
        let least = weight(&best, timeline);
        if least == 0 {
            break;
        }
        let candidate = search.with_likely_others(search.hypotheses[at], least);
        // A plain way of counting is left for one that explains everything, or that has less than half of its weight.
        let is_plain_left = best.hypothesis.is_plain() && !candidate.hypothesis.is_plain();
        if weight(&candidate, timeline) * if is_plain_left { 2 } else { 1 } < least {
            best = candidate;
        }
    }
    search.adopt_unseen_others(&mut best);
    name_a_reset_that_moves(&mut best, timeline);
    best.contradictions.sort_by_key(|contradiction| contradiction.at);
    best
}

/// The slots of a log, as Resets show them: each is a minute after the begin of a slot, and not all are ends of the same minutes. Returns the
/// length of a slot and the begin of the first one, in seconds.
fn slots_of(events: &[Event<'_>]) -> Option<(i64, i64)> {
    // A refusal may report the end of a ban.
    let reports = events.iter().filter(|event| event.is_admitted()).filter_map(|event| event.report);
    let begins: HashSet<i64> = reports.map(|report| report.reset / SECOND - 60).collect();
    let first = *begins.iter().min()?;
    let are_apart = begins.iter().any(|begin| (begin - first) % 60 != 0);
    // Some servers round the begin of one slot now up, now down.
    let within = |slot: i64, from: i64, off: i64| begins.iter().all(|begin| (begin - from).rem_euclid(slot) <= off);
    [(first, 0), (first, 1), (first - 1, 1)].into_iter().find_map(|(from, off)| {
        let slot = (5..=30).rev().find(|slot| are_apart && within(*slot, from, off))?;
        Some((slot, (from + off).rem_euclid(slot)))
    })
}

/// Returns true if admitted responses report ends of days that are apart, and most of them a day after a request of the run, as a log of the
/// last day does. The requests before the run may be the newest ones at first.
fn may_drain_a_day(events: &[Event<'_>], figures: Figures) -> bool {
    let slack = Tolerance::ROUNDING.seconds() * SECOND;
    let of_day = events.iter().filter(|event| event.is_admitted() && event.span(figures) == Some(Span::Day));
    let ends: Vec<i64> = of_day.filter_map(|event| event.report).map(|report| report.reset).collect();
    let are_apart = ends.iter().min().zip(ends.iter().max()).is_some_and(|(first, last)| last - first > slack);
    let of_own = ends.iter().filter(|end| **end + slack >= events[0].arrival.0 + DAY).count();
    are_apart && 2 * of_own > ends.len()
}

/// Every hypothesis that the outcomes of these events can distinguish, without other clients. The plain ones come first.
fn hypotheses(figures: &[Figures], events: &[Event<'_>], common: CommonFacts) -> Vec<Hypothesis> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    for event in events {
        if !outcomes.contains(&event.outcome) {
            outcomes.push(event.outcome);
        }
    }
    let failures = common.failures.map_or_else(|| Failures::distinguished(&outcomes), |known| vec![known]);
    let refusals: &[bool] = if outcomes.contains(&Outcome::Refused) { &[false, true] } else { &[false] };
    // Where each Reset is the end of a minute, the next restoration is like the end of the window. Without a `Date`, nothing shows when the
    // minutes of such a count begin.
    let is_next_known = events.iter().all(|event| event.date().is_some())
        && events.iter().any(|event| event.report.is_some_and(|report| report.reset.rem_euclid(MINUTE) != 0));
    let is_likely = |cut: &Cut| match cut {
        Cut::WeightedNext { on_clock } => is_next_known && (*on_clock || common.shows_restorations),
        _ => true,
    };
    let (slots, mut all) = (slots_of(events), Vec::new());
    let days: &[bool] =
        if figures.iter().any(|figures| may_drain_a_day(events, *figures)) { &[false, true] } else { &[false] };
    for failures in failures {
        for &written in &[Written::After, Written::Before, Written::OnAnswer] {
            for cut in Cut::ALL.into_iter().filter(is_likely) {
                for (slot, first_slot) in std::iter::once((0, 0)).chain(slots.filter(|_| cut.is_log())) {
                    for &counts_refusals in refusals {
                        for (&day_drains, &figures) in
                            days.iter().flat_map(|day| figures.iter().map(move |of| (day, of)))
                        {
                            let others = Others::Nobody;
                            all.push(Hypothesis {
                                figures,
                                cut,
                                slot,
                                first_slot,
                                day_drains,
                                written,
                                failures,
                                counts_refusals,
                                others,
                            });
                        }
                    }
                }
            }
        }
    }
    all.sort_by_key(|hypothesis| !hypothesis.is_plain());
    all
}

/// Adds the first Reset that moves to the contradictions of a count that slides. Either the counts are wrong for a Reset that moves, or
/// the Reset is wrong for the counts.
fn name_a_reset_that_moves(best: &mut Evaluation, timeline: &Timeline<'_>) {
    let is_explained = best.contradictions.iter().all(|found| found.kind == Kind::Excess);
    if is_explained || best.hypothesis.cut.is_fixed() {
        return;
    }
    let fixed = evaluate(Hypothesis { cut: Cut::First, others: Others::Nobody, ..best.hypothesis }, timeline, FAR);
    let moves = fixed.contradictions.into_iter().find(|found| found.kind == Kind::ResetMoves);
    best.contradictions.extend(moves);
}

impl Search<'_, '_> {
    /// Returns true if every response is from the same address of the service and reports the minute.
    fn reports_minutes_of_one_address(&self, figures: Figures) -> bool {
        let mut reporting = self.timeline.events.iter().filter(|event| event.report.is_some());
        let addresses = self.timeline.events.iter().map(|event| event.entry.exchange.request.replica.unwrap_or(0));
        reporting.all(|event| event.span(figures) == Some(Span::Minute))
            && addresses.collect::<HashSet<usize>>().len() <= 1
    }

    /// Evaluates a hypothesis, with other clients if something shows them. The evaluation ends early if its weight is above `least`.
    fn with_likely_others(&mut self, hypothesis: Hypothesis, least: i64) -> Evaluation {
        let is_plain = hypothesis.is_plain();
        let mut candidate = evaluate(hypothesis, self.timeline, if is_plain { FAR } else { least });
        if is_plain {
            self.plain = self.plain.min(weight(&candidate, self.timeline));
            let mut contradictions = candidate.contradictions.iter();
            if !contradictions.any(|found| matches!(found.kind, Kind::Excess | Kind::NotCounted | Kind::Rises)) {
                self.counted.insert(hypothesis.figures);
            }
        }
        if self.is_key_exclusive {
            return candidate;
        }
        let shared = Hypothesis { others: Others::Shown, ..hypothesis };
        let falls = self.timeline.falls_by_more;
        if self.may_have_others(&candidate) {
            let evaluation = evaluate(shared, self.timeline, least);
            let is_shown = falls && hypothesis.cut == Cut::Log && evaluation.contradictions.is_empty();
            if is_plain || is_shown || is_likely(&evaluation, self.plain) {
                candidate = evaluation;
            }
        }
        // A count that slides restores little at a time, so that other clients may use all of it. Remaining shows them by its falls,
        // unless those are the differences between the counters of several addresses.
        let may_slide = falls && !hypothesis.cut.is_fixed() && self.reports_minutes_of_one_address(hypothesis.figures);
        // Other clients may have opened windows that begin with requests.
        let may_open =
            hypothesis.cut == Cut::First && self.others_explain(&candidate, |found| found.kind == Kind::ResetOff);
        if (may_slide || may_open) && !candidate.contradictions.is_empty() {
            let evaluation = evaluate(shared, self.timeline, 0);
            if evaluation.contradictions.is_empty() {
                candidate = evaluation;
            }
        }
        candidate
    }

    /// Returns true if other clients may explain the contradictions of a hypothesis. Either responses show them, or they explain each
    /// contradiction and no plain way of counting explains the counts: an excess by the failures of the run shows that failures count.
    fn may_have_others(&self, evaluation: &Evaluation) -> bool {
        let (figures, contradictions) = (evaluation.hypothesis.figures, &evaluation.contradictions);
        evaluation.shows_others && !contradictions.is_empty()
            || self.others_explain(evaluation, |found| self.may_be_hidden(found, figures))
    }

    /// Returns true if other clients may explain each contradiction, and these as well, and no plain way of counting explains the counts.
    fn others_explain(&self, evaluation: &Evaluation, also: impl Fn(&Contradiction) -> bool) -> bool {
        let contradictions = &evaluation.contradictions;
        contradictions.iter().any(is_by_others)
            && contradictions.iter().all(|found| is_by_others(found) || also(found))
            && !evaluation.restores_nothing()
            && !self.counted.contains(&evaluation.hypothesis.figures)
    }

    /// Returns true if an early refusal reports a day that is not exhausted. Other clients may have exhausted the minute behind the day.
    fn may_be_hidden(&self, contradiction: &Contradiction, figures: Figures) -> bool {
        let event = &self.timeline.events[contradiction.at];
        contradiction.kind == Kind::Early && event.span(figures) == Some(Span::Day) && !event.is_capped()
    }

    /// Adopts other clients that no response shows, if they explain all but some refusals. Such clients do not explain admissions over the
    /// limit: they use requests up, and make no room.
    fn adopt_unseen_others(&self, best: &mut Evaluation) {
        let is_over_admitted = |found: &Contradiction| {
            matches!(found.kind, Kind::Reopened | Kind::OverAdmitted | Kind::Burst | Kind::OtherStatus)
        };
        let contradictions = &best.contradictions;
        let is_explained = contradictions.is_empty();
        if is_explained
            || self.is_key_exclusive
            || contradictions.iter().any(is_over_admitted)
            || best.restores_nothing()
        {
            return;
        }
        // A sliding count would explain nearly anything with clients that no response shows.
        let mut candidates = vec![best.hypothesis];
        if !contradictions.iter().all(is_of_refusal) {
            candidates.clone_from(&self.hypotheses);
            candidates.retain(|hypothesis| hypothesis.cut.is_fixed());
        }
        for hypothesis in candidates {
            let least = weight(best, self.timeline);
            let unseen = evaluate(Hypothesis { others: Others::Unseen, ..hypothesis }, self.timeline, least);
            // A limiter that refuses early does so in several windows.
            let is_early = unseen.contradictions.iter().any(|found| found.kind == Kind::Early);
            let is_believed = unseen.contradictions.iter().all(is_of_refusal)
                && !(is_early && unseen.exhausted_unseen.is_some())
                && (hypothesis.is_plain()
                    || hypothesis == best.hypothesis
                    || unseen.contradictions.is_empty() && is_likely(&unseen, self.plain));
            if is_believed && weight(&unseen, self.timeline) < least {
                *best = unseen;
            }
        }
    }
}
