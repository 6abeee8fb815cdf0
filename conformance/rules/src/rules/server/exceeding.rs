//! Exceeding the limit: 429 at the right moment, for every operation.

use std::collections::BTreeSet;

use super::sampled;
use crate::facts::Facts;
use crate::history::Entry;
use crate::limiter::{Answer, Arrival, Costly, Interruption, KeyLimits, Refusal, SpentByAnother, is_flat};
use crate::rules::needs::Needs;
use crate::rules::{Judgement, Rule, answered};
use crate::tolerance::Tolerance;

pub(crate) const RULES: &[Rule] = &[
    Rule::of_keys("quota.enforced", enforced).needing(Needs::LIMITS),
    Rule::of_keys("quota.not-exceeded", not_exceeded)
        .needing(Needs::LIMITS)
        .contradicted_in_samples_by(sampled::not_exceeded),
    Rule::of_keys("quota.not-early", not_early).needing(Needs::LIMITS),
    Rule::of_keys("quota.every-operation", every_operation).needing(Needs::LIMITS),
];

fn enforced(facts: &Facts<'_>, key: &KeyLimits<'_>, judgement: &mut Judgement) {
    let expected = "429 for the request after the last that the limit admits";
    let limited = key.refused();
    (0..limited).for_each(|_| judgement.hold());
    let before = judgement.failures.len();
    // A Limit of 0 is none, which `headers.limit-figure` says.
    for admitted in key.windows().iter().filter(|admitted| limited == 0 && admitted[0].window.limit > 0) {
        let limit = admitted[0].window.limit;
        if admitted.len() as u64 > limit {
            let last = admitted[admitted.len() - 1].entry;
            judgement.fail(&[last], expected, format!("{} successes in a window of {limit}", admitted.len()));
        }
    }
    // Where no answer reports a window, the clock alone shows it.
    if let Some([first, last]) = key.bursts().next().filter(|_| limited == 0 && judgement.failures.len() == before) {
        judgement.fail(&[last, first], expected, key.burst_text());
    }
    still_limited(facts, key, judgement);
    // The last request that a window admits may fail for itself, and report that it was the last. After it, 429 is due.
    let mut last: Option<&Answer<'_>> = None;
    for answer in key.answers().iter().filter(|answer| answer.window.remaining == 0) {
        let &Answer { entry, window } = answer;
        let refused = matches!(entry.status(), Some(400..=599)) && !entry.is_limited();
        let owed_success = entry.operation.is_certainly_valid() && entry.operation.name() == "GET /pets";
        let is_after = |last: &&Answer<'_>| last.window.is_same(window) && last.precedes(answer);
        if let Some(last) = last.filter(is_after).filter(|_| refused && owed_success) {
            judgement.fail(&[entry, last.entry], expected, format!("{} with nothing remaining", answered(entry)));
        }
        if !matches!(entry.status(), Some(500..=599)) {
            last = Some(answer);
        }
    }
}

/// After a 429 the window stays exhausted until its reset, for every operation: what is requested next, while nothing remains, gets
/// 429 too.
fn still_limited(facts: &Facts<'_>, key: &KeyLimits<'_>, judgement: &mut Judgement) {
    // What the last window weighs decays, and may have made room.
    if key.is_sliding_counter() {
        return;
    }
    for [limited, next] in key.pairs() {
        let (before, now) = (limited.window, next.window);
        let end = before.reset - Tolerance::CLOCK_SLACK.seconds();
        let running = next.entry.server_time().is_some_and(|time| time.as_second() < end);
        let exhausted = before.remaining == 0 && now.remaining == 0 && before.is_same(now) && running;
        let admitted = limited.entry.is_limited() && next.entry.status().is_some() && !next.entry.is_limited();
        // What failed for itself at the same time may have been given back since.
        let gives_back =
            |other: &Entry<'_>| other.key() == Some(key.index()) && !other.succeeded() && !other.is_limited();
        // A day's headers say nothing of the minute; and what fails for others may make room again.
        let certain = || {
            limited.precedes(&next)
                && (next.entry.operation.is_certainly_valid() || next.entry.operation.is_certainly_at_fault())
                && !facts.history.meanwhile(limited.entry).any(gives_back)
                && !key.reports_day(limited.entry, before)
                && !key.has_other_traffic()
        };
        if admitted && exhausted && certain() {
            let expected = "429 for every operation until the window's reset";
            judgement.fail(&[next.entry, limited.entry], expected, format!("{} after a 429", answered(next.entry)));
        }
    }
}

fn not_exceeded(facts: &Facts<'_>, key: &KeyLimits<'_>, judgement: &mut Judgement) {
    for admitted in key.windows().iter().filter(|admitted| admitted[0].window.limit > 0) {
        let (limit, reset) = (admitted[0].window.limit, admitted[0].window.reset);
        // A log admits another whenever its oldest drops out, and a counter that slides when the weight of its last window has
        // decayed; their headers show whether that was so.
        if key.is_sliding_log() || key.is_sliding_counter() {
            judgement.hold();
            continue;
        }
        let counted = admitted.len() + key.failures_counted(admitted[0].window);
        let expected = format!("at most {limit} in one window");
        if admitted.len() as u64 > limit {
            let found = format!("{} successes before the reset at {reset}", admitted.len());
            judgement.fail(&[admitted[limit as usize].entry], expected, found);
        } else if counted as u64 > limit {
            let found = format!("{counted} before the reset at {reset}, failures included, which count here");
            judgement.fail(&[admitted[admitted.len() - 1].entry], expected, found);
        } else if let Some([first, second]) = both_the_last(facts, admitted) {
            let spent = admitted.iter().filter(|answer| answer.window.remaining == 0).count();
            let found = format!("{spent} successes with nothing remaining before the reset at {reset}");
            judgement.fail(&[second, first], "one last success in a window", found);
        } else {
            judgement.hold();
        }
    }
    if let (Some(plan_limits), Some([first, last])) = (key.plan_limits(), key.bursts().next()) {
        judgement.fail(&[last, first], format!("at most {} in a minute", plan_limits.per_minute), key.burst_text());
    }
}

/// Two successes, one after the other, that both left nothing. Whether Remaining is reported before or after a request is counted, only
/// one can be the last; of several at once, all may report what remains when their answers go out, and what failed at the same time may be
/// given back. At the Reset that the first reported, the oldest of a log may have dropped out.
fn both_the_last<'h>(facts: &Facts<'_>, admitted: &[Answer<'h>]) -> Option<[&'h Entry<'h>; 2]> {
    let is_last =
        |answer: &&Answer<'_>| answer.window.remaining == 0 && !facts.history.overlaps_a_failure(answer.entry);
    let mut spent = admitted.iter().filter(is_last);
    let first = spent.next()?;
    let end = first.window.reset - Tolerance::CLOCK_SLACK.seconds();
    let is_before_reset = |answer: &Answer<'_>| Arrival::of(answer.entry).is_none_or(|arrival| arrival.earliest < end);
    spent.find(|second| first.precedes(second) && is_before_reset(second)).map(|second| [first.entry, second.entry])
}

/// Why no refusal of a run shows whether it came early.
const NOT_COMPARABLE: &str = "every 429 came after a pause or after another 429, or requested a longer wait than its window lasts, as \
    under a ban: what remained before them is unknown";

fn not_early(facts: &Facts<'_>, key: &KeyLimits<'_>, judgement: &mut Judgement) {
    let expected = "no 429 while requests remain";
    let mut found_early = BTreeSet::new();
    let refusals: Vec<Refusal<'_>> = key.refusals().collect();
    // A refusal that reports that nothing remains may be due to somebody else, who used the rest unseen: in one window, not in several,
    // nor in those of several keys.
    let is_of_several_keys = || {
        let others = facts.limiter.keys().iter().filter(|other| other.index() != key.index());
        others.flat_map(KeyLimits::refusals).any(|refusal| refusal.is_early)
    };
    let may_be_by_others = |limited: &Answer<'_>| {
        let mut early = refusals.iter().filter(|refusal| refusal.is_early);
        limited.window.remaining == 0
            && early.all(|other| other.limited.window.is_same(limited.window))
            && !is_of_several_keys()
    };
    for &Refusal { limited, before, is_early } in &refusals {
        if is_early && !may_be_by_others(&limited) {
            let (remaining, reset) = (before.window.remaining, limited.window.reset);
            let found = format!("429, although {remaining} remained until {reset} and nobody else used them");
            judgement.fail(&[limited.entry, before.entry], expected, found);
            found_early.insert(limited.entry.exchange.number);
        } else {
            judgement.hold();
        }
    }
    if refusals.is_empty() && key.refused() > 0 {
        judgement.withheld = Some(NOT_COMPARABLE.to_owned());
    }
    for Interruption { limited, before, after } in key.interruptions() {
        if found_early.insert(limited.exchange.number) {
            let (earlier, later, reset) = (before.window.remaining, after.window.remaining, before.window.reset);
            let found = format!("429, although {earlier} remained before it and {later} after it, until {reset}");
            judgement.fail(&[limited, before.entry, after.entry], expected, found);
        }
    }
    for SpentByAnother { limited, first, own } in facts.limiter.spent_by_another(key.index()) {
        if found_early.insert(limited.exchange.number) {
            let found = format!(
                "429 after {own} requests, although {} remained: requests with another key exhausted the rest",
                first.window.remaining
            );
            judgement.fail(&[limited, first.entry], "a limit for each key", found);
        }
    }
}

fn every_operation(_: &Facts<'_>, key: &KeyLimits<'_>, judgement: &mut Judgement) {
    for Costly { cost, times, seen: [before, after] } in key.costly_operations() {
        let found =
            format!("Remaining falls by {cost} on {}, in {times} of {times} requests", after.entry.operation.name());
        judgement.fail(&[after.entry, before.entry], "each successful request lowers Remaining by one", found);
    }
    let pairs = key.successive();
    // Where nothing ever falls, `headers.remaining-falls` says so once, and where it rises, `headers.remaining-never-rises`: what is
    // added now and then may be added just when a request takes one away. In a log, another may just have dropped out, and of a counter
    // that slides, some of the weight of its last window may have decayed.
    let rises = |[before, after]: &[Answer<'_>; 2]| after.window.remaining > before.window.remaining;
    let slides = key.is_sliding_log() || key.is_sliding_counter();
    let falls = pairs.iter().any(|pair| !is_flat(pair)) && !pairs.iter().any(rises) && !slides;
    for pair in pairs {
        let [before, after] = pair;
        if !is_flat(pair) || !falls {
            judgement.hold();
            continue;
        }
        let found = format!(
            "Remaining went from {} on {} to {} on {}",
            before.window.remaining,
            before.entry.operation.name(),
            after.window.remaining,
            after.entry.operation.name()
        );
        judgement.fail(&[after.entry, before.entry], "each successful request lowers Remaining by one", found);
    }
}

#[cfg(test)]
mod tests;
