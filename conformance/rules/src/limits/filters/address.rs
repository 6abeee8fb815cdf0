//! Callers counted by address: which requests without a valid key may be counted against a key.

use std::collections::HashSet;

use super::super::keys::KeyLimits;
use crate::history::Entry;
use crate::request::Credential;
use crate::trace::rate_limit::RateHeaders;

impl KeyLimits<'_> {
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
}
