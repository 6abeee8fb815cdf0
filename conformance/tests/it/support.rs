//! What all tests against servers share: keys, options, and how text is compared with what was reviewed.

use std::path::Path;
use std::time::Duration;

use animal_store_conformance::Options;
use animal_store_conformance::report::{KeyAlias, Report};
use animal_store_rules::catalogue::catalogue;
use animal_store_rules::catalogue::scope::Profile;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::sockets;

/// The key that the judge is given.
pub(crate) const KEY: &str = "sk-Candidate-Key-0001";

/// The key that a run may exhaust.
pub(crate) const QUOTA_KEY: &str = "sk-Quota/Key+0002";

/// The options that the tests share. The seed is fixed, so that a red test is red again.
pub(crate) fn options(base_url: &str, profile: Profile) -> Options {
    let mut options = Options::new(base_url, KEY).expect("an address and a key");
    options.transport.unix_socket = sockets::of(base_url);
    options.judging.scope.profile = profile;
    options.seed = 7;
    options.budget.max_duration = Duration::from_mins(3);
    options
}

/// The requirements that a report calls broken.
pub(crate) fn broken(report: &Report) -> Vec<String> {
    let failed = report.requirements.iter().filter(|requirement| requirement.failures > 0);
    failed.map(|r| format!("{}: {}", r.id, r.evidence.first().map_or("", |e| e.sentence.as_str()))).collect()
}

/// Every form of the keys that no output may hold.
pub(crate) fn secrets() -> Vec<String> {
    let toggled = |key: &str| {
        let turn = |c: char| if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
        key.chars().map(turn).collect::<String>()
    };
    let mut secrets = Vec::new();
    for key in [KEY, QUOTA_KEY] {
        secrets.extend([key.to_owned(), key[..key.len() - 1].to_owned(), toggled(key)]);
        secrets.extend([key.to_lowercase(), key.to_uppercase(), key.replace('/', "\\/"), key.replace('/', "%2F")]);
        secrets.push(key.replace('/', "%2F").replace('+', "%2B"));
        for text in [key.to_owned(), format!("Bearer {key}"), format!("{key}:{key}")] {
            secrets.push(BASE64_STANDARD.encode(text).trim_end_matches('=').to_owned());
        }
    }
    secrets
}

/// Compares a text with the reviewed one in `snapshots/`; no secret may be in it.
pub(crate) fn check(name: &str, text: &str) {
    for secret in secrets() {
        assert!(!text.contains(&secret), "{name} shows {secret}");
    }
    // The digest changes with every word of the catalogue.
    let digest = catalogue().digest();
    let text = text.replace(digest, "(digest)").replace(&digest[..12], "(digest)");
    insta::with_settings!({ snapshot_path => "../../../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace")
}

/// A file of the repository.
pub(crate) fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The longest row of refusals of a key in a run, as the places of its exchanges. A refusal begins a new row where the run has waited before it as the refusal before
/// announces, or for a minute where that announces nothing.
pub(crate) fn longest_row_of_refusals(report: &Report) -> Vec<usize> {
    let mut longest = Vec::new();
    for key in [KeyAlias::Main, KeyAlias::Quota] {
        let own = report.exchanges.iter().enumerate().filter(|(_, exchange)| exchange.key == key);
        let mut row = Vec::new();
        let mut refused: Option<(jiff::Timestamp, i64)> = None;
        for (at, exchange) in own {
            let Some(response) = &exchange.response else { continue };
            if response.status != 429 {
                row.clear();
                refused = None;
                continue;
            }
            let has_waited = refused
                .is_some_and(|(at, wait)| exchange.sent_at.duration_since(at).as_millis() >= i128::from(wait) * 1_000);
            if has_waited {
                row.clear();
            }
            row.push(at + 1);
            if row.len() > longest.len() {
                longest.clone_from(&row);
            }
            let field = |name: &str| {
                let found = response.headers.iter().find(|(field, _)| field == name);
                found.and_then(|(_, value)| value.parse::<i64>().ok())
            };
            let elapsed = i64::try_from(exchange.elapsed_us).expect("a short time");
            let received = exchange.sent_at + jiff::SignedDuration::from_micros(elapsed);
            let until_reset = || Some((field("x-ratelimit-reset")? - received.as_second()).max(0));
            let announced = field("retry-after").filter(|wait| *wait >= 0).or_else(until_reset);
            refused = Some((received, announced.unwrap_or(60).min(60)));
        }
    }
    longest
}

/// Fails if a run was refused more than twice in a row.
pub(crate) fn few_refusals(report: &Report) -> Result<(), String> {
    let row = longest_row_of_refusals(report);
    if row.len() <= 2 { Ok(()) } else { Err(format!("the exchanges {row:?} were refused in a row")) }
}
