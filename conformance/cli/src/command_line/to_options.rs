//! From arguments to the options of a run.

use std::path::PathBuf;
use std::time::Duration;

use super::arguments::Arguments;
use super::rerun::Rerun;
use super::selection::{certificates, known_failing, scope_of};
use super::usage_error::UsageError;
use animal_store_conformance::Options;
use animal_store_diagnose::known_failing::KnownFailing;
use animal_store_rules::catalogue::scope::Scope;

impl Arguments {
    /// The options of a run.
    pub(super) fn options(&self) -> Result<Options, UsageError> {
        let base_url = self.base_url.as_deref().ok_or(UsageError::NoTarget)?;
        let api_key = self.api_key.as_ref().ok_or(UsageError::NoKey)?;
        let mut options = Options::new(base_url, api_key.reveal()).map_err(UsageError::BaseUrl)?;
        for replica in &self.replica {
            options.add_replica(replica).map_err(UsageError::Replica)?;
        }
        for resolved in &self.resolve {
            options.resolve(resolved).map_err(UsageError::Resolve)?;
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
        judging.known_failing = self.known_failing()?;
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
        let once = [
            ("--api-key-file", file(&self.api_key_file)),
            ("--quota-key-file", file(&self.quota_key_file)),
            // Another environment has other keys.
            ("--config", file(&self.config).filter(|_| self.takes_keys_of_file())),
            ("--env", self.env.clone().filter(|_| self.takes_keys_of_file())),
            ("--known-failing", file(&self.known_failing)),
            ("--ca-cert", file(&self.ca_cert)),
            ("--client-cert", file(&self.client_cert)),
        ];
        let mut given = self.container.given();
        given.extend(once.into_iter().filter_map(|(option, value)| Some((option, value?))));
        given.extend(self.resolve.iter().map(|resolved| ("--resolve", resolved.to_string())));
        given.into_iter().map(|(option, value)| (option.to_owned(), value)).collect()
    }

    /// Returns true if the configuration names the variable of a key.
    fn takes_keys_of_file(&self) -> bool {
        self.key_variables.iter().any(Option::is_some)
    }

    fn known_failing(&self) -> Result<KnownFailing, UsageError> {
        // A file that is to be updated after the run is checked before anything is sent.
        self.write_known_failing.as_deref().filter(|path| path.is_file()).map(known_failing).transpose()?;
        self.known_failing.as_deref().map_or_else(|| Ok(KnownFailing::default()), known_failing)
    }
}

#[cfg(test)]
mod tests {
    use super::super::arguments::command;
    use super::*;
    use animal_store_conformance::{conclude, context};
    use animal_store_rules::catalogue::scope::Profile;
    use animal_store_rules::trace::Trace;
    use animal_store_rules::trace::keys::ApiKey;

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
        options.budget.rate = "10/s".parse().ok();
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
