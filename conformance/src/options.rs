//! What a run is asked for.

use std::time::Duration;

use crate::plan::Plan;
use crate::wire::client::Transport;
use crate::wire::secret::ApiKey;

/// How much of the catalogue a run covers, and what it does to the target.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Everything: creates animals, and exhausts a key once.
    #[default]
    Full,
    /// Everything but exhausting a key.
    Functional,
    /// Neither creates animals nor exhausts a key.
    ReadOnly,
}

impl Profile {
    /// The name of the profile on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Profile::Full => "full",
            Profile::Functional => "functional",
            Profile::ReadOnly => "read-only",
        }
    }

    /// Whether the profile creates animals.
    #[must_use]
    pub fn creates(self) -> bool {
        self != Profile::ReadOnly
    }

    /// Whether the profile exhausts a key.
    #[must_use]
    pub fn exhausts(self) -> bool {
        self == Profile::Full
    }

    /// The beginnings of the identifiers that the profile leaves out.
    fn leaves_out(self) -> &'static [&'static str] {
        match self {
            Profile::Full => &[],
            Profile::Functional => FUNCTIONAL_LEAVES_OUT,
            Profile::ReadOnly => READ_ONLY_LEAVES_OUT,
        }
    }
}

const FUNCTIONAL_LEAVES_OUT: &[&str] = &[
    "quota.enforced",
    "quota.not-early",
    "quota.retry-after",
    "quota.recovers",
    "quota.refused-stores-nothing",
    "quota.error-body",
];

const READ_ONLY_LEAVES_OUT: &[&str] = &[
    "create.",
    "pet.unique-id",
    "auth.refused-stores-nothing",
    "quota.enforced",
    "quota.not-early",
    "quota.retry-after",
    "quota.recovers",
    "quota.refused-stores-nothing",
    "quota.error-body",
];

/// Which requirements a run is asked for.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// The profile.
    pub profile: Profile,
    /// Identifiers, or beginnings of some, to keep to; empty for all.
    pub only: Vec<String>,
    /// Identifiers, or beginnings of some, to leave out.
    pub skip: Vec<String>,
}

impl Scope {
    /// Whether a requirement is asked for.
    #[must_use]
    pub fn selects(&self, id: &str) -> bool {
        let begins = |patterns: &[String]| patterns.iter().any(|pattern| id.starts_with(pattern.as_str()));
        (self.only.is_empty() || begins(&self.only))
            && !begins(&self.skip)
            && !self.profile.leaves_out().iter().any(|pattern| id.starts_with(pattern))
    }

    /// Why a requirement is not asked for.
    #[must_use]
    pub fn why_not(&self, id: &str) -> String {
        if self.profile.leaves_out().iter().any(|pattern| id.starts_with(pattern)) {
            format!("outside the profile {}", self.profile.as_str())
        } else {
            "not selected".to_owned()
        }
    }
}

/// Everything that a run needs to know.
#[derive(Clone, Debug)]
pub struct Options {
    /// How to reach the target.
    pub transport: Transport,
    /// The key to judge with.
    pub api_key: ApiKey,
    /// A key that the run may exhaust instead of the main one.
    pub quota_key: Option<ApiKey>,
    /// The main key's plan, if told.
    pub plan: Option<Plan>,
    /// Which requirements are asked for.
    pub scope: Scope,
    /// Whether a broken inferred requirement is a violation.
    pub strict: bool,
    /// The seed of everything random.
    pub seed: u64,
    /// No more requests than this are sent.
    pub max_requests: usize,
    /// No request is sent, and no wait begun, that would take the run beyond this.
    pub max_duration: Duration,
    /// A category that animals can be created in.
    pub category_id: i64,
}
