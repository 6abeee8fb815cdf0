//! The ways in which a near miss writes a number, an identifier or a key.

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};

/// Makes an enumeration of codecs that are named in the table, with the words for reports.
macro_rules! codecs {
    ($(#[$meta:meta])* $visibility:vis enum $name:ident { $($variant:ident $text:literal $described:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        $visibility enum $name {
            /// As it is.
            Plain,
            $(#[doc = $described] $variant,)*
        }

        impl $name {
            /// The codecs that change what they write, each with its name in the table and its words.
            const CHANGES: &[($name, &str, &str)] = &[$(($name::$variant, $text, $described),)*];

            /// The codec with this name in the table; without a name, the plain form.
            pub(super) fn named(name: &str) -> Option<$name> {
                let known = Self::CHANGES.iter().find(|(_, text, _)| *text == name).map(|(codec, ..)| *codec);
                known.or_else(|| name.is_empty().then_some($name::Plain))
            }

            /// The codec in words.
            pub(super) fn described(self) -> &'static str {
                Self::CHANGES.iter().find(|(codec, ..)| *codec == self).map_or("", |(.., described)| described)
            }
        }
    };
}

codecs! {
    /// A way to write an integer: a category, or the identifier of an animal.
    pub(super) enum NumberCodec {
        Hex "hex" "in hexadecimal",
        Octal "octal" "in octal",
        Binary "binary" "in binary",
        FullWidth "fullwidth" "in full-width digits",
        Arabic "arabic" "in Arabic digits",
        Plus32 "plus2^32" "+ 2^32",
        Plus64 "plus2^64" "+ 2^64",
        Plus128 "plus2^128" "+ 2^128",
        Padded "padded" "with leading zeros",
        Negated "negated" "negated",
        Percent "percent" "percent-encoded",
        Underscored "underscored" "with an underscore",
        Neighbour "neighbour" "of a neighbour",
    }
}

impl NumberCodec {
    /// Writes a number.
    pub(super) fn apply(self, number: i64) -> String {
        let in_digits = |zero: char| {
            let digit = |c: char| c.to_digit(10).and_then(|digit| char::from_u32(u32::from(zero) + digit)).unwrap_or(c);
            number.to_string().chars().map(digit).collect()
        };
        let (sign, size) = (if number < 0 { "-" } else { "" }, number.unsigned_abs());
        match self {
            NumberCodec::Plain => number.to_string(),
            NumberCodec::Hex => format!("{sign}{size:#x}"),
            NumberCodec::Octal => format!("{sign}{size:#o}"),
            NumberCodec::Binary => format!("{sign}{size:#b}"),
            NumberCodec::FullWidth => in_digits('\u{ff10}'),
            NumberCodec::Arabic => in_digits('\u{660}'),
            NumberCodec::Plus32 => (i128::from(number) + (1 << 32)).to_string(),
            NumberCodec::Plus64 => (i128::from(number) + (1 << 64)).to_string(),
            NumberCodec::Plus128 => plus_2_to_the_128(number),
            NumberCodec::Padded => format!("{sign}000{size}"),
            NumberCodec::Negated => (-i128::from(number)).to_string(),
            NumberCodec::Percent => percent(number.to_string().as_bytes()),
            NumberCodec::Underscored => {
                let text = number.to_string();
                format!("{}_{}", &text[..text.len() - 1], &text[text.len() - 1..])
            }
            // Beyond 2^53 a double cannot tell neighbours apart, and 32 bits hold none of the ids.
            NumberCodec::Neighbour if size > 1 << 53 => (number ^ 1).to_string(),
            NumberCodec::Neighbour => number.wrapping_add(1 << 33).to_string(),
        }
    }
}

codecs! {
    /// A way to change the key.
    pub enum KeyCodec {
        Percent "percent" "percent-encoded",
        PercentLast "percent-last" "with its last character percent-encoded",
        Upper "upper" "in upper case",
        Lower "lower" "in lower case",
        Toggle "toggle" "in another case",
        Base64 "base64" "in base64",
        Base64Url "base64url" "in base64url",
        Hex "hex" "in hexadecimal",
        Reversed "reversed" "reversed",
        Headless "headless" "without its first character",
        Shorter "shorter" "without its last character",
        Half "half" "without its last third",
        OtherEnd "other-end" "with another last character",
        OtherFirst "other-first" "with another first character",
        OtherMiddle "other-middle" "with another character in the middle",
        Swapped "swapped" "with its last two characters exchanged",
        Unpunctuated "unpunctuated" "without its punctuation",
        Doubled "doubled" "twice",
        BasicUser "basic-user" "as the user of Basic",
        BasicPassword "basic-password" "as the password of Basic",
        BasicBoth "basic-both" "as user and password of Basic",
    }
}

impl KeyCodec {
    /// The codecs that change a key.
    pub fn changes() -> impl Iterator<Item = KeyCodec> {
        KeyCodec::CHANGES.iter().map(|(codec, ..)| *codec)
    }

    /// Writes a key, which is ASCII. `None` if the change leaves this key as it is.
    #[must_use]
    pub fn apply(self, key: &str) -> Option<String> {
        let last = key.len().checked_sub(1)?;
        let another = |at: usize| with_another_character(key, at);
        let changed = match self {
            KeyCodec::Plain => return Some(key.to_owned()),
            KeyCodec::Percent => percent(key.as_bytes()),
            KeyCodec::PercentLast => format!("{}{}", &key[..last], percent(&key.as_bytes()[last..])),
            KeyCodec::Upper => key.to_ascii_uppercase(),
            KeyCodec::Lower => key.to_ascii_lowercase(),
            KeyCodec::Toggle => toggle_case(key),
            KeyCodec::Base64 => BASE64_STANDARD.encode(key),
            KeyCodec::Base64Url => BASE64_URL_SAFE_NO_PAD.encode(key),
            KeyCodec::Hex => key.bytes().map(|byte| format!("{byte:02x}")).collect(),
            KeyCodec::Reversed => key.chars().rev().collect(),
            KeyCodec::Headless => key[1..].to_owned(),
            KeyCodec::Shorter => key[..last].to_owned(),
            KeyCodec::Half => key[..key.len() * 2 / 3].to_owned(),
            KeyCodec::OtherEnd => another(last),
            KeyCodec::OtherFirst => another(0),
            KeyCodec::OtherMiddle => another(key.len() / 2),
            KeyCodec::Swapped => {
                let at = last.checked_sub(1)?;
                format!("{}{}{}", &key[..at], &key[last..], &key[at..last])
            }
            KeyCodec::Unpunctuated => key.chars().filter(char::is_ascii_alphanumeric).collect(),
            KeyCodec::Doubled => key.repeat(2),
            KeyCodec::BasicUser => BASE64_STANDARD.encode(format!("{key}:")),
            KeyCodec::BasicPassword => BASE64_STANDARD.encode(format!(":{key}")),
            KeyCodec::BasicBoth => BASE64_STANDARD.encode(format!("{key}:{key}")),
        };
        (changed != key).then_some(changed)
    }
}

/// The characters that replace a character of a key: the first, or where the key has the first, the second.
pub const REPLACEMENTS: [char; 2] = ['x', 'y'];

/// The key with the character at this index replaced. A key is ASCII.
#[must_use]
pub fn with_another_character(key: &str, at: usize) -> String {
    let [usual, other] = REPLACEMENTS;
    let replacement = if key[at..].starts_with(usual) { other } else { usual };
    format!("{}{replacement}{}", &key[..at], &key[at + 1..])
}

/// The key with the case of each letter inverted.
fn toggle_case(key: &str) -> String {
    key.chars().map(|c| if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }).collect()
}

/// The text with every byte percent-encoded.
fn percent(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("%{byte:02X}")).collect()
}

/// The key as a value in a query, as clients write it.
#[must_use]
pub fn percent_encoded(key: &str) -> String {
    let is_kept = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    key.bytes().map(|byte| if is_kept(byte) { char::from(byte).to_string() } else { percent(&[byte]) }).collect()
}

/// The decimal digits of a number plus 2^128: 39 digits, which no usual type holds, and which wrap round to the number.
fn plus_2_to_the_128(number: i64) -> String {
    // 2^128 in two parts, the lower one of 19 digits.
    const PARTS: (i128, i128) = (34_028_236_692_093_846_346, 3_374_607_431_768_211_456);
    const BASE: i128 = 10_000_000_000_000_000_000;
    let low = PARTS.1 + i128::from(number);
    format!("{}{:019}", PARTS.0 + low.div_euclid(BASE), low.rem_euclid(BASE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap_round_at_2_to_the_128() {
        assert_eq!(plus_2_to_the_128(0), "340282366920938463463374607431768211456");
        assert_eq!(plus_2_to_the_128(-1), u128::MAX.to_string());
        assert_eq!(plus_2_to_the_128(i64::MAX), "340282366920938463472597979468622987263");
    }

    #[test]
    fn a_change_that_leaves_the_key_as_it_is_gives_none() {
        for (codec, key) in [
            (KeyCodec::Upper, "0000"),
            (KeyCodec::Toggle, "12-34"),
            (KeyCodec::Reversed, "abba"),
            (KeyCodec::Swapped, "0000"),
        ] {
            assert_eq!(codec.apply(key), None, "{codec:?} of {key}");
        }
        assert_eq!(KeyCodec::Swapped.apply("sk-Key12"), Some("sk-Key21".to_owned()));
    }
}
