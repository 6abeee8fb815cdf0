//! JSON, parsed without losing a digit.
//!
//! To judge whether int64 values are exact, a parser must not turn numbers into doubles. Numbers keep their text, objects keep
//! every member in order, duplicates included. (`serde_json`'s own `arbitrary_precision` would do the first, but as a
//! feature of a shared crate it would change every other crate of a build that contains this one.)

mod number;

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

pub use number::{Number, Whole};

/// The number of levels to which arrays and objects are read. Deeper ones are checked against the grammar and read as empty: each level
/// takes time and stack, and no rule reads a value this deep.
const MAX_DEPTH: usize = 32;

/// The number of values up to which a body is read. More values would take many times the memory of their text; a list of 100
/// animals may still have hundreds of members each.
pub const MAX_VALUES: usize = 100_000;

/// The number of values of a JSON text, names of members included, as an estimate that is never too low. It takes one pass over the bytes.
pub fn count_values(text: &[u8]) -> usize {
    1 + outside_strings(text).filter(|byte| matches!(byte, b'[' | b'{' | b',' | b':')).count()
}

/// The bytes of a JSON text that are outside strings.
#[doc(hidden)]
pub fn outside_strings(text: &[u8]) -> impl Iterator<Item = u8> {
    let (mut in_string, mut escaped) = (false, false);
    text.iter().copied().filter(move |byte| {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            _ => return !in_string,
        }
        false
    })
}

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as it was written.
    Number(Number),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object: every member, in order.
    Object(Vec<(String, Json)>),
}

/// The reason why a text is not usable JSON.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotJson {
    /// The text breaks the grammar of RFC 8259.
    #[error("not JSON: {0}")]
    Syntax(#[from] serde_json::Error),
    /// The bytes are not UTF-8, which RFC 8259 section 8.1 requires.
    #[error("not JSON: the bytes are not UTF-8 at {0}")]
    Encoding(String),
    /// The text begins with a byte order mark, which RFC 8259 section 8.1 forbids.
    #[error("not JSON: the body begins with a byte order mark")]
    Mark,
    /// The text holds too many values to be read.
    #[error("JSON of more than {MAX_VALUES} values")]
    TooMany,
}

/// The number of bytes that the message about bytes that are no text shows.
const SHOWN_BYTES: usize = 4;

/// A function that reads a string with its quotation marks.
type ReadString = fn(&str) -> Result<String, serde_json::Error>;

impl Json {
    /// Reads one JSON text; nothing but white space may follow it.
    ///
    /// # Errors
    ///
    /// [`NotJson`], with the defect of the bytes.
    pub fn parse(bytes: &[u8]) -> Result<Json, NotJson> {
        Json::read(bytes, |text| serde_json::from_str(text))
    }

    /// Reads one JSON text of another program, in which escapes of half a surrogate pair become U+FFFD. The grammar of RFC 8259 allows
    /// such escapes.
    ///
    /// # Errors
    ///
    /// [`NotJson`], with the defect of the bytes.
    pub fn parse_foreign(bytes: &[u8]) -> Result<Json, NotJson> {
        Json::read(bytes, |text| {
            serde_json::from_str(text).or_else(|_| {
                let bytes = serde_json::from_str::<StringBytes>(text)?.replace_halves(|_| None);
                Ok(String::from_utf8_lossy(&bytes).into_owned())
            })
        })
    }

    fn read(bytes: &[u8], string: ReadString) -> Result<Json, NotJson> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let from: Vec<String> =
                bytes.iter().skip(error.valid_up_to()).take(SHOWN_BYTES).map(|byte| format!("{byte:02X}")).collect();
            NotJson::Encoding(format!("byte {} ({})", error.valid_up_to() + 1, from.join(" ")))
        })?;
        if text.starts_with('\u{feff}') {
            return Err(NotJson::Mark);
        }
        if count_values(bytes) > MAX_VALUES {
            return Err(NotJson::TooMany);
        }
        Json::from_raw(serde_json::from_str(text)?, string, MAX_DEPTH)
    }

    /// Reads a text that follows the grammar of JSON, down to this many levels.
    fn from_raw(raw: &RawValue, string: ReadString, levels: usize) -> Result<Json, NotJson> {
        let read = |raw| Json::from_raw(raw, string, levels - 1);
        let text = raw.get();
        Ok(match text.as_bytes()[0] {
            b'[' if levels == 0 => Json::Array(Vec::new()),
            b'{' if levels == 0 => Json::Object(Vec::new()),
            b'n' => Json::Null,
            b't' => Json::Bool(true),
            b'f' => Json::Bool(false),
            b'"' => Json::String(string(text)?),
            b'[' => {
                let items: Vec<&RawValue> = serde_json::from_str(text)?;
                Json::Array(items.into_iter().map(read).collect::<Result<_, _>>()?)
            }
            b'{' => {
                let Members(members) = serde_json::from_str(text)?;
                let members = members.into_iter().map(|(name, value)| Ok((name, read(value)?)));
                Json::Object(members.collect::<Result<_, NotJson>>()?)
            }
            _ => Json::Number(Number::new(text)),
        })
    }

    /// The member of an object. Of duplicates the last counts, as in most parsers.
    pub fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members.iter().rev().find(|(member, _)| member == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The name of a member that differs from this one only in case.
    pub fn name_in_another_case(&self, name: &str) -> Option<&str> {
        let Json::Object(members) = self else { return None };
        members.iter().map(|(member, _)| member.as_str()).find(|member| member.eq_ignore_ascii_case(name))
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::String(text) => Some(text),
            _ => None,
        }
    }

    /// The value of a number that is whole and within int64. `7.0` and `70e-1` are 7.
    pub fn as_int64(&self) -> Option<i64> {
        match self {
            Json::Number(Number { whole: Whole::Int64(value), .. }) => Some(*value),
            _ => None,
        }
    }

    /// The kind of the value with an article, for sentences.
    pub fn kind(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "a boolean",
            Json::Number(_) => "a number",
            Json::String(_) => "a string",
            Json::Array(_) => "an array",
            Json::Object(_) => "an object",
        }
    }
}

/// The value as text, for sentences: compact, numbers and the order of members as they were read.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |text: &str| serde_json::Value::from(text);
        match self {
            Json::Null => f.write_str("null"),
            Json::Bool(value) => write!(f, "{value}"),
            Json::Number(number) => f.write_str(&number.text),
            Json::String(text) => write!(f, "{}", quoted(text)),
            Json::Array(items) => write!(f, "[{}]", items.iter().map(Json::to_string).collect::<Vec<_>>().join(",")),
            Json::Object(members) => {
                let members = members.iter().map(|(name, value)| format!("{}:{value}", quoted(name)));
                write!(f, "{{{}}}", members.collect::<Vec<_>>().join(","))
            }
        }
    }
}

/// The bytes of a string. Half of a surrogate pair has the three bytes that UTF-8 would have for it, as serde_json hands it over.
#[doc(hidden)]
pub struct StringBytes(Vec<u8>);

impl StringBytes {
    /// The bytes with a byte in place of each half of a surrogate pair, or with U+FFFD where the function returns none. The function takes
    /// the half, from D800 to DFFF.
    #[must_use]
    pub fn replace_halves(self, mut byte_for: impl FnMut(u16) -> Option<u8>) -> Vec<u8> {
        let (mut replaced, mut rest) = (Vec::with_capacity(self.0.len()), &self.0[..]);
        loop {
            match rest {
                [0xED, second @ 0xA0..=0xBF, third, others @ ..] => {
                    match byte_for(0xD000 | u16::from(second & 0x3F) << 6 | u16::from(third & 0x3F)) {
                        Some(byte) => replaced.push(byte),
                        None => replaced.extend("\u{FFFD}".bytes()),
                    }
                    rest = others;
                }
                [first, others @ ..] => {
                    replaced.push(*first);
                    rest = others;
                }
                [] => return replaced,
            }
        }
    }
}

impl<'de> Deserialize<'de> for StringBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BytesVisitor;
        impl Visitor<'_> for BytesVisitor {
            type Value = StringBytes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<StringBytes, E> {
                Ok(StringBytes(bytes.to_vec()))
            }
        }
        deserializer.deserialize_bytes(BytesVisitor)
    }
}

/// The members of an object, their values unread.
struct Members<'t>(Vec<(String, &'t RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(MembersVisitor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_the_grammar_excludes_is_refused() {
        for text in ["", "{", "[1,]", "{\"a\":1,}", "NaN", "01", "1.", "'a'", "[1] x", "\u{feff}[]", "tru", "\"\n\""] {
            assert!(Json::parse(text.as_bytes()).is_err(), "{text:?}");
        }
        let latin = Json::parse(b"{\"name\":\"Zo\xeb\"}").map_err(|error| error.to_string());
        assert_eq!(latin, Err("not JSON: the bytes are not UTF-8 at byte 12 (EB 22 7D)".to_owned()));
        assert!(matches!(Json::parse("\u{feff}[]".as_bytes()), Err(NotJson::Mark)));
    }

    #[test]
    fn duplicate_members_are_kept_and_the_last_one_counts() {
        let json = Json::parse(br#"{"a": 1, "a": 2}"#).unwrap();
        assert_eq!(json.get("a").and_then(Json::as_int64), Some(2));
        assert!(matches!(json, Json::Object(members) if members.len() == 2));
    }

    #[test]
    fn numbers_are_kept_as_they_are_written() {
        for text in
            ["-0", "0", "7", "7.0", "-9223372036854775808", "18446744073709551615", "1E5", "123456789012345678901"]
        {
            let body = format!("[{text},{{\"n\":{text}}}]");
            let number = Json::Number(Number::new(text));
            let object = Json::Object(vec![("n".to_owned(), number.clone())]);
            assert_eq!(Json::parse(body.as_bytes()).unwrap(), Json::Array(vec![number, object]), "{text}");
        }
    }

    #[test]
    fn what_is_nested_deeply_is_held_against_the_grammar_and_not_kept() {
        let nested = |levels: usize, open: &str, inmost: &str, close: &str| {
            let text = format!(r#"[{{"deep":{}{inmost}{},"id":7}}]"#, open.repeat(levels), close.repeat(levels));
            Json::parse(text.as_bytes())
        };
        for levels in [1, MAX_DEPTH - 2, MAX_DEPTH - 1, MAX_DEPTH, 400, 40_000] {
            for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
                let Json::Array(items) = nested(levels, open, r#""[[{""#, close).unwrap() else { panic!("an array") };
                assert_eq!(items[0].get("id").and_then(Json::as_int64), Some(7), "{levels} {open}");
                assert!(nested(levels, open, "01", close).is_err(), "{levels} {open}");
                assert!(nested(levels, open, "1]", close).is_err(), "{levels} {open}");
            }
        }
    }

    #[test]
    fn a_text_of_very_many_values_is_refused() {
        let zeros = |count: usize| format!("[{}0]", "0,".repeat(count - 1));
        assert!(Json::parse(zeros(MAX_VALUES - 2).as_bytes()).is_ok());
        assert!(matches!(Json::parse(zeros(MAX_VALUES).as_bytes()), Err(NotJson::TooMany)));
        assert_eq!(count_values(br#"[{"a,[\":": {}}, 1]"#), 6);
    }

    #[test]
    fn half_a_surrogate_pair_is_a_character_that_cannot_be_shown() {
        let read = |text: &str| Json::parse_foreign(format!(r#"[{{"name":"{text}"}}]"#).as_bytes()).unwrap();
        let name =
            |text: &str| Json::Array(vec![Json::Object(vec![("name".to_owned(), Json::String(text.to_owned()))])]);
        assert!(Json::parse(br#""\ud83d""#).is_err());
        assert_eq!(read(r"a\ud83dz"), name("a\u{FFFD}z"));
        assert_eq!(read(r"\udc36\ud83d"), name("\u{FFFD}\u{FFFD}"));
        assert_eq!(read(r"\ud83d\udc36퟿\uE000\ud800"), name("\u{1F436}\u{D7FF}\u{E000}\u{FFFD}"));
    }

    #[test]
    fn a_value_is_written_as_it_was_read() {
        for text in [
            "null",
            "true",
            "1.0",
            "12345678901234567890123",
            r#""a \"b\" \u0001""#,
            "[]",
            r#"{"b":[1,{}],"a":"x","b":null}"#,
        ] {
            assert_eq!(Json::parse(text.as_bytes()).unwrap().to_string(), text);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

        #[test]
        fn every_string_survives(text: String) {
            let written = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(Json::parse(written.as_bytes()).unwrap(), Json::String(text));
        }
    }
}
