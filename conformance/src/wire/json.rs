//! JSON read without losing a digit.
//!
//! A judge of int64 fidelity cannot use a parser that turns numbers into doubles. Numbers keep their text, objects keep
//! every member in order, duplicates included. (`serde_json`'s own `arbitrary_precision` would do the first, but as a
//! feature of a shared crate it would change every other crate of a build that contains this one.)

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

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

impl Json {
    /// Reads one JSON text; nothing but white space may follow it.
    ///
    /// # Errors
    ///
    /// [`NotJson`] says what is wrong with the bytes.
    pub fn parse(bytes: &[u8]) -> Result<Json, NotJson> {
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
        Json::from_raw(serde_json::from_str(text)?)
    }

    fn from_raw(raw: &RawValue) -> Result<Json, NotJson> {
        let text = raw.get();
        Ok(match text.as_bytes()[0] {
            b'n' => Json::Null,
            b't' => Json::Bool(true),
            b'f' => Json::Bool(false),
            b'"' => Json::String(serde_json::from_str(text)?),
            b'[' => Json::Array(
                serde_json::from_str::<Items<'_>>(text)?.0.into_iter().map(Json::from_raw).collect::<Result<_, _>>()?,
            ),
            b'{' => Json::Object(
                serde_json::from_str::<Members<'_>>(text)?
                    .0
                    .into_iter()
                    .map(|(name, value)| Ok((name, Json::from_raw(value)?)))
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

/// A JSON number, as it was written.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Number {
    text: String,
    whole: Whole,
}

/// What a number is when read as an int64.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Whole {
    /// A whole number within int64.
    Int64(i64),
    /// A whole number outside int64.
    OutOfRange,
    /// A number with a fraction.
    Fraction,
}

impl Number {
    /// The number as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it is written with digits only, as an integer is (`7`, not `7.0` or `7e0`).
    #[must_use]
    pub fn is_plain_integer(&self) -> bool {
        !self.text.contains(['.', 'e', 'E'])
    }

    /// The value, if whole and within int64. `7.0` and `70e-1` are 7.
    #[must_use]
    pub fn as_int64(&self) -> Option<i64> {
        match self.whole() {
            Whole::Int64(value) => Some(value),
            Whole::OutOfRange | Whole::Fraction => None,
        }
    }

    /// What the number is as an int64.
    #[must_use]
    pub fn whole(&self) -> Whole {
        self.whole
    }

    fn new(text: &str) -> Number {
        Number { text: text.to_owned(), whole: Whole::of(text) }
    }
}

impl Whole {
    /// Reads a number as an int64, computing on its decimal digits.
    fn of(text: &str) -> Whole {
        if !text.contains(['.', 'e', 'E']) {
            return text.parse().map_or(Whole::OutOfRange, Whole::Int64);
        }
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
        let (integral, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{integral}{fraction}");
        let significant = digits.trim_start_matches('0').trim_end_matches('0');
        if significant.is_empty() {
            return Whole::Int64(0);
        }
        // An exponent that is too large for i64 decides by its sign alone.
        let exponent = exponent.trim_start_matches('+').parse::<i64>().unwrap_or(if exponent.starts_with('-') {
            i64::MIN / 2
        } else {
            i64::MAX / 2
        });
        let trailing = (digits.len() - digits.trim_end_matches('0').len()) as i64;
        let scale = exponent.saturating_sub(fraction.len() as i64).saturating_add(trailing);
        if scale < 0 {
            return Whole::Fraction;
        }
        if significant.len() as i64 + scale > 19 {
            return Whole::OutOfRange;
        }
        let magnitude = format!("{significant}{}", "0".repeat(scale as usize));
        let signed = if negative { format!("-{magnitude}") } else { magnitude };
        signed.parse().map_or(Whole::OutOfRange, Whole::Int64)
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

    fn whole(text: &str) -> Whole {
        Number::new(text).whole()
    }

    #[test]
    fn numbers_are_read_by_their_decimal_digits() {
        for (text, expected) in [
            ("0", Whole::Int64(0)),
            ("-0", Whole::Int64(0)),
            ("0.000", Whole::Int64(0)),
            ("7", Whole::Int64(7)),
            ("7.0", Whole::Int64(7)),
            ("70e-1", Whole::Int64(7)),
            ("0.7e1", Whole::Int64(7)),
            ("7E+2", Whole::Int64(700)),
            ("7.5", Whole::Fraction),
            ("1e-400", Whole::Fraction),
            ("9007199254740993", Whole::Int64(9_007_199_254_740_993)),
            ("9223372036854775807", Whole::Int64(i64::MAX)),
            ("-9223372036854775808", Whole::Int64(i64::MIN)),
            ("9223372036854775808", Whole::OutOfRange),
            ("-9223372036854775809", Whole::OutOfRange),
            ("9.223372036854775807e18", Whole::Int64(i64::MAX)),
            ("1e400", Whole::OutOfRange),
            ("1e99999999999999999999", Whole::OutOfRange),
            ("1e-99999999999999999999", Whole::Fraction),
        ] {
            assert_eq!(whole(text), expected, "{text}");
        }
    }

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

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

        #[test]
        fn every_int64_survives(value: i64) {
            prop_assert_eq!(whole(&value.to_string()), Whole::Int64(value));
            prop_assert_eq!(whole(&format!("{value}.0")), Whole::Int64(value));
            prop_assert_eq!(whole(&format!("{value}0e-1")), Whole::Int64(value));
        }

        #[test]
        fn every_string_survives(text: String) {
            let written = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(Json::parse(written.as_bytes()).unwrap(), Json::String(text));
        }
    }
}
