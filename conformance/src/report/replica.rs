//! The addresses of a service with several, as a report has them.

use serde::{Deserialize, Serialize};

/// The results for one address.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Replica {
    /// The address.
    pub base_url: String,
    /// The number of requests that were sent to the address.
    pub requests: usize,
    /// The number of requests with a key that the server may count them against.
    pub requests_with_key: usize,
    /// The number of animals that were created at the address.
    pub created: usize,
    /// The requirements that responses of the address break.
    pub findings: Vec<String>,
    /// The findings that no response of another address shows, although such requests were sent there.
    pub only_here: Vec<String>,
    /// The reads of animals that were created at other addresses.
    pub reads: ReadsElsewhere,
    /// The other addresses that count the requests of a key together with this one: an empty array if it counts alone, null if the run
    /// does not show it.
    pub counts_with: Option<Vec<String>>,
}

/// The reads at one address of animals that were created at other addresses.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ReadsElsewhere {
    /// The number of these animals that the address has shown.
    pub shown: usize,
    /// The number of these animals that were requested from the address, and that it has never shown.
    pub never_shown: usize,
    /// The longest time after a creation at which a read did not show the animal, in milliseconds.
    pub missing_ms: Option<u64>,
    /// The time from a creation to the first read that showed the animal, in milliseconds: the longest time among animals that were
    /// missing before, else the shortest time.
    pub shown_ms: Option<u64>,
}

/// The addresses of the service that show a finding.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "scope")]
#[non_exhaustive]
pub enum Attribution {
    /// Some addresses alone show the finding.
    Only {
        /// The addresses that show the finding.
        replicas: Vec<String>,
        /// The number of requests to these addresses that show the finding.
        broken: usize,
        /// The number of all such requests to these addresses.
        requests: usize,
        /// The number of such requests to other addresses, none of which shows the finding.
        others: usize,
        /// The attribution as the end of a sentence.
        sentence: String,
    },
    /// No address alone shows the finding: it is a difference between responses of several.
    Across {
        /// The addresses at one end of each difference, unless they are all addresses.
        replicas: Vec<String>,
        /// The attribution as the end of a sentence.
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
