//! Filters: the requests that bear on the count of a key, prepared for the engine of [`super`]. Each file of this folder is one filter: it
//! tells which requests may count, which reports are copies, which refusals may belong to a ban, or the cost of a request.

mod address;
mod bans;
mod copies;
mod cost;

pub use cost::Costly;

use std::collections::BTreeMap;

use super::common::{self, CommonFacts};
use super::keys::{Answer, KeyLimits, Limiter};
use super::{Explanation, Finding, Others, Part};
use crate::history::Entry;

impl<'h> KeyLimits<'h> {
    /// The best explanation of the responses to the key.
    #[must_use]
    pub fn explanation(&self) -> &Explanation<'h> {
        self.explanation.get_or_init(|| Explanation::of(&self.parts(), self.plan_limits(), self.common()))
    }

    /// The responses that contradict every way of counting if only the run uses the key, where other clients explain them. `--exclusive-key`
    /// decides about them.
    #[must_use]
    pub fn explained_by_others(&self) -> Vec<Finding<'h>> {
        if self.explanation().hypothesis.others == Others::Nobody {
            return Vec::new();
        }
        let exclusive = CommonFacts { is_exclusive: true, ..self.common() };
        Explanation::of(&self.parts(), self.plan_limits(), exclusive).findings
    }

    /// Returns true if only the run uses the key. Requests that a sample does not contain count as those of other clients.
    pub(crate) fn is_exclusive(&self) -> bool {
        self.history.context.exclusive_key && self.history.is_run()
    }

    fn common(&self) -> CommonFacts {
        CommonFacts { is_exclusive: self.is_exclusive(), shows_restorations: common::shows_restorations(self.history) }
    }

    /// The best explanation of the responses to some of the requests.
    #[must_use]
    pub fn explanation_of(&self, is_included: impl Fn(&Entry<'_>) -> bool) -> Explanation<'h> {
        let mut parts = self.parts();
        parts.retain(|(entry, _)| is_included(entry));
        Explanation::of(&parts, self.plan_limits(), self.common())
    }

    /// The requests that bear on the key, in the order of sending.
    fn parts(&self) -> Vec<(&'h Entry<'h>, Part)> {
        let answers: BTreeMap<usize, &Answer<'h>> =
            self.answers().iter().map(|answer| (answer.entry.exchange.number, answer)).collect();
        let of_bans = self.refusals_of_bans(&answers);
        let costly = self.costly_operations();
        let costs: BTreeMap<&str, u64> =
            costly.iter().map(|costly| (costly.seen[1].entry.operation.name(), costly.cost)).collect();
        let usual = self.cost();
        let mut parts: Vec<(&'h Entry<'h>, Part)> = Vec::new();
        for entry in &self.history.entries {
            let is_own = entry.key() == Some(self.index);
            if !is_own && !self.may_bear(entry) {
                continue;
            }
            let answer = answers.get(&entry.exchange.number);
            let part = Part {
                is_own: is_own && entry.is_of_operation(),
                is_report: answer.is_some(),
                is_copy: answer.is_some_and(|answer| self.is_copy(answer)),
                may_be_ban: of_bans.contains(&entry.exchange.number),
                cost: i64::try_from(*costs.get(entry.operation.name()).unwrap_or(&usual)).unwrap_or(1),
            };
            parts.push((entry, part));
        }
        parts
    }
}

impl<'h> Limiter<'h> {
    /// The best explanation of the responses to all keys together, if there are several keys.
    pub(super) fn joint_explanation(&self) -> Option<Explanation<'h>> {
        let [first, _, ..] = self.keys() else { return None };
        let mut parts: Vec<(&Entry<'h>, Part)> = self.keys().iter().flat_map(KeyLimits::parts).collect();
        // A request that certainly came with one key may bear on others.
        parts.sort_by_key(|(entry, part)| (entry.exchange.number, !part.is_own));
        parts.dedup_by_key(|(entry, _)| entry.exchange.number);
        Some(Explanation::of(&parts, first.plan_limits(), first.common()))
    }
}
