//! Keys that are given to a server at its start, so that a compose file or a continuous integration job knows them beforehand.

use super::{ApiKey, hash};
use crate::domain::plan::Plan;
use crate::store::{KeyStore, NewKey, StoreError};

/// The name of a given key in the list of keys.
const NAME: &str = "given";

/// A key and the plan that it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenKey {
    /// The plan, with the figures that it has without an agreement.
    pub plan: Plan,
    /// The key, which may be any bearer token.
    pub key: ApiKey,
}

/// The reason why a text gives no keys. No message repeats a part of the text, which may be a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GivenKeyError {
    /// There is no `=` in an entry.
    #[error("key {0} of --key or ANIMAL_STORE_KEYS is not PLAN=KEY, such as free=my-key")]
    NoPlan(usize),
    /// The text before the `=` is no plan.
    #[error(
        "key {0} of --key or ANIMAL_STORE_KEYS has no known plan before `=`: it must be free, pro, business or enterprise"
    )]
    UnknownPlan(usize),
    /// The key after the `=` is empty.
    #[error("key {0} of --key or ANIMAL_STORE_KEYS is empty: something must follow `{1}=`")]
    Empty(usize, Plan),
    /// The key could not be sent as a bearer token.
    #[error(
        "key {0} of --key or ANIMAL_STORE_KEYS, for plan {1}, is no bearer token (RFC 6750): it may have letters, digits and \
         -._~+/ and end with ="
    )]
    NoToken(usize, Plan),
    /// A key is given for two plans.
    #[error(
        "keys {0} and {1} of --key or ANIMAL_STORE_KEYS are the same, for plan {2} and for plan {3}: a key has one plan"
    )]
    Twice(usize, usize, Plan, Plan),
}

/// The reason why a database does not take a key.
#[derive(Debug, thiserror::Error)]
pub enum AdoptError {
    /// The database has the key for another plan.
    #[error("the key given for plan {wanted} is key {number} of the database, for plan {stored}: give another key")]
    OtherPlan {
        /// The plan that is asked for.
        wanted: Plan,
        /// The number of the key.
        number: i64,
        /// The name of the plan of the stored key.
        stored: String,
    },
    /// The key was revoked.
    #[error("the key given for plan {wanted} is key {number} of the database, which was revoked: give another key")]
    Revoked {
        /// The plan that is asked for.
        wanted: Plan,
        /// The number of the key.
        number: i64,
    },
    /// The database failed.
    #[error("the key was not stored: {0}")]
    Store(#[from] StoreError),
}

/// Reads texts of entries `PLAN=KEY` that commas or white space separate. An entry that is repeated counts once.
///
/// # Errors
///
/// [`GivenKeyError`] with the number of the entry, from 1 over all texts.
pub fn parse<T: AsRef<str>>(texts: &[T]) -> Result<Vec<GivenKey>, GivenKeyError> {
    let entries = texts.iter().flat_map(|text| text.as_ref().split(|c: char| c == ',' || c.is_whitespace()));
    let mut given: Vec<(usize, GivenKey)> = Vec::new();
    for (number, entry) in (1..).zip(entries.filter(|entry| !entry.is_empty())) {
        let key = parse_entry(number, entry)?;
        match given.iter().find(|(_, other)| other.key == key.key) {
            None => given.push((number, key)),
            Some((_, other)) if other.plan == key.plan => {}
            Some((first, other)) => return Err(GivenKeyError::Twice(*first, number, other.plan, key.plan)),
        }
    }
    Ok(given.into_iter().map(|(_, key)| key).collect())
}

fn parse_entry(number: usize, entry: &str) -> Result<GivenKey, GivenKeyError> {
    let (plan, key) = entry.split_once('=').ok_or(GivenKeyError::NoPlan(number))?;
    let plan = Plan::named(plan).ok_or(GivenKeyError::UnknownPlan(number))?;
    match key {
        "" => Err(GivenKeyError::Empty(number, plan)),
        key if is_token(key) => Ok(GivenKey { plan, key: ApiKey::of(key) }),
        _ => Err(GivenKeyError::NoToken(number, plan)),
    }
}

/// Whether a text is `b64token` (RFC 6750 section 2.1).
fn is_token(text: &str) -> bool {
    let letters = text.trim_end_matches('=');
    !letters.is_empty() && letters.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte))
}

/// Puts a given key in force, unless it is already, and returns its number. A known key keeps its usage.
///
/// # Errors
///
/// [`AdoptError`]; nothing was changed.
pub fn adopt(store: &KeyStore, given: &GivenKey, now: u64) -> Result<i64, AdoptError> {
    let (wanted, hash) = (given.plan, hash(given.key.reveal().as_bytes()));
    let Some(known) = store.with_hash(&hash)? else {
        let new = NewKey { name: NAME, plan: wanted.name(), limits: wanted.limits(), created_at: now };
        return Ok(store.add(&new, |_number| hash)?);
    };
    let number = known.id;
    if known.revoked_at.is_some() {
        return Err(AdoptError::Revoked { wanted, number });
    }
    if known.plan != wanted.name() || known.limits != wanted.limits() {
        return Err(AdoptError::OtherPlan { wanted, number, stored: known.plan });
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Location, Store};

    fn given(plan: Plan, key: &str) -> GivenKey {
        GivenKey { plan, key: ApiKey::of(key) }
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
        assert_eq!(parse(&texts), Ok(expected.to_vec()));
        assert_eq!(parse(&[""; 0]), Ok(Vec::new()));
    }

    #[test]
    fn what_gives_no_key_is_refused_with_its_number_and_without_its_text() {
        for (text, error) in [
            ("free=a,secret", GivenKeyError::NoPlan(2)),
            ("secret=free", GivenKeyError::UnknownPlan(1)),
            ("Free=secret", GivenKeyError::UnknownPlan(1)),
            ("=secret", GivenKeyError::UnknownPlan(1)),
            ("pro=", GivenKeyError::Empty(1, Plan::Pro)),
            ("pro==", GivenKeyError::NoToken(1, Plan::Pro)),
            ("pro=secret=x", GivenKeyError::NoToken(1, Plan::Pro)),
            ("pro=sécret", GivenKeyError::NoToken(1, Plan::Pro)),
            ("pro=\"secret\"", GivenKeyError::NoToken(1, Plan::Pro)),
            ("free=secret,pro=b,pro=secret", GivenKeyError::Twice(1, 3, Plan::Free, Plan::Pro)),
        ] {
            assert_eq!(parse(&[text]), Err(error.clone()), "{text}");
            assert!(!error.to_string().contains("cret"), "{error}");
        }
    }

    #[test]
    fn a_key_is_adopted_once_and_neither_for_another_plan_nor_after_it_was_revoked() {
        let store = Store::open(&Location::Scratch).expect("a store");
        let keys = KeyStore::open_for(&store).expect("a second connection");
        let number = adopt(&keys, &given(Plan::Free, "a"), 1).expect("adopted");
        assert_eq!(adopt(&keys, &given(Plan::Free, "a"), 2).ok(), Some(number));
        assert_eq!(keys.list().expect("the keys").len(), 1);
        let other = adopt(&keys, &given(Plan::Pro, "a"), 3).expect_err("another plan");
        assert_eq!(
            other.to_string(),
            "the key given for plan pro is key 1 of the database, for plan free: give another key"
        );
        assert!(keys.revoke(number, 4).expect("revoked"));
        assert!(matches!(adopt(&keys, &given(Plan::Free, "a"), 5), Err(AdoptError::Revoked { .. })));
    }
}
