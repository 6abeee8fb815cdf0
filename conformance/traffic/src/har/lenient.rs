//! Lenient readers of the members of an archive: exporters write null, a number as text, or a value of their own.

use animal_store_rules::trace::json::StringBytes;
use serde::Deserialize;
use serde::de::{Deserializer, Error};
use serde_json::Value;
use serde_json::value::RawValue;

/// Reads a value of the expected type; `None` for any other value.
pub(super) fn if_readable<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let raw = <&RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(raw.get()).ok())
}

/// Reads a text, or a number as the text that it was written with, without the fraction of a whole number. Bytes that are not UTF-8 are replaced, as in the header fields of a run.
pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let raw = <&RawValue>::deserialize(deserializer)?;
    text_of(raw.get()).map_err(D::Error::custom)
}

/// Reads a text or a number as [`text`] does; an empty text for null.
pub(super) fn text_or_default<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match <&RawValue>::deserialize(deserializer)?.get() {
        "null" => Ok(String::new()),
        raw => text_of(raw).map_err(D::Error::custom),
    }
}

fn text_of(raw: &str) -> serde_json::Result<String> {
    if raw.starts_with(|first: char| first.is_ascii_digit() || first == '-') {
        // Some recorders write every number as a double.
        return Ok(raw.strip_suffix(".0").unwrap_or(raw).to_owned());
    }
    let text: Text = serde_json::from_str(raw)?;
    Ok(String::from_utf8_lossy(&text.bytes).into_owned())
}

/// Reads a value, or the default of its type for null.
pub(super) fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Reads a number, which may be written as text; `None` for any other value.
pub(super) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    Ok(match if_readable(deserializer)? {
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => text.trim().parse().ok(),
        _ => None,
    })
}

/// Returns true if a member is there and is neither null nor false.
pub(super) fn is_set(value: Option<&Value>) -> bool {
    !matches!(value, None | Some(Value::Null | Value::Bool(false)))
}

/// A text that may have been bytes: recorders in Python write a byte that is not UTF-8 as half a surrogate pair.
#[derive(Debug, Hash, PartialEq)]
pub(super) struct Text {
    /// The bytes of the text, with each half of a surrogate pair as the byte that it stands for.
    pub(super) bytes: Vec<u8>,
    /// Whether the text had halves of surrogate pairs.
    pub(super) has_halves: bool,
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        let mut has_halves = false;
        let bytes = StringBytes::deserialize(deserializer)?.replace_halves(|half| {
            has_halves = true;
            // U+DC80 to U+DCFF stand for the bytes from 80 to FF.
            (0xDC80..=0xDCFF).contains(&half).then_some(half as u8)
        });
        Ok(Text { bytes, has_halves })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_surrogate_pair_is_the_byte_that_it_stands_for() {
        let text: Text = serde_json::from_str(r#""caf\udce9 \ud83d\ude00 \udc80""#).expect("a text");
        assert_eq!(text.bytes, [b"caf\xE9 " as &[u8], "\u{1f600}".as_bytes(), b" \x80"].concat());
        assert!(text.has_halves);
        let text: Text = serde_json::from_str(r#""Zo\u00eb""#).expect("a text");
        assert_eq!(text, Text { bytes: "Zo\u{eb}".into(), has_halves: false });
    }
}
