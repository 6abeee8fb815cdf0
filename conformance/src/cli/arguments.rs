//! The options as they are typed, and what becomes of them.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};
use jiff::Timestamp;

use super::rules;
use super::values::{self, Color, HeaderField, OutputFormat, ReportFile};
use crate::catalogue::catalogue;
use crate::known_failing::{KnownFailing, Malformed};
use crate::options::{Options, Profile, Scope, UnusableOptions};
use crate::plan::Plan;
use crate::wire::secret::{ApiKey, UnusableKey};

/// Judge an Animal Store server by the specification
///
/// Exit codes: 0 conforms · 1 violates · 2 wrong usage, nothing was sent · 3 could not run · 4 incomplete: nothing failed,
/// but a stated requirement was not exercised
#[derive(Clone, Debug, Parser)]
#[command(
    name = "conform",
    version,
    max_term_width = 100,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
pub(super) struct Arguments {
    /// Something else than judging.
    #[command(subcommand)]
    pub command: Option<Command>,

    /// Base address of the server, with its version segment: http://localhost:8080/v1
    #[arg(long, value_name = "URL", env = "CONFORM_BASE_URL", help_heading = "Target")]
    pub base_url: Option<String>,

    /// The key to judge with
    #[arg(long, value_name = "KEY", env = "CONFORM_API_KEY", hide_env_values = true, help_heading = "Keys")]
    pub api_key: Option<String>,

    /// A key that the run may use up, instead of the main one
    #[arg(long, value_name = "KEY", env = "CONFORM_QUOTA_KEY", hide_env_values = true, help_heading = "Keys")]
    pub quota_key: Option<String>,

    /// The main key's plan: free, pro, business, enterprise or enterprise=RPM,RPD [default: learnt from the headers]
    #[arg(long, value_name = "PLAN", env = "CONFORM_PLAN", help_heading = "Keys")]
    pub plan: Option<Plan>,

    /// How much to judge
    #[arg(long, value_enum, env = "CONFORM_PROFILE", help_heading = "Scope")]
    pub profile: Option<Profile>,

    /// Judge only this requirement, or all that begin so (repeatable)
    #[arg(long, value_name = "ID", help_heading = "Scope")]
    pub only: Vec<String>,

    /// Leave out this requirement, or all that begin so (repeatable)
    #[arg(long, value_name = "ID", help_heading = "Scope")]
    pub skip: Vec<String>,

    /// Count a broken inferred requirement as a violation
    #[arg(long, help_heading = "Scope")]
    pub strict: bool,

    /// TOML file that lists requirements known to fail: they are judged, and reported apart
    #[arg(long, value_name = "FILE", env = "CONFORM_KNOWN_FAILING", help_heading = "Scope")]
    pub known_failing: Option<PathBuf>,

    /// Seed of everything random [default: another one each time]
    #[arg(long, value_name = "NUMBER", help_heading = "Run")]
    pub seed: Option<u64>,

    /// Send no more requests than this [default: 2500]
    #[arg(long, value_name = "NUMBER", env = "CONFORM_MAX_REQUESTS", help_heading = "Run")]
    pub max_requests: Option<usize>,

    /// Take no longer than this, in seconds [default: 600]
    #[arg(long, value_name = "SECONDS", env = "CONFORM_MAX_DURATION", help_heading = "Run")]
    pub max_duration: Option<u64>,

    /// Wait this long for one answer, in seconds [default: 10]
    #[arg(long, value_name = "SECONDS", env = "CONFORM_TIMEOUT", help_heading = "Run")]
    pub timeout: Option<u64>,

    /// Wait up to this long until something answers at the base address, in seconds [default: 0]
    #[arg(long, value_name = "SECONDS", env = "CONFORM_WAIT", value_parser = clap::value_parser!(u64).range(..=86_400), help_heading = "Run")]
    pub wait: Option<u64>,

    /// A category in which animals can be created [default: 1]
    #[arg(
        long,
        value_name = "INT64",
        env = "CONFORM_CATEGORY_ID",
        allow_negative_numbers = true,
        help_heading = "Run"
    )]
    pub category_id: Option<i64>,

    /// Judge the removal of GET /pets/{petId} as if it were this day, such as 2030-12-05 [default: the day that the
    /// answers tell]
    #[arg(long, value_name = "DATE", value_parser = values::day, help_heading = "Run")]
    pub assume_date: Option<Timestamp>,

    /// Send this many generated requests [default: by the key's limit]
    #[arg(long, value_name = "NUMBER", env = "CONFORM_CASES", help_heading = "Run")]
    pub cases: Option<usize>,

    /// Send only the generated request of this number; give the --seed of the run that showed it
    #[arg(long, value_name = "NUMBER", requires = "seed", help_heading = "Run")]
    pub replay: Option<usize>,

    /// Print what would be done and what it would cost, and send nothing
    #[arg(long, help_heading = "Run")]
    pub dry_run: bool,

    /// Send this many creations at once [default: 16]
    #[arg(long, value_name = "NUMBER", env = "CONFORM_CONCURRENCY", help_heading = "Run")]
    pub concurrency: Option<usize>,

    /// PEM file with certificates to trust beside the system's
    #[arg(long, value_name = "FILE", env = "CONFORM_CA_CERT", help_heading = "Transport")]
    pub ca_cert: Option<PathBuf>,

    /// Proxy for every request; the usual proxy variables are not read
    #[arg(long, value_name = "URL", env = "CONFORM_PROXY", help_heading = "Transport")]
    pub proxy: Option<String>,

    /// Header field to send with every request, as `Name: value` (repeatable)
    #[arg(long, value_name = "FIELD", help_heading = "Transport")]
    pub header: Vec<HeaderField>,

    /// Write a report to a file: json=PATH (repeatable)
    #[arg(long, value_name = "FORMAT=PATH", help_heading = "Output")]
    pub report: Vec<ReportFile>,

    /// What to print on standard output
    #[arg(long, value_enum, help_heading = "Output")]
    pub format: Option<OutputFormat>,

    /// Print failures and the verdict only
    #[arg(short, long, conflicts_with = "verbose", help_heading = "Output")]
    pub quiet: bool,

    /// Print the exchanges behind each failure, and each request as it is sent
    #[arg(short, long, help_heading = "Output")]
    pub verbose: bool,

    /// When to use colours
    #[arg(long, value_enum, help_heading = "Output")]
    pub color: Option<Color>,
}

/// What there is to do beside judging.
#[derive(Clone, Debug, Subcommand)]
pub(super) enum Command {
    /// List the requirements, or explain one
    Rules(rules::Arguments),
}

/// What is wrong with the options. Nothing was sent.
#[derive(Debug, thiserror::Error)]
pub enum UsageError {
    /// There is no target.
    #[error(
        "which server? Name it with --base-url URL (cargo xtask conform without options judges the embedded reference)"
    )]
    NoTarget,
    /// There is no key.
    #[error("which key? Give one with --api-key KEY or in CONFORM_API_KEY")]
    NoKey,
    /// A key without a target would silently judge the embedded server.
    #[error("--api-key and --quota-key need --base-url URL: the embedded server has a key of its own")]
    KeyWithoutTarget,
    /// A key cannot be sent.
    #[error("{option}: {source}")]
    Key {
        /// Which one.
        option: &'static str,
        /// What is wrong with it.
        source: UnusableKey,
    },
    /// The address is none.
    #[error(transparent)]
    BaseUrl(UnusableOptions),
    /// A pattern matches nothing.
    #[error("{option} {pattern}: no requirement is called so or begins so{}", catalogue().did_you_mean(.pattern))]
    UnknownRequirement {
        /// Which option.
        option: &'static str,
        /// What was typed.
        pattern: String,
    },
    /// Everything was left out.
    #[error("--only, --skip and the profile together leave nothing to judge")]
    NothingSelected,
    /// The CA file cannot be read.
    #[error("--ca-cert {path}: {source}")]
    CaCert {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The list of known failures cannot be read.
    #[error("--known-failing {path}: {source}")]
    KnownFailingFile {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The list of known failures is wrong.
    #[error("--known-failing {path}, {source}")]
    KnownFailing {
        /// The file.
        path: String,
        /// Where and how.
        source: Malformed,
    },
}

impl Arguments {
    /// The options of a run.
    pub(super) fn options(&self) -> Result<Options, UsageError> {
        let base_url = self.base_url.as_deref().ok_or(UsageError::NoTarget)?;
        let api_key = self.api_key.as_deref().ok_or(UsageError::NoKey)?;
        let mut options = Options::new(base_url, api_key).map_err(|error| match error {
            UnusableOptions::Key(source) => UsageError::Key { option: "--api-key", source },
            UnusableOptions::BaseUrl(_) => UsageError::BaseUrl(error),
        })?;
        let quota_key = self.quota_key.as_deref().map(ApiKey::new).transpose();
        options.quota_key = quota_key
            .map_err(|source| UsageError::Key { option: "--quota-key", source })?
            .filter(|quota_key| *quota_key != options.api_key);
        options.plan = self.plan.clone();
        options.scope = self.scope()?;
        options.strict = self.strict;
        options.known_failing = self.known_failing()?;
        if let Some(path) = &self.ca_cert {
            options.transport.ca_certificates = std::fs::read(path)
                .map_err(|source| UsageError::CaCert { path: path.display().to_string(), source })?;
        }
        options.transport.proxy = self.proxy.clone();
        options.transport.headers = self.header.iter().map(|field| (field.name.clone(), field.value.clone())).collect();
        let seconds = |typed: Option<u64>, default: Duration| typed.map_or(default, Duration::from_secs);
        options.transport.timeout = seconds(self.timeout.map(|timeout| timeout.max(1)), options.transport.timeout);
        options.wait = seconds(self.wait, options.wait);
        options.max_duration = seconds(self.max_duration, options.max_duration);
        options.seed = self.seed.unwrap_or(options.seed);
        options.max_requests = self.max_requests.unwrap_or(options.max_requests);
        options.category_id = self.category_id.unwrap_or(options.category_id);
        options.assumed_date = self.assume_date;
        options.cases = self.cases;
        options.replay = self.replay;
        options.concurrency = self.concurrency.unwrap_or(options.concurrency);
        Ok(options)
    }

    fn known_failing(&self) -> Result<KnownFailing, UsageError> {
        let Some(path) = &self.known_failing else { return Ok(KnownFailing::default()) };
        let shown = || path.display().to_string();
        let text =
            std::fs::read_to_string(path).map_err(|source| UsageError::KnownFailingFile { path: shown(), source })?;
        KnownFailing::parse(&text).map_err(|source| UsageError::KnownFailing { path: shown(), source })
    }

    fn scope(&self) -> Result<Scope, UsageError> {
        for (option, patterns) in [("--only", &self.only), ("--skip", &self.skip)] {
            if let Some(pattern) = patterns.iter().find(|pattern| !catalogue().knows(pattern)) {
                return Err(UsageError::UnknownRequirement { option, pattern: pattern.clone() });
            }
        }
        let scope =
            Scope { profile: self.profile.unwrap_or_default(), only: self.only.clone(), skip: self.skip.clone() };
        if catalogue().requirements.iter().any(|requirement| scope.selects(&requirement.id)) {
            Ok(scope)
        } else {
            Err(UsageError::NothingSelected)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(args: &[&str]) -> Result<Options, UsageError> {
        let required = ["conform", "--base-url", "http://h:1/v1/", "--api-key", "sk-1"];
        Arguments::parse_from(required.iter().chain(args)).options()
    }

    #[test]
    fn the_help_tells_the_defaults_that_apply() {
        let options = options(&[]).unwrap();
        let help = <Arguments as clap::CommandFactory>::command().render_long_help().to_string();
        for (option, default) in [
            ("--max-requests", options.max_requests as u64),
            ("--max-duration", options.max_duration.as_secs()),
            ("--timeout", options.transport.timeout.as_secs()),
            ("--concurrency", options.concurrency as u64),
            ("--wait", options.wait.as_secs()),
            ("--category-id", options.category_id.unsigned_abs()),
        ] {
            let about = help.split(option).nth(1).unwrap_or_default();
            let told = about.split("[default: ").nth(1).and_then(|rest| rest.split(']').next());
            assert_eq!(told, Some(default.to_string().as_str()), "{option}");
        }
    }

    #[test]
    fn a_misspelt_requirement_is_an_error_that_names_the_nearest() {
        let error = options(&["--only", "auth.mising-key"]).unwrap_err().to_string();
        assert!(error.contains("did you mean auth.missing-key"), "{error}");
        assert!(matches!(
            options(&["--only", "quota.enforced", "--profile", "functional"]),
            Err(UsageError::NothingSelected)
        ));
        assert!(options(&["--only", "auth", "--skip", "auth.challenge"]).is_ok());
    }
}
