//! Keys, and how they are kept out of what people see.

use std::fmt;

/// An API key. Neither `Debug` nor any renderer shows it.
#[derive(Clone, Eq, PartialEq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Wraps a key.
    ///
    /// # Errors
    ///
    /// A key must be something that an `Authorization` header can carry after `Bearer `: visible ASCII, not empty.
    pub fn new(key: impl Into<String>) -> Result<ApiKey, UnusableKey> {
        let key = key.into();
        if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(UnusableKey);
        }
        Ok(ApiKey(key))
    }

    /// The key itself, for the wire only.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

/// What is wrong with a key that no header can carry.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the key is empty or holds a character that an Authorization header cannot carry (a space or a line break?)")]
pub struct UnusableKey;

/// Replaces keys, and what was derived from them, by names of shell variables.
///
/// The longest secret is looked for first, so that a key is not mistaken for a shortened form of itself.
#[derive(Clone, Default)]
pub struct Redactor {
    secrets: Vec<(String, String)>,
}

/// A piece of redacted text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Piece<'t> {
    /// Text as it stands.
    Text(&'t str),
    /// A secret, by the shell expansion that stands for it.
    Secret(&'t str),
}

impl Redactor {
    /// Adds a secret and the shell expansion that stands for it, such as `${CONFORM_API_KEY}`.
    pub fn hide(&mut self, secret: &str, expansion: impl Into<String>) {
        if secret.is_empty() || self.secrets.iter().any(|(known, _)| known == secret) {
            return;
        }
        self.secrets.push((secret.to_owned(), expansion.into()));
        self.secrets.sort_by_key(|(known, _)| std::cmp::Reverse(known.len()));
    }

    /// Cuts a text into pieces, none of which shows a secret.
    #[must_use]
    pub fn pieces<'t>(&'t self, text: &'t str) -> Vec<Piece<'t>> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((at, secret, expansion)) = self.first_in(rest) {
            if at > 0 {
                pieces.push(Piece::Text(&rest[..at]));
            }
            pieces.push(Piece::Secret(expansion));
            rest = &rest[at + secret.len()..];
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest));
        }
        pieces
    }

    /// The text with every secret replaced.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        self.pieces(text)
            .into_iter()
            .map(|piece| match piece {
                Piece::Text(text) => text,
                Piece::Secret(expansion) => expansion,
            })
            .collect()
    }

    fn first_in(&self, text: &str) -> Option<(usize, &str, &str)> {
        self.secrets
            .iter()
            .filter_map(|(secret, expansion)| {
                text.find(secret.as_str()).map(|at| (at, secret.as_str(), expansion.as_str()))
            })
            .min_by_key(|(at, secret, _)| (*at, std::cmp::Reverse(secret.len())))
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} secrets)", self.secrets.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_hidden_wherever_it_stands_and_also_when_it_is_cut_short() {
        let mut redactor = Redactor::default();
        redactor.hide("sk-12", "${CUT}");
        redactor.hide("sk-123", "${KEY}");
        assert_eq!(redactor.redact("Bearer sk-123x, sk-12; sk-123"), "Bearer ${KEY}x, ${CUT}; ${KEY}");
        assert_eq!(redactor.pieces("sk-123"), [Piece::Secret("${KEY}")]);
    }

    #[test]
    fn a_key_shows_in_no_debug_output() {
        let key = ApiKey::new("sk-0451").unwrap();
        let mut redactor = Redactor::default();
        redactor.hide(key.reveal(), "${KEY}");
        assert!(!format!("{key:?} {redactor:?}").contains("0451"));
    }

    #[test]
    fn a_key_that_no_header_can_carry_is_refused() {
        for key in ["", "two words", "line\nbreak", "schlüssel"] {
            assert!(ApiKey::new(key).is_err(), "{key:?}");
        }
    }
}
