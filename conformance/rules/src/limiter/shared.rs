//! Keys that share a counter: whether the requests of one key lower what remains for another.

use super::Limiter;
use super::key::{Answer, KeyLimits};
use crate::history::Entry;

/// A refusal of a key whose own requests leave room, because another key has used what was left.
#[derive(Clone, Copy, Debug)]
pub struct SpentByAnother<'h> {
    /// The refusal.
    pub limited: &'h Entry<'h>,
    /// The first answer of its window.
    pub first: Answer<'h>,
    /// How many requests were sent with this key since.
    pub own: u64,
}

impl<'h> Limiter<'h> {
    /// The refusals of a key that only the requests of the run's other keys explain.
    #[must_use]
    pub fn spent_by_another(&self, index: usize) -> Vec<SpentByAnother<'h>> {
        let Some(key) = self.key(index).filter(|_| self.counts_keys_together()) else { return Vec::new() };
        let limited = key.answers().iter().filter(|answer| answer.entry.is_limited());
        let spent = limited.filter_map(|limited| {
            let earlier = key.answers().iter().filter(|answer| answer.precedes(limited));
            let first = *earlier.clone().find(|answer| answer.window.is_same(limited.window))?;
            let is_first = !earlier.clone().any(|answer| answer.entry.is_limited());
            let own = key.sent_since(&first, limited);
            // Reported before counting, the last admitted request shows 1.
            (is_first && first.window.remaining > own + 1).then_some(SpentByAnother {
                limited: limited.entry,
                first,
                own,
            })
        });
        spent.collect()
    }

    /// Whether Remaining falls, between two requests of a key, by exactly as many as were sent meanwhile with any of the keys: several
    /// times, and never otherwise.
    fn counts_keys_together(&self) -> bool {
        const SEVERAL: usize = 3;
        let across: Vec<bool> = self.keys().iter().flat_map(KeyLimits::falls_with_others).collect();
        across.len() >= SEVERAL && across.iter().all(|falls| *falls)
    }
}

impl KeyLimits<'_> {
    /// For each two answers of one window with requests of other keys in between: whether those were all counted here.
    fn falls_with_others(&self) -> impl Iterator<Item = bool> {
        self.pairs().filter_map(|[before, after]| {
            let between = before.entry.exchange.number..after.entry.exchange.number.saturating_sub(1);
            let others: Vec<&Entry<'_>> = self.history.entries.get(between)?.iter().collect();
            let is_of_another =
                |entry: &&Entry<'_>| entry.succeeded() && entry.key().is_some_and(|key| key != self.index);
            let is_certain = before.precedes(&after)
                && before.window.is_same(after.window)
                && before.entry.succeeded()
                && after.entry.succeeded()
                && self.history.sent_between(before.entry, after.entry) == others.len() as u64 + 1;
            let fell = before.window.remaining.saturating_sub(after.window.remaining);
            let is_across = !others.is_empty() && others.iter().all(is_of_another) && is_certain;
            is_across.then_some(fell == others.len() as u64 + 1)
        })
    }

    /// How many requests with this key may have been counted after an answer, and before a refusal.
    fn sent_since(&self, first: &Answer<'_>, limited: &Answer<'_>) -> u64 {
        let between = |entry: &&Entry<'_>| {
            let is_own = entry.key().is_none_or(|key| key == self.index) && !entry.credential.is_invalid();
            is_own
                && !entry.precedes(first.entry)
                && !std::ptr::eq(*entry, first.entry)
                && !limited.entry.precedes(entry)
        };
        // The refusal itself is among them.
        self.history.entries.iter().filter(between).count().saturating_sub(1) as u64
    }
}

#[cfg(test)]
mod tests {
    use crate::history::History;
    use crate::limiter::Limiter;
    use crate::trace_builder::TraceBuilder;

    /// Lists with two keys, each with the key's number and what remains; a 429 where nothing does.
    fn spent(answers: &[(usize, u64)]) -> Vec<usize> {
        let trace = answers.iter().fold(TraceBuilder::new(), |builder, (key, remaining)| {
            let status = if *remaining == 0 { 429 } else { 200 };
            builder.key(["sk-Key1", "sk-Other"][*key]).list(status, *remaining, 10)
        });
        let trace = trace.trace();
        let history = History::new(&trace);
        let limiter = Limiter::new(&history);
        let numbers = limiter.keys().iter().flat_map(|key| limiter.spent_by_another(key.index()));
        numbers.map(|spent| spent.limited.exchange.number).collect()
    }

    #[test]
    fn a_key_is_refused_for_what_another_has_used() {
        assert_eq!(spent(&[(0, 9), (1, 8), (0, 7), (1, 6), (0, 5), (0, 4), (0, 3), (0, 2), (0, 1), (1, 0)]), [10]);
        let each = [(0, 9), (1, 9), (0, 8), (1, 8), (0, 7), (1, 7)];
        assert_eq!(spent(&each), [0; 0], "each by itself");
        let busy = [(0, 9), (1, 9), (0, 7), (1, 8), (0, 5), (1, 7), (0, 0)];
        assert_eq!(spent(&busy), [0; 0], "somebody else uses one of them");
        assert_eq!(spent(&[(0, 9), (1, 8), (0, 7), (1, 0)]), [0; 0], "twice may be chance");
        let own = [(0, 9), (1, 8), (0, 7), (1, 6), (0, 5), (0, 4), (0, 3), (0, 2), (0, 1), (0, 0)];
        assert_eq!(spent(&own), [10], "its own were eight of ten");
    }
}
