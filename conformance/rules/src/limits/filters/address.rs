//! Callers counted by address: the requests without a valid key that may be counted against a key.

use std::collections::HashSet;

use jiff::SignedDuration;

use super::super::keys::KeyLimits;
use crate::history::Entry;
use crate::request::Credential;
use crate::trace::rate_limit::Window;

/// The time for which every way of counting certainly keeps a success, also a log of slots of half a minute.
const RECENT: SignedDuration = SignedDuration::from_secs(30);

impl KeyLimits<'_> {
    /// Returns true if a request that did not certainly come with the key may be counted against it. A request without a valid key may be
    /// if its response reports a window and a count of the key, or reports none while another response to such a request does.
    pub(crate) fn may_bear(&self, entry: &Entry<'_>) -> bool {
        let reported = entry.window();
        let of_key = reported.filter(|window| self.reported_ends().contains(&(window.limit, window.reset)));
        if of_key.is_some_and(|window| self.is_apart(entry, window)) {
            return false;
        }
        if !entry.credential.is_invalid() {
            return entry.credential.is_open() || entry.credential == Credential::Banned;
        }
        of_key.is_some() || reported.is_none() && self.counts_by_address()
    }

    /// Returns true if a response reports fewer requests than the successes that the key has certainly had in the window: callers without a key have
    /// a counter of their own. One success more is allowed for a count that lags behind.
    fn is_apart(&self, entry: &Entry<'_>, reported: Window) -> bool {
        let used = reported.limit.saturating_sub(reported.remaining);
        let before = self.answers().partition_point(|answer| answer.entry.exchange.number < entry.exchange.number);
        let recent =
            self.answers()[..before].iter().rev().take_while(|answer| entry.time_since(answer.entry) <= RECENT);
        let mut counted = recent.filter(|answer| {
            answer.entry.succeeded()
                && answer.entry.precedes(entry)
                && (answer.window.limit, answer.window.reset) == (reported.limit, reported.reset)
                && answer.entry.exchange.request.replica == entry.exchange.request.replica
        });
        counted.nth(usize::try_from(used).unwrap_or(usize::MAX).saturating_add(1)).is_some()
    }

    /// The Limit and the Reset of each window that the responses to the key report.
    fn reported_ends(&self) -> &HashSet<(u64, i64)> {
        self.reported_ends
            .get_or_init(|| self.answers().iter().map(|answer| (answer.window.limit, answer.window.reset)).collect())
    }

    /// Returns true if some response to a request without a valid key reports a window of the key.
    fn counts_by_address(&self) -> bool {
        *self.by_address.get_or_init(|| {
            let without_key = self.history.entries.iter().filter(|entry| entry.credential.is_invalid());
            let mut reported = without_key.filter_map(Entry::window);
            reported.any(|window| self.answers().iter().any(|answer| answer.window.is_same(window)))
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::TraceBuilder;

    /// The exchanges that may be counted against the first key, of eight successes with it and one request without a key.
    fn bearing(remaining: u64, reset: i64, pause: i64) -> Vec<usize> {
        let counted: Vec<(u16, u64)> = (1..=8).map(|used| (200, 60 - used)).collect();
        let with_key = TraceBuilder::new().key("sk-Key1").lists(60, &counted).wait(pause);
        with_key.key("nobody").window(reset - pause).list(401, remaining, 60).main_key(|key| {
            let bearing = key.history.entries.iter().filter(|entry| key.may_bear(entry));
            bearing.map(|entry| entry.exchange.number).collect()
        })
    }

    #[test]
    fn a_caller_without_a_key_has_a_counter_of_its_own_where_less_is_used_than_the_key_has() {
        assert_eq!(bearing(51, 60, 0), [9], "counted against the key");
        assert_eq!(bearing(52, 60, 0), [9], "reported before it is counted");
        assert_eq!(bearing(53, 60, 0), [9], "a count that lags by one");
        for remaining in [54, 59, 60] {
            assert_eq!(bearing(remaining, 60, 0), [0; 0], "{remaining} remaining");
        }
        assert_eq!(bearing(59, 60, 40), [9], "a log of slots may have dropped the successes");
        assert_eq!(bearing(59, 75, 0), [0; 0], "another window");
    }
}
