//! The command line that repeats a run.

use super::GivenOption;
use super::shell::word;
use crate::options::Options;
use crate::redaction::without_secrets;
use crate::redaction::{HIDDEN, Redactor};

/// The command line that repeats a run, for any POSIX shell. Keys are replaced by the variables that hold them. The repeated run is equal
/// except for the names of new animals, which depend on the time as well as on the seed.
pub(crate) fn command(options: &Options, redactor: &Redactor) -> String {
    let prose = redactor.for_prose();
    // A recording names the program and the options that were given, and it may be written by others.
    let mut words: Vec<String> = options.invoked.program.split(' ').map(|part| word(part, &prose)).collect();
    for (option, value) in options.arguments() {
        words.push(word(option, &prose));
        let holds_secret = ["--api-key", "--quota-key"].contains(&option);
        words.extend(value.map(|value| word(&value, if holds_secret { redactor } else { &prose })));
    }
    words.join(" ")
}

/// The options of [`command`] that a report keeps: all but keys, values with a secret, and `--only`.
pub(crate) fn given(options: &Options, redactor: &Redactor) -> Vec<GivenOption> {
    let prose = redactor.for_prose();
    let mut kept = Vec::new();
    for (name, value) in options.arguments() {
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
