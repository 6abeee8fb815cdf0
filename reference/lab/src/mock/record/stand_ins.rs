//! The replacements for keys and other credentials in a recording, which contains none.

use std::collections::HashMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::secrets::{HIDDEN, Redactor, is_secret_name, unescaped};

/// Valid keys that are known in full.
#[derive(Clone, Debug, Default)]
pub(super) struct ValidKeys {
    /// Keys of the start, which may never be presented.
    given: Vec<String>,
    /// The number of each presented key, in the order of the first presentation.
    numbers: HashMap<String, usize>,
}

impl ValidKeys {
    /// Keys that are known from the start.
    pub(super) fn given(keys: impl Iterator<Item = String>) -> ValidKeys {
        ValidKeys { given: keys.collect(), numbers: HashMap::new() }
    }

    /// Remembers a key that was presented.
    pub(super) fn presented(&mut self, key: String) {
        let next = self.numbers.len() + 1;
        self.numbers.entry(key).or_insert(next);
    }

    /// Returns the stand-ins of the presented keys.
    pub(super) fn stand_ins(&self) -> Vec<String> {
        (1..=self.numbers.len()).map(valid).collect()
    }
}

fn valid(number: usize) -> String {
    format!("sk-Recorded-Key-{number:04}")
}

/// The stand-in of each credential of a trace.
pub(super) struct StandIns {
    by_credential: HashMap<String, String>,
    /// Replaces all these credentials in texts.
    pub(super) redactor: Redactor,
}

impl StandIns {
    /// Makes stand-ins for valid keys, and for other credentials in the order in which they were presented.
    pub(super) fn new(keys: &ValidKeys, credentials: impl IntoIterator<Item = String>) -> StandIns {
        let mut by_credential: HashMap<String, String> =
            keys.numbers.iter().map(|(key, number)| (key.clone(), valid(*number))).collect();
        let mut others = 0;
        for credential in credentials.into_iter().filter(|credential| !credential.is_empty()) {
            by_credential.entry(credential).or_insert_with(|| {
                others += 1;
                format!("sk-Invalid-Key-{others:04}")
            });
        }
        let hidden = keys.given.iter().filter(|key| !by_credential.contains_key(*key));
        let secrets = by_credential.iter().map(|(credential, stand_in)| (credential.as_str(), stand_in.as_str()));
        let redactor = Redactor::new(hidden.map(|key| (key.as_str(), HIDDEN)).chain(secrets));
        StandIns { by_credential, redactor }
    }

    fn of(&self, credential: &str) -> &str {
        self.by_credential.get(credential).map_or(HIDDEN, String::as_str)
    }

    /// The value of an `Authorization` field with a stand-in for its credential.
    pub(super) fn authorization(&self, value: &str) -> String {
        match scheme_and_credential(value) {
            (_, "") => value.to_owned(),
            ("", credential) => self.of(credential).to_owned(),
            (scheme, credential) => format!("{} {}", self.redactor.text(scheme), self.of(credential)),
        }
    }

    /// Returns a query with stand-ins for known credentials, and for values whose names announce a credential.
    pub(super) fn query(&self, query: &str) -> String {
        let pairs = query.split('&').map(|pair| match pair.split_once('=') {
            Some((name, value)) if !value.is_empty() && is_secret_name(&unescaped(name)) => {
                format!("{}={}", self.redactor.text(name), self.of(&unescaped(value)))
            }
            _ => self.redactor.text(pair),
        });
        pairs.collect::<Vec<_>>().join("&")
    }
}

/// The scheme and the credential of an `Authorization` field; either may be empty.
fn scheme_and_credential(value: &str) -> (&str, &str) {
    match value.split_once(' ') {
        Some((scheme, credential)) => (scheme, credential.trim()),
        None if value.eq_ignore_ascii_case("bearer") => (value, ""),
        None => ("", value),
    }
}

/// The credentials of an `Authorization` field: its own, and under the scheme Basic also the password in it.
pub(super) fn credentials(value: &str) -> Vec<String> {
    let (scheme, credential) = scheme_and_credential(value);
    let mut credentials = vec![credential.to_owned()];
    if scheme.eq_ignore_ascii_case("basic")
        && let Ok(pair) = BASE64_STANDARD.decode(credential)
    {
        let pair = String::from_utf8_lossy(&pair).into_owned();
        credentials.extend(pair.split_once(':').map(|(_, password)| password.to_owned()));
    }
    credentials
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stand_ins(valid: &[&str], presented: &[&str]) -> StandIns {
        let mut keys = ValidKeys::default();
        valid.iter().for_each(|key| keys.presented((*key).to_owned()));
        StandIns::new(&keys, presented.iter().flat_map(|value| credentials(value)))
    }

    #[test]
    fn each_credential_has_a_stand_in_of_its_own_in_whatever_scheme_it_is_presented() {
        let presented = ["Bearer first-long-key", "bearer wrong-long-key", "Bearer a", "Basic dTpwYXNzd29yZDE="];
        let stand_ins = stand_ins(&["first-long-key"], &presented);
        for (value, expected) in [
            ("Bearer first-long-key", "Bearer sk-Recorded-Key-0001"),
            ("bearer wrong-long-key", "bearer sk-Invalid-Key-0001"),
            ("Bearer a", "Bearer sk-Invalid-Key-0002"),
            ("first-long-key", "sk-Recorded-Key-0001"),
            ("Basic dTpwYXNzd29yZDE=", "Basic sk-Invalid-Key-0003"),
            ("Bearer ", "Bearer "),
            ("bearer", "bearer"),
        ] {
            assert_eq!(stand_ins.authorization(value), expected);
        }
        assert_eq!(
            stand_ins.query("a=first%2Dlong-key&to%6Ben=a"),
            "a=sk-Recorded-Key-0001&to%6Ben=sk-Invalid-Key-0002"
        );
        assert_eq!(stand_ins.redactor.text("password1"), "sk-Invalid-Key-0004");
    }
}
