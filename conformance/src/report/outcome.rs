//! The outcome of a requirement: its level, its status and the selection in one word, which every format shows in its own way.

use serde::Serialize;

use super::RequirementReport;
use animal_store_rules::catalogue::{Level, Party};
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
