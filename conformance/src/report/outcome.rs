//! The outcome of a requirement: its level, its status and the selection in one word, which every format shows in its own way.

use serde::Serialize;

use super::RequirementReport;
use animal_store_rules::catalogue::{Level, Party};
use animal_store_rules::verdict::Status;

/// The outcomes. The first of several stands for all of them: the worst, unless the worst is only [`Outcome::NotExercised`].
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Outcome {
    /// The requirement is broken, which is a violation.
    Violated,
    /// The requirement is broken, and the entry that lists it as known to fail has expired.
    StaleKnownFailing,
    /// The requirement is broken, which is a warning.
    Warning,
    /// The requirement is broken and known to fail.
    KnownFailing,
    /// The run did not exercise the requirement, and is incomplete without it.
    Gap,
    /// The requirement held.
    Held,
    /// The run did not exercise the requirement, and may be complete without it.
    NotExercised,
    /// The requirement is open.
    Open,
    /// The requirement was not selected.
    NotSelected,
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
    /// All outcomes.
    pub const ALL: [Outcome; 9] = [
        Outcome::Violated,
        Outcome::StaleKnownFailing,
        Outcome::Warning,
        Outcome::KnownFailing,
        Outcome::Gap,
        Outcome::Held,
        Outcome::NotExercised,
        Outcome::Open,
        Outcome::NotSelected,
    ];

    /// The outcome for programs, as a character, and in words.
    const fn names(self) -> [&'static str; 3] {
        match self {
            Outcome::Violated => ["violated", "✗", "violated"],
            Outcome::StaleKnownFailing => ["stale-known-failing", "✗", "stale known failure"],
            Outcome::Warning => ["warning", "!", "warning"],
            Outcome::KnownFailing => ["known-failing", "~", "known to fail"],
            Outcome::Gap => ["gap", "?", "stated and not exercised"],
            Outcome::Held => ["held", "✓", "held"],
            Outcome::NotExercised => ["not-exercised", "-", "not exercised"],
            Outcome::Open => ["open", "·", "open"],
            Outcome::NotSelected => ["not-selected", "–", "not judged"],
        }
    }

    /// The name of the outcome in JSON and in markup.
    #[must_use]
    pub fn slug(self) -> &'static str {
        self.names()[0]
    }

    /// A character for the outcome.
    #[must_use]
    pub fn sign(self) -> &'static str {
        self.names()[1]
    }

    /// The outcome in words.
    #[must_use]
    pub fn word(self) -> &'static str {
        self.names()[2]
    }
}
