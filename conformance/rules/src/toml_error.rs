//! Mistakes in TOML files, with their place.

use std::ops::Range;

/// A mistake in a file, with its place.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct TomlError {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The mistake in words.
    pub problem: String,
}

impl TomlError {
    /// A mistake at these bytes of the text.
    pub fn at(text: &str, bytes: Range<usize>, problem: impl Into<String>) -> TomlError {
        let before = text.get(..bytes.start).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |line_break| line_break + 1);
        TomlError {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            problem: problem.into(),
        }
    }

    /// The mistake that the TOML parser reports.
    pub fn toml(text: &str, error: &toml::de::Error) -> TomlError {
        // The parser gives a hint in a second line, which is joined to the first. Its own rendering is not used: it repeats the
        // line of the file, which may contain a secret.
        TomlError::at(text, error.span().unwrap_or(0..0), error.message().replace('\n', ", "))
    }
}
