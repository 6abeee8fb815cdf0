//! From arguments to the options of a run.

use std::time::Duration;

use super::arguments::Arguments;
use crate::http::errors::of_file;
use crate::options::{Options, UnusableOptions};
use animal_store_rules::catalogue::catalogue;
use animal_store_rules::catalogue::scope::Scope;
use animal_store_rules::toml_error::TomlError;
use animal_store_rules::trace::keys::{ApiKey, UnusableKey};
use animal_store_rules::verdict::known_failing::KnownFailing;

/// What is wrong with the options. Nothing was sent.
#[derive(Debug, thiserror::Error)]
pub enum UsageError {
    /// There is no target.
    #[error(
        "which server? Name it with --base-url URL (cargo xtask conform without options judges the embedded reference)"
    )]
    NoTarget,
    /// A variable that should be passed on is not there.
    #[error("--container-env {0}: there is no variable of this name to pass on; give a value as {0}=VALUE")]
    NoVariable(String),
    /// The feature is not compiled in.
    #[error(
        "this program was built without --image: use `cargo xtask conform --image`, or build it with `--features containers`"
    )]
    NoContainers,
    /// There is no key.
    #[error(
        "which key? Give one with --api-key KEY, in CONFORM_API_KEY, or in a variable that api_key_env of conform.toml names"
    )]
    NoKey,
    /// A key without a target would silently judge the embedded server.
    #[error("--api-key and --quota-key need --base-url URL or --image NAME: the embedded server has a key of its own")]
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
    /// Without its seed, a generated request is another one.
    #[error("--replay needs the --seed of the run that showed the request; the report tells it")]
    ReplayWithoutSeed,
    /// Everything was left out.
    #[error("--only, --skip and the profile together leave nothing to judge")]
    NothingSelected,
    /// The CA file cannot be read.
    #[error("--ca-cert {path}: {}\n  Name a PEM file with the certificate of the authority. Nothing was sent.", of_file(.source))]
    CaCert {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The list of known failures cannot be read.
    #[error("--known-failing {path}: {}\n  Name a TOML file with a [[known-failing]] table for each. Nothing was sent.", of_file(.source))]
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
        source: TomlError,
    },
}

impl Arguments {
    /// The options of a run.
    pub(super) fn options(&self) -> Result<Options, UsageError> {
        let base_url = self.base_url.as_deref().ok_or(UsageError::NoTarget)?;
        let api_key = self.api_key.as_ref().ok_or(UsageError::NoKey)?;
        let mut options = Options::new(base_url, api_key.reveal()).map_err(|error| match error {
            UnusableOptions::Key(source) => UsageError::Key { option: "--api-key", source },
            UnusableOptions::BaseUrl(_) => UsageError::BaseUrl(error),
        })?;
        let quota_key = self.quota_key.as_ref().map(|key| ApiKey::new(key.reveal())).transpose();
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
        options.invoked.ca_cert = self.ca_cert.clone();
        options.invoked.known_failing = self.known_failing.clone();
        options.transport.proxy = self.proxy.clone();
        options.transport.headers = self.header.iter().map(|field| (field.name.clone(), field.value.clone())).collect();
        options.transport.timeout = Duration::from_secs(self.timeout);
        options.wait = Duration::from_secs(self.wait);
        options.max_duration = Duration::from_secs(self.max_duration);
        options.max_requests = self.max_requests;
        options.category_id = self.category_id;
        options.concurrency = self.concurrency;
        options.assumed_date = self.assume_date;
        options.cases = self.cases;
        options.replay = self.replay;
        match self.seed {
            Some(seed) => options.seed = seed,
            None if self.replay.is_some() => return Err(UsageError::ReplayWithoutSeed),
            None => {}
        }
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
        let scope = Scope { profile: self.profile, only: self.only.clone(), skip: self.skip.clone() };
        if catalogue().requirements.iter().any(|requirement| scope.selects(&requirement.id)) {
            Ok(scope)
        } else {
            Err(UsageError::NothingSelected)
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;

    use super::super::arguments::command;
    use super::*;

    fn options(args: &[&str]) -> Result<Options, UsageError> {
        let required = ["conform", "--base-url", "http://h:1/v1/", "--api-key", "sk-1"];
        let matches = command().try_get_matches_from(required.iter().chain(args)).unwrap();
        Arguments::from_arg_matches(&matches).unwrap().options()
    }

    #[test]
    fn what_leaves_nothing_to_judge_is_refused() {
        let args = ["--only", "quota.enforced", "--profile", "functional"];
        assert!(matches!(options(&args), Err(UsageError::NothingSelected)));
        assert!(options(&["--only", "auth", "--skip", "auth.challenge"]).is_ok());
    }

    #[test]
    fn a_generated_request_is_replayed_with_its_seed_only() {
        assert!(matches!(options(&["--replay", "3"]), Err(UsageError::ReplayWithoutSeed)));
        let options = options(&["--replay", "3", "--seed", "7"]).unwrap();
        assert_eq!((options.replay, options.seed), (Some(3), 7));
    }

    #[test]
    fn what_is_switched_on_elsewhere_can_be_switched_off_by_hand() {
        assert!(options(&["--strict"]).unwrap().strict);
        assert!(!options(&["--strict=false"]).unwrap().strict);
        let matches = command().try_get_matches_from(["conform", "-v", "--quiet=no"]).unwrap();
        let arguments = Arguments::from_arg_matches(&matches).unwrap();
        assert_eq!((arguments.verbose, arguments.quiet), (true, false));
    }
}
