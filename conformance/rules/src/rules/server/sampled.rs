//! Limits judged from a sample: any request may be missing from the trace.
//!
//! A missing request can only add to a count. A sample therefore contradicts a limit if its successes are too many, or if they used
//! nothing. Every count covers one window with one end, and responses that the server dated well before that end: in every way of
//! counting, their requests are still in the window.

use std::collections::{BTreeMap, HashSet};

use crate::facts::Facts;
use crate::limits::{Answer, KeyLimits, one_after_another};
use crate::rules::Judgement;
use crate::sentence::sentence;
use crate::tolerance::Tolerance;

/// The least number of successes that shows a Remaining which never falls.
const MIN_SUCCESSES: usize = 10;

/// The successes of a key in each window, by its Limit and its Reset. Identical responses count once, and responses from a cache do
/// not count.
///
/// A request may have been counted in the window before the one that its response reports. Each window therefore begins with a
/// response that was complete before the other requests were sent.
fn windows<'k, 'h>(key: &'k KeyLimits<'h>) -> BTreeMap<(u64, i64), Vec<&'k Answer<'h>>> {
    let mut windows: BTreeMap<(u64, i64), Vec<&Answer<'_>>> = BTreeMap::new();
    let mut seen = HashSet::new();
    let slack = Tolerance::CLOCK_SLACK.seconds();
    for answer in key.answers().iter().filter(|answer| answer.entry.succeeded() && answer.window.limit > 0) {
        let (Some(ahead), Some(response)) = (answer.ahead(), answer.entry.exchange.response()) else { continue };
        if ahead <= slack || ahead > Tolerance::DAY.seconds() + slack {
            continue;
        }
        let is_kept = response.values("age").any(|age| age.trim() != "0");
        if is_kept || !seen.insert((&response.headers, &response.body)) {
            continue;
        }
        let window = windows.entry((answer.window.limit, answer.window.reset)).or_default();
        if window.first().is_none_or(|first| first.precedes(answer)) {
            window.push(answer);
        }
    }
    windows
}

/// Requires that no window has more successes than its limit. The first of them may have been counted in the window before.
pub(super) fn not_exceeded(_: &Facts<'_>, key: &KeyLimits<'_>, judgement: &mut Judgement) {
    for ((limit, reset), admitted) in windows(key) {
        let certain = admitted.len() as u64 - 1;
        if certain > limit {
            let found = sentence!("{} successes before the reset at {}", certain, reset);
            let last = admitted[admitted.len() - 1].entry;
            judgement.fail(&[last, admitted[0].entry], sentence!("at most {} in one window", limit), found);
        }
    }
}

/// Requires that Remaining changes over a series of successes that is too long to be restored meanwhile. A counter that slides
/// between two windows restores its limit within a minute.
pub(super) fn remaining_falls(_: &Facts<'_>, key: &KeyLimits<'_>, judgement: &mut Judgement) {
    for ((limit, reset), admitted) in windows(key) {
        let admitted = one_after_another(admitted);
        let (first, last) = (admitted[0], admitted[admitted.len() - 1]);
        let remaining = first.window.remaining;
        let seconds = admitted.iter().filter_map(|answer| answer.entry.server_time()).map(|time| time.as_second());
        let (Some(from), Some(to)) = (seconds.clone().min(), seconds.max()) else { continue };
        let longest = u64::try_from(to - from).unwrap_or_default() + Tolerance::CLOCK_SLACK.unsigned().as_secs();
        let restored = limit.saturating_mul(longest).div_ceil(Tolerance::MINUTE.unsigned().as_secs());
        let is_constant = admitted.iter().all(|answer| answer.window.remaining == remaining) && remaining > 0;
        if is_constant && to > from && admitted.len() >= MIN_SUCCESSES && admitted.len() as u64 > restored + 1 {
            let found = sentence!("{} after each of {} before the reset at {}", remaining, admitted.len(), reset);
            judgement.fail(&[last.entry, first.entry], "a Remaining that falls with every successful request", found);
        }
    }
}

/// Requires that each Limit is a figure of the named plan.
pub(super) fn limit_figure(facts: &Facts<'_>, key: &KeyLimits<'_>, judgement: &mut Judgement) {
    let Some(plan) = facts.history.context.plan_limits else { return };
    for answer in key.answers().iter().filter(|answer| answer.entry.succeeded()) {
        let limit = answer.window.limit;
        if ![plan.per_minute, plan.per_day].contains(&limit) {
            let expected = sentence!("a Limit of {} or {}", plan.per_minute, plan.per_day);
            judgement.fail(&[answer.entry], expected, sentence!("a success with a Limit of {}", limit));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::catalogue::plan::PlanLimits;
    use crate::facts::Facts;
    use crate::history::History;
    use crate::rules::{judge, rules};
    use crate::tests::TraceBuilder;
    use crate::trace::knowledge::Extent;

    /// The requirements on limits that this breaks if it is a sample.
    fn broken(builder: TraceBuilder) -> Vec<&'static str> {
        let mut trace = builder.trace();
        trace.context.extent = Extent::Sample;
        let history = History::new(&trace);
        let judgements = judge(&rules(), &Facts::new(&history));
        let failed = judgements.into_iter().filter(|(_, judgement)| !judgement.failures.is_empty());
        failed.map(|(id, _)| id).filter(|id| id.starts_with("headers.") || id.starts_with("quota.")).collect()
    }

    /// Successes with these figures, the given time apart, each with a number of its own.
    fn successes(apart: i64, limit: u64, remaining: impl Iterator<Item = u64>) -> TraceBuilder {
        remaining.enumerate().fold(TraceBuilder::new(), |builder, (number, remaining)| {
            builder.list(200, remaining, limit).header("x-request-id", &number.to_string()).wait_millis(apart)
        })
    }

    #[test]
    fn more_successes_than_a_window_admits_are_too_many() {
        let falls_slowly = |count: u64| successes(100, 7, (0..count).map(|number| 7 - number / 2));
        assert_eq!(broken(falls_slowly(8)), [""; 0], "the first may be of the window before");
        assert_eq!(broken(falls_slowly(9)), ["quota.not-exceeded"]);
    }

    #[test]
    fn copies_of_an_answer_count_once() {
        let copies = (0..9).fold(TraceBuilder::new(), |builder, _| builder.list(200, 6, 7));
        assert_eq!(broken(copies), [""; 0]);
    }

    #[test]
    fn answers_that_a_cache_has_kept_do_not_count() {
        let kept = |age: &str| {
            (0..9).fold(TraceBuilder::new(), |builder, number| {
                builder.list(200, 6, 7).header("x-request-id", &format!("{number}")).header("age", age)
            })
        };
        assert_eq!(broken(kept("3")), [""; 0]);
        assert_eq!(broken(kept("0")), ["quota.not-exceeded"]);
    }

    #[test]
    fn requests_at_the_same_time_may_be_reported_alike() {
        let together = successes(1, 60, std::iter::repeat_n(40, 30)).together(1..=30);
        assert_eq!(broken(together), [""; 0]);
    }

    #[test]
    fn near_the_end_of_a_window_the_next_may_have_begun() {
        let early = successes(1, 7, (0..7).rev());
        let late = (0..7).fold(early.wait(58), |builder, number| {
            builder.list(200, 6 - number, 7).header("x-request-id", &format!("late {number}"))
        });
        assert_eq!(broken(late), [""; 0]);
    }

    #[test]
    fn a_remaining_that_many_successes_leave_as_it_was_does_not_fall() {
        assert_eq!(broken(successes(150, 60, std::iter::repeat_n(59, 10))), ["headers.remaining-falls"]);
        assert_eq!(broken(successes(150, 60, std::iter::repeat_n(59, 9))), [""; 0], "too few");
        assert_eq!(broken(successes(1_000, 60, std::iter::repeat_n(30, 50))), [""; 0], "one is restored each second");
        assert_eq!(broken(successes(150, 60, (50..60).rev())), [""; 0], "it falls");
    }

    #[test]
    fn a_limit_of_another_plan_is_not_that_of_the_plan_that_was_named() {
        let named = |limit| {
            let plan = PlanLimits { per_minute: 60, per_day: 1_000 };
            broken(TraceBuilder::new().plan(Some(plan)).list(200, 5, limit))
        };
        assert_eq!(named(60), [""; 0]);
        assert_eq!(named(1_000), [""; 0]);
        assert_eq!(named(100), ["headers.limit-figure"]);
    }
}
