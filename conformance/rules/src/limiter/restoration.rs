//! Restoration: whether anything was restored at the times at which Reset said that the limit resets.

use super::Limiter;
use super::arrival::Arrival;
use super::key::{Answer, KeyLimits};
use crate::tolerance::Tolerance;

impl<'h> Limiter<'h> {
    /// Two answers, before and after a Reset, where at no Reset that passed during the run anything was restored to any key.
    ///
    /// Of a log one request at the least drops out at its Reset, and a window begins anew. Of a counter that slides a part decays,
    /// which may be less than one; so one of the passages has to leave time for more. That somebody else used at each Reset what had
    /// just been restored, no more and no less, and nothing at other times, is not taken for possible.
    #[must_use]
    pub fn never_restored(&self) -> Option<[Answer<'h>; 2]> {
        const TWICE: usize = 2;
        if self.keys().iter().any(|key| key.is_sliding_log() || key.is_used_within_windows()) {
            return None;
        }
        let of_keys = self.keys().iter().flat_map(|key| key.passages().map(move |passage| (key, passage)));
        let passages: Vec<(&KeyLimits<'h>, [Answer<'h>; 2])> = of_keys.collect();
        let none_restored = passages.len() >= TWICE && passages.iter().all(|(key, passage)| key.goes_on(passage));
        let mut passages = passages.into_iter().rev().map(|(_, passage)| passage);
        none_restored.then(|| passages.find(must_have_decayed))?
    }
}

impl<'h> KeyLimits<'h> {
    /// Whether Remaining went on from where it was when the last Reset had passed: whoever waits for the next one may wait in vain.
    #[must_use]
    pub fn goes_on_after_a_reset(&self) -> bool {
        self.passages().last().is_some_and(|passage| self.goes_on(&passage))
    }

    /// Answers to requests that followed each other, but for refusals, which may report another limit; the second came after the Reset that
    /// the first reported.
    fn passages(&self) -> impl Iterator<Item = [Answer<'h>; 2]> {
        let admitted: Vec<Answer<'h>> =
            self.answers().iter().filter(|answer| !answer.entry.is_limited()).copied().collect();
        let pairs: Vec<[Answer<'h>; 2]> = admitted.windows(2).map(|pair| [pair[0], pair[1]]).collect();
        pairs.into_iter().filter(|[before, after]| {
            let has_passed =
                since_reset(before, after).is_some_and(|seconds| seconds > Tolerance::CLOCK_SLACK.seconds());
            has_passed && before.precedes(after) && before.window.limit == after.window.limit
        })
    }

    /// Whether Remaining went on from where it was.
    fn goes_on(&self, [before, after]: &[Answer<'_>; 2]) -> bool {
        let fell = before.window.remaining.checked_sub(after.window.remaining);
        let sent = self.history.sent_between(before.entry, after.entry);
        // What fails may cost nothing.
        let least = u64::from(after.entry.succeeded());
        let is_used = before.window.remaining < before.window.limit;
        is_used && fell.is_some_and(|fell| (least..=sent).contains(&fell))
    }

    /// Whether Remaining fell within a window by more than the run's own requests explain.
    fn is_used_within_windows(&self) -> bool {
        self.pairs().any(|[before, after]| {
            let fell = before.window.remaining.saturating_sub(after.window.remaining);
            let is_running = since_reset(&before, &after).is_some_and(|seconds| seconds < 0);
            let is_certain = before.precedes(&after) && !after.entry.is_limited();
            is_certain
                && is_running
                && before.window.is_same(after.window)
                && fell > self.cost() * self.history.sent_between(before.entry, after.entry)
        })
    }
}

/// How many seconds after the Reset of one answer the request of another came, at the least.
fn since_reset(before: &Answer<'_>, after: &Answer<'_>) -> Option<i64> {
    Some(Arrival::of(after.entry)?.earliest - before.window.reset)
}

/// Whether of what was used before the Reset, more than one would have decayed since, had it only begun to weigh less.
fn must_have_decayed([before, after]: &[Answer<'_>; 2]) -> bool {
    const CERTAIN: u64 = 2;
    let used = before.window.limit.saturating_sub(before.window.remaining);
    let since = since_reset(before, after).map_or(0, |seconds| seconds.max(0).unsigned_abs());
    used * since >= CERTAIN * Tolerance::MINUTE.seconds().unsigned_abs()
}

#[cfg(test)]
mod tests {
    use crate::history::History;
    use crate::limiter::Limiter;
    use crate::trace_builder::TraceBuilder;

    fn is_never_restored(builder: TraceBuilder) -> bool {
        let trace = builder.trace();
        let history = History::new(&trace);
        Limiter::new(&history).never_restored().is_some()
    }

    /// What remains before and after two Resets of a limit of 1,000, of which each second answer comes so long after the Reset.
    fn never_restored(answers: [u64; 4], after: i64) -> bool {
        let [first, second, third, fourth] = answers;
        let begun = TraceBuilder::new().list(200, first, 1_000).wait(60 + after).window(60 - after);
        let passed = begun.list(200, second, 1_000).list(200, third, 1_000).wait(60).window(60);
        is_never_restored(passed.list(200, fourth, 1_000))
    }

    #[test]
    fn whether_the_last_reset_restored_anything_shows_in_the_next_answer() {
        let goes_on = |next: u64, after: i64| {
            let first = TraceBuilder::new().window(10).list(200, 43, 60);
            first.wait(10 + after).window(60).list(200, next, 60).main_key(|key| key.goes_on_after_a_reset())
        };
        assert!(goes_on(42, 3));
        assert!(!goes_on(59, 3));
        assert!(!goes_on(43, 3), "one dropped out of a log");
        assert!(!goes_on(42, 2), "clocks may disagree whether it has passed");
    }

    #[test]
    fn a_limit_whose_remaining_goes_on_at_every_reset_is_never_restored() {
        assert!(never_restored([940, 939, 938, 937], 3));
        assert!(!never_restored([940, 999, 998, 997], 3), "the first Reset restores all");
        assert!(!never_restored([940, 939, 938, 999], 3), "the second does");
        assert!(!never_restored([940, 941, 940, 941], 3), "one at least dropped out");
        assert!(!never_restored([999, 998, 997, 996], 3) && !never_restored([963, 962, 961, 960], 2));
        assert!(!never_restored([972, 971, 970, 969], 3), "so little decays slowly");
        assert!(never_restored([962, 961, 960, 959], 3));
        assert!(!never_restored([940, 939, 937, 936], 3), "somebody else uses the key");
        assert!(!never_restored([940, 939, 938, 937], 2), "clocks are reported to the second");
    }

    #[test]
    fn a_failure_shows_as_well_that_nothing_was_restored() {
        let of_second = |status, remaining| {
            let begun = TraceBuilder::new().list(200, 940, 1_000).wait(63).window(57).list(status, remaining, 1_000);
            is_never_restored(begun.list(200, 939, 1_000).wait(60).window(60).list(200, 938, 1_000))
        };
        assert!(of_second(400, 940) && of_second(400, 939), "free or not");
        assert!(of_second(429, 0), "a refusal says nothing, and the next answer does");
        assert!(!of_second(400, 1_000), "restored");
        let unused = TraceBuilder::new().list(200, 1_000, 1_000).wait(63).window(57).list(400, 1_000, 1_000);
        let once = unused.list(200, 940, 1_000).wait(60).window(60).list(200, 939, 1_000);
        assert!(!is_never_restored(once), "of what was not used nothing can be restored");
    }

    #[test]
    fn of_a_limit_that_nobody_had_used_nothing_can_be_restored() {
        let begun = |first| TraceBuilder::new().list(200, first, 1_000).wait(63).window(57).list(200, first - 1, 1_000);
        let used = |first: u64| {
            let fifty = (2..52).fold(begun(first), |builder, used| builder.list(200, first - used, 1_000));
            is_never_restored(fifty.wait(60).window(60).list(200, first - 52, 1_000))
        };
        assert!(used(999));
        assert!(!used(1_000));
    }

    #[test]
    fn what_is_used_at_a_reset_or_reported_with_a_refusal_is_not_used_within_a_window() {
        let begun = || TraceBuilder::new().list(200, 940, 1_000).wait(63).window(57).list(200, 939, 1_000);
        let goes_on = |builder: TraceBuilder| is_never_restored(builder.wait(60).window(60).list(200, 936, 1_000));
        assert!(goes_on(begun().list(200, 938, 1_000).list(200, 937, 1_000)));
        assert!(!goes_on(begun().wait(56).list(200, 937, 1_000)), "by somebody else");
        assert!(goes_on(begun().wait(57).list(200, 937, 1_000)));
        assert!(goes_on(begun().list(429, 0, 1_000).list(200, 937, 1_000)));
    }

    #[test]
    fn one_reset_is_not_enough() {
        let once = TraceBuilder::new().list(200, 940, 1_000).wait(63).window(57).list(200, 939, 1_000);
        assert!(!is_never_restored(once));
    }
}
