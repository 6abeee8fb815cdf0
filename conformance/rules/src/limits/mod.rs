//! Explanations: which way of counting explains what a key was answered.
//!
//! A [`Hypothesis`] is one complete way of counting. A server is lawful if one hypothesis explains the whole trace of a key; the one with the
//! fewest contradictions speaks for the server, and what it does not explain is held against the server. Nothing here excuses a
//! response: a lawful policy that is missing is added to the hypotheses.

mod explain;
mod hypothesis;
mod share;
mod timeline;

pub use explain::Kind;
pub use hypothesis::{Cut, Failures, Figures, Hypothesis, Written};

use std::collections::BTreeMap;

use crate::history::Entry;
use crate::limiter::{Answer, KeyLimits};
use crate::request::Operation;
use timeline::{Part, Timeline};

/// A place where the best explanation of a key fails.
#[derive(Clone, Debug)]
pub struct Finding<'h> {
    /// What is wrong.
    pub kind: Kind,
    /// The exchange that shows it, and the one that it is compared with, if there is one.
    pub entries: Vec<&'h Entry<'h>>,
    /// What was found: a number of requests, or a Unix time.
    pub found: i64,
    /// What bounds it.
    pub bound: i64,
}

/// The best explanation of what a key was answered.
#[derive(Debug)]
pub struct Explanation<'h> {
    /// The way of counting with the fewest contradictions.
    pub hypothesis: Option<Hypothesis>,
    /// What the hypothesis does not explain, in the order of sending.
    pub findings: Vec<Finding<'h>>,
    /// The refusals that could be judged.
    pub refusals: Vec<&'h Entry<'h>>,
}

impl<'h> Explanation<'h> {
    /// Explains what a key was answered.
    #[must_use]
    pub fn of(key: &KeyLimits<'h>) -> Explanation<'h> {
        let timeline = timeline(key);
        let plan = key.plan_limits().map(|limits| (limits.per_minute as i64, limits.per_day as i64));
        let best = explain::explain(&timeline, plan);
        let entry = |at: usize| timeline.events[at].entry;
        let mut contradictions = best.evaluation.contradictions;
        contradictions.sort_by_key(|found| found.at);
        let findings = contradictions.iter().map(|found| Finding {
            kind: found.kind,
            entries: std::iter::once(found.at).chain(found.with.filter(|with| *with != found.at)).map(entry).collect(),
            found: found.found,
            bound: found.bound,
        });
        let findings: Vec<Finding<'h>> = findings.collect();
        Explanation {
            refusals: best.evaluation.refusals.iter().map(|at| entry(*at)).collect(),
            hypothesis: best.hypothesis,
            findings,
        }
    }

    /// The findings of these kinds.
    pub fn of_kinds(&self, kinds: &[Kind]) -> impl Iterator<Item = &Finding<'h>> {
        self.findings.iter().filter(move |finding| kinds.contains(&finding.kind))
    }

    /// The findings which show that a Reset has restored nothing, where the count is explained otherwise: at least two, or one of so large a
    /// count that other clients are unlikely to have used exactly that number since.
    #[must_use]
    pub fn not_restored(&self) -> &[Finding<'h>] {
        const LARGE: i64 = 10;
        let is_fixed = self.hypothesis.is_some_and(|best| best.cut.is_fixed());
        let is_one = |finding: &Finding<'h>| finding.kind == Kind::NotRestored;
        let is_large = |finding: &Finding<'h>| finding.found - finding.bound >= LARGE;
        let is_certain = self.findings.len() > 1 || self.findings.iter().any(is_large);
        if is_fixed && is_certain && self.findings.iter().all(is_one) { &self.findings } else { &[] }
    }

    /// Whether other clients use the key.
    #[must_use]
    pub fn others(&self) -> bool {
        self.hypothesis.is_some_and(|best| best.others)
    }
}

/// The refusals of a key.
fn limited<'k, 'h>(key: &'k KeyLimits<'h>) -> impl Iterator<Item = &'h Entry<'h>> + 'k {
    key.entries().filter(|entry| entry.key() == Some(key.index()) && entry.is_limited())
}

/// The requests that bear on the count of a key, each with what the filters say of it.
fn timeline<'h>(key: &KeyLimits<'h>) -> Timeline<'h> {
    let refusals: Vec<&Entry<'h>> = limited(key).collect();
    let answers: BTreeMap<usize, &Answer<'h>> =
        key.answers().iter().map(|answer| (answer.entry.exchange.number, answer)).collect();
    let costs: BTreeMap<&str, i64> = key
        .costly_operations()
        .iter()
        .map(|costly| (costly.seen[1].entry.operation.name(), i64::try_from(costly.cost).unwrap_or(1)))
        .collect();
    let mut parts: Vec<(&'h Entry<'h>, Part)> = Vec::new();
    for entry in key.entries() {
        let is_own = entry.key() == Some(key.index());
        if !is_own && !key.may_bear(entry) {
            continue;
        }
        let answer = answers.get(&entry.exchange.number).filter(|_| is_own);
        // Of refusals that another one may have preceded, any may belong to a ban.
        let is_first = || refusals.iter().all(|other| std::ptr::eq(*other, entry) || entry.precedes(other));
        let part = Part {
            is_certain: is_own && entry.operation != Operation::Elsewhere,
            is_report: answer.is_some_and(|answer| !key.is_copy(answer)),
            may_be_ban: entry.is_limited() && !is_first(),
            cost: costs.get(entry.operation.name()).copied().unwrap_or(1),
        };
        parts.push((entry, part));
    }
    Timeline::new(&parts)
}

#[cfg(test)]
mod tests;
