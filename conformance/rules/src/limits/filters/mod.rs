//! Filters: the requests that bear on the count of a key, prepared for the engine of [`super`]. Each file of this folder is one filter: it
//! tells which requests may count, which reports are copies, which refusals may belong to a ban, or the cost of a request.

mod address;
mod bans;
mod copies;
mod cost;

pub use cost::Costly;

use std::collections::BTreeMap;

use super::common::{self, CommonFacts};
use super::hypothesis::{Failures, Outcome};
use super::keys::{Answer, KeyLimits, Limiter};
use super::timeline::outcome;
use super::{Explanation, Finding, Others, Part};
use crate::history::Entry;

impl<'h> KeyLimits<'h> {
    /// The best explanation of the responses to the key. Failed requests are not treated otherwise than those with another key.
    pub fn explanation(&self) -> &Explanation<'h> {
        self.explanation.get_or_init(|| {
            let best = self.explanation_of(|_| true);
            if best.hypothesis.failures == Failures::Count || self.history.context.keys.len() == 1 {
                return best;
            }
            let outcomes = self.outcomes();
            let limiter = Limiter::new(self.history);
            let is_refuted = |failures: Failures| {
                let mut others = limiter.keys().iter().filter(|other| other.index != self.index);
                others.any(|other| other.refutes(&failures.alike(&outcomes)))
            };
            if !is_refuted(best.hypothesis.failures) {
                return best;
            }
            let others = Failures::distinguished(&outcomes).into_iter().filter(|failures| !is_refuted(*failures));
            let others = others.map(|failures| self.explanation_with(failures));
            others.min_by_key(|other| other.findings.len()).unwrap_or(best)
        })
    }

    fn explanation_with(&self, failures: Failures) -> Explanation<'h> {
        let common = CommonFacts { failures: Some(failures), ..self.common() };
        Explanation::of(&self.parts(self.usual_cost()), self.plan_limits(), common)
    }

    fn outcomes(&self) -> Vec<Outcome> {
        self.answers().iter().map(|answer| outcome(answer.entry)).collect()
    }

    /// Returns true if the responses to the key show that failed requests count, and are treated in none of these ways.
    fn refutes(&self, treatments: &[Failures]) -> bool {
        let outcomes = self.outcomes();
        let occur = |failures: &Failures| outcomes.iter().any(|outcome| failures.spare(*outcome));
        treatments.iter().all(occur)
            && self.explanation_with(Failures::Count).findings.is_empty()
            && treatments.iter().all(|failures| !self.explanation_with(*failures).findings.is_empty())
    }

    /// The responses that contradict every way of counting if only the run uses the key, where other clients explain them. `--exclusive-key`
    /// decides about them.
    pub fn explained_by_others(&self) -> Vec<Finding<'h>> {
        if self.explanation().hypothesis.others == Others::Nobody && self.cost() == 1 {
            return Vec::new();
        }
        let exclusive = CommonFacts { is_exclusive: true, ..self.common() };
        Explanation::of(&self.parts(1), self.plan_limits(), exclusive).findings
    }

    /// Returns true if only the run uses the key. Requests that a sample does not contain count as those of other clients.
    pub(crate) fn is_exclusive(&self) -> bool {
        self.history.context.exclusive_key && self.history.is_run()
    }

    fn common(&self) -> CommonFacts {
        CommonFacts {
            is_exclusive: self.is_exclusive(),
            shows_restorations: common::shows_restorations(self.history),
            failures: None,
        }
    }

    /// The best explanation of the responses to some of the requests.
    pub fn explanation_of(&self, is_included: impl Fn(&Entry<'_>) -> bool) -> Explanation<'h> {
        let mut parts = self.parts(self.usual_cost());
        parts.retain(|(entry, _)| is_included(entry));
        Explanation::of(&parts, self.plan_limits(), self.common())
    }

    /// The cost of a request that is not of a costly operation. Another client may send as many requests as the run does.
    fn usual_cost(&self) -> u64 {
        if self.is_exclusive() { 1 } else { self.cost() }
    }

    /// The requests that bear on the key, in the order of sending, given the usual cost of one.
    fn parts(&self, usual: u64) -> Vec<(&'h Entry<'h>, Part)> {
        let answers: BTreeMap<usize, &Answer<'h>> =
            self.answers().iter().map(|answer| (answer.entry.exchange.number, answer)).collect();
        let of_bans = self.refusals_of_bans(&answers);
        let costly = self.costly_operations();
        let costs: BTreeMap<&str, u64> =
            costly.iter().map(|costly| (costly.seen[1].entry.operation.name(), costly.cost)).collect();
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
        let mut parts: Vec<(&Entry<'h>, Part)> =
            self.keys().iter().flat_map(|key| key.parts(key.usual_cost())).collect();
        // A request that certainly came with one key may bear on others.
        parts.sort_by_key(|(entry, part)| (entry.exchange.number, !part.is_own));
        parts.dedup_by_key(|(entry, _)| entry.exchange.number);
        Some(Explanation::of(&parts, first.plan_limits(), first.common()))
    }
}
