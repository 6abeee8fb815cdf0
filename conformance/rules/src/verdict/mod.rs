//! The verdicts on a trace, with the replicas that failures are about.

pub mod attribution;
pub mod findings;
pub mod near_misses;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::catalogue::scope::Scope;
use crate::catalogue::{Level, Party, Requirement, catalogue};
use crate::facts::Facts;
use crate::fleet::Fleet;
use crate::history::History;
use crate::observers::OBSERVERS;
use crate::rules::{self, Failure, Judgement, Memory, Rule};
use crate::trace::{Context, Trace};
use crate::worded;
use attribution::Attributor;
use findings::Finding;

worded! {
    /// The verdict on a run.
    #[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Verdict {
        /// Every selected stated requirement was exercised and held.
        Conforms = "conforms",
        /// A selected requirement that counts was broken.
        Violates = "violates",
        /// Nothing was broken, but a selected stated requirement was not exercised.
        Incomplete = "incomplete",
    }
}

/// The status of one requirement.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The requirement was judged and held each time.
    Pass,
    /// The requirement was broken at least once.
    Fail,
    /// The requirement was broken, as is known: no violation.
    KnownFailing,
    /// The requirement was broken, and is listed as known to fail until a day that is over: a violation.
    StaleKnownFailing,
    /// The trace does not allow a judgement.
    NotExercised,
    /// The requirement is open: the choice of the candidate is recorded.
    Observed,
}

/// The verdict on one requirement.
#[derive(Clone, Debug)]
pub struct RequirementVerdict {
    /// The requirement.
    pub requirement: &'static Requirement,
    /// Whether the run was asked for this requirement.
    pub selected: bool,
    /// The status of the requirement in this run.
    pub status: Status,
    /// The number of judgements.
    pub judged: usize,
    /// The numbers of the exchanges that the requirement was judged on, as far as its rule looks at single ones.
    pub exchanges: BTreeSet<usize>,
    /// The failures of the requirement.
    pub failures: Vec<Failure>,
    /// The failures by kind, the worst kind first.
    pub findings: Vec<Finding>,
    /// The reason why the requirement was not exercised, is known to fail, or is no longer known to fail. If it held: the facts
    /// that the exchanges could not show.
    pub reason: Option<String>,
    /// The choice of the candidate for an open requirement, as far as this run shows it.
    pub observed: Option<String>,
}

impl RequirementVerdict {
    /// Returns true if this verdict makes the candidate violate.
    pub fn is_violation(&self, strict: bool) -> bool {
        self.selected
            && match (self.status, self.requirement.level) {
                (Status::StaleKnownFailing, _) | (Status::Fail, Level::Stated) => true,
                (Status::Fail, Level::Inferred) => strict,
                _ => false,
            }
    }

    /// Returns true if this verdict keeps the run from being complete. A requirement of clients that had no occasion does not.
    pub fn is_gap(&self) -> bool {
        let is_demanded = self.requirement.level == Level::Stated && self.requirement.party == Party::Server;
        self.selected && self.status == Status::NotExercised && is_demanded
    }
}

/// Judges a trace by every rule and observer, in the order of the catalogue.
pub fn judge(trace: &Trace, scope: &Scope) -> Vec<RequirementVerdict> {
    judge_after(trace, scope, &mut Memory::default())
}

/// Judges a part of a recording as [`judge`] does. Its clients remember earlier parts, and `memory` then has this part as well.
#[doc(hidden)]
pub fn judge_after(trace: &Trace, scope: &Scope, memory: &mut Memory) -> Vec<RequirementVerdict> {
    let history = History::new(trace);
    let facts = Facts::new(&history);
    verdicts(&facts, Fleet::of(&facts).as_ref(), scope, memory)
}

/// Judges the facts of a trace as [`judge_after`] does.
#[doc(hidden)]
pub fn verdicts(
    facts: &Facts<'_>,
    fleet: Option<&Fleet>,
    scope: &Scope,
    memory: &mut Memory,
) -> Vec<RequirementVerdict> {
    let parties = [Party::Server, Party::Client].into_iter().filter(|party| scope.side.has(*party));
    let rules: Vec<Rule> = parties.flat_map(rules::rules_of).filter(|rule| scope.judges(rule.id)).collect();
    let mut judgements = rules::judge_after(&rules, facts, memory);
    let broken: Vec<Rule> = rules
        .into_iter()
        .filter(|rule| judgements.get(rule.id).is_some_and(|found| !found.failures.is_empty()))
        .collect();
    let attributor = fleet.and_then(|fleet| Attributor::new(facts, fleet, &broken));
    let requirements = catalogue().requirements.iter().filter(|requirement| scope.side.has(requirement.party));
    let mut verdicts = Vec::new();
    for requirement in requirements {
        let is_selected = scope.selects(&requirement.id);
        let judgement = judgements.remove(requirement.id.as_str());
        let mut verdict = match judgement.filter(|judgement| is_selected || !judgement.failures.is_empty()) {
            Some(judgement) => RequirementVerdict::judged(requirement, facts, judgement, attributor.as_ref()),
            // Not judged: an observation, if the requirement is open.
            None => {
                let is_open = requirement.level == Level::Open;
                let observer = OBSERVERS.iter().find(|observer| observer.id == requirement.id);
                RequirementVerdict {
                    observed: observer.and_then(|observer| (observer.observe)(facts)),
                    ..RequirementVerdict::new(
                        requirement,
                        if is_open { Status::Observed } else { Status::NotExercised },
                    )
                }
            }
        };
        verdict.selected = is_selected || verdict.status == Status::Fail;
        if verdict.status == Status::NotExercised {
            verdict.reason = Some(reason(facts.history.context, scope, requirement, verdict.reason));
        }
        verdicts.push(verdict);
    }
    verdicts
}

impl RequirementVerdict {
    /// The verdict on a requirement before anything was judged.
    #[doc(hidden)]
    pub fn new(requirement: &'static Requirement, status: Status) -> RequirementVerdict {
        RequirementVerdict {
            requirement,
            selected: false,
            status,
            judged: 0,
            exchanges: BTreeSet::new(),
            failures: Vec::new(),
            findings: Vec::new(),
            reason: None,
            observed: None,
        }
    }

    /// The verdict that follows from a judgement.
    fn judged(
        requirement: &'static Requirement,
        facts: &Facts<'_>,
        judgement: Judgement,
        attributor: Option<&Attributor<'_, '_>>,
    ) -> RequirementVerdict {
        let status = match (judgement.judged, judgement.failures.is_empty()) {
            (_, false) => Status::Fail,
            (0, true) => Status::NotExercised,
            (_, true) => Status::Pass,
        };
        let findings = findings::findings(facts, &judgement.failures, |of_kind| {
            attributor?.attribute(requirement, &judgement, of_kind)
        });
        let reason = match status {
            // The facts that the requests of one key do not show say more than those that the recording of another key withholds.
            Status::NotExercised => {
                judgement.unseen.filter(|_| requirement.party == Party::Client).or(judgement.withheld)
            }
            Status::Pass => judgement.unseen,
            _ => None,
        };
        RequirementVerdict {
            judged: judgement.judged,
            exchanges: judgement.exchanges,
            failures: judgement.failures,
            findings,
            reason,
            ..RequirementVerdict::new(requirement, status)
        }
    }
}

/// The reason why a requirement was not exercised, if nothing more specific is known.
const UNSEEN: &str = "no exchange shows whether the requirement holds; `conform rules ID` shows one that does";

/// The reason why a requirement was not exercised.
fn reason(context: &Context, scope: &Scope, requirement: &Requirement, withheld: Option<String>) -> String {
    if scope.profile.leaves_out(&requirement.id) {
        return format!("outside the profile {}", scope.profile.as_str());
    }
    if !scope.selects(&requirement.id) {
        return "not selected".to_owned();
    }
    let left_out = context.left_out.iter().filter(|part| requirement.id.starts_with(part.requirements.as_ref()));
    if let Some(most_specific) = left_out.max_by_key(|part| part.requirements.len()) {
        return most_specific.reason.clone();
    }
    withheld.unwrap_or_else(|| UNSEEN.to_owned())
}

/// The verdict on the whole run. A run that did not send all of its fixed parts (`finished`), or exercised none of the selected
/// requirements, is incomplete at best: otherwise a server would conform that breaks an untested requirement.
pub fn overall(verdicts: &[RequirementVerdict], strict: bool, finished: bool) -> Verdict {
    if verdicts.iter().any(|verdict| verdict.is_violation(strict)) {
        Verdict::Violates
    } else if !finished || verdicts.iter().any(RequirementVerdict::is_gap) || is_empty(verdicts) {
        Verdict::Incomplete
    } else {
        Verdict::Conforms
    }
}

/// Returns true if there is something to judge and none of it was exercised.
fn is_empty(verdicts: &[RequirementVerdict]) -> bool {
    let is_judged = |verdict: &&RequirementVerdict| verdict.selected && verdict.requirement.level != Level::Open;
    let mut judged = verdicts.iter().filter(is_judged).peekable();
    judged.peek().is_some() && judged.all(|verdict| verdict.status == Status::NotExercised)
}
