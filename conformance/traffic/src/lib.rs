//! Recorded traffic: read from text, and written as text.
//!
//! Two formats are read as a stream, an exchange at a time: the judge's own, JSON Lines ([`lines`]), and HTTP Archives of version 1.2
//! ([`har`]); [`format()`] distinguishes them. [`sample`] derives the facts that a recording of other clients withholds.
//!
//! ```
//! use animal_store_traffic::{Format, Unreadable, format};
//!
//! let mut archive = r#"{"log": {"version": "1.2", "entries": []}}"#.as_bytes();
//! assert_eq!(format(&mut archive)?, Format::Har);
//! # Ok::<(), Unreadable>(())
//! ```

// For the laboratory; it may change with any version.
#[doc(hidden)]
pub mod credentials;
pub mod har;
pub mod lines;
pub mod sample;

mod head;
mod misplaced;

use std::io::BufRead;

pub use head::{Head, Writer};

/// The greatest length in bytes of a line, and of a single exchange. The bodies of an exchange are at most 16 MiB, and each byte of a
/// control character takes six in JSON.
pub const MAX_LINE: usize = 128 * 1024 * 1024;

/// The reason why recorded traffic cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unreadable {
    /// The stream failed.
    #[error(transparent)]
    Stream(#[from] std::io::Error),
    /// The text has a defect at this place.
    #[error("line {line}, column {column}: {problem}")]
    Text {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// The defect, in words that follow the place.
        problem: String,
    },
    /// The text is neither a trace nor an archive.
    #[error(
        "neither a trace (`conform --record FILE` writes one) nor an HTTP Archive (HAR 1.2, as browsers and proxies export it)"
    )]
    Neither,
    /// The recording has the judge's own format in another version.
    #[error("the format `{0}` is not known here: this program reads `{FORMAT}`\n  Record the traffic again.")]
    Version(String),
    /// The recording has more exchanges than were written to it.
    #[error(
        "{found} exchanges, although the recording was written with {written}: lines of another one are among them\n  Give each \
         recording in a file of its own."
    )]
    Mixed {
        /// The number of exchanges that were written.
        written: usize,
        /// The number of exchanges in the recording.
        found: usize,
    },
    /// The archive has requests to several services.
    #[error("the archive has requests to {0} and to {1}\n  Choose one of them: --base-url {0}")]
    Services(String, String),
}

/// The name and version of the judge's own format.
pub const FORMAT: &str = "animal-store-trace/2";

impl Unreadable {
    /// An error in a JSON text that begins on this line, from 1.
    fn json(error: &serde_json::Error, first_line: usize) -> Unreadable {
        let text = error.to_string();
        let problem = text.split(" at line ").next().unwrap_or_default();
        let line = first_line + error.line().saturating_sub(1);
        Unreadable::Text { line, column: error.column().max(1), problem: problem.to_owned() }
    }
}

/// The format of recorded traffic.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Format {
    /// JSON Lines, the judge's own format.
    Lines,
    /// An HTTP Archive of version 1.2.
    Har,
}

/// Recognises the format by the beginning of the text. It consumes nothing but a byte order mark and white space. Every JSON object
/// that does not begin like a trace may be an archive.
///
/// # Errors
///
/// [`Unreadable::Neither`], and an error of the stream.
pub fn format(text: &mut impl BufRead) -> Result<Format, Unreadable> {
    loop {
        let beginning = text.fill_buf()?;
        let skipped = match beginning {
            [0xEF, 0xBB, 0xBF, ..] => 3,
            [b' ' | b'\t' | b'\r' | b'\n', ..] => 1,
            _ => break,
        };
        text.consume(skipped);
    }
    let beginning = text.fill_buf()?;
    let word: String =
        beginning.iter().take(256).map(|byte| char::from(*byte)).filter(|c| !c.is_whitespace()).collect();
    match word.as_str() {
        word if word.starts_with(r#"{"format":"#) => Ok(Format::Lines),
        // Exporters may put other members before `log`; an object without that member is refused when it has been read.
        word if word.starts_with(r#"{""#) => Ok(Format::Har),
        _ => Err(Unreadable::Neither),
    }
}

#[cfg(test)]
use animal_store_rules::{catalogue, facts, history, limits, rules, trace};

#[cfg(test)]
#[path = "../../rules/src/tests.rs"]
#[expect(dead_code, reason = "the tests of the rules use the rest")]
mod trace_builder;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_apart_by_their_beginning() {
        let of = |text: &str| format(&mut text.as_bytes()).ok();
        assert_eq!(of(r#"{"format":"animal-store-trace/2"}"#), Some(Format::Lines));
        assert_eq!(of("\u{feff}\n{ \"log\" : {"), Some(Format::Har));
        assert_eq!(of(r#"{"$schema":"https://example.com/har.json","log":{"#), Some(Format::Har));
        for other in ["", "[]", "{}", "log"] {
            assert!(matches!(format(&mut other.as_bytes()), Err(Unreadable::Neither)), "{other}");
        }
    }
}
