//! Text that is safe to show on terminals and in reports: it contains no control sequences and no invisible characters.

use std::fmt;

use animal_store_reference::cli::{self, Failure};
use serde::Serialize;

/// Text that may be shown on a terminal, in the log of a continuous integration service, and in a report.
///
/// Only this module creates values of this type.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct Printable(String);

impl Printable {
    /// The text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: AsRef<str>> From<T> for Printable {
    /// Escapes characters that control a terminal or a log or mislead a reader: control characters other than line breaks and
    /// tabs, bidirectional controls, characters without width, and the beginnings of commands of GitHub Actions.
    fn from(text: T) -> Printable {
        let mut out = String::with_capacity(text.as_ref().len());
        let mut is_line_start = true;
        let mut rest = text.as_ref();
        while let Some(c) = rest.chars().next() {
            let is_command = is_line_start && rest.starts_with("::") || rest.starts_with("##[");
            if is_printable(c) && !is_command {
                out.push(c);
            } else {
                out.extend(c.escape_unicode());
            }
            // Space before a command does not matter.
            is_line_start = c == '\n' || is_line_start && c.is_whitespace();
            rest = &rest[c.len_utf8()..];
        }
        Printable(out)
    }
}

impl fmt::Display for Printable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Writes to standard output.
pub(crate) fn print(text: &Printable) -> Result<(), Failure> {
    cli::print(text.as_str())
}

/// The failure with a message that can be printed.
pub(crate) fn failure(failure: Failure) -> Failure {
    let printable = |message: String| Printable::from(message).0;
    match failure {
        Failure::Failed(message) => Failure::Failed(printable(message)),
        Failure::Usage(message) => Failure::Usage(printable(message)),
        Failure::CannotStart(message) => Failure::CannotStart(printable(message)),
        Failure::Unfinished(message) => Failure::Unfinished(printable(message)),
    }
}

/// Lines of JSON in which characters that cannot be shown are escapes of JSON, which mean the same.
pub(crate) fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_printable(c) {
            out.push(c);
        } else {
            out.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    out
}

/// Returns true if a character may be shown unchanged.
fn is_printable(c: char) -> bool {
    let acts =
        c.is_control() && c != '\n' && c != '\t' || matches!(c, '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}');
    let directs = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_none = matches!(c, '\u{fdd0}'..='\u{fdef}') || u32::from(c) & 0xfffe == 0xfffe;
    let is_invisible = matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}'
            | '\u{2060}'..='\u{2065}'
            | '\u{206a}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    );
    !(acts || directs || is_none || is_invisible)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_acts_or_is_not_seen_is_escaped_and_other_text_stays() {
        let cases = [
            ("a\u{1b}[31mb\u{202e}c\r\n", "a\\u{1b}[31mb\\u{202e}c\\u{d}\n"),
            ("sold\u{200b}\u{9b}\u{7f}", "sold\\u{200b}\\u{9b}\\u{7f}"),
            ("::error::a\n  ::group::b ::c\n##[d]", "\\u{3a}:error::a\n  \\u{3a}:group::b ::c\n\\u{23}#[d]"),
            ("Zoë 猫 🐈\n\ta: b::c #[d]", "Zoë 猫 🐈\n\ta: b::c #[d]"),
        ];
        for (text, expected) in cases {
            assert_eq!(Printable::from(text).as_str(), expected);
        }
    }

    #[test]
    fn a_line_of_json_means_the_same() {
        let value = serde_json::json!({"name": "sold\u{200b}\u{9b}\u{e0041}"});
        let shown = json(&value.to_string());
        assert!(shown.is_ascii(), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).expect("JSON"), value);
    }
}
