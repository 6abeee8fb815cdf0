//! Counting: which requests may be counted, whether Remaining is reported after the request was counted, and which failures certainly
//! were counted.

use std::collections::HashSet;

use super::key::KeyLimits;
use crate::history::Entry;
use crate::request::Credential;
use crate::tolerance::Tolerance;
use crate::trace::rate_limit::{RateHeaders, Window};

impl KeyLimits<'_> {
    /// Whether a request may be counted against the key in a window: one with the key, one whose credential is ambiguous, and one
    /// without a key where the same window is reported to it, or nothing while others get the same, since callers may be
    /// distinguished by their address.
    #[must_use]
    pub fn may_count(&self, entry: &Entry<'_>, window: Window) -> bool {
        let counts_without_key = || match entry.rate.as_ref().and_then(RateHeaders::window) {
            Some(reported) => reported.is_same(window),
            None => self.counts_by_address(),
        };
        entry.key() == Some(self.index)
            || entry.credential.is_open()
            || entry.credential.is_invalid() && counts_without_key()
    }

    /// Whether a request that did not certainly come with the key may be counted against it.
    #[must_use]
    pub(crate) fn may_bear(&self, entry: &Entry<'_>) -> bool {
        let may_be_by_address = || match entry.rate.as_ref().and_then(RateHeaders::window) {
            Some(reported) => self.reported_ends().contains(&(reported.limit, reported.reset)),
            None => self.counts_by_address(),
        };
        entry.credential.is_open()
            || entry.credential == Credential::Banned
            || entry.credential.is_invalid() && may_be_by_address()
    }

    /// The windows that the responses to the key report.
    fn reported_ends(&self) -> &HashSet<(u64, i64)> {
        self.reported_ends
            .get_or_init(|| self.answers().iter().map(|answer| (answer.window.limit, answer.window.reset)).collect())
    }

    /// Whether a window of the key was reported to a request without a key.
    fn counts_by_address(&self) -> bool {
        *self.by_address.get_or_init(|| {
            let without_key = self.history.entries.iter().filter(|entry| entry.credential.is_invalid());
            let mut reported = without_key.filter_map(|entry| entry.rate.as_ref()?.window());
            reported.any(|window| self.answers().iter().any(|answer| answer.window.is_same(window)))
        })
    }

    /// Whether Remaining is certain to be reported after the request was counted: the first answer of a new window shows one less
    /// than the limit, and none ever shows the limit itself.
    #[must_use]
    pub fn counts_first(&self) -> bool {
        let shows_limit = self.answers().iter().any(|answer| answer.window.remaining == answer.window.limit);
        let first_of_window = self.pairs().any(|[before, after]| {
            let (earlier, later) = (before.window, after.window);
            earlier.limit == later.limit
                && later.reset > earlier.reset + Tolerance::CLOCK_SLACK.seconds()
                && after.entry.succeeded()
                && later.remaining + 1 == later.limit
        });
        first_of_window && !shows_limit
    }
}

#[cfg(test)]
mod tests {
    use crate::trace_builder::TraceBuilder;

    #[test]
    fn that_remaining_is_reported_after_counting_shows_in_the_first_answer_of_a_window() {
        let first = |answers: &[(u16, u64, u64)], later: i64| {
            let begun = TraceBuilder::new().list(200, 5, 60);
            let begun = begun.wait(60).window(later);
            let builder =
                answers.iter().fold(begun, |builder, (status, left, limit)| builder.list(*status, *left, *limit));
            builder.main_key(|key| key.counts_first())
        };
        assert!(first(&[(200, 59, 60)], 60));
        assert!(first(&[(200, 59, 60)], 3));
        assert!(!first(&[(200, 59, 60)], 2), "clocks are reported to the second");
        assert!(!first(&[(200, 59, 60)], 0), "no other window");
        assert!(!first(&[(404, 59, 60)], 60), "a failure may not count");
        assert!(!first(&[(200, 58, 60)], 60), "others came first");
        assert!(!first(&[(200, 99, 100)], 60), "another limit");
        assert!(!first(&[(200, 59, 60), (404, 60, 60)], 60), "the whole limit shows");
        assert!(!first(&[], 60));
    }
}
