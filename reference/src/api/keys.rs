//! API keys: their form, their generation, keys that are given to a server, and the hash, which is stored.
//!
//! A key that is issued is `ask_<number>_<secret>`: the number identifies it to people, the secret has 258 random
//! bits. A key that is given to a server at its start ([`parse_given`]) is any bearer token, so that a compose file or a
//! continuous integration job knows it beforehand. Only the SHA-256 of the whole key
//! is stored, and the key is found by it. A fast hash is enough because nobody can try 2^258 secrets; a slow one
//! would only make every request slow.

use std::fmt;

use clap::ValueEnum;
use rustls::crypto::ring;
use sha2::{Digest, Sha256};

use crate::domain::plan::Plan;
use crate::store::{KeyStore, StoreError};

/// The characters of a secret, six bits each.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A complete API key. It is shown once, when it is issued; its `Debug` form hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// The text that goes behind `Authorization: Bearer `.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(hidden)")
    }
}

/// The reason why a key could not be put in force.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The database failed, or the system gave no random numbers.
    #[error("the key was not stored: {0}")]
    Store(#[from] StoreError),
    /// A key that is given for a plan is in the database under this number, for another plan or revoked.
    #[error("the key given for plan {0} is key {1} of the database, {2}: give another key")]
    Taken(Plan, i64, String),
}

/// Makes a key, stores its hash and returns its number and the key itself.
///
/// # Errors
///
/// [`KeyError`]; no key was stored.
pub fn issue(store: &KeyStore, name: &str, plan: Plan, now: u64) -> Result<(i64, ApiKey), KeyError> {
    let no_random = || StoreError::Unavailable("the system gave no random numbers".to_owned());
    let mut secret = [0_u8; 43];
    ring::default_provider().secure_random.fill(&mut secret).map_err(|_failed| no_random())?;
    let secret: String = secret.iter().map(|byte| char::from(ALPHABET[usize::from(byte & 63)])).collect();
    let compose = |number: i64| format!("ask_{number}_{secret}");
    let number = store.add(name, plan, now, |number| hash(&compose(number)))?;
    Ok((number, ApiKey(compose(number))))
}

/// The hash of a key, which is stored in its place: SHA-256.
pub fn hash(key: &str) -> [u8; 32] {
    Sha256::digest(key).into()
}

/// A key that a server has from its start on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartKey {
    /// The plan, with the figures that it has without an agreement.
    pub plan: Plan,
    /// The key, which may be any bearer token. Without one, a key is issued.
    pub given: Option<ApiKey>,
}

impl StartKey {
    /// Puts keys in force that are not in force yet, and returns the number of each and the key itself. A known key keeps its usage.
    ///
    /// # Errors
    ///
    /// [`KeyError`]; nothing was changed if a given key is taken.
    pub fn put_in_force(keys: &[Self], store: &KeyStore, now: u64) -> Result<Vec<(i64, ApiKey)>, KeyError> {
        // All given keys are looked up before any key is stored, so that a start that fails issues none.
        let known = keys.iter().map(|key| key.known(store)).collect::<Result<Vec<_>, _>>()?;
        let put = |(Self { plan, given }, known): (&Self, Option<i64>)| match (given, known) {
            (None, _) => issue(store, "dev", *plan, now),
            (Some(key), Some(number)) => Ok((number, key.clone())),
            (Some(key), None) => Ok((store.add("given", *plan, now, |_number| hash(key.reveal()))?, key.clone())),
        };
        keys.iter().zip(known).map(put).collect()
    }

    /// The number of a given key that is in the database already.
    fn known(&self, store: &KeyStore) -> Result<Option<i64>, KeyError> {
        let Some(key) = &self.given else { return Ok(None) };
        let Some(known) = store.with_hash(&hash(key.reveal()))? else { return Ok(None) };
        let is_of_plan = known.plan == self.plan.name() && known.limits == self.plan.limits();
        match known.revoked_at {
            Some(_) => Err(KeyError::Taken(self.plan, known.id, "which was revoked".to_owned())),
            None if is_of_plan => Ok(Some(known.id)),
            None => Err(KeyError::Taken(self.plan, known.id, format!("for plan {}", known.plan))),
        }
    }
}

/// Reads texts of entries `PLAN=KEY` that commas or white space separate. An entry that is repeated counts once.
///
/// # Errors
///
/// A sentence with the number of the wrong entry, from 1 over all texts. It does not repeat a part of the text, which may be a key.
pub fn parse_given<T: AsRef<str>>(texts: &[T]) -> Result<Vec<StartKey>, String> {
    let entries = texts.iter().flat_map(|text| text.as_ref().split(|c: char| c == ',' || c.is_whitespace()));
    let mut given: Vec<StartKey> = Vec::new();
    for (number, entry) in (1..).zip(entries.filter(|entry| !entry.is_empty())) {
        let wrong = |defect| format!("key {number} of --key or ANIMAL_STORE_KEYS {defect}");
        let (plan, key) = entry.split_once('=').ok_or_else(|| wrong("is not PLAN=KEY, such as free=my-key"))?;
        let no_plan = || wrong("has no known plan before `=`: it must be free, pro, business or enterprise");
        let plan = Plan::from_str(plan, false).map_err(|_unknown| no_plan())?;
        // `b64token` of RFC 6750 section 2.1.
        let letters = key.trim_end_matches('=');
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
        if letters.is_empty() || !letters.bytes().all(is_letter) {
            return Err(wrong(
                "has no bearer token (RFC 6750) after `=`: letters, digits and -._~+/, with = at the end",
            ));
        }
        let key = StartKey { plan, given: Some(ApiKey(key.to_owned())) };
        match given.iter().find(|other| other.given == key.given) {
            None => given.push(key),
            Some(other) if other.plan == plan => {}
            Some(_) => return Err(wrong("was given before for another plan: a key has one plan")),
        }
    }
    Ok(given)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    fn given(plan: Plan, key: &str) -> StartKey {
        StartKey { plan, given: Some(ApiKey(key.to_owned())) }
    }

    #[test]
    fn a_key_never_shows_itself_in_debug_output() {
        assert_eq!(format!("{:?}", ApiKey("ask_1_secret".to_owned())), "ApiKey(hidden)");
    }

    #[test]
    fn commas_and_white_space_separate_entries_and_one_that_is_repeated_counts_once() {
        let texts = ["free=a,pro=b-._~+/9==", " business=c \n\t enterprise=d,,free=a ", ""];
        let expected = [
            given(Plan::Free, "a"),
            given(Plan::Pro, "b-._~+/9=="),
            given(Plan::Business, "c"),
            given(Plan::Enterprise, "d"),
        ];
        assert_eq!(parse_given(&texts), Ok(expected.to_vec()));
        assert_eq!(parse_given(&[""; 0]), Ok(Vec::new()));
    }

    #[test]
    fn what_gives_no_key_is_refused_with_its_number_and_without_its_text() {
        for (text, number, defect) in [
            ("free=a,secret", 2, "is not PLAN=KEY"),
            ("secret=free", 1, "no known plan"),
            ("Free=secret", 1, "no known plan"),
            ("=secret", 1, "no known plan"),
            ("pro=", 1, "no bearer token"),
            ("pro==", 1, "no bearer token"),
            ("pro=secret=x", 1, "no bearer token"),
            ("pro=s\u{e9}cret", 1, "no bearer token"),
            ("pro=\"secret\"", 1, "no bearer token"),
            ("free=secret,pro=b,pro=secret", 3, "was given before for another plan"),
        ] {
            let error = parse_given(&[text]).expect_err(text);
            assert!(error.starts_with(&format!("key {number} of --key")) && error.contains(defect), "{error}");
            assert!(!error.contains("cret"), "{error}");
        }
    }

    #[test]
    fn a_key_is_adopted_once_and_neither_for_another_plan_nor_after_it_was_revoked() {
        let store = Store::temporary().expect("a store");
        let adopt = |plan, now| StartKey::put_in_force(&[given(plan, "a")], &store.keys, now);
        let (number, key) = adopt(Plan::Free, 1).expect("adopted").remove(0);
        assert_eq!(key.reveal(), "a");
        assert_eq!(adopt(Plan::Free, 2).map(|again| again[0].0).ok(), Some(number));
        assert_eq!(store.keys.list().expect("the keys").len(), 1);
        let other = adopt(Plan::Pro, 3).expect_err("another plan");
        assert_eq!(
            other.to_string(),
            "the key given for plan pro is key 1 of the database, for plan free: give another key"
        );
        assert!(store.keys.revoke(number, 4).expect("revoked"));
        let revoked = adopt(Plan::Free, 5).expect_err("revoked");
        assert!(revoked.to_string().contains("which was revoked"), "{revoked}");
    }
}
