//! Attribution: the replicas of a service with several addresses that show a finding, or that show it only together.
//!
//! A finding is attributed only where the trace supports it: other replicas answered similar requests without it, or the exchanges
//! of each replica, judged alone, do not show it. It changes no verdict.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::catalogue::{About, Requirement};
use crate::facts::Facts;
use crate::fleet::{Fleet, replica_of};
use crate::history::{Entry, History};
use crate::rules::alike::likeness;
use crate::rules::{Failure, Judgement, Rule};
use crate::trace::Trace;
use crate::trace::exchange::Exchange;

/// The requirements that several counters break.
#[doc(hidden)]
pub const BROKEN_BY_COUNTERS: [&str; 7] = [
    "headers.remaining-falls",
    "headers.remaining-never-rises",
    "headers.reset-time",
    "quota.enforced",
    "quota.every-operation",
    "quota.not-early",
    "quota.not-exceeded",
];

/// The replicas that show a finding, by their addresses.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "scope")]
#[non_exhaustive]
pub enum Attribution {
    /// Some replicas show the finding by themselves, and others do not.
    Only {
        /// The replicas that show the finding.
        replicas: Vec<String>,
        /// The number of requests to these replicas that show the finding.
        broken: usize,
        /// The number of similar requests to these replicas.
        requests: usize,
        /// The number of similar requests that the other replicas answered without the finding.
        others: usize,
        /// The attribution as the end of a sentence.
        sentence: String,
    },
    /// No replica shows the finding by itself: it shows only between answers of several replicas.
    Across {
        /// The replicas that take part in each difference; empty if all replicas do.
        replicas: Vec<String>,
        /// The attribution as the end of a sentence.
        sentence: String,
    },
}

impl Attribution {
    /// The attribution as the end of a sentence.
    pub fn sentence(&self) -> &str {
        match self {
            Attribution::Only { sentence, .. } | Attribution::Across { sentence, .. } => sentence,
        }
    }

    /// The attribution with other texts, such as texts without secrets.
    #[must_use]
    pub fn presented(mut self, present: impl Fn(&str) -> String) -> Attribution {
        let (Attribution::Only { replicas, sentence, .. } | Attribution::Across { replicas, sentence }) = &mut self;
        replicas.iter_mut().chain([sentence]).for_each(|text| *text = present(text));
        self
    }
}

/// The attributor of the findings of one trace.
pub(super) struct Attributor<'f, 'h> {
    history: &'h History<'h>,
    fleet: &'f Fleet,
    /// The requirements that the exchanges of each replica break if they are judged alone, by its place.
    alone: Vec<BTreeSet<&'static str>>,
}

impl<'f, 'h> Attributor<'f, 'h> {
    /// The attributor of the failures of these rules; none if nothing is broken or the trace is a sample.
    pub(super) fn new(facts: &Facts<'h>, fleet: &'f Fleet, broken: &[Rule]) -> Option<Attributor<'f, 'h>> {
        let history = facts.history;
        if broken.is_empty() || history.is_sample() {
            return None;
        }
        let alone = (0..fleet.reads.len()).map(|replica| broken_alone(history, replica, broken)).collect();
        Some(Attributor { history, fleet, alone })
    }

    /// The attribution of a finding, whose failures are all of one kind.
    pub(super) fn attribute(
        &self,
        requirement: &Requirement,
        judgement: &Judgement,
        of_kind: &[&Failure],
    ) -> Option<Attribution> {
        let id = requirement.id.as_str();
        let decisive: BTreeSet<usize> =
            of_kind.iter().filter_map(|failure| failure.exchanges.first().copied()).collect();
        let shown_at = self.replicas_of(&decisive);
        if shown_at.is_empty() {
            return None;
        }
        if shown_at.iter().all(|replica| self.alone.get(*replica).is_some_and(|broken| broken.contains(id))) {
            return self.only(judgement, &decisive, &shown_at);
        }
        if requirement.about == About::Limits {
            let apart = self.fleet.counting_apart();
            // If all replicas count together, the replica at which a limit was exceeded is a matter of chance.
            let is_of_counters = !apart.is_empty() && BROKEN_BY_COUNTERS.contains(&id);
            let replicas = if self.fleet.shares_a_counter() { apart } else { Vec::new() };
            return is_of_counters.then(|| self.across(&replicas, true));
        }
        // If each replica shows the animals of the others, the failure is not one between replicas.
        if self.fleet.lagging().is_empty() {
            return None;
        }
        self.some_do_not_show(&judgement.failures).or_else(|| {
            let apart = self.fleet.storing_apart();
            let replicas = if apart.len() < self.alone.len() { apart } else { Vec::new() };
            Some(self.across(&replicas, false))
        })
    }

    /// The attribution to the replicas that show a finding by themselves, if others answered similar requests without it.
    fn only(
        &self,
        judgement: &Judgement,
        decisive: &BTreeSet<usize>,
        shown_at: &BTreeSet<usize>,
    ) -> Option<Attribution> {
        let broken: BTreeSet<usize> =
            judgement.failures.iter().filter_map(|failure| failure.exchanges.first().copied()).collect();
        let (mut broken_there, mut requests, mut others) = (0, 0, 0);
        for entry in self.similar(judgement, decisive, shown_at) {
            let is_broken = broken.contains(&entry.exchange.number);
            if shown_at.contains(&replica_of(entry)) {
                requests += 1;
                broken_there += usize::from(is_broken);
            } else {
                others += usize::from(!is_broken);
            }
        }
        self.only_at(shown_at, broken_there, requests, others)
    }

    /// The attribution to some replicas, unless all of them show the finding or no other one answered without it.
    fn only_at(
        &self,
        shown_at: &BTreeSet<usize>,
        broken: usize,
        requests: usize,
        others: usize,
    ) -> Option<Attribution> {
        if shown_at.len() == self.alone.len() || others == 0 {
            return None;
        }
        let replicas = self.addresses(shown_at);
        let sentence = format!(
            "only at {}, in {broken} of {requests} requests; the other replicas answered {others} similar requests without this failure",
            replicas.join(" and ")
        );
        Some(Attribution::Only { replicas, broken, requests, others, sentence })
    }

    /// The attribution to differences between answers of several replicas: all, or at least each of these ones. `counts_apart` is true
    /// if these replicas count the requests of a key for themselves.
    fn across(&self, replicas: &[usize], counts_apart: bool) -> Attribution {
        let replicas = self.addresses(replicas);
        let named = replicas.join(" and ");
        let sentence = match (counts_apart, replicas.len()) {
            (true, 0) => "only across replicas: each replica counts requests separately".to_owned(),
            (true, 1) => format!("only across replicas: {named} counts requests separately"),
            (true, _) => format!("only across replicas: {named} count requests separately"),
            (false, 0) => "only across replicas: no replica shows this failure alone".to_owned(),
            (false, _) => {
                format!("only between {named} and the other replicas: no replica shows this failure alone")
            }
        };
        Attribution::Across { replicas, sentence }
    }

    fn addresses<'p>(&self, places: impl IntoIterator<Item = &'p usize>) -> Vec<String> {
        let address = |at: &usize| self.history.context.addresses().nth(*at).map(str::to_owned);
        places.into_iter().filter_map(address).collect()
    }

    /// The requests that are similar to those of a finding: requests of the same operations that the rule judged. If the rule
    /// judged none at other replicas, it names only the exchanges in which it failed, and then every request with the likeness of
    /// those is similar.
    fn similar(
        &self,
        judgement: &Judgement,
        decisive: &BTreeSet<usize>,
        shown_at: &BTreeSet<usize>,
    ) -> Vec<&'h Entry<'h>> {
        let examples: Vec<&Entry<'_>> = decisive.iter().filter_map(|number| self.entry(*number)).collect();
        let operations: BTreeSet<&str> = examples.iter().map(|entry| entry.operation.name()).collect();
        let judged = judgement.exchanges.iter().filter_map(|number| self.entry(*number));
        let judged: Vec<&Entry<'_>> = judged.filter(|entry| operations.contains(entry.operation.name())).collect();
        if judged.iter().any(|entry| !shown_at.contains(&replica_of(entry))) {
            return judged;
        }
        let likenesses: Vec<String> = examples.iter().map(|entry| likeness(self.history, entry)).collect();
        let entries = self.history.entries.iter();
        entries.filter(|entry| likenesses.contains(&likeness(self.history, entry))).collect()
    }

    /// The attribution to the replicas that do not show the animals of other replicas, while the others do. Between replicas, the kind of a
    /// failure depends on which of them was asked first, so all failures of the rule count.
    fn some_do_not_show(&self, failures: &[Failure]) -> Option<Attribution> {
        let broken: BTreeSet<usize> =
            failures.iter().filter_map(|failure| failure.exchanges.first().copied()).collect();
        let shown_at = self.replicas_of(&broken);
        let (mut sound_there, mut others) = (0, 0);
        for (replica, reads) in self.fleet.reads.iter().enumerate() {
            if shown_at.contains(&replica) {
                sound_there += reads.answers;
            } else {
                others += reads.answers;
            }
        }
        self.only_at(&shown_at, broken.len(), broken.len() + sound_there, others)
    }

    /// The replicas that got the requests of these exchanges.
    fn replicas_of<'n>(&self, numbers: impl IntoIterator<Item = &'n usize>) -> BTreeSet<usize> {
        numbers.into_iter().filter_map(|number| self.entry(*number)).map(replica_of).collect()
    }

    fn entry(&self, number: usize) -> Option<&'h Entry<'h>> {
        self.history.entries.get(number.checked_sub(1)?)
    }
}

/// The requirements that the exchanges of one replica break if they are judged alone.
fn broken_alone(history: &History<'_>, replica: usize, rules: &[Rule]) -> BTreeSet<&'static str> {
    let own = history.entries.iter().filter(|entry| replica_of(entry) == replica);
    let exchanges = own.enumerate().map(|(at, entry)| Exchange { number: at + 1, ..entry.exchange.clone() });
    let trace = Trace { context: history.context.clone(), exchanges: exchanges.collect() };
    let history = History::new(&trace);
    let facts = Facts::new(&history);
    rules.iter().filter(|rule| !rule.judge(&facts).failures.is_empty()).map(|rule| rule.id).collect()
}

#[cfg(test)]
mod tests {
    use crate::catalogue::scope::Scope;
    use crate::tests::TraceBuilder;
    use crate::trace::exchange::Request;
    use crate::verdict::judge;

    /// Returns the attribution of each finding of a requirement, in words.
    fn attributed(builder: TraceBuilder, id: &str) -> Vec<String> {
        let trace = builder.trace();
        let verdicts = judge(&trace, &Scope::default());
        let verdict = verdicts.into_iter().find(|verdict| verdict.requirement.id == id).expect("a requirement");
        assert!(!verdict.findings.is_empty(), "{id} holds");
        let attributions = verdict.findings.into_iter().map(|finding| finding.attribution);
        attributions.map(|found| found.map_or_else(String::new, |found| found.sentence().to_owned())).collect()
    }

    /// Lists at these replicas, answered with a status.
    fn lists(replicas: usize, answers: &[(usize, u16)]) -> TraceBuilder {
        let ask = |builder: TraceBuilder, (at, status): &(usize, u16)| {
            let body = if *status == 200 { "[]" } else { "" };
            builder.ask(Request::new("GET", "/pets"), *status, body.to_owned()).replica(*at)
        };
        answers.iter().fold(TraceBuilder::new().fleet(replicas), ask)
    }

    #[test]
    fn what_one_replica_shows_by_itself_is_attributed_to_it() {
        let one = lists(3, &[(0, 200), (1, 200), (2, 500), (0, 200), (2, 500), (1, 200), (2, 200)]);
        let expected = "only at http://127.0.0.1:3/v1, in 2 of 3 requests; the other replicas answered 4 similar requests without this failure";
        assert_eq!(attributed(one, "list.success"), [expected]);
        assert_eq!(attributed(lists(2, &[(0, 500), (1, 500)]), "list.success"), [""], "all show it");
        assert_eq!(attributed(lists(2, &[(0, 500)]), "list.success"), [""], "the other one was not asked");
    }
}
