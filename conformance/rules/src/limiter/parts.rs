//! The requests that bear on the count of a key, as the engine of [`crate::limits`] takes them: the filters before it, each a file of
//! this folder, say which reports can be believed, what may belong to a ban, and what a request costs.

use std::collections::BTreeMap;

use super::key::{Answer, KeyLimits};
use crate::history::Entry;
use crate::limits::{Explanation, Part};
use crate::request::Operation;

impl<'h> KeyLimits<'h> {
    /// Which way of counting explains what the key was answered.
    #[must_use]
    pub fn explanation(&self) -> &Explanation<'h> {
        self.explanation.get_or_init(|| Explanation::of(&self.parts(), self.plan_limits()))
    }

    /// Whether a refusal may belong to a ban: if another refusal may be the last thing before it, or if it is not the first of the trace and
    /// asks for a longer wait than its window lasts.
    fn may_belong_to_a_ban(&self, limited: &Entry<'_>, refusals: &[&Entry<'_>]) -> bool {
        let is_first = refusals.iter().all(|other| std::ptr::eq(*other, limited) || limited.precedes(other));
        let is_alone = || {
            refusals
                .iter()
                .all(|other| std::ptr::eq(*other, limited) || limited.precedes(other) || other.precedes(limited))
        };
        let before = || self.answers().iter().rev().find(|answer| answer.entry.precedes(limited));
        let of_answer = || self.answers().iter().find(|answer| std::ptr::eq(answer.entry, limited));
        let is_first_of_series = || is_alone() && before().is_some_and(|before| !before.entry.is_limited());
        !is_first && (!is_first_of_series() || of_answer().is_none_or(|answer| self.waits_for_more(answer)))
    }

    fn parts(&self) -> Vec<(&'h Entry<'h>, Part)> {
        let entries = || self.history.entries.iter();
        let refusals: Vec<&Entry<'h>> =
            entries().filter(|entry| entry.key() == Some(self.index) && entry.is_limited()).collect();
        let answers: BTreeMap<usize, &Answer<'h>> =
            self.answers().iter().map(|answer| (answer.entry.exchange.number, answer)).collect();
        let costs: BTreeMap<&str, i64> = self
            .costly_operations()
            .iter()
            .map(|costly| (costly.seen[1].entry.operation.name(), i64::try_from(costly.cost).unwrap_or(1)))
            .collect();
        let mut parts: Vec<(&'h Entry<'h>, Part)> = Vec::new();
        for entry in entries() {
            let is_own = entry.key() == Some(self.index);
            if !is_own && !self.may_bear(entry) {
                continue;
            }
            let answer = answers.get(&entry.exchange.number).filter(|_| is_own);
            let part = Part {
                is_certain: is_own && entry.operation != Operation::Elsewhere,
                is_report: answer.is_some(),
                is_copy: answer.is_some_and(|answer| self.is_copy(answer)),
                may_be_ban: is_own && entry.is_limited() && self.may_belong_to_a_ban(entry, &refusals),
                cost: costs
                    .get(entry.operation.name())
                    .copied()
                    .unwrap_or_else(|| i64::try_from(self.cost()).unwrap_or(1)),
            };
            parts.push((entry, part));
        }
        parts
    }
}
