//! The one gate to terminals and reports: text without characters that control a terminal or hide other text.
//!
//! Every function that prints takes a [`Printable`], and only this module makes one. A conversion from text escapes every character that is
//! not shown. Text that the judge has styled itself, and documents in other formats, have constructors of their own.

use std::fmt;

use serde::Serialize;

/// Text that may be shown on a terminal, in the log of a continuous integration service, and in a report.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Printable(String);

impl Printable {
    /// Text with styles (colours, bold). Any other escape sequence in it is escaped.
    pub fn styled(text: &str) -> Printable {
        Printable(escaped(text, true, true, in_braces))
    }

    /// A document for programs, such as XML, or commands for GitHub Actions. Its lines may begin with anything.
    pub fn document(text: &str) -> Printable {
        Printable(escaped(text, false, false, in_braces))
    }

    /// JSON, or lines of JSON. Every character that is not shown becomes an escape of JSON, which means the same character.
    pub fn json(text: &str) -> Printable {
        let in_units = |c: char| c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect();
        Printable(escaped(text, false, false, in_units))
    }

    /// The text without white space at its end.
    #[must_use]
    pub fn without_end(mut self) -> Printable {
        self.0.truncate(self.0.trim_end().len());
        self
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: AsRef<str>> From<T> for Printable {
    fn from(text: T) -> Printable {
        Printable(printable(text.as_ref()))
    }
}

impl fmt::Display for Printable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The text with everything escaped that could control a terminal or a log, mislead a reader or break an XML document: control
/// characters other than line breaks and tabs, bidirectional controls, characters without width, noncharacters, and characters that
/// would make a line a command of a continuous integration service. An escape is `\u{1b}`.
pub fn printable(text: &str) -> String {
    if is_plain_ascii(text) && !text.contains("::") && !text.contains("##") {
        return text.to_owned();
    }
    escaped(text, false, true, in_braces)
}

/// An escape as Rust writes it: `\u{1b}`.
fn in_braces(c: char) -> String {
    c.escape_unicode().to_string()
}

fn escaped(text: &str, keeps_styles: bool, escapes_commands: bool, escape: fn(char) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    // A command may have white space and styles before it.
    let mut is_line_start = true;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if keeps_styles && let Some(length) = style(rest) {
            out.push_str(&rest[..length]);
            rest = &rest[length..];
            continue;
        }
        let is_of_github = escapes_commands && is_line_start && rest.starts_with("::");
        if is_printable(c) && !is_of_github && !begins_command(rest) {
            out.push(c);
        } else {
            out.push_str(&escape(c));
        }
        is_line_start = c == '\n' || is_line_start && c.is_whitespace();
        rest = &rest[c.len_utf8()..];
    }
    out
}

/// Whether a text begins with a command of a continuous integration service, which may stand anywhere in a line: `##[` of GitHub Actions,
/// `##vso[` of Azure Pipelines, `##teamcity[`.
fn begins_command(text: &str) -> bool {
    let word = text.strip_prefix("##").map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()));
    word.is_some_and(|rest| rest.starts_with('['))
}

/// The length of a sequence at the beginning of a text that sets colours or other styles of characters.
fn style(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let length = parameters.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
    parameters[length..].starts_with('m').then_some(length + 3)
}

/// Returns true if a text has only letters, digits, signs and spaces of ASCII, which are shown as they are.
pub fn is_plain_ascii(text: &str) -> bool {
    text.as_bytes().iter().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Returns true if a character may be shown as it is: it controls nothing, sets no direction of text, is no noncharacter, and neither takes no
/// room nor looks like a space, as characters that programs may ignore and blanks of scripts do.
pub fn is_printable(c: char) -> bool {
    let controls = c.is_control() && c != '\n' && c != '\t';
    let is_last_of_plane = u32::from(c) & 0xfffe == 0xfffe;
    let is_hidden = matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fdd0}'..='\u{fdef}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    );
    !(controls || is_last_of_plane || is_hidden)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_on_a_terminal_or_is_not_seen_is_escaped() {
        assert_eq!(printable("a\u{1b}[31mb\u{202e}c\r\n\u{ffff}"), "a\\u{1b}[31mb\\u{202e}c\\u{d}\n\\u{ffff}");
        for c in
            ['\u{0}', '\u{7}', '\u{8}', '\u{7f}', '\u{9b}', '\u{200b}', '\u{feff}', '\u{ad}', '\u{2069}', '\u{e0041}']
        {
            assert_eq!(printable(&format!("sold{c}")), format!("sold\\u{{{:x}}}", u32::from(c)));
        }
        assert_eq!(printable("Zoë 猫 🐈\n\ta: b::c #[d]"), "Zoë 猫 🐈\n\ta: b::c #[d]");
    }

    #[test]
    fn no_line_has_a_command_of_a_service_that_reads_logs() {
        let (text, shown) = (
            "a ##vso[task.x]b ##teamcity[y]\n##VSO[z] # ## [w]",
            "a \\u{23}#vso[task.x]b \\u{23}#teamcity[y]\n\\u{23}#VSO[z] # ## [w]",
        );
        assert_eq!(printable(text), shown);
        assert_eq!(Printable::styled(text).as_str(), shown);
        assert_eq!(Printable::document(text).as_str(), shown);
        let json = Printable::json(r###"{"a":"##vso[x"}"###);
        assert_eq!(json.as_str(), r#"{"a":"\u0023#vso[x"}"#);
    }

    #[test]
    fn no_line_is_a_command_of_github_actions() {
        let escaped = "\\u{3a}:error::a\n  \\u{3a}:error::b ::c\nd \\u{23}#[group]e";
        assert_eq!(printable("::error::a\n  ::error::b ::c\nd ##[group]e"), escaped);
        assert_eq!(Printable::styled("\u{1b}[1m::error::a\u{1b}[0m").as_str(), "\u{1b}[1m\\u{3a}:error::a\u{1b}[0m");
        assert_eq!(Printable::document("::error::a\u{1b}").as_str(), "::error::a\\u{1b}");
    }

    #[test]
    fn a_line_of_json_means_the_same() {
        let text = serde_json::json!({"name": "sold\u{200b}\u{e0041}"}).to_string();
        let shown = Printable::json(&text);
        assert!(shown.as_str().is_ascii());
        assert_eq!(serde_json::from_str::<serde_json::Value>(shown.as_str()).unwrap()["name"], "sold\u{200b}\u{e0041}");
    }

    #[test]
    fn styles_are_kept_and_other_sequences_are_not() {
        let text = "\u{1b}[1;31mred\u{1b}[0m \u{1b}[2Jgone \u{1b}]0;title\u{7}";
        assert_eq!(Printable::styled(text).as_str(), "\u{1b}[1;31mred\u{1b}[0m \\u{1b}[2Jgone \\u{1b}]0;title\\u{7}");
    }
}
