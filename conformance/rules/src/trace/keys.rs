//! API keys, in types that keep them out of all output.

use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;

/// An API key. Neither `Debug` nor any renderer shows it.
#[derive(Clone, Eq, PartialEq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Wraps a key.
    ///
    /// # Errors
    ///
    /// [`UnusableKey`] if an `Authorization` header field cannot carry the key after `Bearer `: a key is visible ASCII and not empty.
    pub fn new(key: impl Into<String>) -> Result<ApiKey, UnusableKey> {
        let key = key.into();
        let bare = key.trim();
        Err(if bare.is_empty() {
            UnusableKey::Empty
        } else if bare.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer ")) {
            UnusableKey::Scheme
        } else if !bare.bytes().all(|byte| byte.is_ascii_graphic()) {
            UnusableKey::Character
        } else if key.ends_with(['\n', '\r']) {
            UnusableKey::LineBreak
        } else if bare.len() < key.len() {
            UnusableKey::Space
        } else {
            return Ok(ApiKey(key));
        })
    }

    /// The key itself, for the wire only.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

/// A list of keys. Finding the index of a key takes constant time.
#[derive(Clone, Default, Eq, PartialEq)]
pub struct Keys {
    keys: Vec<ApiKey>,
    places: HashMap<String, usize>,
}

impl Keys {
    /// The index of a key in the list, if the list has it.
    pub fn place_of(&self, key: &str) -> Option<usize> {
        self.places.get(key).copied()
    }
}

impl Deref for Keys {
    type Target = [ApiKey];

    fn deref(&self) -> &[ApiKey] {
        &self.keys
    }
}

impl FromIterator<ApiKey> for Keys {
    fn from_iter<I: IntoIterator<Item = ApiKey>>(keys: I) -> Keys {
        let mut all = Keys::default();
        for key in keys {
            all.places.entry(key.0.clone()).or_insert(all.keys.len());
            all.keys.push(key);
        }
        all
    }
}

impl From<Vec<ApiKey>> for Keys {
    fn from(keys: Vec<ApiKey>) -> Keys {
        keys.into_iter().collect()
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keys({})", self.keys.len())
    }
}

/// The reason why no header field can carry a key.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum UnusableKey {
    /// The key is empty.
    #[error("the key is empty\n  Is the variable set that it comes from?")]
    Empty,
    /// The key begins with the scheme `Bearer`.
    #[error("the key begins with Bearer, which the judge writes before it anyway\n  Give the key alone.")]
    Scheme,
    /// The key ends with a line break.
    #[error("the key ends with a line break, as one does that was read from a file\n  \"$(cat FILE)\" leaves it out.")]
    LineBreak,
    /// The key begins or ends with a space.
    #[error("the key begins or ends with a space\n  Remove it: it is not part of the key.")]
    Space,
    /// The key has a character that is not visible ASCII.
    #[error(
        "the key holds a character that an Authorization header cannot carry: a space, a line break or a character outside ASCII\n  Check that it was copied completely, and nothing else with it."
    )]
    Character,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_shows_in_no_debug_output() {
        let key = ApiKey::new("sk-0451").unwrap();
        assert!(!format!("{key:?}").contains("0451"));
    }

    #[test]
    fn a_key_that_no_header_can_carry_is_refused() {
        for (key, problem) in [
            ("", UnusableKey::Empty),
            (" \n", UnusableKey::Empty),
            ("two words", UnusableKey::Character),
            ("line\nbreak", UnusableKey::Character),
            ("schlüssel", UnusableKey::Character),
            ("Bearer sk-1", UnusableKey::Scheme),
            ("bearer sk-1\n", UnusableKey::Scheme),
            ("sk-1\r\n", UnusableKey::LineBreak),
            (" sk-1", UnusableKey::Space),
        ] {
            assert_eq!(ApiKey::new(key).err(), Some(problem), "{key:?}");
        }
    }
}
