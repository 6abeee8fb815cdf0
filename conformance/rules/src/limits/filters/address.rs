//! Callers counted by address: the requests without a valid key that may be counted against a key.

use std::collections::HashSet;

use super::super::keys::KeyLimits;
use crate::history::Entry;
use crate::request::Credential;

impl KeyLimits<'_> {
    /// Returns true if a request that did not certainly come with the key may be counted against it. A request without a valid key may be
    /// if its response reports a window of the key, or reports none while another response to such a request does.
    #[must_use]
    pub(crate) fn may_bear(&self, entry: &Entry<'_>) -> bool {
        if !entry.credential.is_invalid() {
            return entry.credential.is_open() || entry.credential == Credential::Banned;
        }
        match entry.window() {
            Some(reported) => self.reported_ends().contains(&(reported.limit, reported.reset)),
            None => self.counts_by_address(),
        }
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
