//! API keys: their form, their generation, and their hash, which is stored.
//!
//! A key that is issued is `ask_<number>_<secret>`: the number identifies it to people, the secret has 258 random
//! bits. A key that is given to a server at its start ([`given`]) is any bearer token. Only the SHA-256 of the whole key
//! is stored, and the key is found by it. A fast hash is enough because nobody can try 2^258 secrets; a slow one
//! would only make every request slow.

pub mod given;

use std::fmt;

use rustls::crypto::ring;
use sha2::{Digest, Sha256};

use crate::domain::plan::Plan;
use crate::store::{KeyStore, NewKey, StoreError};

const PREFIX: &str = "ask_";

/// The characters of a secret, six bits each.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A complete API key. It is shown once, when it is issued; its `Debug` form hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// The key with this text.
    pub(crate) fn of(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The text that goes behind `Authorization: Bearer `.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(hidden)")
    }
}

/// The reason why a key could not be issued.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    /// The system gave no random numbers.
    #[error("the system's source of random numbers failed")]
    Random,
    /// The database could not store the key.
    #[error("the key was not stored: {0}")]
    Store(#[from] StoreError),
}

/// Makes a key, stores its hash and returns its number and the key itself.
///
/// # Errors
///
/// [`IssueError`]; no key was stored.
pub fn issue(store: &KeyStore, name: &str, plan: Plan, now: u64) -> Result<(i64, ApiKey), IssueError> {
    let mut secret = [0_u8; 43];
    ring::default_provider().secure_random.fill(&mut secret).map_err(|_failed| IssueError::Random)?;
    let secret: String = secret.iter().map(|byte| char::from(ALPHABET[usize::from(byte & 63)])).collect();
    let compose = |number: i64| format!("{PREFIX}{number}_{secret}");
    let new = NewKey { name, plan: plan.name(), limits: plan.limits(), created_at: now };
    let number = store.add(&new, |number| hash(compose(number).as_bytes()))?;
    Ok((number, ApiKey(compose(number))))
}

/// The hash of a key, which is stored in its place: SHA-256.
#[must_use]
pub fn hash(key: &[u8]) -> [u8; 32] {
    Sha256::digest(key).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_never_shows_itself_in_debug_output() {
        assert_eq!(format!("{:?}", ApiKey("ask_1_secret".to_owned())), "ApiKey(hidden)");
    }
}
