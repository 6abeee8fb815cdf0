//! Keys from files.

use std::path::Path;

use super::usage_error::UsageError;
use animal_store_rules::trace::keys::{ApiKey, UnusableKey};

/// The key in a file that an option names, without the spaces and line breaks around it.
pub(super) fn read(option: &'static str, path: &Path) -> Result<ApiKey, UsageError> {
    let bytes = std::fs::read(path).map_err(|source| UsageError::KeyFile { option, source })?;
    key(&bytes).map_err(|source| UsageError::Key { option, source })
}

fn key(bytes: &[u8]) -> Result<ApiKey, UnusableKey> {
    let text = String::from_utf8_lossy(bytes);
    ApiKey::new(text.trim_start_matches('\u{feff}').trim())
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
