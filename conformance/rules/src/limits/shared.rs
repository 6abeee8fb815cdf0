//! Keys that share a counter: whether the requests of one key use up the remaining requests of another.

use super::keys::{Answer, KeyLimits, Limiter};
use crate::history::Entry;

/// A refusal of a key whose own requests leave room, because another key has used up the rest.
#[derive(Clone, Copy, Debug)]
pub struct SpentByAnother<'h> {
    /// The exchange of the refusal.
    pub limited: &'h Entry<'h>,
    /// The first answer of its window.
    pub first: Answer<'h>,
    /// The number of requests that were sent with this key since the first answer.
    pub own: u64,
}

impl<'h> Limiter<'h> {
    /// The refusals of a key that only the requests of the run's other keys explain.
    pub fn spent_by_another(&self, index: usize) -> Vec<SpentByAnother<'h>> {
        let Some(key) = self.key(index).filter(|key| key.refused() > 0 && self.counts_keys_together()) else {
            return Vec::new();
        };
        let mut spent = Vec::new();
        for limited in key.answers().iter().filter(|answer| answer.entry.is_limited()) {
            let earlier: Vec<&Answer<'h>> = key.answers().iter().filter(|answer| answer.precedes(limited)).collect();
            let Some(&&first) = earlier.iter().find(|answer| answer.window.is_same(limited.window)) else { continue };
            let own = key.sent_since(&first, limited);
            let is_first_refusal = !earlier.iter().any(|answer| answer.entry.is_limited());
            // If Remaining is reported before counting, it is 1 for the last admitted request.
            if is_first_refusal && first.window.remaining > own + 1 {
                spent.push(SpentByAnother { limited: limited.entry, first, own });
            }
        }
        spent
    }

    /// Returns true if one count explains the responses to all keys without other clients, where several requests of one key follow those
    /// of another, and some key by itself is not explained without other clients.
    fn counts_keys_together(&self) -> bool {
        const SEVERAL: usize = 3;
        let mut answers: Vec<(usize, &Answer<'h>)> =
            self.keys().iter().flat_map(|key| key.answers().iter().map(|answer| (key.index(), answer))).collect();
        answers.sort_by_key(|(_, answer)| answer.entry.exchange.number);
        let mut across_keys = 0;
        for pair in answers.windows(2) {
            let [(one, before), (other, after)] = [pair[0], pair[1]];
            let is_across = one != other && before.window.is_same(after.window) && !after.entry.is_limited();
            across_keys += usize::from(is_across);
        }
        across_keys >= SEVERAL
            && self.keys().iter().any(|key| !key.explanation().is_complete())
            && self.joint_explanation().is_some_and(|joint| joint.is_complete())
    }
}

impl KeyLimits<'_> {
    /// The number of requests with this key that may have been counted after an answer, and before a refusal.
    fn sent_since(&self, first: &Answer<'_>, limited: &Answer<'_>) -> u64 {
        let may_be_own = self
            .history
            .entries
            .iter()
            .filter(|entry| entry.key().is_none_or(|key| key == self.index) && !entry.credential.is_invalid());
        let between = may_be_own.filter(|entry| {
            !entry.precedes(first.entry) && !std::ptr::eq(*entry, first.entry) && !limited.entry.precedes(entry)
        });
        // The refused request itself is among them.
        between.count().saturating_sub(1) as u64
    }
}

#[cfg(test)]
mod tests {
    use crate::history::History;
    use crate::limits::Limiter;
    use crate::tests::TraceBuilder;

    /// Lists with two keys, each with the key's number and what remains of 10, the last of which is refused; the numbers of the refusals
    /// that another key explains.
    fn spent(answers: &[(usize, u64)]) -> Vec<usize> {
        let trace = answers.iter().enumerate().fold(TraceBuilder::new(), |builder, (at, (key, remaining))| {
            let status = if at + 1 == answers.len() { 429 } else { 200 };
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
        let in_turn = [(0, 9), (1, 8), (0, 7), (1, 6), (0, 5), (0, 4), (0, 3), (0, 2), (0, 1), (0, 0)];
        assert_eq!(spent(&[&in_turn[..], &[(1, 0)]].concat()), [11]);
        let each = [(0, 9), (1, 9), (0, 8), (1, 8), (0, 7), (1, 7)];
        assert_eq!(spent(&[&each[..], &[(0, 0)]].concat()), [0; 0], "each by itself");
        let busy = [(0, 9), (1, 9), (0, 7), (1, 8), (0, 5), (1, 7), (0, 0)];
        assert_eq!(spent(&busy), [0; 0], "another client uses one of them");
    }
}
