//! JSON with its usual extensions, which RFC 8259 section 9 lets a parser accept: comments, a comma after the last member, other
//! quotation marks or none, control characters and any escape in strings, and numbers with a plus sign or leading zeros.

use std::iter::Peekable;
use std::str::Chars;

use crate::trace::json::Json;

/// Reads a text that is JSON except for extensions of the grammar. `None` for any other text.
pub(super) fn read(bytes: &[u8]) -> Option<Json> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut writer = Writer { chars: text.chars().peekable(), json: String::with_capacity(text.len()), comma: None };
    while let Some(char) = writer.chars.next() {
        writer.write(char)?;
    }
    Json::parse_foreign(writer.json.as_bytes()).ok()
}

/// Rewrites a text as plain JSON.
struct Writer<'t> {
    chars: Peekable<Chars<'t>>,
    json: String,
    /// The index of the last comma in `json`, if only white space was written after it.
    comma: Option<usize>,
}

impl Writer<'_> {
    /// Rewrites the token that begins with this character. `None` if it does not end.
    fn write(&mut self, first: char) -> Option<()> {
        match first {
            '/' | '#' => self.skip_comment(first)?,
            ',' => {
                self.comma = Some(self.json.len());
                self.json.push(',');
            }
            '}' | ']' => {
                if let Some(comma) = self.comma.take() {
                    self.json.remove(comma);
                }
                self.json.push(first);
            }
            _ if is_space(first) => self.json.push(' '),
            _ => {
                self.comma = None;
                match first {
                    '"' | '\'' => self.write_string(first)?,
                    '{' | '[' | ':' => self.json.push(first),
                    _ => self.write_word(first),
                }
            }
        }
        Some(())
    }

    fn skip_comment(&mut self, first: char) -> Option<()> {
        let second = if first == '#' { None } else { self.chars.next() };
        match (first, second) {
            ('#', _) | (_, Some('/')) => {
                while self.chars.next_if(|char| !matches!(char, '\n' | '\r')).is_some() {}
                Some(())
            }
            (_, Some('*')) => loop {
                if self.chars.next()? == '*' && self.chars.next_if_eq(&'/').is_some() {
                    return Some(());
                }
            },
            _ => None,
        }
    }

    fn write_string(&mut self, quote: char) -> Option<()> {
        self.json.push('"');
        loop {
            match self.chars.next()? {
                end if end == quote => break,
                '"' => self.json.push_str("\\\""),
                '\\' => match self.chars.next()? {
                    escaped @ ('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' | 'u') => {
                        self.json.extend(['\\', escaped]);
                    }
                    other => self.json.push(other),
                },
                control if control < ' ' => self.json.push_str(&format!("\\u{:04x}", u32::from(control))),
                other => self.json.push(other),
            }
        }
        self.json.push('"');
        Some(())
    }

    /// Writes a word without quotation marks: the name of a member if a colon follows, else a number or another literal.
    fn write_word(&mut self, first: char) {
        let mut word = String::from(first);
        while let Some(char) = self.chars.next_if(|char| !is_space(*char) && !",:{}[]\"'/#".contains(*char)) {
            word.push(char);
        }
        let mut rest = self.chars.clone();
        if rest.find(|char| !is_space(*char)) == Some(':') {
            self.json.push_str(&format!("\"{word}\""));
        } else {
            self.json.push_str(&as_number(&word).unwrap_or(word));
        }
    }
}

/// A number as JSON writes it: without a plus sign, leading zeros, or a point at either end. `+007.` becomes `7`. `None` for another word.
fn as_number(word: &str) -> Option<String> {
    let (sign, digits) = match word.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", word.strip_prefix('+').unwrap_or(word)),
    };
    digits.starts_with(|first: char| first.is_ascii_digit() || first == '.').then_some(())?;
    let (whole, rest) = digits.split_at(digits.find(|char: char| !char.is_ascii_digit()).unwrap_or(digits.len()));
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    Some(format!("{sign}{whole}{}", if rest == "." { "" } else { rest }))
}

fn is_space(char: char) -> bool {
    char.is_whitespace() || char == '\u{feff}'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> Option<String> {
        read(text.as_bytes()).map(|json| json.to_string())
    }

    #[test]
    fn an_extension_is_read_as_what_it_extends() {
        for (text, json) in [
            ("{\"a\":1,}", r#"{"a":1}"#),
            ("[1, 2, // two\n]", "[1,2]"),
            ("{# one\n\"a\":1}", r#"{"a":1}"#),
            ("{/* a, } */'a':'it\\'s \"b\"'}", r#"{"a":"it's \"b\""}"#),
            ("{a : true}", r#"{"a":true}"#),
            ("[007,+1,-01,1.,.5,00]", "[7,1,-1,1,0.5,0]"),
            ("[\"a\tb\\q\"]", r#"["a\tbq"]"#),
        ] {
            assert_eq!(written(text).as_deref(), Some(json), "{text}");
        }
    }

    #[test]
    fn no_other_text_is_an_extension() {
        for text in ["{\"a\":1", "{\"a\":1} x", "{\"a\":1}{}", "{\"a\":NaN}", "[1,,2]", "/* [] ", "\"a", "[1 2]"] {
            assert_eq!(written(text), None, "{text}");
        }
        assert_eq!(read(b"[\"\xff\",]"), None);
    }
}
