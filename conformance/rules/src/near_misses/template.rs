//! The placeholders in the values of near misses.

use std::borrow::Cow;
use std::str::FromStr;

use serde::Deserialize;

use super::codec::{KeyCodec, NumberCodec};

/// The values that replace placeholders.
#[derive(Clone, Copy, Debug)]
pub struct Values<'v> {
    /// A plain name that no animal has.
    pub name: &'v str,
    /// Four digits that no other request has.
    pub digits: &'v str,
    /// A category that animals may have.
    pub category: i64,
    /// The identifier of an animal that exists, if one is known.
    pub id: Option<i64>,
    /// The valid key.
    pub key: &'v str,
    /// A key that nobody issued.
    pub unknown: &'v str,
}

/// A text with placeholders.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Template(Vec<Piece>);

#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Bytes(Vec<u8>),
    Repeated(usize, String),
    Name,
    Digits,
    Category(NumberCodec),
    Id(NumberCodec),
    Key(KeyCodec),
    Unknown,
}

/// A placeholder that has no meaning.
#[derive(Debug, thiserror::Error)]
#[error("`@{0}@` is not a placeholder")]
pub(super) struct UnknownPlaceholder(String);

impl FromStr for Template {
    type Err = UnknownPlaceholder;

    fn from_str(text: &str) -> Result<Template, UnknownPlaceholder> {
        let mut pieces = Vec::new();
        // Every second part is a placeholder.
        for (index, part) in text.split('@').enumerate() {
            if index % 2 == 1 {
                pieces.push(placeholder(part).ok_or_else(|| UnknownPlaceholder(part.to_owned()))?);
            } else if !part.is_empty() {
                pieces.push(Piece::Text(part.to_owned()));
            }
        }
        Ok(Template(pieces))
    }
}

impl TryFrom<String> for Template {
    type Error = UnknownPlaceholder;

    fn try_from(text: String) -> Result<Template, UnknownPlaceholder> {
        text.parse()
    }
}

fn placeholder(text: &str) -> Option<Piece> {
    if let Some(repeated) = text.strip_prefix('*') {
        let (times, text) = repeated.split_once(':')?;
        return Some(Piece::Repeated(times.parse().ok()?, text.to_owned()));
    }
    if let Some(bytes) = text.strip_prefix("x:") {
        let bytes: Result<Vec<u8>, _> = bytes.split(' ').map(|byte| u8::from_str_radix(byte, 16)).collect();
        return bytes.ok().map(Piece::Bytes);
    }
    let (name, codec) = text.split_once('|').unwrap_or((text, ""));
    Some(match name {
        "NAME" if codec.is_empty() => Piece::Name,
        "DIGITS" if codec.is_empty() => Piece::Digits,
        "UNKNOWN" if codec.is_empty() => Piece::Unknown,
        "CATEGORY" => Piece::Category(NumberCodec::named(codec)?),
        "ID" => Piece::Id(NumberCodec::named(codec)?),
        "KEY" => Piece::Key(KeyCodec::named(codec)?),
        _ => return None,
    })
}

impl Template {
    /// The text with the values of its placeholders. `None` if one has no value.
    pub(super) fn fill(&self, values: &Values<'_>) -> Option<Vec<u8>> {
        let mut filled = Vec::new();
        for piece in &self.0 {
            let text: Cow<'_, str> = match piece {
                Piece::Bytes(bytes) => {
                    filled.extend_from_slice(bytes);
                    continue;
                }
                Piece::Text(text) => text.into(),
                Piece::Repeated(times, text) => text.repeat(*times).into(),
                Piece::Name => values.name.into(),
                Piece::Digits => values.digits.into(),
                Piece::Unknown => values.unknown.into(),
                Piece::Category(codec) => codec.written(values.category).into(),
                Piece::Id(codec) => codec.written(values.id?).into(),
                Piece::Key(codec) => codec.apply(values.key)?.into(),
            };
            filled.extend_from_slice(text.as_bytes());
        }
        Some(filled)
    }

    /// The text with a word for each placeholder.
    pub(super) fn described(&self) -> String {
        let mut described = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => described.push_str(&in_one_line(text)),
                Piece::Bytes(bytes) => bytes.iter().for_each(|byte| described.push_str(&format!("<{byte:02x}>"))),
                Piece::Repeated(times, text) => described.push_str(&format!("({} {times} times)", in_one_line(text))),
                Piece::Name => described.push_str("NAME"),
                Piece::Digits => described.push_str("DIGITS"),
                Piece::Unknown => described.push_str("(unknown key)"),
                Piece::Category(NumberCodec::Plain) => described.push_str("CATEGORY"),
                Piece::Category(codec) => described.push_str(&format!("(CATEGORY {})", codec.described())),
                Piece::Id(NumberCodec::Plain) => described.push_str("{petId}"),
                Piece::Id(codec) => described.push_str(&format!("{{petId {}}}", codec.described())),
                Piece::Key(KeyCodec::Plain) => described.push_str("KEY"),
                Piece::Key(codec) => described.push_str(&format!("(KEY {})", codec.described())),
            }
        }
        described
    }

    /// The length in bytes without the values of placeholders.
    pub(super) fn length(&self) -> usize {
        let length = |piece: &Piece| match piece {
            Piece::Text(text) => text.len(),
            Piece::Bytes(bytes) => bytes.len(),
            Piece::Repeated(times, text) => times * text.len(),
            _ => 0,
        };
        self.0.iter().map(length).sum()
    }

    pub(super) fn has_key(&self) -> bool {
        self.0.iter().any(|piece| matches!(piece, Piece::Key(_)))
    }

    pub(super) fn has_id(&self) -> bool {
        self.0.iter().any(|piece| matches!(piece, Piece::Id(_)))
    }
}

/// The text with its control characters escaped.
fn in_one_line(text: &str) -> String {
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escaped).collect()
}
