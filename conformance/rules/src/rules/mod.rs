//! Rules: pure functions over a trace, one file for each section of the specification.
//!
//! A rule says which exchanges it applies to and what must hold of them. It derives what to expect from the requests
//! themselves, sends nothing, sleeps never, and reads no clock and no file, so that it judges recorded traffic as well as
//! its own. Open requirements have observers instead, which cannot fail a candidate: their type offers no way to.

pub(crate) mod server;

use std::collections::BTreeSet;

use crate::facts::Facts;
use crate::history::{Entry, History};
use crate::limiter::KeyLimits;
use crate::trace::Trace;
use server::{
    authentication, create, errors, exceeding, get, headers, list, orders, refusals, resources, service, side_effects,
    versioning,
};

/// A rule and the requirement that it judges.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The identifier of a stated or inferred requirement.
    pub id: &'static str,
    /// What it applies to, and how it judges that.
    applies: Applies,
    /// Whether it asks if what was created must be seen yet: reads may lag.
    pub is_excused_by_lag: bool,
}

/// What a rule applies to, with the function that judges it.
#[derive(Clone, Copy, Debug)]
enum Applies {
    /// The trace as a whole.
    Trace(fn(&Facts<'_>, &mut Judgement)),
    /// Each key by itself.
    Keys(fn(&Facts<'_>, &KeyLimits<'_>, &mut Judgement)),
    /// Each exchange that the condition picks.
    Entries(fn(&Entry<'_>) -> bool, fn(&Facts<'_>, &Entry<'_>, &mut Judgement)),
}

impl Rule {
    /// A rule that looks at the trace as a whole.
    pub(crate) const fn new(id: &'static str, judge: fn(&Facts<'_>, &mut Judgement)) -> Rule {
        Rule { id, applies: Applies::Trace(judge), is_excused_by_lag: false }
    }

    /// A rule that looks at each key by itself.
    pub(crate) const fn of_keys(id: &'static str, judge: fn(&Facts<'_>, &KeyLimits<'_>, &mut Judgement)) -> Rule {
        Rule { id, applies: Applies::Keys(judge), is_excused_by_lag: false }
    }

    /// A rule that looks at each exchange that a condition picks.
    pub(crate) const fn of_entries(
        id: &'static str,
        condition: fn(&Entry<'_>) -> bool,
        judge: fn(&Facts<'_>, &Entry<'_>, &mut Judgement),
    ) -> Rule {
        Rule { id, applies: Applies::Entries(condition, judge), is_excused_by_lag: false }
    }

    /// The same rule, which holds nothing against a read that may lag.
    pub(crate) const fn excused_by_lag(self) -> Rule {
        Rule { is_excused_by_lag: true, ..self }
    }

    /// Judges a trace.
    #[must_use]
    pub fn judge(&self, facts: &Facts<'_>) -> Judgement {
        let mut judgement = Judgement::default();
        match self.applies {
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

/// Every rule, by section of the specification.
#[must_use]
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

/// The requirements that a trace breaks.
#[must_use]
pub fn broken(trace: &Trace) -> BTreeSet<&'static str> {
    let history = History::new(trace);
    let facts = Facts::new(&history);
    rules().iter().filter(|rule| !rule.judge(&facts).failures.is_empty()).map(|rule| rule.id).collect()
}

/// The reads that break a rule only if what was created had to be seen at once: a moment later they are worth a second look.
#[must_use]
pub fn premature(trace: &Trace) -> BTreeSet<usize> {
    let reads = |history: &History<'_>| -> BTreeSet<usize> {
        let facts = Facts::new(history);
        let rules = rules().into_iter().filter(|rule| rule.is_excused_by_lag);
        let failures = rules.flat_map(|rule| rule.judge(&facts).failures);
        failures.filter_map(|failure| failure.exchanges.first().copied()).collect()
    };
    &reads(&History::impatient(trace)) - &reads(&History::new(trace))
}

/// What a rule found.
#[derive(Debug, Default)]
pub struct Judgement {
    /// How many times the rule was applied.
    pub judged: usize,
    /// Where it did not hold.
    pub failures: Vec<Failure>,
}

/// A place where a rule did not hold.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Failure {
    /// The numbers of the exchanges concerned, the decisive one first.
    pub exchanges: Vec<usize>,
    /// What had to be.
    pub expected: String,
    /// What was.
    pub found: String,
}

impl Judgement {
    /// Notes that the rule was applied and held.
    pub fn hold(&mut self) {
        self.judged += 1;
    }

    /// Notes that the rule was applied to these cases, the decisive one first, and did not hold.
    pub fn fail(&mut self, entries: &[&Entry<'_>], expected: impl Into<String>, found: impl Into<String>) {
        self.judged += 1;
        self.failures.push(Failure {
            exchanges: entries.iter().map(|entry| entry.exchange.number).collect(),
            expected: expected.into(),
            found: found.into(),
        });
    }

    /// Notes whether an answer is one that the request's expectation admits. What got no answer is judged elsewhere.
    pub(crate) fn require_lawful(&mut self, history: &History<'_>, entry: &Entry<'_>, request: &str) {
        let Some(status) = entry.status() else { return };
        let expectation = history.expectation(entry);
        self.require(entry, expectation.admits(status), format!("{expectation} for {request}"), || answered(entry));
    }

    /// Notes that the rule was applied to a case, and whether it held.
    pub fn require(
        &mut self,
        entry: &Entry<'_>,
        holds: bool,
        expected: impl Into<String>,
        found: impl FnOnce() -> String,
    ) {
        if holds {
            self.hold();
        } else {
            self.fail(&[entry], expected, found());
        }
    }
}

/// The status of a case and the operation it answered, for sentences.
pub(crate) fn answered(entry: &Entry<'_>) -> String {
    match entry.status() {
        Some(status) => format!("{status} on {}", entry.operation.name()),
        None => format!("no answer on {}", entry.operation.name()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::catalogue::{Level, catalogue};
    use crate::observers::observers;
    use crate::trace_builder::TraceBuilder;

    #[test]
    fn a_read_that_lags_is_worth_a_second_look_until_it_lags_too_long() {
        let unseen_after = |seconds| TraceBuilder::new().create(7).wait(seconds).get(7, None).trace();
        assert_eq!(premature(&unseen_after(4)), BTreeSet::from([2]));
        assert_eq!(premature(&unseen_after(5)), BTreeSet::new());
        assert!(!broken(&unseen_after(4)).contains("get.success"));
        assert!(broken(&unseen_after(5)).contains("get.success"));
    }

    #[test]
    fn what_held_and_what_did_not_is_judged() {
        let mut judgement = Judgement::default();
        judgement.hold();
        judgement.fail(&[], "this", "that");
        assert_eq!((judgement.judged, judgement.failures.len()), (2, 1));
    }

    #[test]
    fn every_stated_and_inferred_requirement_has_one_rule_and_every_open_one_an_observer() {
        let mut judged: Vec<&str> = rules().iter().map(|rule| rule.id).collect();
        let mut observed: Vec<&str> = observers().iter().map(|observer| observer.id).collect();
        let mut expected = (Vec::new(), Vec::new());
        for requirement in &catalogue().requirements {
            let open = requirement.level == Level::Open;
            if open { &mut expected.1 } else { &mut expected.0 }.push(requirement.id.as_str());
        }
        assert_eq!(judged.len(), judged.iter().collect::<HashSet<_>>().len(), "a rule stands twice");
        for list in [&mut judged, &mut observed, &mut expected.0, &mut expected.1] {
            list.sort_unstable();
        }
        assert_eq!(judged, expected.0);
        assert_eq!(observed, expected.1);
    }
}
