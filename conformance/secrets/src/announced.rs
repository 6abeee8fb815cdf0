//! The values that a text announces as credentials: by their names, by the scheme `Bearer`, or as the user of a URL.
//!
//! One scan reads every notation: after the name of a credential come quotation marks, a separator and the value, whether the text is a
//! query, a form, JSON that is valid or not, XML or a line of text. Where a text is valid JSON, all texts within the member are values, too.
//! The scan repeats on each layer of the text (see `layers`), so JSON
//! within JSON, an encoded form and a compressed body need no reader of their own.

use serde_json::Value;

use super::layers::{escapes, is_printed, layers};
use super::{DEPTH, is_credential};

/// The scheme after which a token follows in any text.
const BEARER: &str = "bearer";

/// The maximum length of what stands between a name and its value, in bytes: further fields of a multipart form, attributes of an element.
const BETWEEN: usize = 512;

/// The maximum length of a value in bytes. The rest of a longer value is not read.
const LONGEST_VALUE: usize = 8 * 1024;

/// The maximum number of values that are read from a text with its layers.
pub const MOST_VALUES: usize = 1_000;

/// A value that a text announces as a credential.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Announced {
    /// The name that announces it.
    pub name: String,
    /// The value, as it stands in its layer of the text.
    pub value: String,
}

/// The values that a text and its layers announce as credentials, at most [`MOST_VALUES`].
pub fn announced(text: &[u8]) -> Vec<Announced> {
    let mut all = Vec::new();
    add_announced(text, DEPTH, &mut all);
    all.truncate(MOST_VALUES);
    all
}

fn add_announced(text: &[u8], depth: usize, all: &mut Vec<Announced>) {
    add_named(text, all);
    add_users(text, all);
    if matches!(text.trim_ascii_start().first(), Some(b'{' | b'['))
        && let Ok(json) = serde_json::from_slice(text)
    {
        add_texts(&json, None, all);
    }
    if depth > 0 && all.len() < MOST_VALUES {
        layers(text, is_printed).iter().for_each(|layer| add_announced(&layer.bytes, depth - 1, all));
    }
}

/// Adds every text within the members whose names announce a credential. `name` is the outermost such name around the value.
fn add_texts(value: &Value, name: Option<&str>, all: &mut Vec<Announced>) {
    match (value, name) {
        (Value::String(text), Some(name)) if all.len() < MOST_VALUES && text.len() <= LONGEST_VALUE => {
            let found = Announced { name: name.to_owned(), value: text.clone() };
            // The scan has found most of them.
            if !text.is_empty() && !all.contains(&found) {
                all.push(found);
            }
        }
        (Value::Array(values), _) => values.iter().for_each(|value| add_texts(value, name, all)),
        (Value::Object(members), _) => members.iter().for_each(|(member, value)| {
            add_texts(value, name.or_else(|| is_credential(member).then_some(member)), all);
        }),
        _ => {}
    }
}

/// The text that an encoded value stands for, if the value has escapes.
pub fn unescaped(value: &str) -> Option<String> {
    escapes(value.as_bytes()).map(|layer| String::from_utf8_lossy(&layer.bytes).into_owned())
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// Adds the values that follow the names of credentials.
fn add_named(text: &[u8], all: &mut Vec<Announced>) {
    let mut at = 0;
    while at < text.len() && all.len() < MOST_VALUES {
        let length = text[at..].iter().take_while(|byte| is_of_name(**byte)).count();
        let (start, end) = (at, at + length);
        at = end.max(at + 1);
        if length < 3 {
            continue;
        }
        let name = String::from_utf8_lossy(&text[start..end]);
        let is_closing = text[..start].ends_with(b"</");
        if is_closing || !is_credential(&name) {
            continue;
        }
        if let Some(value) = value_after(&text[..start], &name, &text[end..]) {
            let value = String::from_utf8_lossy(value).trim().to_owned();
            if !value.is_empty() && !["true", "false", "null"].contains(&&*value) {
                all.push(Announced { name: name.clone().into_owned(), value });
            }
            add_further_elements(&name, &text[end..], all);
        }
    }
}

/// Adds the values after the first one, if an array follows a name. The text may be no valid JSON.
fn add_further_elements(name: &str, after: &[u8], all: &mut Vec<Announced>) {
    let is_between = |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'\\');
    let array = skip(after, |byte| is_between(byte) || matches!(byte, b'=' | b':' | b'>'));
    let Some(first) = array.strip_prefix(b"[") else { return };
    let mut rest = value_and_rest(first).1;
    while let Some(next) = skip(rest, is_between).strip_prefix(b",")
        && all.len() < MOST_VALUES
    {
        let (value, after) = value_and_rest(next);
        if value.is_empty() {
            return;
        }
        all.push(Announced { name: name.to_owned(), value: String::from_utf8_lossy(value).into_owned() });
        rest = after;
    }
}

/// The value of a name, given the text before and after the name.
fn value_after<'t>(before: &[u8], name: &str, after: &'t [u8]) -> Option<&'t [u8]> {
    let is_quoting = |byte: u8| matches!(byte, b'"' | b'\'' | b'\\' | b']');
    let is_space = |byte: u8| byte.is_ascii_whitespace();
    let before = &before[before.len().saturating_sub(BETWEEN)..];
    let rest = skip(after, is_quoting);
    let near = &rest[..rest.len().min(BETWEEN)];
    if skip_back(before, |byte| is_of_name(byte) || byte == b':').ends_with(b"<")
        && rest.first().is_some_and(|byte| is_space(*byte))
    {
        // Attributes follow the name of an element.
        let end = near.iter().position(|byte| *byte == b'>')?;
        return Some(value(&rest[end + 1..]));
    }
    if let Some(b'=' | b':' | b'>') = skip(rest, is_space).first() {
        let value = value(skip(rest, |byte| is_space(byte) || matches!(byte, b'=' | b':' | b'>')));
        // Otherwise a token follows, which is found by itself.
        return (!value.eq_ignore_ascii_case(BEARER.as_bytes())).then_some(value);
    }
    if name.eq_ignore_ascii_case(BEARER) && rest.len() == after.len() {
        let token = skip(rest, |byte| is_space(byte) || byte == b',');
        return (token.len() < rest.len()).then(|| value(token));
    }
    let is_named_part = before.trim_ascii_end().ends_with(b"=") || skip_back(before, is_quoting).ends_with(b"=");
    let after_blank_line =
        |end: &[u8]| near.windows(end.len()).position(|window| window == end).map(|at| at + end.len());
    if is_named_part && let Some(blank) = after_blank_line(b"\r\n\r\n").or_else(|| after_blank_line(b"\n\n")) {
        // The name of a part of a multipart form.
        let line = &rest[blank..rest.len().min(blank + LONGEST_VALUE)];
        return line.split(|byte| matches!(byte, b'\r' | b'\n')).next();
    }
    // The name is a value itself: `"name": "api_key", "value": "…"`.
    let next = skip(rest, |byte| is_space(byte) || is_quoting(byte) || byte == b',');
    let (word, of_word) = next.split_at_checked(b"value".len())?;
    let is_value = rest.len() < after.len() && word.eq_ignore_ascii_case(b"value");
    is_value.then(|| value(skip(of_word, |byte| is_space(byte) || is_quoting(byte) || matches!(byte, b'=' | b':'))))
}

/// The value that begins here: up to the same quotation mark if it begins with one, else up to a delimiter.
fn value(text: &[u8]) -> &[u8] {
    value_and_rest(text).0
}

/// The value that begins here, and the text from its end on.
fn value_and_rest(text: &[u8]) -> (&[u8], &[u8]) {
    let text = skip(text, |byte| byte.is_ascii_whitespace() || matches!(byte, b'\\' | b'['));
    let text = text.strip_prefix(b"<![CDATA[").unwrap_or(text);
    let is_delimiter = |byte: u8| byte.is_ascii_whitespace() || b"&;,<>\"'{}])\\".contains(&byte);
    let (text, end): (&[u8], &dyn Fn(u8) -> bool) = match text {
        [quote @ (b'"' | b'\''), rest @ ..] => (rest, &|byte| byte == *quote),
        _ => (text, &is_delimiter),
    };
    let text = &text[..text.len().min(LONGEST_VALUE)];
    let mut at = 0;
    while at < text.len() && !end(text[at]) {
        // An escaped quotation mark belongs to the value, unless the value ends with it.
        at += if text[at] == b'\\' && text.get(at + 2).is_some_and(|byte| !is_delimiter(*byte)) { 2 } else { 1 };
    }
    let (value, rest) = text.split_at(at.min(text.len()));
    (value.strip_suffix(b"\\").unwrap_or(value), rest)
}

/// Adds the user and the password of each URL.
fn add_users(text: &[u8], all: &mut Vec<Announced>) {
    for at in text.windows(3).enumerate().filter(|(_, window)| window == b"://").map(|(at, _)| at + 3) {
        if all.len() >= MOST_VALUES {
            return;
        }
        let authority = text[at..].iter().take_while(|byte| **byte > b' ' && !b"/?#\"'<>\\".contains(byte)).count();
        let authority = &text[at..at + authority];
        let Some(end) = authority.iter().rposition(|byte| *byte == b'@') else { continue };
        for part in authority[..end].splitn(2, |byte| *byte == b':').filter(|part| !part.is_empty()) {
            all.push(Announced { name: "userinfo".to_owned(), value: String::from_utf8_lossy(part).into_owned() });
        }
    }
}

fn skip(text: &[u8], is_skipped: impl Fn(u8) -> bool) -> &[u8] {
    &text[text.iter().take_while(|byte| is_skipped(**byte)).count()..]
}

fn skip_back(text: &[u8], is_skipped: impl Fn(u8) -> bool) -> &[u8] {
    &text[..text.len() - text.iter().rev().take_while(|byte| is_skipped(**byte)).count()]
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;

    use super::*;

    const KEY: &str = "sk-Live-4711-abcd";

    #[test]
    fn a_value_is_found_in_every_notation_that_names_it_a_credential() {
        let json = format!(r#"{{"name":"Rex","auth":{{"apiKey":"{KEY}"}}}}"#);
        let within = serde_json::to_string(&json).expect("a text");
        let twice = serde_json::to_string(&within).expect("a text");
        let encoded = BASE64_STANDARD.encode(&json);
        for text in [
            format!("limit=5&api_key={KEY}"),
            format!("api%5Fkey%3D{KEY}"),
            format!("/pets;key={KEY}"),
            format!("auth[key]={KEY}&name=Rex"),
            json.clone(),
            within,
            twice,
            json[..json.len() - 3].to_owned(),
            format!(r#"{{"tokens":["another-token-9",{{"of":"Rex","is":["{KEY}"]}}]}}"#),
            format!(r#"[{{"tokens":["another-token-9",["{KEY}"]]}}]"#),
            format!(r#"{{"tokens":["another-token-9", "a-third-one","{KEY}"],"name":"#),
            format!("{{'tokens': ['another-token-9', '{KEY}']}}"),
            format!("tokens: [another-token-9, {KEY}]"),
            format!("{{'apiKey': '{KEY}', }}"),
            format!("{{apiKey: {KEY}}}"),
            format!("{{:api_key => \"{KEY}\"}}"),
            format!("api_key: {KEY}\nname: Rex"),
            format!("{{\"name\": \"apiKey\", \"value\": \"{KEY}\"}}"),
            format!("<pet><apiKey>{KEY}</apiKey></pet>"),
            format!("<a:apiKey xsi:type=\"string\">{KEY}</a:apiKey>"),
            format!("<token><![CDATA[{KEY}]]></token>"),
            format!("<pet apiKey=\"{KEY}\"/>"),
            format!("<property name=\"apiKey\" value=\"{KEY}\"/>"),
            format!("<entry key=\"apiKey\">{KEY}</entry>"),
            format!("--x\r\nContent-Disposition: form-data; name=\"api_key\"\r\n\r\n{KEY}\r\n--x--\r\n"),
            format!("--x\nContent-Disposition: form-data; name=token\nContent-Type: text/plain\n\n{KEY}\n--x--"),
            format!("https://{KEY}@api.example.com/v1"),
            format!("see https://me:{KEY}@api.example.com, please"),
            format!("the request had Bearer {KEY} in it"),
            format!("bearer, {KEY}"),
            format!("note={encoded}"),
        ] {
            let found = announced(text.as_bytes());
            assert!(found.iter().any(|found| found.value == KEY), "{text}: {found:?}");
        }
    }

    #[test]
    fn of_a_text_with_very_many_names_a_bounded_part_is_read() {
        for (part, least) in [
            ("key=a;", MOST_VALUES),
            ("key=", MOST_VALUES),
            ("key=\\\"x", MOST_VALUES),
            ("<key ", 0),
            ("key:", 0),
            ("://a@", 0),
        ] {
            let found = announced(part.repeat(200_000).as_bytes());
            assert!((least..=MOST_VALUES).contains(&found.len()), "{part}: {}", found.len());
            assert!(found.iter().all(|found| found.value.len() <= LONGEST_VALUE), "{part}");
        }
    }

    #[test]
    fn words_about_credentials_announce_none() {
        for text in [
            r#"{"name":"turkey","categoryId":1,"hasPassport":true}"#,
            "name=monkey&categoryId=1",
            "</apiKey> and more",
            "the key is missing",
            "https://api.example.com/v1?at=a@b",
            "no key",
        ] {
            assert_eq!(announced(text.as_bytes()), [], "{text}");
        }
    }
}
