//! Exceeding the limit: 429 at the right moment, for every operation.

use crate::facts::Facts;
use crate::history::Entry;
use crate::limiter::{Answer, Arrival, KeyLimits, Refusal, is_flat};
use crate::rules::{Judgement, Rule, answered};
use crate::tolerance::Tolerance;

pub(crate) const RULES: &[Rule] = &[
    Rule::of_keys("quota.enforced", enforced),
    Rule::of_keys("quota.not-exceeded", not_exceeded),
    Rule::of_keys("quota.not-early", not_early),
    Rule::of_keys("quota.every-operation", every_operation),
];

fn enforced(_: &Facts<'_>, key: &KeyLimits<'_>, judgement: &mut Judgement) {
    let expected = "429 for the request after the last that the limit admits";
    let limited = key.answers().iter().filter(|answer| answer.entry.is_limited()).count();
    (0..limited).for_each(|_| judgement.hold());
    for admitted in key.windows() {
        let limit = admitted[0].window.limit;
        if limited == 0 && admitted.len() as u64 > limit {
            let last = admitted[admitted.len() - 1].entry;
            judgement.fail(&[last], expected, format!("{} successes in a window of {limit}", admitted.len()));
        }
    }
    still_limited(key, judgement);
    for &Answer { entry, window } in key.answers() {
        let refused = matches!(entry.status(), Some(400..=599)) && !entry.is_limited();
        let owed_success = entry.operation.is_certainly_valid() && entry.operation.name() == "GET /pets";
        if refused && owed_success && window.remaining == 0 {
            judgement.fail(&[entry], expected, format!("{} with nothing remaining", answered(entry)));
        }
    }
}

/// After a 429 the window stays exhausted until its reset, for every operation: what is requested next, while nothing remains, gets
/// 429 too.
fn still_limited(key: &KeyLimits<'_>, judgement: &mut Judgement) {
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
        // A day's headers say nothing of the minute; and what fails for others may make room again.
        let certain = || {
            limited.precedes(&next)
                && next.entry.operation.is_certainly_valid()
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
    for admitted in key.windows() {
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
        let found = format!("{} successes within a minute", 2 * plan_limits.per_minute + 1);
        judgement.fail(&[last.entry, first.entry], format!("at most {} in a minute", plan_limits.per_minute), found);
    }
}

/// Two successes, one after the other, that both left nothing. Whether Remaining is reported before or after a request is counted, only
/// one can be the last; of several at once, all may report what remains when their answers go out, and what failed at the same time may be
/// given back. At the Reset that the first reported, the oldest of a log may have dropped out.
fn both_the_last<'h>(facts: &Facts<'_>, admitted: &[Answer<'h>]) -> Option<[&'h Entry<'h>; 2]> {
    let is_last =
        |answer: &&Answer<'_>| answer.window.remaining == 0 && !facts.history.is_beside_a_failure(answer.entry);
    let mut spent = admitted.iter().filter(is_last);
    let first = spent.next()?;
    let end = first.window.reset - Tolerance::CLOCK_SLACK.seconds();
    let is_before_reset = |answer: &Answer<'_>| Arrival::of(answer.entry).is_none_or(|arrival| arrival.earliest < end);
    spent.find(|second| first.precedes(second) && is_before_reset(second)).map(|second| [first.entry, second.entry])
}

fn not_early(_: &Facts<'_>, key: &KeyLimits<'_>, judgement: &mut Judgement) {
    for Refusal { limited, before, is_early } in key.refusals() {
        if is_early {
            let (remaining, reset) = (before.window.remaining, limited.window.reset);
            let found = format!("429, although {remaining} remained until {reset} and nobody else used them");
            judgement.fail(&[limited.entry, before.entry], "no 429 while requests remain", found);
        } else {
            judgement.hold();
        }
    }
}

fn every_operation(_: &Facts<'_>, key: &KeyLimits<'_>, judgement: &mut Judgement) {
    let pairs = key.successive();
    // Where nothing ever falls, `headers.remaining-falls` says so once; in a log, another may just have dropped out, and of a counter
    // that slides, some of the weight of its last window may have decayed.
    let slides = key.is_sliding_log() || key.is_sliding_counter();
    let falls = pairs.iter().any(|pair| !is_flat(pair)) && !slides;
    for pair in pairs {
        if !is_flat(pair) || !falls {
            judgement.hold();
            continue;
        }
        let [before, after] = pair;
        let found = format!(
            "Remaining went from {} on {} to {} on {}",
            before.window.remaining,
            before.entry.operation.name(),
            after.window.remaining,
            after.entry.operation.name()
        );
        judgement.fail(&[after.entry, before.entry], "every successful request uses up one", found);
    }
}

#[cfg(test)]
mod tests;
