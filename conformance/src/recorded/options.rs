//! The options of a run in its recording, as far as a report of it depends on them.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::options::{Earlier, Invoked, Options};
use crate::report::Implementation;
use animal_store_rules::catalogue::plan::Plan;
use animal_store_rules::catalogue::scope::{Profile, Scope, Side};
use animal_store_rules::trace::Context;
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::verdict::known_failing::KnownFailing;

/// The options of a run, with pseudonyms as keys.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunOptions {
    program: String,
    embedded: bool,
    container: Vec<(String, String)>,
    known_failing_file: Option<PathBuf>,
    known_failing: String,
    ca_cert: Option<PathBuf>,
    #[serde(default)]
    further: Vec<(String, String)>,
    #[serde(default)]
    environment: Option<String>,
    #[serde(default)]
    earlier: Option<Earlier>,
    proxy: Option<String>,
    #[serde(default)]
    unix_socket: Option<PathBuf>,
    headers: Vec<(String, String)>,
    plan: Option<String>,
    profile: Profile,
    only: Vec<String>,
    skip: Vec<String>,
    strict: bool,
    seed: u64,
    max_requests: usize,
    max_duration_ms: u64,
    timeout_ms: u64,
    wait_ms: u64,
    cases: Option<usize>,
    replay: Option<usize>,
    concurrency: usize,
    /// The reason why the run ended early, if it did.
    pub(super) ended_early: Option<String>,
    /// The duration of the run in milliseconds, if known.
    duration_ms: Option<u64>,
    implementation: Implementation,
}

impl RunOptions {
    pub(super) fn of(options: &Options, ended_early: Option<String>, took: Option<Duration>) -> RunOptions {
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let (transport, invoked) = (&options.transport, &options.invoked);
        let owned = |options: &[(&'static str, String)]| {
            options.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
        };
        RunOptions {
            program: invoked.program.clone(),
            embedded: invoked.embedded,
            container: owned(&invoked.container),
            known_failing_file: invoked.known_failing.clone(),
            known_failing: options.known_failing.toml(),
            ca_cert: invoked.ca_cert.clone(),
            further: owned(&invoked.further),
            environment: options.environment.clone(),
            earlier: options.earlier.clone(),
            proxy: transport.proxy.as_deref().map(crate::redaction::without_secrets),
            unix_socket: transport.unix_socket.clone(),
            headers: transport.headers.clone(),
            plan: options.plan.as_ref().map(ToString::to_string),
            profile: options.scope.profile,
            only: options.scope.only.clone(),
            skip: options.scope.skip.clone(),
            strict: options.strict,
            seed: options.seed,
            max_requests: options.max_requests,
            max_duration_ms: milliseconds(options.max_duration),
            timeout_ms: milliseconds(transport.timeout),
            wait_ms: milliseconds(options.wait),
            cases: options.cases,
            replay: options.replay,
            concurrency: options.concurrency,
            ended_early,
            duration_ms: took.map(milliseconds),
            implementation: options.implementation.clone(),
        }
    }

    /// The duration of the run, if known.
    pub(super) fn took(&self) -> Option<Duration> {
        self.duration_ms.map(Duration::from_millis)
    }

    /// The options of the run, given the context of its trace.
    ///
    /// # Errors
    ///
    /// The option that cannot be read, in words.
    pub(super) fn restore(self, context: &Context) -> Result<Options, String> {
        let mut keys = context.keys.iter().map(ApiKey::reveal);
        let mut options = Options::new(&context.base_url, keys.next().ok_or("a run without a key")?)
            .map_err(|error| error.to_string())?;
        options.transport.replicas.clone_from(&context.replicas);
        options.quota_key = keys.next().map(ApiKey::new).transpose().map_err(|error| error.to_string())?;
        options.plan = self.plan.map(|plan| plan.parse::<Plan>()).transpose().map_err(|error| error.to_string())?;
        options.known_failing = KnownFailing::parse(&self.known_failing).map_err(|error| error.to_string())?;
        options.scope = Scope { profile: self.profile, only: self.only, skip: self.skip, ..Scope::default() };
        options.strict = self.strict;
        options.seed = self.seed;
        options.max_requests = self.max_requests;
        options.max_duration = Duration::from_millis(self.max_duration_ms);
        options.transport.timeout = Duration::from_millis(self.timeout_ms);
        options.wait = Duration::from_millis(self.wait_ms);
        options.transport.proxy = self.proxy;
        options.transport.unix_socket = self.unix_socket;
        options.transport.headers = self.headers;
        options.cases = self.cases;
        options.replay = self.replay;
        options.concurrency = self.concurrency;
        options.implementation = self.implementation;
        options.category_id = context.category_id;
        options.assumed_date = context.assumed_date;
        options.environment = self.environment;
        options.earlier = self.earlier;
        let known = |options: Vec<(String, String)>| {
            options.into_iter().filter_map(|(name, value)| Some((known(&name)?, value))).collect()
        };
        options.invoked = Invoked {
            program: self.program,
            embedded: self.embedded,
            container: known(self.container),
            further: known(self.further),
            known_failing: self.known_failing_file,
            ca_cert: self.ca_cert,
        };
        Ok(options)
    }
}

/// The side that a proxy judged, as the head of its recording states it.
pub(super) fn side_of(options: &serde_json::Value) -> Option<Side> {
    options.get("side")?.as_str()?.parse().ok()
}

/// The option of this name, if a rerun command repeats it as it was given.
fn known(name: &str) -> Option<&'static str> {
    const OPTIONS: [&str; 13] = [
        "--image",
        "--container-port",
        "--container-path",
        "--container-env",
        "--container-arg",
        "--ready",
        "--ready-timeout",
        "--api-key-file",
        "--api-key-command",
        "--quota-key-file",
        "--quota-key-command",
        "--client-cert",
        "--resolve",
    ];
    OPTIONS.into_iter().find(|option| *option == name)
}
