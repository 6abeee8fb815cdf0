//! The addresses of a service with several, as a report has them.

use serde::{Deserialize, Serialize};

/// What the run shows of one address.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Replica {
    /// The address.
    pub base_url: String,
    /// How many requests were sent to it.
    pub requests: usize,
    /// How many of them came with a key, and so may count against it.
    pub requests_with_key: usize,
    /// How many animals were created at it.
    pub created: usize,
    /// The requirements that its responses break.
    pub findings: Vec<String>,
    /// Those of them that no response of another address breaks, although such requests were sent there.
    pub only_here: Vec<String>,
    /// What it shows of the animals that were created at other addresses.
    pub reads: ReadsElsewhere,
    /// The other addresses that count the requests of a key together with it: none if it counts for itself. Null if the run does not
    /// show it.
    pub counts_with: Option<Vec<String>>,
}

/// What an address shows of the animals that were created at other ones.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ReadsElsewhere {
    /// How many of these animals it has shown.
    pub shown: usize,
    /// How many of them it was asked for and has never shown.
    pub never_shown: usize,
    /// The longest time after a creation at which a read did not show the animal, in milliseconds.
    pub missing_ms: Option<u64>,
    /// How long after a creation a read showed the animal first, in milliseconds: the longest time of those that were missing before,
    /// else the shortest.
    pub shown_ms: Option<u64>,
}

/// Which addresses of the service show a finding.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "scope")]
#[non_exhaustive]
pub enum Attribution {
    /// Some of them alone.
    Only {
        /// Which.
        replicas: Vec<String>,
        /// How many requests to them show it.
        broken: usize,
        /// How many such requests were sent to them.
        requests: usize,
        /// How many such requests the others answered without it.
        others: usize,
        /// The same as the end of a sentence.
        sentence: String,
    },
    /// None by itself: it shows between responses of several.
    Across {
        /// Those that one end of each difference is at, where they are not all of them.
        replicas: Vec<String>,
        /// The same as the end of a sentence.
        sentence: String,
    },
}

impl Attribution {
    /// The attribution as the end of a sentence.
    #[must_use]
    pub fn sentence(&self) -> &str {
        match self {
            Attribution::Only { sentence, .. } | Attribution::Across { sentence, .. } => sentence,
        }
    }
}
