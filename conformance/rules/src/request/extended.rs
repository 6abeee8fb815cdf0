//! JSON with its usual extensions, which RFC 8259 section 9 lets a parser accept: comments, a comma after the last member, other
//! quotation marks or none, control characters and any escape in strings, and numbers with a plus sign or leading zeros.

use std::iter::Peekable;
use std::str::Chars;

use crate::trace::json::Json;

/// The reading of a text that is not JSON.
#[derive(Debug)]
pub(super) enum Reading {
    /// An object or an array, and the text after it.
    Value(Json, String),
    /// The text ends before its value, a string or a comment does.
    Cut,
    /// A text in another grammar.
    Unknown,
}

/// Reads a text that may be JSON except for extensions of the grammar.
pub(super) fn read(text: &str) -> Reading {
    let chars = text.chars().peekable();
    let mut writer = Writer { chars, json: String::with_capacity(text.len()), comma: None, depth: 0 };
    while let Some(char) = writer.chars.next() {
        match writer.write(char) {
            Err(reading) => return reading,
            Ok(()) if writer.depth == 0 && matches!(char, '}' | ']') => {
                return match Json::parse_foreign(writer.json.as_bytes()) {
                    Ok(json) => Reading::Value(json, writer.chars.collect()),
                    Err(_) => Reading::Unknown,
                };
            }
            Ok(()) => {}
        }
    }
    if writer.depth > 0 { Reading::Cut } else { Reading::Unknown }
}

/// Rewrites a text as plain JSON.
struct Writer<'t> {
    chars: Peekable<Chars<'t>>,
    json: String,
    /// The index of the last comma in `json`, if only white space was written after it.
    comma: Option<usize>,
    /// The number of objects and arrays that have not ended.
    depth: usize,
}

impl Writer<'_> {
    /// Rewrites the token that begins with this character.
    fn write(&mut self, first: char) -> Result<(), Reading> {
        match first {
            '/' | '#' => self.skip_comment(first)?,
            _ if is_space(first) => self.json.push(' '),
            '{' | '[' => {
                self.comma = None;
                self.depth += 1;
                self.json.push(first);
            }
            // Another text before the value.
            _ if self.depth == 0 => return Err(Reading::Unknown),
            ',' => {
                self.comma = Some(self.json.len());
                self.json.push(',');
            }
            '}' | ']' => {
                if let Some(comma) = self.comma.take() {
                    self.json.remove(comma);
                }
                self.depth -= 1;
                self.json.push(first);
            }
            _ => {
                self.comma = None;
                match first {
                    '"' | '\'' => self.write_string(first).ok_or(Reading::Cut)?,
                    ':' => self.json.push(first),
                    _ => self.write_word(first).ok_or(Reading::Unknown)?,
                }
            }
        }
        Ok(())
    }

    fn skip_comment(&mut self, first: char) -> Result<(), Reading> {
        let second = if first == '#' { None } else { self.chars.next() };
        match (first, second) {
            ('#', _) | (_, Some('/')) => {
                while self.chars.next_if(|char| !matches!(char, '\n' | '\r')).is_some() {}
                Ok(())
            }
            (_, Some('*')) => loop {
                let char = self.chars.next().ok_or(Reading::Cut)?;
                if char == '*' && self.chars.next_if_eq(&'/').is_some() {
                    return Ok(());
                }
            },
            _ => Err(Reading::Unknown),
        }
    }

    /// Rewrites a string. `None` if it does not end.
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
                    'x' => self.json.push_str("\\u00"),
                    other => self.json.push(other),
                },
                control if control < ' ' => self.json.push_str(&format!("\\u{:04x}", u32::from(control))),
                other => self.json.push(other),
            }
        }
        self.json.push('"');
        Some(())
    }

    /// Rewrites a word without quotation marks: the name of a member if a colon follows, else a value. `None` if its meaning is unknown.
    fn write_word(&mut self, first: char) -> Option<()> {
        let mut word = String::from(first);
        while let Some(char) = self.chars.next_if(|char| !is_space(*char) && !",:{}[]\"".contains(*char)) {
            word.push(char);
        }
        let is_identifier = word.chars().all(|char| char.is_ascii_alphanumeric() || "+-._$".contains(char));
        let mut rest = self.chars.clone();
        let value = if !is_identifier {
            return None;
        } else if rest.find(|char| !is_space(*char)) == Some(':') {
            format!("\"{word}\"")
        } else {
            as_literal(&word).or_else(|| as_number(&word)).unwrap_or_else(|| format!("\"{word}\""))
        };
        self.json.push_str(&value);
        Some(())
    }
}

/// A word that stands for a value in other languages, as JSON writes it. No JSON is infinite or not a number: it becomes a fraction, which is
/// as little an integer.
fn as_literal(word: &str) -> Option<String> {
    let value = match word.to_ascii_lowercase().trim_start_matches(['+', '-']) {
        "true" => "true",
        "false" => "false",
        "null" | "none" | "nil" | "undefined" => "null",
        "nan" | "inf" | "infinity" => "0.5",
        _ => return None,
    };
    Some(value.to_owned())
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

    fn written(text: &str) -> String {
        match read(text) {
            Reading::Value(json, rest) => format!("{json}{rest}"),
            Reading::Cut => "cut".to_owned(),
            Reading::Unknown => "unknown".to_owned(),
        }
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
            (r#"{"\x61":1}"#, r#"{"a":1}"#),
            ("{'a':None,'b':True}", r#"{"a":null,"b":true}"#),
            ("[sold, NaN, -Infinity, Rex's]", "unknown"),
            ("[sold, NaN, -Infinity]", r#"["sold",0.5,0.5]"#),
            ("{\"a\":1} x", r#"{"a":1} x"#),
            ("{\"a\":1}{}", r#"{"a":1}{}"#),
            ("// one\n{\"a\":1}}", r#"{"a":1}}"#),
        ] {
            assert_eq!(written(text), json, "{text}");
        }
    }

    #[test]
    fn a_text_that_ends_too_early_is_told_from_one_in_another_grammar() {
        for text in ["{\"a\":1", "{\"a\":1,", "{", "{\"a", "/* [] ", "{'a':[1}", "{\"a\":1 \"b\":"] {
            assert_eq!(written(text), "cut", "{text}");
        }
        for text in [
            "[1,,2]",
            "[1 2]",
            "[0x10]",
            "[1_000]",
            "[\u{ff11}]",
            "[`a`]",
            "[f(1)]",
            "[{]}",
            "a=1",
            "a: 1",
            "x {}",
            "\"a\"",
            "",
        ] {
            assert_eq!(written(text), "unknown", "{text}");
        }
    }
}
