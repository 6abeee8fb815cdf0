//! The order in which to fix broken requirements.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::{Report, RequirementReport};
use animal_store_rules::catalogue::Hides;

impl Report {
    /// The broken requirements, except known failures, in the order in which to fix them: violations before warnings. Among each,
    /// requirements that hide others come first, and then requirements that share a cause or exchanges with most others.
    #[must_use]
    pub fn to_fix(&self) -> Vec<&RequirementReport> {
        let broken: Vec<&RequirementReport> =
            self.requirements.iter().filter(|r| r.violation || r.is_warning()).collect();
        let shared = |requirement: &RequirementReport| {
            let own = exchanges(requirement);
            let alike = broken.iter().filter(|other| !own.is_disjoint(&exchanges(other))).count();
            self.cause_of(&requirement.id).map_or(alike, |cause| cause.requirements.len().max(alike))
        };
        let mut ordered = broken.clone();
        ordered.sort_by_cached_key(|r| {
            let hides = r.entry().map_or(Hides::Nothing, |entry| entry.hides);
            (!r.violation, hides, Reverse(if hides == Hides::Nothing { shared(r) } else { 0 }))
        });
        ordered
    }
}

/// The exchanges that show a requirement to be broken, as far as the report has them.
fn exchanges(requirement: &RequirementReport) -> BTreeSet<usize> {
    requirement.evidence.iter().flat_map(|evidence| &evidence.exchanges).map(|exchange| exchange.number).collect()
}
