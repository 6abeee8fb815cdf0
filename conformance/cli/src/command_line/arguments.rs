//! The command-line options, and the options of a run that they make.
//!
//! An option is defined once, here: its environment variable and its member of `conform.toml` are named after it, and
//! [`super::config`] derives the members of the file from [`command`].

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, CommandFactory, Parser, Subcommand};

use super::container::ContainerArguments;
use super::rerun::Rerun;
use super::selection::{certificates, known_failing, scope_of};
use super::usage_error::UsageError;
use super::values::{self, Color, HeaderField, Printed, ReportFile};
use super::{compare, completions, diff, init, judge, man, proxy, rules};
use animal_store_conformance::{Options, Resolved, normal_base_url};
use animal_store_rules::catalogue::plan::Plan;
use animal_store_rules::catalogue::scope::{Profile, Scope};
use animal_store_rules::trace::keys::ApiKey;

/// The end of the help.
const AFTER_HELP: &str = "\
Each option except --no-config can also be set in an environment variable, such as CONFORM_API_KEY for --api-key, and each option \
except --config and --no-config in the file conform.toml. The command line takes precedence over the environment, and the environment \
over the file: --dry-run prints the value of each option and its source. In a variable, the values of a repeatable option stand one \
per line, and IDs may be separated by commas.

Exit codes: 0 conforms · 1 violates · 2 usage error, or a wrong --plan · 3 could not run · 4 incomplete: nothing failed, but a stated \
requirement was not exercised · 130 interrupted: the report covers the requests sent until then";

/// Judge an Animal Store server by the specification
#[derive(Clone, Debug, Parser)]
#[command(
    name = "conform",
    version,
    after_help = AFTER_HELP,
    max_term_width = 100,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
pub(super) struct Arguments {
    /// The command, if it is not a run.
    #[command(subcommand)]
    pub command: Option<Command>,

    /// Base URL of the server, with the version segment: http://localhost:8080/v1
    #[arg(long, value_name = "URL", value_parser = normal_base_url, help_heading = "Target")]
    pub base_url: Option<String>,

    /// Additional address of the same service, such as another replica (repeatable)
    #[arg(long, value_name = "URL", value_parser = normal_base_url, value_delimiter = '\n', help_heading = "Target")]
    pub replica: Vec<String>,

    /// Environment to judge: the table [environments.NAME] of conform.toml
    #[arg(long, value_name = "NAME", help_heading = "Target")]
    pub env: Option<String>,

    /// The container to judge.
    #[command(flatten)]
    pub container: ContainerArguments,

    /// Name of the implementation, for the reports
    #[arg(long, value_name = "NAME", help_heading = "Target")]
    pub implementation: Option<String>,

    /// Version of the implementation, for the reports
    #[arg(long, value_name = "VERSION", help_heading = "Target")]
    pub implementation_version: Option<String>,

    /// API key to judge with
    #[arg(long, value_name = "KEY", value_parser = |key: &str| ApiKey::new(key), help_heading = "Keys")]
    pub api_key: Option<ApiKey>,

    /// File that contains the API key
    #[arg(long, value_name = "FILE", help_heading = "Keys")]
    pub api_key_file: Option<PathBuf>,

    /// Second API key: the run exhausts both, and judges whether each has a limit of its own
    #[arg(long, value_name = "KEY", value_parser = |key: &str| ApiKey::new(key), help_heading = "Keys")]
    pub quota_key: Option<ApiKey>,

    /// File that contains the second API key
    #[arg(long, value_name = "FILE", help_heading = "Keys")]
    pub quota_key_file: Option<PathBuf>,

    /// Plan of the main key: free, pro, business, enterprise or enterprise=RPM,RPD [default: from the response headers]
    #[arg(long, value_name = "PLAN", help_heading = "Keys")]
    pub plan: Option<Plan>,

    /// Nothing else uses the keys: the run judges use that its requests do not explain
    #[arg(long, action = ArgAction::Set, default_value_t, default_value_if("image", clap::builder::ArgPredicate::IsPresent, "true"), help_heading = "Keys")]
    pub exclusive_key: bool,

    /// Extent of the run: full, deep (nearly every near miss on any plan), functional (exhausts no key) or read-only (creates
    /// no animals either)
    #[arg(long, value_parser = values::profile(), default_value_t, hide_possible_values = true, help_heading = "Scope")]
    pub profile: Profile,

    /// Judge only the requirements with this ID or ID prefix (repeatable)
    #[arg(long, value_name = "ID", value_parser = values::requirement, value_delimiter = ',', help_heading = "Scope")]
    pub only: Vec<String>,

    /// Skip the requirements with this ID or ID prefix (repeatable)
    #[arg(long, value_name = "ID", value_parser = values::requirement, value_delimiter = ',', help_heading = "Scope")]
    pub skip: Vec<String>,

    /// Count a broken inferred requirement as a violation
    #[arg(long, action = ArgAction::Set, default_value_t, help_heading = "Scope")]
    pub strict: bool,

    /// TOML file that lists requirements known to fail: they are judged, and reported separately
    #[arg(long, value_name = "FILE", help_heading = "Scope")]
    pub known_failing: Option<PathBuf>,

    /// File for --known-failing to update: adds the broken requirements, and removes those that hold
    #[arg(long, value_name = "FILE", help_heading = "Scope")]
    pub write_known_failing: Option<PathBuf>,

    /// Seed of the random generator [default: a new one for each run]
    #[arg(long, value_name = "NUMBER", help_heading = "Run")]
    pub seed: Option<u64>,

    /// Number of generated requests [default: depends on the rate limit]
    #[arg(long, value_name = "NUMBER", help_heading = "Run")]
    pub cases: Option<usize>,

    /// Maximum number of requests in a second, for a gateway with a limit on bursts [default: as the service answers]
    #[arg(long, value_name = "N/s", value_parser = values::rate, help_heading = "Run")]
    pub rate: Option<NonZeroU32>,

    /// Maximum number of requests
    #[arg(long, value_name = "NUMBER", default_value_t = Options::MAX_REQUESTS, help_heading = "Run")]
    pub max_requests: usize,

    /// Maximum duration of the run, in seconds; with `--profile deep`, 1800 unless given
    #[arg(long, value_name = "SECONDS", default_value_t = Options::MAX_DURATION.as_secs(), default_value_if("profile", "deep", "1800"), help_heading = "Run")]
    pub max_duration: u64,

    /// Timeout of a request, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = Options::TIMEOUT.as_secs(), value_parser = clap::value_parser!(u64).range(1..), help_heading = "Run")]
    pub timeout: u64,

    /// Maximum time to wait for a server that does not respond yet, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = Options::WAIT.as_secs(), value_parser = clap::value_parser!(u64).range(..=86_400), help_heading = "Run")]
    pub wait: u64,

    /// Category in which animals can be created [default: that of an existing animal, or 1 if there is none]
    #[arg(long, value_name = "INT64", allow_negative_numbers = true, help_heading = "Run")]
    pub category_id: Option<i64>,

    /// Print the options with their sources and the plan with its cost; send nothing
    #[arg(long, action = ArgAction::Set, default_value_t, help_heading = "Run")]
    pub dry_run: bool,

    /// Judge only the requirements that an earlier JSON report calls broken, with its selection and seed
    #[arg(long, value_name = "REPORT", help_heading = "Run")]
    pub rerun: Option<PathBuf>,

    /// Stop after the step that finds the first violation
    #[arg(long, action = ArgAction::Set, default_value_t, help_heading = "Run")]
    pub fail_fast: bool,

    /// Write the trace of the run to this file, without keys; `conform judge` reads it
    #[arg(long, value_name = "FILE", help_heading = "Run")]
    pub record: Option<PathBuf>,

    /// PEM file with certificates to trust in addition to the system's
    #[arg(long, value_name = "FILE", help_heading = "Transport")]
    pub ca_cert: Option<PathBuf>,

    /// PEM file with a client certificate and its private key, for a server that demands one
    #[arg(long, value_name = "FILE", help_heading = "Transport")]
    pub client_cert: Option<PathBuf>,

    /// Connect to ADDR for this host and port of the base URL (repeatable)
    #[arg(long, value_name = "HOST:PORT:ADDR", value_delimiter = '\n', help_heading = "Transport")]
    pub resolve: Vec<Resolved>,

    /// Proxy for every request; HTTP_PROXY and similar variables are ignored
    #[arg(long, value_name = "URL", help_heading = "Transport")]
    pub proxy: Option<String>,

    /// Unix socket to connect to; the base URL still names the host and the path
    #[arg(long, value_name = "PATH", help_heading = "Transport")]
    pub unix_socket: Option<PathBuf>,

    /// Header field to send with every request, as `Name: value` (repeatable)
    #[arg(long, value_name = "FIELD", value_delimiter = '\n', help_heading = "Transport")]
    pub header: Vec<HeaderField>,

    #[arg(long, value_name = "FORMAT=PATH", value_delimiter = '\n', help = values::report_help(), help_heading = "Output")]
    pub report: Vec<ReportFile>,

    /// Format of the report on standard output: text, or a format of --report
    #[arg(long, value_parser = values::printed(), default_value = "text", hide_possible_values = true, help_heading = "Output")]
    pub format: Printed,

    /// Print only the verdict and the violations, and no progress
    #[arg(short, long, action = ArgAction::Set, default_value_t, help_heading = "Output")]
    pub quiet: bool,

    /// Print every requirement, the exchanges of each failure, and each request as it is sent
    #[arg(short, long, action = ArgAction::Set, default_value_t, help_heading = "Output")]
    pub verbose: bool,

    /// When to use colours: auto, always or never
    #[arg(long, value_enum, default_value_t, hide_possible_values = true, help_heading = "Output")]
    pub color: Color,

    /// Configuration file [default: conform.toml in the current directory, or in the nearest parent within the repository]
    #[arg(long, value_name = "PATH", help_heading = "Output")]
    pub config: Option<PathBuf>,

    /// Read no configuration file
    #[arg(long, help_heading = "Output")]
    pub no_config: bool,

    /// The variables that the configuration names for the keys.
    #[arg(skip)]
    pub key_variables: [Option<String>; 2],
}

impl Arguments {
    /// The options of a run.
    pub(super) fn options(&self) -> Result<Options, UsageError> {
        let base_url = self.base_url.as_deref().ok_or(UsageError::NoTarget)?;
        let api_key = self.api_key.as_ref().ok_or(UsageError::NoKey)?;
        let unusable = |option| move |error| UsageError::Address(option, error);
        let mut options = Options::new(base_url, api_key.reveal()).map_err(unusable(""))?;
        for replica in &self.replica {
            options.add_replica(replica).map_err(unusable("--replica: "))?;
        }
        for resolved in &self.resolve {
            options.resolve(resolved).map_err(unusable("--resolve: "))?;
        }
        options.quota_key = self.quota_key.clone();
        if options.quota_key.as_ref() == Some(&options.api_key) {
            return Err(UsageError::OneKey);
        }
        let earlier = self.rerun.as_deref().map(Rerun::read).transpose()?;
        let (profile, skip) = (self.profile, self.skip.clone());
        let only = earlier.as_ref().map_or_else(|| self.only.clone(), |rerun| rerun.earlier.broken.clone());
        options.exclusive_key = self.exclusive_key;
        options.category_id = self.category_id;
        options.seed = self.seed.unwrap_or(options.seed);
        options.invoked.given = self.given();
        options.invoked.key_variables.clone_from(&self.key_variables);
        let Options { judging, transport, budget, .. } = &mut options;
        judging.plan = self.plan.clone();
        judging.scope = scope_of(Scope { profile, only, skip, ..Scope::default() })?;
        judging.strict = self.strict;
        // A file that is to be updated after the run is checked before anything is sent.
        self.write_known_failing.as_deref().filter(|path| path.is_file()).map(known_failing).transpose()?;
        judging.known_failing = self.known_failing.as_deref().map(known_failing).transpose()?.unwrap_or_default();
        judging.environment = self.env.clone();
        judging.implementation.name = self.implementation.clone();
        judging.implementation.version = self.implementation_version.clone();
        judging.earlier = earlier.map(|rerun| rerun.earlier);
        transport.ca_certificates = certificates("--ca-cert", self.ca_cert.as_deref())?;
        transport.client_certificate = certificates("--client-cert", self.client_cert.as_deref())?;
        transport.proxy = self.proxy.clone();
        transport.unix_socket = self.unix_socket.clone();
        transport.headers = self.header.iter().map(|field| (field.name.clone(), field.value.clone())).collect();
        transport.timeout = Duration::from_secs(self.timeout);
        budget.wait = Duration::from_secs(self.wait);
        budget.rate = self.rate;
        budget.max_requests = self.max_requests;
        budget.max_duration = Duration::from_secs(self.max_duration);
        budget.cases = self.cases;
        budget.fail_fast = self.fail_fast;
        Ok(options)
    }

    /// The options that a rerun repeats as they were given.
    fn given(&self) -> Vec<(String, String)> {
        let file = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        // The configuration names the variable of a key.
        let has_keys_of_file = self.key_variables.iter().any(Option::is_some);
        let once = [
            ("--api-key-file", file(&self.api_key_file)),
            ("--quota-key-file", file(&self.quota_key_file)),
            // Another environment has other keys.
            ("--config", file(&self.config).filter(|_| has_keys_of_file)),
            ("--env", self.env.clone().filter(|_| has_keys_of_file)),
            ("--known-failing", file(&self.known_failing)),
            ("--ca-cert", file(&self.ca_cert)),
            ("--client-cert", file(&self.client_cert)),
        ];
        let mut given = self.container.given();
        given.extend(once.into_iter().filter_map(|(option, value)| Some((option, value?))));
        given.extend(self.resolve.iter().map(|resolved| ("--resolve", resolved.to_string())));
        given.into_iter().map(|(option, value)| (option.to_owned(), value)).collect()
    }
}

/// The commands other than a run.
#[derive(Clone, Debug, Subcommand)]
pub(super) enum Command {
    // The arguments have the documentation, so that `--help` shows all of it.
    Compare(compare::Arguments),
    Diff(diff::Arguments),
    Init(init::Arguments),
    Judge(judge::Arguments),
    Proxy(Box<proxy::Arguments>),
    Rules(rules::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
}

/// The command line's definition, for help, completions and man pages.
pub fn command() -> clap::Command {
    Arguments::command().mut_args(|arg| {
        let is_switch = arg.get_value_parser().type_id() == std::any::TypeId::of::<bool>();
        if !is_switch || !matches!(arg.get_action(), ArgAction::Set) {
            return arg;
        }
        // `--strict` switches on; `--strict=false` overrides the environment and the file.
        arg.value_name("true|false")
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_parser(BoolishValueParser::new())
            .hide_possible_values(true)
            .hide_default_value(true)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use animal_store_conformance::{conclude, context};
    use animal_store_rules::trace::Trace;

    /// Options that all differ from their defaults.
    fn unusual() -> Options {
        let mut options = Options::new("http://h/v1", "sk-main-4711").unwrap();
        options.quota_key = ApiKey::new("sk-quota-4711").ok();
        options.judging.plan = "enterprise=600,50000".parse().ok();
        options.add_replica("http://h:2/v1").unwrap();
        options.judging.implementation.name = Some("Pets".to_owned());
        options.judging.implementation.version = Some("1.2".to_owned());
        options.judging.scope.profile = Profile::Functional;
        options.judging.scope.only = vec!["list".to_owned()];
        options.judging.scope.skip = vec!["list.order".to_owned()];
        (options.exclusive_key, options.judging.strict) = (true, true);
        options.invoked.given = [
            ("--quota-key-file", "quota key"),
            ("--known-failing", "known failing.toml"),
            ("--ca-cert", "ca.pem"),
            ("--client-cert", "client.pem"),
            ("--resolve", "h:80:192.0.2.7"),
        ]
        .map(|(option, value)| (option.to_owned(), value.to_owned()))
        .to_vec();
        (options.seed, options.budget.max_requests, options.category_id) = (7, 99, Some(-5));
        options.budget.rate = NonZeroU32::new(10);
        options.budget.cases = Some(4);
        (options.budget.max_duration, options.budget.wait) = (Duration::from_mins(1), Duration::from_secs(5));
        options.transport.timeout = Duration::from_secs(3);
        options.transport.proxy = Some("http://me:secret@proxy:3128".to_owned());
        options.transport.unix_socket = Some("/run/api.sock".into());
        options.transport.headers = vec![("X-Tenant".to_owned(), "a b".to_owned())];
        options
    }

    #[test]
    fn the_command_contains_every_option_that_affects_the_run() {
        let options = unusual();
        let trace = Trace { context: context(&options), exchanges: Vec::new() };
        let command_line = conclude(&trace, &options, None, None).rerun_command;
        // They prevent a run, stand for other options, replace the base URL, are another source of a key, or serve the first run alone.
        let needless = [
            &["dry-run", "env", "image", "container-port", "container-env", "ready", "api-key-file", "quota-key"][..],
            &["write-known-failing", "rerun", "fail-fast", "record"],
        ]
        .concat();
        for argument in command().get_arguments().filter(|argument| argument.get_help_heading() != Some("Output")) {
            let Some(long) = argument.get_long().filter(|long| !needless.contains(long)) else { continue };
            assert!(
                command_line.contains(&format!(" --{long} ")) || command_line.ends_with(long),
                "--{long} is missing: {command_line}"
            );
        }
        assert!(!command_line.contains("4711") && !command_line.contains("secret"), "{command_line}");
        assert!(
            command_line.contains("--known-failing 'known failing.toml'")
                && command_line.contains("--header 'X-Tenant: (hidden)'")
        );
    }
}
