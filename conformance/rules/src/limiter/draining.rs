//! Logs of the last minute whose Reset is when they are empty: a minute after the newest request, so that each request moves it.
//!
//! Where requests are restored one by one, the specification does not say whether the limit resets with the first of them or with the
//! last. A window that always reports a minute from now looks the same until it ends: then it forgets requests that a log still keeps.
//! In a chain of requests that takes longer than a minute and has no long gap, the difference shows at least once.

use super::arrival::Arrival;
use super::key::{Answer, Draining, KeyLimits};
use super::sliding_log::ends_within_a_minute;
use super::windows::short_windows;
use crate::tolerance::Tolerance;

/// How many requests of the last minute come before each link of a chain: of a window that has just begun, none of them is counted, and
/// an answer may report its own request or not.
const RECENT: usize = 3;

impl<'h> KeyLimits<'h> {
    /// Whether the Reset is the time at which a log of the last minute is empty.
    #[must_use]
    pub fn draining(&self) -> Draining {
        *self.draining.get_or_init(|| {
            let Some([short, _]) = short_windows(self.answers_outside_bans()).next() else { return Draining::No };
            // What the run's own requests of the last minute do not explain may be older, and never restored.
            let is_explained = !self.exceeds_its_own() || self.falls_by_more();
            if !self.is_sliding_log() || !is_explained {
                return Draining::No;
            }
            let of_minutes = |answer: &&Answer<'_>| answer.window.limit == short.window.limit;
            let answers: Vec<Answer<'h>> = self.answers_outside_bans().iter().filter(of_minutes).copied().collect();
            let successes: Vec<Answer<'h>> = answers.iter().filter(|at| at.entry.succeeded()).copied().collect();
            let is_one = |answer: &Answer<'_>| {
                ends_within_a_minute(answer)
                    && outlasts_all_before(answer, &successes)
                    && (!self.counts_first() || counts_itself_as_well(answer, &successes))
            };
            match (answers.iter().all(is_one), outlasts_a_window(&successes)) {
                (false, _) => Draining::No,
                (true, false) => Draining::Possible,
                (true, true) => Draining::Shown,
            }
        })
    }
}

/// Whether the Reset of an answer is no less than a minute after each success before it.
fn outlasts_all_before(answer: &Answer<'_>, successes: &[Answer<'_>]) -> bool {
    let newest = answer.window.reset - Tolerance::MINUTE.seconds() + Tolerance::CLOCK_SLACK.seconds();
    let mut earlier = successes.iter().filter(|earlier| earlier.precedes(answer));
    earlier.all(|earlier| Arrival::of(earlier.entry).is_some_and(|came| came.earliest <= newest))
}

/// Whether a success reports at most what the successes of the last minute, including itself, leave.
fn counts_itself_as_well(answer: &Answer<'_>, successes: &[Answer<'_>]) -> bool {
    let kept = successes.iter().filter(|earlier| earlier.is_kept_until(answer)).count() as u64;
    !answer.entry.succeeded() || answer.window.limit.saturating_sub(answer.window.remaining) > kept
}

/// Whether successes follow each other, each with some others right before it, for longer than any minute.
fn outlasts_a_window(successes: &[Answer<'_>]) -> bool {
    let is_link = |answer: &Answer<'_>| {
        let is_recent = |earlier: &&Answer<'_>| earlier.is_kept_until(answer);
        successes.iter().filter(is_recent).count() >= RECENT
    };
    let is_long = |chain: &[Answer<'_>]| {
        let [first, last] = [chain[0], chain[chain.len() - 1]].map(|answer| answer.entry);
        is_link(&chain[0]) && last.time_since(first) > Tolerance::LONGEST_MINUTE.duration()
    };
    successes.chunk_by(|one, next| is_link(one) == is_link(next)).any(is_long)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::broken;
    use crate::trace_builder::TraceBuilder;

    /// This many lists, this many seconds apart, each a minute before the Reset that it reports; of a limit of 20.
    fn chain(seconds: i64, used: &[u64]) -> TraceBuilder {
        chained(TraceBuilder::new(), 1_000 * seconds, used)
    }

    fn chained(first: TraceBuilder, millis: i64, used: &[u64]) -> TraceBuilder {
        used.iter().fold(first, |builder, used| builder.wait_millis(millis).window(60).list(200, 20 - used, 20))
    }

    fn draining(builder: TraceBuilder) -> Draining {
        builder.main_key(|key| key.draining())
    }

    const LOG: [u64; 9] = [1, 2, 3, 4, 4, 4, 4, 4, 4];

    #[test]
    fn a_log_that_drops_its_requests_one_by_one_is_shown_by_a_chain_of_them() {
        assert_eq!(draining(chain(16, &LOG)), Draining::Shown);
        assert_eq!(draining(chain(16, &LOG[..7])), Draining::Possible, "no longer than a minute");
        assert_eq!(draining(chain(16, &[1, 2, 3, 4, 1, 2, 3, 4, 1])), Draining::No, "a window that begins anew");
        assert_eq!(draining(chain(16, &[1, 2, 3, 4, 5, 6, 7, 8, 9])), Draining::No, "nothing is restored");
        assert_eq!(draining(chain(25, &[1, 2, 3, 3, 3, 3, 3, 3, 3])), Draining::Possible, "too few at a time");
        assert_eq!(draining(chain(16, &[0, 1, 2, 3, 3, 3, 3, 3, 3])), Draining::Shown, "reported before it is counted");
    }

    #[test]
    fn a_chain_is_longer_than_any_minute() {
        let long = |millis| draining(chained(TraceBuilder::new(), millis, &[1, 2, 3, 4, 5, 5, 5, 5, 5]));
        assert_eq!(long(12_392), Draining::Possible);
        assert_eq!(long(12_393), Draining::Shown);
    }

    #[test]
    fn where_requests_are_counted_before_they_are_reported_each_counts_itself() {
        // Of a window that is new, the first answer shows how they are counted.
        let later = |used: &[u64]| chained(chain(16, &[1]).wait(70), 16_000, used);
        assert_eq!(draining(later(&LOG)), Draining::Shown);
        assert_eq!(draining(later(&[1, 1, 2, 3, 3, 3, 3, 3, 3])), Draining::No);
        assert_eq!(draining(later(&LOG).wait(5).window(60).list(404, 16, 20)), Draining::Shown, "but for a failure");
    }

    #[test]
    fn the_reset_is_that_of_the_newest() {
        let next = |ahead| draining(chain(16, &LOG).wait(16).window(ahead).list(200, 16, 20));
        assert_eq!(next(60), Draining::Shown);
        assert_eq!(next(11), Draining::No, "that of the oldest");
        assert_eq!(next(66), Draining::No, "too far ahead");
        let refused = chain(16, &LOG).wait(5).window(55).list(429, 0, 20);
        assert_eq!(draining(refused), Draining::Shown, "a refusal is not counted");
    }

    #[test]
    fn others_may_use_the_key_where_that_shows_between_two_answers() {
        assert_eq!(draining(chain(16, &[4, 5, 6, 7, 7, 7, 7, 7, 7])), Draining::No, "three may never be restored");
        assert_eq!(draining(chain(16, &[1, 2, 5, 6, 6, 6, 6, 6, 6])), Draining::Shown);
        let twice = chain(16, &LOG).list(200, 15, 20).list(200, 12, 20);
        assert_eq!(draining(twice), Draining::Shown);
    }

    #[test]
    fn a_chain_that_shows_a_log_breaks_no_rule_of_the_limit() {
        let limits = |builder: TraceBuilder| {
            let mut broken = broken(&builder.trace());
            broken.retain(|id| id.starts_with("headers.") || id.starts_with("quota."));
            broken.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(limits(chain(16, &LOG)), [""; 0]);
        assert_eq!(limits(chain(16, &LOG[..6])), [""; 0], "nor does one that may be a log's");
        assert_eq!(limits(chain(16, &[1, 2, 3, 4, 1, 2, 3, 4, 1])), ["headers.reset-time"]);
        assert_eq!(limits(chain(16, &[1, 2, 3, 4, 5, 6, 7, 8, 9])), ["headers.reset-time"]);
    }
}
