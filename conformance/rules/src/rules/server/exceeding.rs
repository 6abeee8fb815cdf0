//! Exceeding the limit: 429 at the right moment, for every operation.

use super::sampled;
use crate::facts::Facts;
use crate::history::Entry;
use crate::limits::{Answer, Costly, Finding, KeyLimits, Kind, SpentByAnother};
use crate::rules::needs::Needs;
use crate::rules::{Judgement, Rule};
use crate::sentence::sentence;
use crate::tolerance::Tolerance;

pub(crate) const RULES: &[Rule] = &[
    Rule::of_keys("quota.enforced", enforced).needing(Needs::LIMITS),
    Rule::of_keys("quota.not-exceeded", not_exceeded)
        .needing(Needs::LIMITS)
        .contradicted_in_samples_by(sampled::not_exceeded),
    Rule::of_keys("quota.not-early", not_early).needing(Needs::LIMITS),
    Rule::of_keys("quota.every-operation", every_operation).needing(Needs::LIMITS),
];

/// Returns true if the key was refused earlier in the window whose limit the admitted request exceeds.
fn is_after_a_refusal(key: &KeyLimits<'_>, finding: &Finding<'_>) -> bool {
    let Some(window) = finding.window(0).filter(|window| i64::try_from(window.limit) == Ok(finding.bound)) else {
        return false;
    };
    key.answers().iter().any(|Answer { entry, window: refused_in }| {
        entry.is_limited() && entry.precedes(finding.entries[0]) && refused_in.is_same(window)
    })
}

/// Note of `quota.enforced` for a run in which every refusal is for the minute.
const ONLY_THE_MINUTE: &str =
    "only the limit per minute was reached; a key whose day is nearly used up shows the other";

/// Returns true if an entry is a refusal whose window ends later than any minute.
fn is_refused_for_the_day(entry: &Entry<'_>) -> bool {
    let window = entry.window().filter(|_| entry.is_limited());
    window.is_some_and(|window| window.reset - entry.answered_at().as_second() > 2 * Tolerance::MINUTE.seconds())
}

fn enforced(&Facts { history, .. }: &Facts<'_>, key: &KeyLimits<'_>, judgement: &mut Judgement) {
    judgement.judged += key.refused();
    let explanation = key.explanation();
    let expected = "429 for the request after the last that the limit admits";
    for finding in explanation.of_kinds(&[Kind::OverAdmitted, Kind::Burst]) {
        if key.refused() == 0 || is_after_a_refusal(key, finding) {
            judgement.fail(&finding.entries, expected, finding.found());
        }
    }
    judgement.fail_all(explanation.of_kinds(&[Kind::Reopened, Kind::OtherStatus]));
    if history.is_run() && !history.entries.iter().any(is_refused_for_the_day) {
        judgement.unseen = Some(ONLY_THE_MINUTE.to_owned());
    }
}

fn not_exceeded(_: &Facts<'_>, key: &KeyLimits<'_>, judgement: &mut Judgement) {
    judgement.judged += key.answers().iter().filter(|answer| answer.entry.succeeded()).count();
    judgement.fail_all(key.explanation().of_kinds(&[Kind::OverAdmitted, Kind::Burst]));
}

/// Note of `quota.not-early` for a run in which no refusal can be compared with the requests before it.
const NOT_COMPARABLE: &str = "every 429 came after a pause or after another 429, or requested a longer wait than its window lasts, as \
    under a ban: what remained before them is unknown";

fn not_early(facts: &Facts<'_>, key: &KeyLimits<'_>, judgement: &mut Judgement) {
    let explanation = key.explanation();
    judgement.judged += explanation.refusals.len();
    if explanation.refusals.is_empty() && key.refused() > 0 {
        judgement.withheld = Some(NOT_COMPARABLE.to_owned());
    }
    judgement.fail_all(explanation.of_kinds(&[Kind::Early, Kind::Interrupted]));
    for SpentByAnother { limited, first, own } in facts.limiter.spent_by_another(key.index()) {
        let found = sentence!(
            "429 after {} requests, although {} remained: requests with another key exhausted the rest",
            own,
            first.window.remaining
        );
        judgement.fail(&[limited, first.entry], "a limit for each key", found);
    }
}

fn every_operation(_: &Facts<'_>, key: &KeyLimits<'_>, judgement: &mut Judgement) {
    for Costly { cost, times, seen: [before, after] } in key.costly_operations() {
        let found = sentence!(
            "Remaining falls by {} on {}, in {} of {} requests",
            cost,
            after.entry.operation.name(),
            times,
            times
        );
        judgement.fail(&[after.entry, before.entry], "each successful request lowers Remaining by one", found);
    }
    let explanation = key.explanation();
    judgement.judged += explanation.compared;
    if key.is_exclusive() {
        judgement.fail_all(explanation.of_kinds(&[Kind::Excess]));
    }
    // `headers.remaining-falls` reports a Remaining that never falls.
    if explanation.never_falls.is_none() {
        judgement.fail_all(explanation.of_kinds(&[Kind::NotCounted]));
    }
}

#[cfg(test)]
mod tests;
