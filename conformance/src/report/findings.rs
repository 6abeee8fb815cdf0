//! Findings, in the wording that every format uses, and the order in which to fix them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use animal_store_diagnose::causes::Cause;
use animal_store_rules::catalogue::Hides;
use animal_store_rules::verdict::findings::Share;

use super::{Evidence, Report, ReportedExchange, RequirementReport};

impl Evidence {
    /// The finding with its count and its subjects: `201 on POST /pets x2: "1", true`.
    #[must_use]
    pub fn finding(&self) -> String {
        let mut finding = self.found.clone();
        if self.count > 1 {
            finding.push_str(&format!(" x{}", self.count));
        }
        if !self.subjects.is_empty() {
            finding.push_str(&format!(": {}", self.subjects.join(", ")));
        }
        if let Some(Share { broken, alike }) = self.intermittent {
            finding.push_str(&format!("; intermittent: in {broken} of {alike} equal requests"));
        }
        if !self.only_with.is_empty() {
            finding.push_str(&format!("; only with {}", self.only_with.join(" and ")));
        }
        if let Some(attribution) = &self.attribution {
            finding.push_str("; ");
            finding.push_str(attribution.sentence());
        }
        finding
    }
}

impl RequirementReport {
    /// The findings in a line, the worst first.
    #[must_use]
    pub fn findings(&self) -> String {
        match (self.evidence.is_empty(), self.reason.as_deref()) {
            (true, Some(reason)) => reason.to_owned(),
            (true, None) => self.title.clone(),
            (false, _) => self.evidence.iter().map(Evidence::finding).collect::<Vec<_>>().join("; "),
        }
    }

    /// The expectation and the finding of the worst failure, or else the reason for the status.
    #[must_use]
    pub fn explanation(&self) -> Option<&str> {
        self.evidence.first().map(|evidence| evidence.sentence.as_str()).or(self.reason.as_deref())
    }

    /// The exchange that shows the worst failure.
    #[must_use]
    pub fn decisive(&self) -> Option<&ReportedExchange> {
        self.evidence.first()?.exchanges.first()
    }

    /// The number of failures of kinds without an example in the evidence.
    #[must_use]
    pub fn further_failures(&self) -> usize {
        let shown: usize = self.evidence.iter().map(|evidence| evidence.count).sum();
        if self.evidence.is_empty() { 0 } else { self.failures.saturating_sub(shown) }
    }
}

impl Report {
    /// The requirements that make the run incomplete, by the reason why they were not exercised.
    #[must_use]
    pub fn gaps_by_reason(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut gaps: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for requirement in self.requirements.iter().filter(|requirement| requirement.is_gap()) {
            gaps.entry(requirement.reason.as_deref().unwrap_or_default()).or_default().push(&requirement.id);
        }
        gaps
    }

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

    /// The likely cause that explains every failure of a requirement, if there is one.
    #[must_use]
    pub fn cause_of(&self, id: &str) -> Option<&Cause> {
        self.causes.iter().find(|cause| cause.requirements.iter().any(|explained| explained == id))
    }
}

/// The exchanges that show a requirement to be broken, as far as the report has them.
fn exchanges(requirement: &RequirementReport) -> BTreeSet<usize> {
    requirement.evidence.iter().flat_map(|evidence| &evidence.exchanges).map(|exchange| exchange.number).collect()
}
