//! Reads a JSON report back.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::report::{Report, SCHEMA_VERSION};

/// A file that holds no report that can be compared.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// It cannot be read.
    #[error("{path}: {source}", path = .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is something else.
    #[error("{path} is no JSON report: {problem}\n  Write one with: conform --report json=FILE", path = .path.display())]
    NoReport {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// It is a report of another shape.
    #[error(
        "{path} has version {version} of the report's schema, and this program reads version {SCHEMA_VERSION}\n  \
         Compare reports of one program: write this one again.",
        path = .path.display()
    )]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u64,
    },
}

/// What every version of a report has.
#[derive(Deserialize)]
struct Versioned {
    schema_version: u64,
}

/// Reads a report as the format `json` writes it. It holds everything but the exchanges.
///
/// # Errors
///
/// [`Unusable`], when there is no file, no report in it, or one of another version.
pub fn read(path: &Path) -> Result<Report, Unusable> {
    let text = std::fs::read_to_string(path).map_err(|source| Unusable::File { path: path.to_owned(), source })?;
    let no_report = |error: serde_json::Error| Unusable::NoReport { path: path.to_owned(), problem: error.to_string() };
    let Versioned { schema_version } = serde_json::from_str(&text).map_err(no_report)?;
    if schema_version != u64::from(SCHEMA_VERSION) {
        return Err(Unusable::OtherVersion { path: path.to_owned(), version: schema_version });
    }
    serde_json::from_str(&text).map_err(no_report)
}
