//! The replacements for keys and other credentials in a recording, which contains none.

use std::collections::HashMap;

/// A key that is shorter is only replaced where it is presented: elsewhere it may just be a word.
const LONG_ENOUGH: usize = 8;

/// What stands for each credential that was presented.
#[derive(Debug, Default)]
pub(super) struct StandIns {
    by_credential: HashMap<String, String>,
    valid: Vec<String>,
    others: usize,
}

impl StandIns {
    /// What stands for a credential. Once it is known to be a valid key, it stays one.
    pub(super) fn of(&mut self, credential: &str, is_valid: bool) -> String {
        if let Some(known) = self.by_credential.get(credential)
            && (!is_valid || self.valid.contains(known))
        {
            return known.clone();
        }
        let text = if is_valid {
            let text = format!("sk-Recorded-Key-{:04}", self.valid.len() + 1);
            self.valid.push(text.clone());
            text
        } else {
            self.others += 1;
            format!("sk-Invalid-Key-{:04}", self.others)
        };
        self.by_credential.insert(credential.to_owned(), text.clone());
        text
    }

    /// Those of valid keys.
    pub(super) fn valid(&self) -> Vec<String> {
        self.valid.clone()
    }

    /// A text in which no credential is shown that was presented.
    pub(super) fn redact(&self, text: &str) -> String {
        let long = self.by_credential.iter().filter(|(credential, _)| credential.len() >= LONG_ENOUGH);
        let mut found: Vec<_> = long.filter(|(credential, _)| text.contains(credential.as_str())).collect();
        // A credential may contain another.
        found.sort_by_key(|(credential, _)| std::cmp::Reverse(credential.len()));
        found.iter().fold(text.to_owned(), |text, (credential, stand_in)| text.replace(credential.as_str(), stand_in))
    }

    /// The value of an `Authorization` field with a stand-in for its credential.
    pub(super) fn authorization(&mut self, value: &str, is_valid: bool) -> String {
        match value.split_once(' ') {
            Some((scheme, credential)) if !credential.trim().is_empty() => {
                format!("{scheme} {}", self.of(credential.trim(), is_valid))
            }
            Some(_) => value.to_owned(),
            None if value.eq_ignore_ascii_case("bearer") || value.is_empty() => value.to_owned(),
            None => self.of(value, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_credential_has_a_stand_in_of_its_own_and_keeps_it() {
        let mut stand_ins = StandIns::default();
        assert_eq!(stand_ins.authorization("Bearer first-long-key", true), "Bearer sk-Recorded-Key-0001");
        assert_eq!(stand_ins.authorization("bearer wrong-long-key", false), "bearer sk-Invalid-Key-0001");
        assert_eq!(stand_ins.authorization("Bearer first-long-key", true), "Bearer sk-Recorded-Key-0001");
        assert_eq!(stand_ins.authorization("Bearer a", true), "Bearer sk-Recorded-Key-0002");
        assert_eq!(stand_ins.authorization("first-long-key", false), "sk-Recorded-Key-0001");
        assert_eq!(stand_ins.authorization("Bearer ", false), "Bearer ");
        assert_eq!(stand_ins.valid(), ["sk-Recorded-Key-0001", "sk-Recorded-Key-0002"]);
        assert_eq!(stand_ins.redact("a?key=first-long-key"), "a?key=sk-Recorded-Key-0001");
    }

    #[test]
    fn a_credential_that_contains_another_is_replaced_as_a_whole() {
        let mut stand_ins = StandIns::default();
        stand_ins.of("long-key", true);
        stand_ins.of("long-key-and-more", false);
        assert_eq!(stand_ins.redact("long-key-and-more long-key"), "sk-Invalid-Key-0001 sk-Recorded-Key-0001");
    }
}
