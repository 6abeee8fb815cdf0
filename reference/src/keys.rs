//! API keys: their form, how they are generated, and which part of them is stored.
//!
//! A key that is issued is `ask_<number>_<secret>`: the number identifies it to people, the secret is 256 random bits
//! in base64url. A key that is given to a server at its start ([`given`]) is any bearer token. Of either only the SHA-256 of
//! the whole text is stored, by which it is found. A fast hash is enough because nobody can try 2^256 secrets; a slow one
//! would only make every request slow.

pub mod given;

use std::fmt;

use sha2::{Digest, Sha256};

use crate::plan::Plan;
use crate::store::{KeyStore, NewKey, StoreError};

const PREFIX: &str = "ask_";

/// A complete API key. It is shown once, when it is issued; its `Debug` form hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// A key of this text.
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

/// Why a key could not be issued.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    /// The system gave no random numbers.
    #[error("the system's source of random numbers failed: {0}")]
    Random(getrandom::Error),
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
    let mut secret = [0_u8; 32];
    getrandom::fill(&mut secret).map_err(IssueError::Random)?;
    let secret = base64url(&secret);
    let compose = |number: i64| format!("{PREFIX}{number}_{secret}");
    let new = NewKey { name, plan: plan.name(), limits: plan.limits(), created_at: now };
    let number = store.add(&new, |number| hash(compose(number).as_bytes()))?;
    Ok((number, ApiKey(compose(number))))
}

/// What is stored of a key.
#[must_use]
pub fn hash(key: &[u8]) -> [u8; 32] {
    Sha256::digest(key).into()
}

/// RFC 4648 section 5, without padding.
fn base64url(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for position in 0..=group.len() {
            let index = bits >> (18 - 6 * position) & 0x3f;
            text.push(char::from(ALPHABET[index as usize]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64url_follows_the_rfc() {
        let encoded = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64url(text.as_bytes()));
        assert_eq!(encoded, ["", "Zg", "Zm8", "Zm9v", "Zm9vYg", "Zm9vYmE", "Zm9vYmFy"]);
        assert_eq!(base64url(&[0xfb, 0xff]), "-_8");
    }

    #[test]
    fn a_key_never_shows_itself_in_debug_output() {
        assert_eq!(format!("{:?}", ApiKey("ask_1_secret".to_owned())), "ApiKey(hidden)");
    }
}
