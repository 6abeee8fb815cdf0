//! The order in which to fix broken requirements.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::{Report, RequirementReport};

/// Requirements that hide others while they are broken, because no later response of the operation can be judged.
const HIDING: [&str; 10] = [
    "service.complete-answer",
    "service.json",
    "versioning.path",
    "auth.valid-key",
    "list.success",
    "list.array",
    "create.success",
    "get.success",
    "orders.exists",
    "pet.members",
];

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
        let rank = |id: &str| HIDING.iter().position(|hiding| *hiding == id).unwrap_or(HIDING.len());
        let mut ordered = broken.clone();
        ordered.sort_by_cached_key(|r| (!r.violation, rank(&r.id), Reverse(shared(r))));
        ordered
    }
}

/// The exchanges that show a requirement to be broken, as far as the report has them.
fn exchanges(requirement: &RequirementReport) -> BTreeSet<usize> {
    requirement.evidence.iter().flat_map(|evidence| &evidence.exchanges).map(|exchange| exchange.number).collect()
}
