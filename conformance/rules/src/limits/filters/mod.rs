//! The requests that bear on the count of a key, as the engine of [`super`] takes them: the filters before it, each a file of
//! this folder, say which reports can be believed, what may belong to a ban, and what a request costs.

mod address;
mod bans;
mod copies;
mod cost;

pub use cost::Costly;

use std::collections::BTreeMap;

use super::keys::{Answer, KeyLimits, Limiter};
use super::{Explanation, Part};
use crate::history::Entry;
use crate::request::Operation;

impl<'h> KeyLimits<'h> {
    /// Which way of counting explains what the key was answered.
    #[must_use]
    pub fn explanation(&self) -> &Explanation<'h> {
        self.explanation.get_or_init(|| Explanation::of(&self.parts(), self.plan_limits()))
    }

    /// [`KeyLimits::explanation`] of some of the requests.
    #[must_use]
    pub fn explanation_of(&self, is_part: impl Fn(&Entry<'_>) -> bool) -> Explanation<'h> {
        let mut parts = self.parts();
        parts.retain(|(entry, _)| is_part(entry));
        Explanation::of(&parts, self.plan_limits())
    }

    /// The requests that bear on the key, in the order of sending.
    fn parts(&self) -> Vec<(&'h Entry<'h>, Part)> {
        let entries = || self.history.entries.iter();
        let answers: BTreeMap<usize, &Answer<'h>> =
            self.answers().iter().map(|answer| (answer.entry.exchange.number, answer)).collect();
        let of_bans = self.refusals_of_bans(&answers);
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
                may_be_ban: of_bans.contains(&entry.exchange.number),
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

impl<'h> Limiter<'h> {
    /// Which single way of counting explains what all keys were answered together, if there are several.
    pub(super) fn joint_explanation(&self) -> Option<Explanation<'h>> {
        let [first, _, ..] = self.keys() else { return None };
        let mut parts: Vec<(&Entry<'h>, Part)> = self.keys().iter().flat_map(KeyLimits::parts).collect();
        // A request that certainly came with one key may bear on others.
        parts.sort_by_key(|(entry, part)| (entry.exchange.number, !part.is_certain));
        parts.dedup_by_key(|(entry, _)| entry.exchange.number);
        Some(Explanation::of(&parts, first.plan_limits()))
    }
}
