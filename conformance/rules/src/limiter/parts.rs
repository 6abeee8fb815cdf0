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
            // Of refusals that another one may have preceded, any may belong to a ban.
            let is_first = || refusals.iter().all(|other| std::ptr::eq(*other, entry) || entry.precedes(other));
            let part = Part {
                is_certain: is_own && entry.operation != Operation::Elsewhere,
                is_report: answer.is_some(),
                is_copy: answer.is_some_and(|answer| self.is_copy(answer)),
                may_be_ban: entry.is_limited() && !is_first(),
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
