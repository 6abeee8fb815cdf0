//! What a run is asked for.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::again::Invoked;
use crate::known_failing::KnownFailing;
use crate::plan::Plan;
use crate::wire::client::Transport;
use crate::wire::secret::{ApiKey, UnusableKey};

/// How much of the catalogue a run covers, and what it does to the target.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize, clap::ValueEnum)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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

    /// Whether the profile leaves a requirement out.
    fn leaves_out(self, id: &str) -> bool {
        let among = |patterns: &[&str]| patterns.iter().any(|pattern| id.starts_with(pattern));
        !self.exhausts() && among(NEED_EXHAUSTION) || !self.creates() && among(NEED_CREATION)
    }
}

/// The beginnings of the identifiers that only a used-up key shows.
const NEED_EXHAUSTION: &[&str] = &[
    "quota.enforced",
    "quota.not-early",
    "quota.retry-after",
    "quota.recovers",
    "quota.refused-stores-nothing",
    "quota.error-body",
];

/// The beginnings of the identifiers that only a creation shows.
const NEED_CREATION: &[&str] = &["create.", "pet.unique-id", "auth.refused-stores-nothing"];

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
        (self.only.is_empty() || begins(&self.only)) && !begins(&self.skip) && !self.profile.leaves_out(id)
    }

    /// Why a requirement is not asked for.
    #[must_use]
    pub fn why_not(&self, id: &str) -> String {
        if self.profile.leaves_out(id) {
            format!("outside the profile {}", self.profile.as_str())
        } else {
            "not selected".to_owned()
        }
    }
}

/// Everything that a run needs to know. The defaults are those of the command line as well.
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
    /// What the candidate is known to break.
    pub known_failing: KnownFailing,
    /// How long to wait until something answers at the base URL.
    pub wait: Duration,
    /// The seed of everything random.
    pub seed: u64,
    /// No more requests than this are sent.
    pub max_requests: usize,
    /// No request is sent, and no wait begun, that would take the run beyond this.
    pub max_duration: Duration,
    /// A category that animals can be created in.
    pub category_id: i64,
    /// The date to judge the removal of `GET /pets/{petId}` by, instead of the one that the answers tell.
    pub assumed_date: Option<Timestamp>,
    /// How many generated requests to send; by default as many as the key's limit suggests.
    pub cases: Option<usize>,
    /// Send only the generated request of this number, the same as in a run with the same seed.
    pub replay: Option<usize>,
    /// How many creations to send at once.
    pub concurrency: usize,
    /// How the run was asked for, as far as the above does not tell.
    pub invoked: Invoked,
}

/// Why no options can be made of an address and a key.
#[derive(Clone, Debug, thiserror::Error)]
pub enum UnusableOptions {
    /// The address is none.
    #[error("`{0}` is no base address: it should look like http://localhost:8080/v1")]
    BaseUrl(String),
    /// The key cannot be sent.
    #[error(transparent)]
    Key(#[from] UnusableKey),
}

impl Options {
    /// How many requests are sent at the most, unless something else is asked for.
    pub const MAX_REQUESTS: usize = 2_500;
    /// How long a run takes at the most.
    pub const MAX_DURATION: Duration = Duration::from_secs(600);
    /// How long to wait for one answer.
    pub const TIMEOUT: Duration = Duration::from_secs(10);
    /// How long to wait until something answers.
    pub const WAIT: Duration = Duration::ZERO;
    /// How many creations are sent at once.
    pub const CONCURRENCY: usize = 16;
    /// The category of the animals that are created.
    pub const CATEGORY_ID: i64 = 1;

    /// A full run against the API at this address with this key, and a seed of its own.
    ///
    /// # Errors
    ///
    /// The address must be an http or https URL without query and fragment, the key one that a header can carry.
    pub fn new(base_url: &str, api_key: &str) -> Result<Options, UnusableOptions> {
        Ok(Options {
            transport: Transport {
                base_url: normal_base_url(base_url)?,
                timeout: Options::TIMEOUT,
                ca_certificates: Vec::new(),
                proxy: None,
                headers: Vec::new(),
            },
            api_key: ApiKey::new(api_key)?,
            quota_key: None,
            plan: None,
            scope: Scope::default(),
            strict: false,
            known_failing: KnownFailing::default(),
            wait: Options::WAIT,
            // Short enough to be typed again.
            seed: fastrand::u64(0..1 << 32),
            max_requests: Options::MAX_REQUESTS,
            max_duration: Options::MAX_DURATION,
            category_id: Options::CATEGORY_ID,
            assumed_date: None,
            cases: None,
            replay: None,
            concurrency: Options::CONCURRENCY,
            invoked: Invoked::default(),
        })
    }
}

/// The address without a trailing slash; http or https, with a host, without query and fragment.
pub(crate) fn normal_base_url(text: &str) -> Result<String, UnusableOptions> {
    let wrong = || UnusableOptions::BaseUrl(text.to_owned());
    let url = reqwest::Url::parse(text).map_err(|_| wrong())?;
    let usable = ["http", "https"].contains(&url.scheme())
        && url.has_host()
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    if usable { Ok(url.as_str().trim_end_matches('/').to_owned()) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_loses_its_trailing_slash_and_must_be_an_http_address() {
        assert_eq!(Options::new("http://h:1/v1/", "sk-1").unwrap().transport.base_url, "http://h:1/v1");
        for wrong in ["localhost:8080/v1", "ftp://h/v1", "/v1", "http://h/v1?x=1", "http://u:p@h/v1"] {
            assert!(matches!(Options::new(wrong, "sk-1"), Err(UnusableOptions::BaseUrl(_))), "{wrong}");
        }
    }
}
