//! Keys from files.

use std::io;
use std::path::Path;

use animal_store_conformance::http::errors::of_file;
use animal_store_rules::trace::keys::{ApiKey, UnusableKey};

/// The reason why a file gives no key.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoKey {
    /// The file cannot be read.
    #[error("{}", of_file(.0))]
    Unreadable(io::Error),
    /// The content is no key.
    #[error(transparent)]
    Unusable(#[from] UnusableKey),
}

/// The key in a file, without the spaces and line breaks around it.
pub(super) fn read(path: &Path) -> Result<ApiKey, NoKey> {
    key(&std::fs::read(path).map_err(NoKey::Unreadable)?)
}

fn key(bytes: &[u8]) -> Result<ApiKey, NoKey> {
    let text = String::from_utf8_lossy(bytes);
    Ok(ApiKey::new(text.trim_start_matches('\u{feff}').trim())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_loses_what_editors_put_around_it() {
        for content in ["sk-1", "sk-1\n", "\u{feff}sk-1\r\n", "\n  sk-1 \n\n"] {
            assert_eq!(key(content.as_bytes()).expect(content).reveal(), "sk-1", "{content:?}");
        }
        for content in ["", "\n", "sk-1\nsk-2", "Bearer sk-1", "sk-\u{e9}"] {
            assert!(key(content.as_bytes()).is_err(), "{content:?}");
        }
    }
}
