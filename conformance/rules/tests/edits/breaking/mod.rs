//! Breaking edits: for every rule, responses that no lawful server gives. The rule must catch them, and no unrelated rule may.
//!
//! Each requirement has one edit, as a proof without a server that its rule can fail. Further edits show what no fault of the laboratory
//! shows.

mod access;
mod create;
mod errors;
mod exceeding;
mod get;
mod headers;
mod lists;
mod resources;
mod service;
mod side_effects;
mod versioning;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use animal_store_rules::catalogue::{Level, Party, catalogue};
use animal_store_rules::rules::broken;
use animal_store_rules::trace::Trace;

use super::recording;

/// A breaking edit.
pub(super) struct Breaking {
    /// The requirement that it breaks.
    pub(super) rule: &'static str,
    /// What is wrong after it.
    pub(super) name: &'static str,
    /// The recorded trace to edit.
    pub(super) trace: &'static str,
    /// Other requirements that are broken by the same answer, each with the reason.
    pub(super) also: &'static [(&'static str, &'static str)],
    /// Breaks it.
    pub(super) apply: fn(&mut Trace),
}

impl Breaking {
    /// An edit that breaks one requirement.
    const fn new(rule: &'static str, name: &'static str, trace: &'static str, apply: fn(&mut Trace)) -> Breaking {
        Breaking { rule, name, trace, also: &[], apply }
    }

    /// Names the other requirements that the same response breaks, each with the reason.
    const fn also(self, also: &'static [(&'static str, &'static str)]) -> Breaking {
        Breaking { also, ..self }
    }

    /// Every requirement that must fail.
    pub(super) fn breaks(&self) -> BTreeSet<&'static str> {
        self.also.iter().map(|(id, _)| *id).chain([self.rule]).collect()
    }
}

/// Every breaking edit.
pub(super) fn breaking_edits() -> impl Iterator<Item = &'static Breaking> {
    [
        service::EDITS,
        resources::EDITS,
        lists::EDITS,
        create::EDITS,
        side_effects::EDITS,
        get::EDITS,
        access::EDITS,
        errors::EDITS,
        headers::EDITS,
        exceeding::EDITS,
        versioning::EDITS,
    ]
    .into_iter()
    .flatten()
}

#[test]
fn every_breaking_edit_is_caught_by_its_rule_and_by_no_unrelated_one() {
    let (mut problems, mut caught) = (Vec::new(), BTreeSet::<&str>::new());
    for edit in breaking_edits() {
        let mut trace = recording::load(edit.trace);
        // An edit that finds nothing to edit is reported by its name, and the others are tried all the same.
        if catch_unwind(AssertUnwindSafe(|| (edit.apply)(&mut trace))).is_err() {
            problems.push(format!("{} ({}): there is nothing to edit", edit.name, edit.trace));
            continue;
        }
        let (found, expected) = (broken(&trace), edit.breaks());
        let missed: Vec<_> = expected.difference(&found).collect();
        let accused: Vec<_> = found.difference(&expected).collect();
        if !missed.is_empty() || !accused.is_empty() {
            problems.push(format!("{} ({}): not caught by {missed:?}, accused by {accused:?}", edit.name, edit.trace));
        }
        caught.extend(found.intersection(&expected));
    }
    for requirement in catalogue().of(Party::Server).filter(|requirement| requirement.level != Level::Open) {
        if !caught.contains(requirement.id.as_str()) {
            problems
                .push(format!("{} catches no edit: its rule has become vacuous, or it lacks an edit", requirement.id));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
