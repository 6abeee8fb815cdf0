//! JSON read without losing a digit.
//!
//! A judge of int64 fidelity cannot use a parser that turns numbers into doubles. Numbers keep their text, objects keep
//! every member in order, duplicates included. (`serde_json`'s own `arbitrary_precision` would do the first, but as a
//! feature of a shared crate it would change every other crate of a build that contains this one.)

mod number;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

pub use number::{Number, Whole};

/// Bodies nested deeper than this are refused: reading takes time for each level, and stack.
const MAX_DEPTH: usize = 32;

/// Bodies of more values than this are refused: read, they would take many times the memory of their text. A list of 100
/// animals may have hundreds of members each.
pub const MAX_VALUES: usize = 100_000;

/// How large a JSON text is when it has been read, as far as its bytes tell: also of what is no JSON.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Extent {
    /// The deepest nesting.
    pub depth: usize,
    /// The values, names of members included, and a few too many.
    pub values: usize,
}

impl Extent {
    /// Measures a text, in one pass and without reading it.
    #[must_use]
    pub fn of(text: &[u8]) -> Extent {
        let mut extent = Extent { depth: 0, values: 1 };
        let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
        for byte in text {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = in_string,
                b'"' => in_string = !in_string,
                _ if in_string => {}
                b'[' | b'{' => {
                    depth += 1;
                    extent.depth = extent.depth.max(depth);
                    extent.values += 1;
                }
                b']' | b'}' => depth = depth.saturating_sub(1),
                b',' | b':' => extent.values += 1,
                _ => {}
            }
        }
        extent
    }
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

/// Why a text is not usable JSON.
#[derive(Debug, thiserror::Error)]
pub enum NotJson {
    /// The text breaks the grammar of RFC 8259.
    #[error("not JSON: {0}")]
    Syntax(#[from] serde_json::Error),
    /// The bytes are not UTF-8, which RFC 8259 section 8.1 requires.
    #[error("not JSON: the bytes are not UTF-8")]
    Encoding,
    /// The text is nested too deeply to be read.
    #[error("JSON nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    /// The text holds too many values to be read.
    #[error("JSON of more than {MAX_VALUES} values")]
    TooMany,
}

/// How a string is read, quotation marks included.
type ReadString = fn(&str) -> Result<String, serde_json::Error>;

impl Json {
    /// Reads one JSON text; nothing but white space may follow it.
    ///
    /// # Errors
    ///
    /// [`NotJson`] says what is wrong with the bytes.
    pub fn parse(bytes: &[u8]) -> Result<Json, NotJson> {
        Json::read(bytes, |text| serde_json::from_str(text))
    }

    /// The same of what somebody else has written, who may hold names that are no text: the grammar of RFC 8259 allows escapes of
    /// half a surrogate pair, which become U+FFFD.
    ///
    /// # Errors
    ///
    /// [`NotJson`] says what is wrong with the bytes.
    pub fn parse_foreign(bytes: &[u8]) -> Result<Json, NotJson> {
        Json::read(bytes, |text| serde_json::from_str(text).map(|Text(text)| text))
    }

    fn read(bytes: &[u8], string: ReadString) -> Result<Json, NotJson> {
        let text = std::str::from_utf8(bytes).map_err(|_| NotJson::Encoding)?;
        let extent = Extent::of(bytes);
        if extent.depth > MAX_DEPTH {
            return Err(NotJson::TooDeep);
        }
        if extent.values > MAX_VALUES {
            return Err(NotJson::TooMany);
        }
        if let Ok(json) = serde_json::from_str(text) {
            let InOnePass(json) = json;
            return Ok(json);
        }
        Json::from_raw(serde_json::from_str(text)?, string)
    }

    fn from_raw(raw: &RawValue, string: ReadString) -> Result<Json, NotJson> {
        let read = |raw| Json::from_raw(raw, string);
        let text = raw.get();
        Ok(match text.as_bytes()[0] {
            b'n' => Json::Null,
            b't' => Json::Bool(true),
            b'f' => Json::Bool(false),
            b'"' => Json::String(string(text)?),
            b'[' => {
                Json::Array(serde_json::from_str::<Items<'_>>(text)?.0.into_iter().map(read).collect::<Result<_, _>>()?)
            }
            b'{' => Json::Object(
                serde_json::from_str::<Members<'_>>(text)?
                    .0
                    .into_iter()
                    .map(|(name, value)| Ok((name, read(value)?)))
                    .collect::<Result<_, NotJson>>()?,
            ),
            _ => Json::Number(Number::new(text)),
        })
    }

    /// The member of an object. Of duplicates the last counts, as in most parsers.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members.iter().rev().find(|(member, _)| member == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The text of a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::String(text) => Some(text),
            _ => None,
        }
    }

    /// The value of a number that is whole and within int64.
    #[must_use]
    pub fn as_int64(&self) -> Option<i64> {
        match self {
            Json::Number(number) => number.as_int64(),
            _ => None,
        }
    }

    /// What kind of value it is, with an article: for sentences.
    #[must_use]
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

/// What nearly every body is: JSON whose numbers are integers of 64 bits. Reading gives up on any other number, of which a double
/// could lose a digit.
struct InOnePass(Json);

impl<'de> Deserialize<'de> for InOnePass {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValueVisitor;
        impl<'de> Visitor<'de> for ValueVisitor {
            type Value = InOnePass;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("JSON without fractions")
            }
            fn visit_unit<E>(self) -> Result<InOnePass, E> {
                Ok(InOnePass(Json::Null))
            }
            fn visit_bool<E>(self, value: bool) -> Result<InOnePass, E> {
                Ok(InOnePass(Json::Bool(value)))
            }
            fn visit_i64<E>(self, value: i64) -> Result<InOnePass, E> {
                Ok(InOnePass(Json::Number(Number::new(&value.to_string()))))
            }
            fn visit_u64<E>(self, value: u64) -> Result<InOnePass, E> {
                Ok(InOnePass(Json::Number(Number::new(&value.to_string()))))
            }
            fn visit_str<E>(self, text: &str) -> Result<InOnePass, E> {
                Ok(InOnePass(Json::String(text.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<InOnePass, A::Error> {
                let mut items = Vec::new();
                while let Some(InOnePass(item)) = seq.next_element()? {
                    items.push(item);
                }
                Ok(InOnePass(Json::Array(items)))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<InOnePass, A::Error> {
                let mut members = Vec::new();
                while let Some((name, InOnePass(value))) = map.next_entry()? {
                    members.push((name, value));
                }
                Ok(InOnePass(Json::Object(members)))
            }
        }
        deserializer.deserialize_any(ValueVisitor)
    }
}

/// A string in which half a surrogate pair is U+FFFD.
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string")
            }
            // Only as bytes does serde_json hand over such halves, each written as if it were a character.
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Text, E> {
                let (mut whole, mut rest) = (Vec::with_capacity(bytes.len()), bytes);
                loop {
                    match rest {
                        [0xED, 0xA0..=0xBF, _, others @ ..] => {
                            whole.extend("\u{FFFD}".bytes());
                            rest = others;
                        }
                        [first, others @ ..] => {
                            whole.push(*first);
                            rest = others;
                        }
                        [] => break,
                    }
                }
                Ok(Text(String::from_utf8_lossy(&whole).into_owned()))
            }
        }
        deserializer.deserialize_bytes(TextVisitor)
    }
}

struct Items<'t>(Vec<&'t RawValue>);

impl<'de> Deserialize<'de> for Items<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ItemsVisitor;
        impl<'de> Visitor<'de> for ItemsVisitor {
            type Value = Items<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an array")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Items<'de>, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(Items(items))
            }
        }
        deserializer.deserialize_seq(ItemsVisitor)
    }
}

struct Members<'t>(Vec<(String, &'t RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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
        assert!(matches!(Json::parse(b"\"\xff\""), Err(NotJson::Encoding)));
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
    fn deep_nesting_is_refused_and_brackets_in_strings_are_none() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(matches!(Json::parse(deep.as_bytes()), Err(NotJson::TooDeep)));
        let just = format!("{}\"\\\"[[[\"{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
        assert!(Json::parse(just.as_bytes()).is_ok(), "{just}");
    }

    #[test]
    fn a_text_of_very_many_values_is_refused() {
        let zeros = |count: usize| format!("[{}0]", "0,".repeat(count - 1));
        assert!(Json::parse(zeros(MAX_VALUES - 2).as_bytes()).is_ok());
        assert!(matches!(Json::parse(zeros(MAX_VALUES).as_bytes()), Err(NotJson::TooMany)));
        assert_eq!(Extent::of(br#"[{"a,[\":": {}}, 1]"#), Extent { depth: 3, values: 6 });
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

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

        #[test]
        fn every_string_survives(text: String) {
            let written = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(Json::parse(written.as_bytes()).unwrap(), Json::String(text));
        }
    }
}
