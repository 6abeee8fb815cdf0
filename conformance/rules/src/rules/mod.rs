//! Rules: pure functions over a trace, one file for each section of the specification.
//!
//! A rule says which exchanges it applies to and what must hold of them. It derives what to expect from the requests
//! themselves, sends nothing, never sleeps, and reads no clock and no file, so that it can judge recorded traffic as well as
//! that of a run. Open requirements have observers instead, which cannot fail a candidate: their type makes that impossible.

pub mod alike;
pub(crate) mod client;
pub(crate) mod needs;
pub(crate) mod server;

mod judge;

use std::collections::BTreeSet;

use crate::catalogue::Party;
use crate::facts::Facts;
pub(crate) use crate::history::answered;
use crate::history::{Entry, History};
use crate::limits::Finding;
use crate::limits::KeyLimits;
use crate::sentence::{Sentence, sentence};
use crate::trace::Trace;
use client::Clients;
pub use client::Memory;
pub use judge::{judge, judge_after};
use needs::Needs;
use server::{
    authentication, create, errors, exceeding, get, headers, list, orders, refusals, resources, service, side_effects,
    versioning,
};

/// A rule and the requirement that it judges.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The identifier of a stated or inferred requirement.
    pub id: &'static str,
    /// The part of a trace that the rule applies to, with the function that judges it.
    applies: Applies,
    /// Whether the rule asks for created animals in reads, which may lag.
    pub is_excused_by_lag: bool,
    /// The facts and the extent of a trace that the rule needs.
    needs: Needs,
    /// The function that finds contradictions in a sample, if the rule needs more than a sample to hold.
    of_samples: Option<OfKey>,
}

/// A function that judges the exchanges of one key.
type OfKey = fn(&Facts<'_>, &KeyLimits<'_>, &mut Judgement);

/// The part of a trace that a rule applies to, with the function that judges it.
#[derive(Clone, Copy, Debug)]
enum Applies {
    /// The trace as a whole.
    Trace(fn(&Facts<'_>, &mut Judgement)),
    /// Each key by itself.
    Keys(OfKey),
    /// Each exchange that meets the condition.
    Entries(fn(&Entry<'_>) -> bool, fn(&Facts<'_>, &Entry<'_>, &mut Judgement)),
    /// The requests of clients, given the responses that they knew.
    Clients(fn(&Clients<'_>, &mut Memory, &mut Judgement)),
}

impl Rule {
    /// A rule that needs no fact beyond the status code.
    const fn applying(id: &'static str, applies: Applies) -> Rule {
        Rule { id, applies, is_excused_by_lag: false, needs: Needs::NOTHING, of_samples: None }
    }

    /// A rule that looks at the trace as a whole.
    pub(crate) const fn new(id: &'static str, judge: fn(&Facts<'_>, &mut Judgement)) -> Rule {
        Rule::applying(id, Applies::Trace(judge))
    }

    /// A rule that looks at the trace as a whole, as far as it shows the requests completely.
    pub(crate) const fn of_requests(id: &'static str, judge: fn(&Facts<'_>, &mut Judgement)) -> Rule {
        Rule::new(id, judge).needing(Needs::REQUEST)
    }

    /// A rule that looks at each key by itself.
    pub(crate) const fn of_keys(id: &'static str, judge: OfKey) -> Rule {
        Rule::applying(id, Applies::Keys(judge))
    }

    /// A rule that looks at each exchange that meets a condition.
    pub(crate) const fn of_entries(
        id: &'static str,
        condition: fn(&Entry<'_>) -> bool,
        judge: fn(&Facts<'_>, &Entry<'_>, &mut Judgement),
    ) -> Rule {
        Rule::applying(id, Applies::Entries(condition, judge))
    }

    /// Marks a rule that asks for created animals in reads: it holds nothing against a read that may lag.
    pub(crate) const fn excused_by_lag(self) -> Rule {
        Rule { is_excused_by_lag: true, ..self }
    }

    /// Limits a rule to exchanges that show these facts, in traces of this extent.
    pub(crate) const fn needing(self, needs: Needs) -> Rule {
        Rule { needs, ..self }
    }

    /// Adds a function for samples to a rule. A sample cannot show that the rule holds, but may contradict it: the function notes
    /// only failures.
    pub(crate) const fn contradicted_in_samples_by(self, judge: OfKey) -> Rule {
        Rule { of_samples: Some(judge), ..self }
    }

    /// A rule about the requests of clients, given the responses that they knew.
    pub(crate) const fn of_clients(id: &'static str, judge: fn(&Clients<'_>, &mut Memory, &mut Judgement)) -> Rule {
        Rule::applying(id, Applies::Clients(judge))
    }

    /// Judges a trace that shows every fact the rule needs and has no earlier part. [`judge_after`] prepares such traces.
    pub fn judge(&self, facts: &Facts<'_>) -> Judgement {
        let mut judgement = Judgement::default();
        match self.applies {
            Applies::Clients(judge) => {
                let mut memory = Memory::default();
                judge(&memory.clients(facts.history), &mut memory, &mut judgement);
            }
            Applies::Trace(judge) => judge(facts, &mut judgement),
            Applies::Keys(judge) => facts.limiter.keys().iter().for_each(|key| judge(facts, key, &mut judgement)),
            Applies::Entries(picks, judge) => {
                let picked = facts.history.entries.iter().filter(|entry| picks(entry));
                picked.for_each(|entry| judge(facts, entry, &mut judgement));
            }
        }
        judgement
    }
}

/// Every rule about a party.
pub fn rules_of(party: Party) -> Vec<Rule> {
    match party {
        Party::Server => rules(),
        Party::Client => client::rules(),
    }
}

/// Every rule about servers, by section of the specification.
pub fn rules() -> Vec<Rule> {
    [
        service::RULES,
        resources::RULES,
        list::RULES,
        create::RULES,
        get::RULES,
        orders::RULES,
        authentication::RULES,
        errors::RULES,
        headers::RULES,
        exceeding::RULES,
        refusals::RULES,
        side_effects::RULES,
        versioning::RULES,
    ]
    .concat()
}

/// The requirements of servers that a trace breaks.
pub fn broken(trace: &Trace) -> BTreeSet<&'static str> {
    let history = History::new(trace);
    let judgements = judge(&rules(), &Facts::new(&history));
    judgements.into_iter().filter(|(_, judgement)| !judgement.failures.is_empty()).map(|(id, _)| id).collect()
}

/// The reads that break a rule only if created animals must be visible at once. They are worth a second look a moment later.
pub fn premature(trace: &Trace) -> BTreeSet<usize> {
    &failing_reads(&History::impatient(trace)) - &failing_reads(&History::new(trace))
}

/// The reads that break a rule which asks for created animals.
fn failing_reads(history: &History<'_>) -> BTreeSet<usize> {
    let facts = Facts::new(history);
    let rules = rules().into_iter().filter(|rule| rule.is_excused_by_lag);
    let failures = rules.flat_map(|rule| rule.judge(&facts).failures);
    failures.filter_map(|failure| failure.exchanges.first().copied()).collect()
}

/// The findings of a rule.
#[derive(Debug, Default)]
pub struct Judgement {
    /// The number of times that the rule was applied.
    pub judged: usize,
    /// The places where the rule did not hold.
    pub failures: Vec<Failure>,
    /// The numbers of the exchanges that the rule was applied to, as far as it looks at single exchanges.
    pub exchanges: BTreeSet<usize>,
    /// The facts that the rule needs and the recording does not contain, in words.
    pub withheld: Option<String>,
    /// The behaviour that the trace could not show, in words. The rule was applied with limited evidence, or not at all.
    pub unseen: Option<String>,
}

/// A place where a rule did not hold.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Failure {
    /// The numbers of the exchanges concerned, the decisive one first.
    pub exchanges: Vec<usize>,
    /// The requirement for these exchanges, in words.
    pub expected: Sentence,
    /// The observed behaviour, in words.
    pub found: Sentence,
    /// The part of the request that the failure is about, as it was sent, if one can be named: `"12345"` as a `categoryId`.
    pub subject: Option<String>,
}

impl Judgement {
    /// Notes that the rule was applied and held.
    pub fn hold(&mut self) {
        self.judged += 1;
    }

    /// Notes that the rule was applied to these exchanges, the decisive one first, and did not hold.
    pub fn fail(&mut self, entries: &[&Entry<'_>], expected: impl Into<Sentence>, found: impl Into<Sentence>) {
        self.judged += 1;
        self.exchanges.extend(entries.iter().map(|entry| entry.exchange.number));
        self.failures.push(Failure {
            exchanges: entries.iter().map(|entry| entry.exchange.number).collect(),
            expected: expected.into(),
            found: found.into(),
            subject: None,
        });
    }

    /// Notes the findings that no way of counting explains.
    pub(crate) fn fail_all<'f, 'h: 'f>(&mut self, findings: impl Iterator<Item = &'f Finding<'h>>) {
        for finding in findings {
            self.fail(&finding.entries, finding.expected(), finding.found());
        }
    }

    /// Notes whether the status code of a response is one that the expectation of its request admits. `service.complete-answer`
    /// judges a request without a response.
    pub(crate) fn require_lawful(&mut self, history: &History<'_>, entry: &Entry<'_>, request: &'static str) {
        let Some(status) = entry.status() else { return };
        let expectation = history.expectation(entry);
        self.require(
            entry,
            expectation.admits(status),
            sentence!("{} for {}", expectation.to_string(), request),
            || answered(entry),
        );
    }

    /// Notes that the rule was applied to an exchange, and its defect, if it has one.
    pub(crate) fn require_no_defect(
        &mut self,
        entry: &Entry<'_>,
        expected: impl Into<Sentence>,
        defect: Option<Sentence>,
    ) {
        match defect {
            None => {
                self.hold();
                self.exchanges.insert(entry.exchange.number);
            }
            Some(defect) => self.fail(&[entry], expected, defect),
        }
    }

    /// Notes that the rule was applied to an exchange, and whether it held.
    pub fn require(
        &mut self,
        entry: &Entry<'_>,
        holds: bool,
        expected: impl Into<Sentence>,
        found: impl FnOnce() -> Sentence,
    ) {
        self.require_no_defect(entry, expected, (!holds).then(found));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Level, catalogue};
    use crate::observers::OBSERVERS;
    use crate::tests::TraceBuilder;

    #[test]
    fn a_read_that_lags_is_worth_a_second_look_until_it_lags_too_long() {
        let unseen_after = |seconds| TraceBuilder::new().create(7).wait(seconds).get(7, None).trace();
        assert_eq!(premature(&unseen_after(4)), BTreeSet::from([2]));
        assert_eq!(premature(&unseen_after(5)), BTreeSet::new());
        assert!(!broken(&unseen_after(4)).contains("get.success"));
        assert!(broken(&unseen_after(5)).contains("get.success"));
    }

    #[test]
    fn an_exchange_without_a_defect_is_one_that_the_rule_was_applied_to() {
        let trace = TraceBuilder::new().list(200, 9, 10).list(200, 8, 10).trace();
        let history = History::new(&trace);
        let mut judgement = Judgement::default();
        judgement.require_no_defect(&history.entries[0], "no defect", None);
        judgement.require_no_defect(&history.entries[1], "no defect", Some("a defect".into()));
        assert_eq!((judgement.judged, judgement.failures.len()), (2, 1));
        assert_eq!(judgement.exchanges, BTreeSet::from([1, 2]));
    }

    #[test]
    fn every_stated_and_inferred_requirement_has_one_rule_and_every_open_one_with_an_example_an_observer() {
        // No example shows the status of an animal that changes, but other clients may change it.
        let can_show =
            |found: &crate::catalogue::Requirement| !found.example.is_empty() || found.id == "pet.status-transitions";
        let ids = |is_open: bool| {
            let of_level = catalogue().requirements.iter().filter(move |found| (found.level == Level::Open) == is_open);
            of_level.filter(|found| !is_open || can_show(found)).map(|found| found.id.as_str()).collect()
        };
        let judged = [Party::Server, Party::Client].into_iter().flat_map(rules_of).map(|rule| rule.id).collect();
        match_up(("a rule", "RULES in rules/src/rules/server/ or client/"), judged, &ids(false));
        let observed = OBSERVERS.iter().map(|observer| observer.id).collect();
        match_up(("an observer", "OBSERVERS in rules/src/observers.rs"), observed, &ids(true));
    }

    /// Requires one of a kind for each id, and says which are wrong.
    fn match_up((kind, place): (&str, &str), found: Vec<&str>, wanted: &BTreeSet<&str>) {
        let mut once = BTreeSet::new();
        let twice: Vec<&str> = found.into_iter().filter(|id| !once.insert(*id)).collect();
        let (missing, unknown) = (wanted - &once, &once - wanted);
        assert!(
            twice.is_empty() && missing.is_empty() && unknown.is_empty(),
            "without {kind}: {missing:?} (add it to {place}); without an entry of its level in \
             fixtures/requirements.toml: {unknown:?}; twice: {twice:?}"
        );
    }
}
