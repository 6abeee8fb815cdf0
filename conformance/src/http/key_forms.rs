//! Invalid forms of a key, which no server may accept.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// The key with the case of each letter inverted.
pub(crate) fn toggle_case(key: &str) -> String {
    key.chars().map(|c| if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }).collect()
}

/// The characters that replace a character of a key: the first, or where the key has the first, the second.
pub(crate) const REPLACEMENTS: [char; 2] = ['x', 'y'];

/// The key with the character at this index replaced. A key is ASCII.
pub(crate) fn with_another_character(key: &str, at: usize) -> String {
    let [usual, other] = REPLACEMENTS;
    let replacement = if key[at..].starts_with(usual) { other } else { usual };
    format!("{}{replacement}{}", &key[..at], &key[at + 1..])
}

/// A key of the same length that differs in its last character alone.
pub(crate) fn with_another_end(key: &str) -> String {
    with_another_character(key, key.len() - 1)
}

/// The key percent-encoded, as a value in a query.
pub(crate) fn percent_encoded(key: &str) -> String {
    let is_kept = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    key.bytes().map(|b| if is_kept(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

/// The key as user name and as password of Basic authentication.
pub(crate) fn basic(key: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{key}:{key}")))
}

/// The key as the user name of Basic authentication, with an empty password.
pub(crate) fn basic_user(key: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{key}:")))
}
