//! The requests that bear on the count of a key, as the engine of [`crate::limits`] takes them: the filters before it, each a file of
//! this folder, say which reports can be believed, what may belong to a ban, and what a request costs.

use std::collections::{BTreeMap, HashSet};

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

    /// [`KeyLimits::explanation`] of some of the requests.
    #[must_use]
    pub fn explanation_of(&self, is_part: impl Fn(&Entry<'_>) -> bool) -> Explanation<'h> {
        let mut parts = self.parts();
        parts.retain(|(entry, _)| is_part(entry));
        Explanation::of(&parts, self.plan_limits())
    }

    /// The numbers of the refusals that may belong to a ban: those that another refusal may be the last thing before, and those that are not
    /// the first of the trace and ask for a longer wait than their window lasts.
    fn refusals_of_bans(&self, answers: &BTreeMap<usize, &Answer<'_>>) -> HashSet<usize> {
        let is_own_refusal = |entry: &&Entry<'_>| entry.key() == Some(self.index) && entry.is_limited();
        let refusals: Vec<&Entry<'_>> = self.history.entries.iter().filter(is_own_refusal).collect();
        let mut of_bans = HashSet::new();
        // The refusal so far that was answered last.
        let mut latest: Option<&Entry<'_>> = None;
        for (at, &limited) in refusals.iter().enumerate() {
            let number = limited.exchange.number;
            let is_alone = latest.is_none_or(|earlier| earlier.precedes(limited))
                && refusals.get(at + 1).is_none_or(|next| limited.precedes(next));
            if latest.is_none_or(|earlier| earlier.exchange.received_at < limited.exchange.received_at) {
                latest = Some(limited);
            }
            if is_alone && at == 0 {
                continue;
            }
            let mut earlier = answers.range(..number).rev().map(|(_, answer)| answer.entry);
            let is_first_of_series =
                is_alone && earlier.find(|entry| entry.precedes(limited)).is_some_and(|before| !before.is_limited());
            if !is_first_of_series || answers.get(&number).is_none_or(|answer| self.waits_for_more(answer)) {
                of_bans.insert(number);
            }
        }
        of_bans
    }

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
                may_report_ban: is_own && entry.is_limited() && self.may_be_ban(entry),
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
