//! The options of a run.

use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::redaction::urls::without_secrets;
use crate::report::Implementation;
use animal_store_diagnose::known_failing::KnownFailing;
use animal_store_rules::catalogue::plan::Plan;
use animal_store_rules::catalogue::scope::{Profile, Scope};
use animal_store_rules::trace::keys::{ApiKey, UnusableKey};
use animal_store_secrets::HIDDEN;

/// The invocation of a run, for its rerun command.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(deny_unknown_fields)]
pub struct Invoked {
    /// The program, without its arguments.
    pub program: String,
    /// Whether the target is the embedded server: its address and key change from run to run.
    pub embedded: bool,
    /// Options that a rerun repeats as they were given, with their values: those of a container, the sources of keys, files, and
    /// addresses of hosts. A report does not contain the files themselves.
    pub given: Vec<(String, String)>,
    /// The environment variables of the keys, where the configuration names others than `CONFORM_API_KEY` and `CONFORM_QUOTA_KEY`.
    pub key_variables: [Option<String>; 2],
}

impl Default for Invoked {
    fn default() -> Invoked {
        let program = "conform".to_owned();
        Invoked { program, embedded: false, given: Vec::new(), key_variables: [None, None] }
    }
}

/// The variables that the keys of a run come from, unless the configuration names others.
const VARIABLES: [&str; 2] = ["CONFORM_API_KEY", "CONFORM_QUOTA_KEY"];

impl Invoked {
    /// The names of the variables that hold the keys.
    pub(crate) fn variables(&self) -> [&str; 2] {
        let [main, quota] = &self.key_variables;
        [main.as_deref().unwrap_or(VARIABLES[0]), quota.as_deref().unwrap_or(VARIABLES[1])]
    }

    /// Returns true if a container of an image is judged.
    pub(crate) fn starts_container(&self) -> bool {
        self.given.iter().any(|(option, _)| option == "--image")
    }
}

/// An earlier run, whose broken requirements [`Judging::scope`] selects.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Earlier {
    /// The name of the earlier report.
    pub report: String,
    /// The requirements that the earlier run found broken.
    pub broken: Vec<String>,
    /// The probes whose exchanges show the failures. Beside the tour, only these are sent, or all if the list is empty.
    pub probes: Vec<String>,
}

/// The settings of connections to the target.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(deny_unknown_fields)]
pub struct Transport {
    /// The base URL, without a trailing slash.
    #[serde(skip)]
    pub base_url: String,
    /// Further addresses of the same service, in the same form: [`Options::add_replica`] checks them.
    #[serde(skip)]
    pub replicas: Vec<String>,
    /// The maximum duration of one exchange, connecting and reading included. The default is [`Options::TIMEOUT`].
    #[serde(with = "duration")]
    pub timeout: Duration,
    /// PEM certificates to trust in addition to the system's.
    #[serde(skip)]
    pub ca_certificates: Vec<u8>,
    /// A certificate chain and its private key in PEM, for a server that demands a client certificate. Empty by default.
    #[serde(skip)]
    pub client_certificate: Vec<u8>,
    /// Addresses to connect to instead of those that a host name resolves to.
    #[serde(skip)]
    pub resolved: Vec<Resolved>,
    /// A proxy for every request. The environment's proxy settings are not used.
    pub proxy: Option<String>,
    /// The Unix socket that every connection is made to. The base URL still gives the scheme, the `Host` field and the path.
    pub unix_socket: Option<PathBuf>,
    /// Header fields to send with every request.
    pub headers: Vec<(String, String)>,
}

/// The address of a host and port, instead of the addresses that the host name resolves to: `api.example.com:443:192.0.2.7`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Resolved {
    text: String,
    /// The name of the host.
    pub(crate) host: String,
    /// The address of a connection to the host, with the port of the URL.
    pub(crate) socket: SocketAddr,
}

impl FromStr for Resolved {
    type Err = String;

    fn from_str(text: &str) -> Result<Resolved, String> {
        let wrong = || format!("`{text}` does not have the form HOST:PORT:ADDR, such as api.example.com:443:192.0.2.7");
        let (host, rest) = text.split_once(':').filter(|(host, _)| !host.is_empty()).ok_or_else(wrong)?;
        let (port, address) = rest.split_once(':').ok_or_else(wrong)?;
        let address = address.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(address);
        let (port, address) = port.parse().ok().zip(address.parse().ok()).ok_or_else(wrong)?;
        Ok(Resolved { text: text.to_owned(), host: host.to_owned(), socket: SocketAddr::new(address, port) })
    }
}

impl fmt::Display for Resolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

/// The options of a run. The defaults are those of the command line: make one with [`Options::new`], then set the fields that differ.
///
/// Serialized, for the recording of a run, they lack the target, the keys and what else the context of a trace states, and the contents
/// of files with certificates.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// The settings of connections to the target.
    pub transport: Transport,
    /// The key to judge with.
    #[serde(skip, default = "unknown_key")]
    pub api_key: ApiKey,
    /// A second key, which the run exhausts as well: it shows whether each key has a limit of its own.
    #[serde(skip)]
    pub quota_key: Option<ApiKey>,
    /// Whether only the run uses the keys.
    #[serde(skip)]
    pub exclusive_key: bool,
    /// The terms of judging.
    #[serde(flatten)]
    pub judging: Judging,
    /// The number of requests and the time of the run.
    #[serde(flatten)]
    pub budget: Budget,
    /// The seed of the random generator.
    pub seed: u64,
    /// A category in which animals can be created. Without one, a run takes a category of the animals that are there, else
    /// [`Options::CATEGORY_ID`].
    #[serde(skip)]
    pub category_id: Option<i64>,
    /// The invocation of the run.
    pub invoked: Invoked,
}

/// The terms on which exchanges are judged, whether a run sends them or a recording has them.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Judging {
    /// The plan of the main key, if known.
    pub plan: Option<Plan>,
    /// The selected requirements.
    pub scope: Scope,
    /// Whether a broken inferred requirement is a violation.
    pub strict: bool,
    /// The requirements that are known to fail.
    pub known_failing: KnownFailing,
    /// The environment of the configuration that is judged, for the report.
    pub environment: Option<String>,
    /// The implementation that is judged, for the report.
    pub implementation: Implementation,
    /// An earlier run whose broken requirements are judged again.
    pub earlier: Option<Earlier>,
}

/// The number of requests that a run sends, and the time that it takes.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Budget {
    /// The maximum time to wait for a server that does not respond yet. The default is [`Options::WAIT`].
    #[serde(with = "duration")]
    pub wait: Duration,
    /// The maximum number of requests in a second, for gateways with a limit on bursts. Without one, a run sends as fast as the service
    /// answers and its limits allow.
    pub rate: Option<NonZeroU32>,
    /// The maximum number of requests. The default is [`Options::MAX_REQUESTS`].
    pub max_requests: usize,
    /// The maximum duration of the run: no request or wait begins that would exceed it. The default is [`Options::MAX_DURATION`].
    #[serde(with = "duration")]
    pub max_duration: Duration,
    /// The number of generated requests; by default it depends on the rate limit.
    pub cases: Option<usize>,
    /// Whether the run ends with the first requirement that it finds broken.
    pub fail_fast: bool,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget {
            wait: Options::WAIT,
            rate: None,
            max_requests: Options::MAX_REQUESTS,
            max_duration: Options::MAX_DURATION,
            cases: None,
            fail_fast: false,
        }
    }
}

/// The form of a duration in serialized options: `1m 30s`.
use jiff::fmt::serde::unsigned_duration::friendly::compact::required as duration;

/// The key of deserialized options, until the key of the run or its pseudonym is set.
fn unknown_key() -> ApiKey {
    // Every key of printable ASCII can be sent.
    #[expect(clippy::expect_used)]
    ApiKey::new("unknown").expect("a key of letters")
}

/// An invalid base URL or key.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnusableOptions {
    /// The base URL is not valid.
    #[error(
        "`{0}` is not a base URL such as http://localhost:8080/v1: give scheme, host and path, without user, query and fragment"
    )]
    BaseUrl(String),
    /// The key cannot be sent.
    #[error(transparent)]
    Key(#[from] UnusableKey),
    /// No address of the service has this host and port, so the judge would connect to another one than is meant.
    #[error(
        "{0} applies to no address of the service: name the host and port of --base-url or of a --replica, the host not as a number"
    )]
    NotResolved(String),
    /// An address is given twice, so it is no other replica.
    #[error("{0} is given twice: name each address of the service once, as the base URL or as a replica")]
    SameAddress(String),
}

impl Options {
    /// The default maximum number of requests.
    pub const MAX_REQUESTS: usize = 3_500;
    /// The default maximum duration of a run.
    pub const MAX_DURATION: Duration = Duration::from_mins(10);
    /// The default timeout of a request.
    pub const TIMEOUT: Duration = Duration::from_secs(10);
    /// The default maximum time to wait for a server that does not respond yet: none.
    pub const WAIT: Duration = Duration::ZERO;
    /// The category of new animals in an empty catalogue, if none is named.
    pub const CATEGORY_ID: i64 = 1;

    /// A full run against the API at this base URL with this key, and a random seed.
    ///
    /// # Errors
    ///
    /// The address must be an http or https URL without query and fragment, the key one that a header can carry.
    pub fn new(base_url: &str, api_key: &str) -> Result<Options, UnusableOptions> {
        Ok(Options {
            transport: Transport::new(normal_base_url(base_url)?),
            api_key: ApiKey::new(api_key)?,
            quota_key: None,
            exclusive_key: false,
            judging: Judging::default(),
            budget: Budget::default(),
            // Short enough to type.
            seed: fastrand::u64(0..1 << 32),
            category_id: None,
            invoked: Invoked::default(),
        })
    }

    /// The options that differ from their defaults and the seed, as the command line takes them. No value is hidden except those of header
    /// fields and the password of a proxy.
    pub(crate) fn arguments(&self) -> Vec<(&str, Option<String>)> {
        let mut all = Vec::new();
        let mut add = |option, value: Option<String>| all.extend(value.map(|value| (option, Some(value))));
        let Options { transport, judging, budget, invoked, .. } = self;
        let seconds = |time: Duration, default: Duration| (time != default).then(|| time.as_secs().to_string());
        let number = |number: usize, default: usize| (number != default).then(|| number.to_string());
        if !invoked.embedded {
            add("--base-url", (!invoked.starts_container()).then(|| transport.base_url.clone()));
            transport.replicas.iter().for_each(|replica| add("--replica", Some(replica.clone())));
            let keys = ["--api-key", "--quota-key"].into_iter().zip(self.keys()).zip(&invoked.key_variables);
            for ((option, key), variable) in keys {
                let has_source =
                    variable.is_some() || invoked.given.iter().any(|(source, _)| source.starts_with(option));
                add(option, (!has_source).then(|| key.reveal().to_owned()));
            }
            let implementation = &judging.implementation;
            add("--implementation", implementation.name.clone());
            add("--implementation-version", implementation.version.clone());
        }
        invoked.given.iter().for_each(|(option, value)| add(option, Some(value.clone())));
        add("--plan", judging.plan.as_ref().map(ToString::to_string));
        let profile = judging.scope.profile;
        add("--profile", (profile != Profile::default()).then(|| profile.as_str().to_owned()));
        judging.scope.only.iter().for_each(|id| add("--only", Some(id.clone())));
        judging.scope.skip.iter().for_each(|id| add("--skip", Some(id.clone())));
        add("--rate", budget.rate.map(|rate| format!("{rate}/s")));
        add("--max-requests", number(budget.max_requests, Options::MAX_REQUESTS));
        add("--max-duration", seconds(budget.max_duration, Options::MAX_DURATION));
        add("--timeout", seconds(transport.timeout, Options::TIMEOUT));
        add("--wait", seconds(budget.wait, Options::WAIT));
        add("--category-id", self.category_id.map(|id| id.to_string()));
        add("--cases", budget.cases.map(|cases| cases.to_string()));
        add("--proxy", transport.proxy.as_deref().map(without_secrets));
        add("--unix-socket", transport.unix_socket.as_ref().map(|path| path.display().to_string()));
        transport.headers.iter().for_each(|(name, value)| {
            add("--header", Some(format!("{name}: {}", if value.is_empty() { "" } else { HIDDEN })));
        });
        add("--seed", Some(self.seed.to_string()));
        if self.exclusive_key && !invoked.embedded && !invoked.starts_container() {
            all.push(("--exclusive-key", None));
        }
        if judging.strict {
            all.push(("--strict", None));
        }
        all
    }

    /// The keys: the main one, then the quota key.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &ApiKey> {
        std::iter::once(&self.api_key).chain(&self.quota_key)
    }

    /// Judges another address of the same service as well: the requests of the run are spread over all of them.
    ///
    /// # Errors
    ///
    /// The address must be a base URL, and none that is given already.
    pub fn add_replica(&mut self, base_url: &str) -> Result<(), UnusableOptions> {
        let replica = normal_base_url(base_url)?;
        let Transport { base_url, replicas, .. } = &mut self.transport;
        if *base_url == replica || replicas.contains(&replica) {
            return Err(UnusableOptions::SameAddress(replica));
        }
        replicas.push(replica);
        Ok(())
    }

    /// Connects to an address instead of those that a host name resolves to. Add replicas first.
    ///
    /// # Errors
    ///
    /// The host and port must be those of an address of the service.
    pub fn resolve(&mut self, resolved: &Resolved) -> Result<(), UnusableOptions> {
        let is_of = |url: reqwest::Url| {
            url.domain().is_some_and(|host| host.eq_ignore_ascii_case(&resolved.host))
                && url.port_or_known_default() == Some(resolved.socket.port())
        };
        if !self.transport.addresses().any(|address| reqwest::Url::parse(address).is_ok_and(is_of)) {
            return Err(UnusableOptions::NotResolved(resolved.to_string()));
        }
        self.transport.resolved.push(resolved.clone());
        Ok(())
    }
}

impl Transport {
    /// A direct connection to this base URL, which has no trailing slash, with the default timeout.
    pub fn new(base_url: String) -> Transport {
        Transport {
            base_url,
            replicas: Vec::new(),
            timeout: Options::TIMEOUT,
            ca_certificates: Vec::new(),
            client_certificate: Vec::new(),
            resolved: Vec::new(),
            proxy: None,
            unix_socket: None,
            headers: Vec::new(),
        }
    }

    /// Returns true if every request gets this header field from the options.
    pub(crate) fn sets(&self, field: &str) -> bool {
        self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(field))
    }

    /// The addresses of the service: the base URL, then its replicas.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.base_url.as_str()).chain(self.replicas.iter().map(String::as_str))
    }
}

/// A base URL without its trailing slash.
///
/// # Errors
///
/// [`UnusableOptions::BaseUrl`], unless it is http or https, with a host, and without user, password, query and fragment.
pub fn normal_base_url(text: &str) -> Result<String, UnusableOptions> {
    let wrong = || UnusableOptions::BaseUrl(without_secrets(text));
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
    fn a_base_url_is_an_http_url_and_loses_its_trailing_slash() {
        assert_eq!(Options::new("http://h:1/v1/", "sk-1").unwrap().transport.base_url, "http://h:1/v1");
        for wrong in ["localhost:8080/v1", "ftp://h/v1", "/v1", "http://h/v1?x=1", "http://u:p@h/v1"] {
            assert!(matches!(Options::new(wrong, "sk-1"), Err(UnusableOptions::BaseUrl(_))), "{wrong}");
        }
    }

    #[test]
    fn an_address_is_given_to_a_host_and_port_of_the_service_only() {
        let mut options = Options::new("https://api.example.com/v1", "sk-1").unwrap();
        options.add_replica("http://h:2/v1").unwrap();
        for usable in ["API.example.com:443:192.0.2.7", "h:2:[2001:db8::7]"] {
            let resolved: Resolved = usable.parse().unwrap();
            options.resolve(&resolved).unwrap();
            assert_eq!(resolved.to_string(), usable);
        }
        let resolve = |options: &mut Options, text: &str| options.resolve(&text.parse().unwrap());
        for elsewhere in ["api.example.com:80:192.0.2.7", "h:443:192.0.2.7"] {
            assert!(matches!(resolve(&mut options, elsewhere), Err(UnusableOptions::NotResolved(_))), "{elsewhere}");
        }
        for wrong in ["h", "h:2", "h:2:elsewhere", ":2:192.0.2.7", "h:x:192.0.2.7", "h:2:192.0.2.7:3"] {
            assert!(wrong.parse::<Resolved>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_replica_is_another_base_url() {
        let mut options = Options::new("http://h:1/v1", "sk-1").unwrap();
        options.add_replica("http://h:2/v1/").unwrap();
        assert_eq!(options.transport.replicas, ["http://h:2/v1"]);
        for same in ["http://h:1/v1/", "http://h:2/v1"] {
            assert!(matches!(options.add_replica(same), Err(UnusableOptions::SameAddress(_))), "{same}");
        }
        assert!(matches!(options.add_replica("h:3/v1"), Err(UnusableOptions::BaseUrl(_))));
    }
}
