//! The selection of requirements, and the files that options name: keys, certificates and known failures.

use std::path::Path;

use super::usage_error::UsageError;
use animal_store_diagnose::known_failing::KnownFailing;
use animal_store_rules::catalogue::scope::Scope;
use animal_store_rules::trace::keys::{ApiKey, UnusableKey};

/// The list of known failures in a file.
pub(super) fn known_failing(path: &Path) -> Result<KnownFailing, UsageError> {
    let text = std::fs::read_to_string(path).map_err(UsageError::of_option("--known-failing", path))?;
    KnownFailing::parse(&text).map_err(|source| UsageError::Toml { path: path.display().to_string(), source })
}

/// The content of the PEM file that an option names.
pub(super) fn certificates(option: &'static str, path: Option<&Path>) -> Result<Vec<u8>, UsageError> {
    let Some(path) = path else { return Ok(Vec::new()) };
    std::fs::read(path).map_err(UsageError::of_option(option, path))
}

/// The scope, if it selects a requirement.
pub(super) fn scope_of(scope: Scope) -> Result<Scope, UsageError> {
    if scope.selects_any_of(scope.side) { Ok(scope) } else { Err(UsageError::NothingSelected) }
}

/// The key in a file that an option names, without the spaces and line breaks around it.
pub(super) fn key(option: &'static str, path: &Path) -> Result<ApiKey, UsageError> {
    let bytes = std::fs::read(path).map_err(UsageError::of_option(option, path))?;
    key_in(&bytes).map_err(|source| UsageError::Key { option, source })
}

fn key_in(bytes: &[u8]) -> Result<ApiKey, UnusableKey> {
    ApiKey::new(String::from_utf8_lossy(bytes).trim_start_matches('\u{feff}').trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_loses_what_editors_put_around_it() {
        for content in ["sk-1", "sk-1\n", "\u{feff}sk-1\r\n", "\n  sk-1 \n\n"] {
            assert_eq!(key_in(content.as_bytes()).expect(content).reveal(), "sk-1", "{content:?}");
        }
        for content in ["", "\n", "sk-1\nsk-2", "Bearer sk-1", "sk-\u{e9}"] {
            assert!(key_in(content.as_bytes()).is_err(), "{content:?}");
        }
    }
}
