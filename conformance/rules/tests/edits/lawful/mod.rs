//! Lawful edits: another server, as lawful as the recorded one, would have answered so. After none of them may anything fail.

mod bodies;
mod choices;
mod times;

use animal_store_rules::facts::Facts;
use animal_store_rules::history::History;
use animal_store_rules::rules::{judge, rules};
use animal_store_rules::trace::Trace;
use fastrand::Rng;

use super::{TRACES, recording};

/// A lawful edit.
pub(super) struct Lawful {
    /// What is different.
    pub(super) name: &'static str,
    /// Why a breaking edit may go unnoticed beside it, if it may: the answers then report less.
    pub(super) hides: Option<&'static str>,
    /// Makes it so. What it draws at random is lawful whatever it draws.
    pub(super) apply: fn(&mut Trace, &mut Rng),
}

/// Every lawful edit. Each may be made once, together with any others, in any order.
pub(super) fn lawful_edits() -> impl Iterator<Item = &'static Lawful> {
    bodies::EDITS.iter().chain(times::EDITS).chain(choices::EDITS)
}

/// How often each edit is made by itself; the combinations draw again.
const DRAWS: u64 = 1;

/// The failures of a trace, a line each.
fn failures(trace: &Trace) -> Vec<String> {
    let history = History::new(trace);
    let judgements = judge(&rules(), &Facts::new(&history));
    let failures =
        judgements.into_iter().flat_map(|(id, judgement)| judgement.failures.into_iter().map(move |f| (id, f)));
    failures
        .map(|(id, failure)| {
            format!("{id}, exchanges {:?}: expected {}, found {}", failure.exchanges, failure.expected, failure.found)
        })
        .collect()
}

#[test]
fn after_a_lawful_edit_nothing_fails() {
    for name in TRACES {
        let recorded = recording::load(name);
        let lines = failures(&recorded);
        assert!(lines.is_empty(), "{name} as it was recorded:\n{}", lines.join("\n"));
        for edit in lawful_edits() {
            for seed in 0..DRAWS {
                let mut trace = recorded.clone();
                (edit.apply)(&mut trace, &mut Rng::with_seed(seed));
                let lines = failures(&trace);
                assert!(
                    lines.is_empty(),
                    "{name}, {:?} with the seed {seed}:\n{}\nsee the end of \"Add a rule\" in conformance/README.md",
                    edit.name,
                    lines.join("\n")
                );
            }
        }
    }
}

#[test]
fn every_lawful_edit_changes_some_trace() {
    for edit in lawful_edits() {
        let changes = |name: &&str| {
            let recorded = recording::load(name);
            let mut trace = recorded.clone();
            (edit.apply)(&mut trace, &mut Rng::with_seed(1));
            let context = |trace: &Trace| (trace.context.base_url.clone(), trace.context.plan_limits);
            trace.exchanges != recorded.exchanges || context(&trace) != context(&recorded)
        };
        assert!(TRACES.iter().any(changes), "{:?} changes nothing", edit.name);
    }
}
