//! The command line that repeats a run.

use std::time::Duration;

use super::GivenOption;
use super::shell::word;
use crate::options::Options;
use crate::redaction::without_secrets;
use crate::redaction::{HIDDEN, Redactor};
use animal_store_rules::catalogue::scope::Profile;

/// The command line that repeats a run, for any POSIX shell. Keys are replaced by the variables that hold them. The repeated run is equal
/// except for the names of new animals, which depend on the time as well as on the seed.
pub(crate) fn command(options: &Options, redactor: &Redactor) -> String {
    let prose = redactor.for_prose();
    // A recording names the program and the options that were given, and it may be written by others.
    let mut words: Vec<String> = options.invoked.program.split(' ').map(|part| word(part, &prose)).collect();
    for (option, value) in arguments(options) {
        words.push(word(option, &prose));
        let holds_secret = ["--api-key", "--quota-key"].contains(&option);
        words.extend(value.map(|value| word(&value, if holds_secret { redactor } else { &prose })));
    }
    words.join(" ")
}

/// The options of [`command`] that a report keeps: all but keys, values with a secret, and `--only`.
pub(super) fn given(options: &Options, redactor: &Redactor) -> Vec<GivenOption> {
    let prose = redactor.for_prose();
    let mut kept = Vec::new();
    for (name, value) in arguments(options) {
        let value = value.map(|value| prose.redact(&value));
        let is_hidden = value.as_ref().is_some_and(|value| value.contains(HIDDEN));
        if !is_hidden && !["--api-key", "--quota-key", "--only", "--config", "--env"].contains(&name) {
            kept.push(GivenOption { name: name.to_owned(), value });
        }
    }
    kept
}

/// The options that `curl` needs to reach the target as the judge does: options and values alternate.
pub(crate) fn curl_options(options: &Options) -> Vec<String> {
    let mut words = Vec::new();
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    for (name, value) in &options.invoked.given {
        match name.as_str() {
            "--ca-cert" => option("--cacert", value.clone()),
            "--client-cert" => option("--cert", value.clone()),
            "--resolve" => option(name, value.clone()),
            _ => {}
        }
    }
    if let Some(proxy) = &options.transport.proxy {
        option("-x", without_secrets(proxy));
    }
    if let Some(path) = &options.transport.unix_socket {
        option("--unix-socket", path.display().to_string());
    }
    for (name, value) in &options.transport.headers {
        option("-H", if value.is_empty() { format!("{name};") } else { format!("{name}: {HIDDEN}") });
    }
    words
}

/// The options that differ from their defaults, and the seed.
fn arguments(options: &Options) -> Vec<(&str, Option<String>)> {
    let mut all = Vec::new();
    let mut add = |option, value: Option<String>| all.extend(value.map(|value| (option, Some(value))));
    let (transport, invoked) = (&options.transport, &options.invoked);
    let seconds = |time: Duration, default: Duration| (time != default).then(|| time.as_secs().to_string());
    let number = |number: usize, default: usize| (number != default).then(|| number.to_string());
    if !invoked.embedded {
        add("--base-url", (!invoked.starts_container()).then(|| transport.base_url.clone()));
        transport.replicas.iter().for_each(|replica| add("--replica", Some(replica.clone())));
        let keys = ["--api-key", "--quota-key"].into_iter().zip(options.keys()).zip(&invoked.key_variables);
        for ((option, key), variable) in keys {
            let has_source = variable.is_some() || invoked.given.iter().any(|(source, _)| source.starts_with(option));
            add(option, (!has_source).then(|| key.reveal().to_owned()));
        }
        let implementation = &options.judging.implementation;
        add("--implementation", implementation.name.clone());
        add("--implementation-version", implementation.version.clone());
    }
    invoked.given.iter().for_each(|(option, value)| add(option, Some(value.clone())));
    add("--plan", options.judging.plan.as_ref().map(ToString::to_string));
    let profile = options.judging.scope.profile;
    add("--profile", (profile != Profile::default()).then(|| profile.as_str().to_owned()));
    options.judging.scope.only.iter().for_each(|id| add("--only", Some(id.clone())));
    options.judging.scope.skip.iter().for_each(|id| add("--skip", Some(id.clone())));
    add("--rate", options.budget.rate.map(|rate| rate.to_string()));
    add("--max-requests", number(options.budget.max_requests, Options::MAX_REQUESTS));
    add("--max-duration", seconds(options.budget.max_duration, Options::MAX_DURATION));
    add("--timeout", seconds(transport.timeout, Options::TIMEOUT));
    add("--wait", seconds(options.budget.wait, Options::WAIT));
    add("--category-id", options.category_id.map(|id| id.to_string()));
    add("--cases", options.budget.cases.map(|cases| cases.to_string()));
    add("--proxy", transport.proxy.as_deref().map(without_secrets));
    add("--unix-socket", transport.unix_socket.as_ref().map(|path| path.display().to_string()));
    transport.headers.iter().for_each(|(name, value)| {
        add("--header", Some(format!("{name}: {}", if value.is_empty() { "" } else { HIDDEN })));
    });
    add("--seed", Some(options.seed.to_string()));
    if options.exclusive_key && !invoked.embedded && !invoked.starts_container() {
        all.push(("--exclusive-key", None));
    }
    if options.judging.strict {
        all.push(("--strict", None));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Invoked;
    use crate::redaction::redactor;

    #[test]
    fn the_command_contains_only_the_seed_and_options_that_differ_from_their_defaults() {
        let mut options = Options::new("http://h/v1", "sk-main-4711").unwrap();
        options.seed = 7;
        let command_line = command(&options, &redactor(&options));
        assert_eq!(command_line, r#"conform --base-url http://h/v1 --api-key "$CONFORM_API_KEY" --seed 7"#);
        options.invoked = Invoked { program: "cargo xtask conform".to_owned(), embedded: true, ..Invoked::default() };
        assert_eq!(command(&options, &redactor(&options)), "cargo xtask conform --seed 7");
    }

    #[test]
    fn curl_reaches_the_target_as_the_judge_does() {
        let expected = [
            "--cacert",
            "ca.pem",
            "--cert",
            "client.pem",
            "--resolve",
            "h:80:192.0.2.7",
            "-x",
            "http://(hidden)@proxy:3128",
            "--unix-socket",
            "/run/api.sock",
        ];
        let mut options = Options::new("http://h/v1", "sk-main-4711").unwrap();
        let given = [("--ca-cert", "ca.pem"), ("--client-cert", "client.pem"), ("--resolve", "h:80:192.0.2.7")];
        options.invoked.given = given.map(|(option, value)| (option.to_owned(), value.to_owned())).to_vec();
        options.transport.proxy = Some("http://me:secret@proxy:3128".to_owned());
        options.transport.unix_socket = Some("/run/api.sock".into());
        options.transport.headers = vec![("X-Tenant".to_owned(), "a b".to_owned())];
        assert_eq!(curl_options(&options), [&expected[..], &["-H", "X-Tenant: (hidden)"]].concat());
    }
}
