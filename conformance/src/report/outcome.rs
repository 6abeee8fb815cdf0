//! Requirements in the wording that every format uses. The outcome of a requirement is its level, its status and the selection in one word.

use serde::Serialize;

use super::{Evidence, ReportedExchange, RequirementReport};
use crate::layout::counted;
use animal_store_rules::catalogue::{About, Level, Party, Requirement, catalogue};
use animal_store_rules::verdict::Status;
use animal_store_rules::worded;

worded! {
    /// The outcomes. The first of several stands for all of them: the worst, unless the worst is only [`Outcome::NotExercised`].
    #[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
    #[serde(rename_all = "kebab-case")]
    #[non_exhaustive]
    pub enum Outcome {
        /// The requirement is broken, which is a violation.
        Violated = "violated",
        /// The requirement is broken, and the entry that lists it as known to fail has expired.
        StaleKnownFailing = "stale-known-failing",
        /// The requirement is broken, which is a warning.
        Warning = "warning",
        /// The requirement is broken and known to fail.
        KnownFailing = "known-failing",
        /// The run did not exercise the requirement, and is incomplete without it.
        Gap = "gap",
        /// The requirement held.
        Held = "held",
        /// The run did not exercise the requirement, and may be complete without it.
        NotExercised = "not-exercised",
        /// The requirement is open.
        Open = "open",
        /// The requirement was not selected.
        NotSelected = "not-selected",
    }
}

impl RequirementReport {
    /// The outcome of the requirement.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match self.status {
            _ if !self.selected => Outcome::NotSelected,
            Status::Pass => Outcome::Held,
            Status::Fail if self.violation => Outcome::Violated,
            Status::Fail => Outcome::Warning,
            Status::KnownFailing => Outcome::KnownFailing,
            Status::StaleKnownFailing => Outcome::StaleKnownFailing,
            Status::NotExercised if self.level == Level::Stated && self.party() == Party::Server => Outcome::Gap,
            Status::NotExercised => Outcome::NotExercised,
            Status::Observed => Outcome::Open,
        }
    }

    /// Returns true if the requirement is selected and was broken, also as a warning or as known to fail.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.selected && self.failures > 0
    }

    /// Returns true if the requirement is broken without being a violation.
    #[must_use]
    pub fn is_warning(&self) -> bool {
        self.outcome() == Outcome::Warning
    }

    /// The part of the requirement that the run could not see, although the requirement held.
    #[must_use]
    pub fn unseen(&self) -> Option<&str> {
        self.reason.as_deref().filter(|_| self.outcome() == Outcome::Held)
    }

    /// Returns true if the requirement makes the run incomplete.
    #[must_use]
    pub fn is_gap(&self) -> bool {
        self.outcome() == Outcome::Gap
    }

    /// The number of known faults that the requirement catches, as reports show it: `catches 8 faults`.
    #[must_use]
    pub fn confidence(&self) -> Option<String> {
        self.faults_caught.map(|count| format!("catches {}", counted(count, "fault")))
    }

    /// The party that the requirement binds.
    #[must_use]
    pub fn party(&self) -> Party {
        self.entry().map(|entry| entry.party).unwrap_or_default()
    }

    /// The subject of the requirement.
    pub(super) fn about(&self) -> About {
        self.entry().map(|entry| entry.about).unwrap_or_default()
    }

    /// The entry of the requirement in the catalogue, which a report of another version may lack.
    pub(super) fn entry(&self) -> Option<&'static Requirement> {
        catalogue().get(&self.id)
    }

    /// Returns true if the findings of the requirement are in rate-limit headers and times, and not in bodies.
    #[must_use]
    pub fn concerns_limits(&self) -> bool {
        self.about() == About::Limits
    }

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

impl Outcome {
    /// A character for the outcome.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Outcome::Violated | Outcome::StaleKnownFailing => "✗",
            Outcome::Warning => "!",
            Outcome::KnownFailing => "~",
            Outcome::Gap => "?",
            Outcome::Held => "✓",
            Outcome::NotExercised => "-",
            Outcome::Open => "·",
            Outcome::NotSelected => "–",
        }
    }

    /// The outcome for people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Outcome::StaleKnownFailing => "stale known failure",
            Outcome::KnownFailing => "known to fail",
            Outcome::Gap => "stated and not exercised",
            Outcome::NotExercised => "not exercised",
            Outcome::NotSelected => "not judged",
            other => other.as_str(),
        }
    }
}
