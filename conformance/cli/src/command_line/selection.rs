//! The selection of requirements, and the list of known failures.

use std::path::Path;

use super::usage_error::UsageError;
use animal_store_diagnose::known_failing::KnownFailing;
use animal_store_rules::catalogue::scope::Scope;

/// The list of known failures in a file.
pub(super) fn known_failing(path: &Path) -> Result<KnownFailing, UsageError> {
    let shown = || path.display().to_string();
    let text =
        std::fs::read_to_string(path).map_err(|source| UsageError::KnownFailingFile { path: shown(), source })?;
    KnownFailing::parse(&text).map_err(|source| UsageError::Toml { path: shown(), source })
}

/// The content of the PEM file that an option names.
pub(super) fn certificates(option: &'static str, path: Option<&Path>) -> Result<Vec<u8>, UsageError> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let unreadable = |source| UsageError::Certificates { option, path: path.display().to_string(), source };
    std::fs::read(path).map_err(unreadable)
}

/// The scope, if it selects a requirement.
pub(super) fn scope_of(scope: Scope) -> Result<Scope, UsageError> {
    if scope.selects_any_of(scope.side) { Ok(scope) } else { Err(UsageError::NothingSelected) }
}
