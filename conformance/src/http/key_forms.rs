//! Invalid forms of a key, which no server may accept.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// The key with the case of each letter inverted.
pub(crate) fn toggle_case(key: &str) -> String {
    key.chars().map(|c| if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }).collect()
}

/// A key of the same length that differs in its last letter alone.
pub(crate) fn with_another_end(key: &str) -> String {
    let (start, end) = key.split_at(key.len() - 1);
    format!("{start}{}", if end == "x" { "y" } else { "x" })
}

/// The key as user name and as password of Basic authentication.
pub(crate) fn basic(key: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{key}:{key}")))
}

/// The key as the user name of Basic authentication, with an empty password.
pub(crate) fn basic_user(key: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{key}:")))
}
