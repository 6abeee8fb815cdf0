//! Reads a JSON report.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use animal_store_conformance::redaction::printable;
use animal_store_conformance::report::{Report, SCHEMA_VERSION};

/// The reason why a file cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum UnusableReport {
    /// The file cannot be read.
    #[error("{path}: {source}", path = .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The file is not a report.
    #[error("{path} is not a JSON report: {problem}\n  Write one with: conform --report json=FILE", path = .path.display())]
    NoReport {
        /// The file.
        path: PathBuf,
        /// The reason why the file is not a report.
        problem: String,
    },
    /// The report has another schema version.
    #[error(
        "{path} has report schema version {version}, and this program reads version {SCHEMA_VERSION}\n  \
         Compare reports that the same program wrote.",
        path = .path.display()
    )]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// The schema version of the report.
        version: u64,
    },
}

/// The member that every schema version has.
#[derive(Deserialize)]
struct Versioned {
    schema_version: u64,
}

/// Reads a report that the format `json` wrote. It contains everything but the exchanges.
///
/// # Errors
///
/// [`UnusableReport`], when the file cannot be read, is not a report, or has another schema version.
pub fn read(path: &Path) -> Result<Report, UnusableReport> {
    let text =
        std::fs::read_to_string(path).map_err(|source| UnusableReport::File { path: path.to_owned(), source })?;
    let no_report =
        |error: serde_json::Error| UnusableReport::NoReport { path: path.to_owned(), problem: error.to_string() };
    let Versioned { schema_version } = serde_json::from_str(&text).map_err(no_report)?;
    if schema_version != u64::from(SCHEMA_VERSION) {
        return Err(UnusableReport::OtherVersion { path: path.to_owned(), version: schema_version });
    }
    let mut report: Value = serde_json::from_str(&text).map_err(no_report)?;
    make_printable(&mut report);
    serde_json::from_value(report).map_err(no_report)
}

/// Makes every text of a document printable: a file may contain anything.
pub(crate) fn make_printable(value: &mut Value) {
    match value {
        Value::String(text) => *text = printable(text),
        Value::Array(items) => items.iter_mut().for_each(make_printable),
        Value::Object(members) => members.iter_mut().for_each(|(_, value)| make_printable(value)),
        _ => {}
    }
}
