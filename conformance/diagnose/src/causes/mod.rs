//! Likely causes that several findings have in common, where the trace supports it.
//!
//! A cause changes no verdict. It says in one line what a reader would otherwise have to infer from the findings. It explains a
//! finding completely if every failure of it shows the cause.

mod answers;
mod cache;
mod catalogues;
mod connections;
mod counters;
mod keys;
mod limiters;
mod restored;
mod units;

use std::borrow::Cow;

use animal_store_rules::facts::Facts;
use animal_store_rules::fleet::Fleet;
use animal_store_rules::history::Entry;
use animal_store_rules::rules::Failure;
use animal_store_rules::rules::alike::decisive;
use animal_store_rules::verdict::{RequirementVerdict, Status};
use serde::{Deserialize, Serialize};

/// A likely cause of findings.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Cause {
    /// The name of the cause, for programs.
    pub id: Cow<'static, str>,
    /// The cause in a line; a question where it is a guess.
    pub sentence: String,
    /// The requirements whose failures the cause explains, in the order of the catalogue.
    pub requirements: Vec<Cow<'static, str>>,
    /// The numbers of exchanges that show the cause: the first few.
    pub exchanges: Vec<usize>,
}

/// The maximum number of exchanges that a cause names.
const MAX_EXCHANGES: usize = 4;

/// The likely causes of the failures of a trace; the cause that explains most comes first.
pub(super) fn causes(facts: &Facts<'_>, fleet: Option<&Fleet>, verdicts: &[RequirementVerdict]) -> Vec<Cause> {
    let broken = Broken { facts, fleet, verdicts };
    if broken.failures().next().is_none() {
        return Vec::new();
    }
    // A server that fails on everything shows nothing else.
    if let Some(cause) = answers::always_failing(&broken) {
        return vec![cause];
    }
    let mut causes: Vec<Cause> = [
        keys::known_to_some,
        answers::limiter_first,
        answers::another_refusal,
        answers::limited_with_another_status,
        answers::secondary_limit,
        limiters::second,
        answers::dropped_over_the_limit,
        catalogues::broken_by_a_creation,
        catalogues::rounded_ids,
        connections::unread_body,
        answers::without_headers,
        // Several counters repeat values as a cache does, but a cache makes no series that fall; so they precede it among equals.
        counters::not_counted,
        counters::of_replicas,
        restored::bucket,
        counters::several,
        cache::repeats_answers,
        catalogues::of_replicas,
        units::of_reset,
        units::of_clock,
        units::of_retry_after,
        units::minute_for_a_day,
    ]
    .into_iter()
    .filter_map(|find| find(&broken))
    .collect();
    // Apparently several counters may have a simpler cause.
    if causes.iter().any(|cause| ["counter-per-replica", "token-bucket"].contains(&&*cause.id)) {
        causes.retain(|cause| cause.id != "several-counters");
    }
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.requirements.len()));
    causes
}

/// The broken requirements of a trace.
struct Broken<'v, 'h> {
    facts: &'v Facts<'h>,
    fleet: Option<&'v Fleet>,
    verdicts: &'v [RequirementVerdict],
}

impl<'v, 'h> Broken<'v, 'h> {
    /// The verdicts on selected requirements that are broken.
    fn verdicts(&self) -> impl Iterator<Item = &'v RequirementVerdict> {
        let is_broken = |verdict: &&RequirementVerdict| verdict.selected && !verdict.failures.is_empty();
        self.verdicts.iter().filter(is_broken)
    }

    fn failures(&self) -> impl Iterator<Item = &'v Failure> {
        self.verdicts().flat_map(|verdict| &verdict.failures)
    }

    fn entries(&self) -> &'h [Entry<'h>] {
        &self.facts.history.entries
    }

    /// The broken requirements with one of these prefixes whose every failure fits.
    fn explained(&self, beginnings: &[&str], fits: impl Fn(&Failure) -> bool) -> Vec<&'static str> {
        let explained = self.verdicts().filter(|verdict| {
            let id = verdict.requirement.id.as_str();
            beginnings.iter().any(|beginning| id.starts_with(beginning)) && verdict.failures.iter().all(&fits)
        });
        explained.map(|verdict| verdict.requirement.id.as_str()).collect()
    }

    /// The broken requirements with one of these prefixes whose every failure has a decisive exchange that fits.
    fn explained_by(&self, beginnings: &[&str], fits: impl Fn(&Entry<'_>) -> bool) -> Vec<&'static str> {
        self.explained(beginnings, |failure| decisive(self.facts.history, failure).is_some_and(&fits))
    }

    /// The cause of a difference between replicas, which the first failures of the requirements with these identifiers show, unless it
    /// explains nothing.
    fn between_replicas(&self, id: &'static str, sentence: String, ids: &[&str]) -> Option<Cause> {
        let requirements = self.explained(ids, |_| true);
        let explained = self.verdicts().filter(|verdict| requirements.contains(&verdict.requirement.id.as_str()));
        let exchanges = explained.filter_map(|verdict| verdict.failures.first()).flat_map(|first| &first.exchanges);
        let exchanges = exchanges.copied().take(MAX_EXCHANGES).collect();
        Cause::new(id, sentence, requirements, exchanges)
    }

    /// The selected requirements with these identifiers that are broken, or were not exercised.
    fn concerned(&self, ids: &[&str]) -> Vec<&'static str> {
        let concerned = self.verdicts.iter().filter(|verdict| {
            let is_open_end = !verdict.failures.is_empty() || verdict.status == Status::NotExercised;
            verdict.selected && is_open_end && ids.contains(&verdict.requirement.id.as_str())
        });
        concerned.map(|verdict| verdict.requirement.id.as_str()).collect()
    }
}

impl Cause {
    /// A cause that these exchanges show, unless it explains nothing.
    fn shown_by<'c>(
        id: &'static str,
        sentence: impl Into<String>,
        requirements: Vec<&'static str>,
        entries: impl IntoIterator<Item = &'c Entry<'c>>,
    ) -> Option<Cause> {
        let exchanges = entries.into_iter().take(MAX_EXCHANGES).map(|entry| entry.exchange.number).collect();
        Cause::new(id, sentence.into(), requirements, exchanges)
    }

    fn new(
        id: &'static str,
        sentence: String,
        requirements: Vec<&'static str>,
        exchanges: Vec<usize>,
    ) -> Option<Cause> {
        let requirements: Vec<Cow<'static, str>> = requirements.into_iter().map(Cow::Borrowed).collect();
        (!requirements.is_empty()).then_some(Cause { id: id.into(), sentence, requirements, exchanges })
    }
}

/// The number that a response reports as remaining.
fn remaining(entry: &Entry<'_>) -> Option<i64> {
    entry.rate.as_ref().and_then(|rate| rate.remaining.integer())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conclude;
    use crate::trace_builder::TraceBuilder;
    use animal_store_rules::catalogue::scope::Scope;
    use animal_store_rules::history::History;

    fn causes(builder: TraceBuilder) -> impl Iterator<Item = Cause> {
        let trace = builder.trace();
        let history = History::new(&trace);
        conclude(&Facts::new(&history), &Scope::default()).causes.into_iter()
    }

    /// The sentences of the causes that a trace shows, each with what it explains.
    pub(super) fn shown(builder: TraceBuilder) -> Vec<(String, Vec<&'static str>)> {
        let named = |cause: Cause| (cause.sentence, cause.requirements.into_iter().map(name).collect());
        causes(builder).map(named).collect()
    }

    /// The identifiers of those causes.
    pub(super) fn ids(builder: TraceBuilder) -> Vec<&'static str> {
        causes(builder).map(|cause| name(cause.id)).collect()
    }

    fn name(name: Cow<'static, str>) -> &'static str {
        match name {
            Cow::Borrowed(name) => name,
            Cow::Owned(name) => name.leak(),
        }
    }

    #[test]
    fn what_breaks_nothing_has_no_cause() {
        assert_eq!(shown(TraceBuilder::new().lists(60, &[(200, 9), (200, 8), (200, 7)])), []);
    }
}
