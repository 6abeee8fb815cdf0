//! What a run is asked for.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;

use crate::http::client::Transport;
use animal_store_rules::catalogue::plan::Plan;
use animal_store_rules::catalogue::scope::Scope;
use animal_store_rules::trace::keys::{ApiKey, UnusableKey};
use animal_store_rules::verdict::known_failing::KnownFailing;

/// How a run was asked for, as far as its options do not tell.
#[derive(Clone, Debug)]
pub struct Invoked {
    /// The command as it was typed, without its arguments.
    pub program: String,
    /// Whether the target was started for this run: another run has another address and another key.
    pub embedded: bool,
    /// The options that say which container was started for this run, with their values.
    pub container: Vec<(&'static str, String)>,
    /// The file that the known failures came from.
    pub known_failing: Option<PathBuf>,
    /// The file that the certificates came from.
    pub ca_cert: Option<PathBuf>,
}

impl Default for Invoked {
    fn default() -> Invoked {
        Invoked {
            program: "conform".to_owned(),
            embedded: false,
            container: Vec::new(),
            known_failing: None,
            ca_cert: None,
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
