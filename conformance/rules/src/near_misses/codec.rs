//! The ways in which a near miss writes a number, an identifier or a key.

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};

/// Makes an enumeration of codecs: each with its name in the table, its words for reports, and the text that it writes of a value.
macro_rules! codecs {
    (
        $(#[$meta:meta])*
        $visibility:vis enum $name:ident($value:ident: $type:ty) {
            $($codec:ident $text:literal $described:literal => $written:expr,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        $visibility enum $name {
            $(#[doc = $described] $codec,)*
        }

        impl $name {
            const ALL: &[($name, &str)] = &[$(($name::$codec, $text),)*];

            /// The codec with this name in the table; without a name, the plain form.
            pub(super) fn named(name: &str) -> Option<$name> {
                Self::ALL.iter().find(|(_, text)| *text == name).map(|(codec, _)| *codec)
            }

            /// The codec in words.
            pub(super) fn described(self) -> &'static str {
                match self {
                    $($name::$codec => $described,)*
                }
            }

            /// The value as the codec writes it.
            pub(super) fn written(self, $value: $type) -> String {
                match self {
                    $($name::$codec => $written,)*
                }
            }
        }
    };
}

codecs! {
    /// A way to write an integer: a category, or the identifier of an animal.
    pub(super) enum NumberCodec(number: i64) {
        Plain "" "as it is" => number.to_string(),
        Hex "hex" "in hexadecimal" => signed(number, &format!("{:#x}", number.unsigned_abs())),
        Octal "octal" "in octal" => signed(number, &format!("{:#o}", number.unsigned_abs())),
        Binary "binary" "in binary" => signed(number, &format!("{:#b}", number.unsigned_abs())),
        FullWidth "fullwidth" "in full-width digits" => in_digits(number, '\u{ff10}'),
        Arabic "arabic" "in Arabic digits" => in_digits(number, '\u{660}'),
        Plus32 "plus2^32" "+ 2^32" => (i128::from(number) + (1 << 32)).to_string(),
        Plus64 "plus2^64" "+ 2^64" => (i128::from(number) + (1 << 64)).to_string(),
        Plus128 "plus2^128" "+ 2^128" => plus_2_to_the_128(number),
        Padded "padded" "with leading zeros" => signed(number, &format!("000{}", number.unsigned_abs())),
        Negated "negated" "negated" => (-i128::from(number)).to_string(),
        Percent "percent" "percent-encoded" => percent(number.to_string().as_bytes()),
        Underscored "underscored" "with an underscore" => {
            let text = number.to_string();
            format!("{}_{}", &text[..text.len() - 1], &text[text.len() - 1..])
        },
        Neighbour "neighbour" "of a neighbour" => {
            // Beyond 2^53 a double cannot tell neighbours apart, and 32 bits hold none of the ids.
            let is_large = number.unsigned_abs() > 1 << 53;
            if is_large { number ^ 1 } else { number.wrapping_add(1 << 33) }.to_string()
        },
    }
}

codecs! {
    /// A way to change the key.
    pub enum KeyCodec(key: &str) {
        Plain "" "as it is" => key.to_owned(),
        Percent "percent" "percent-encoded" => percent(key.as_bytes()),
        PercentLast "percent-last" "with its last character percent-encoded" => {
            let (beginning, last) = key.split_at(key.len() - 1);
            format!("{beginning}{}", percent(last.as_bytes()))
        },
        Upper "upper" "in upper case" => key.to_ascii_uppercase(),
        Lower "lower" "in lower case" => key.to_ascii_lowercase(),
        Toggle "toggle" "in another case" => toggle_case(key),
        Base64 "base64" "in base64" => BASE64_STANDARD.encode(key),
        Base64Url "base64url" "in base64url" => BASE64_URL_SAFE_NO_PAD.encode(key),
        Hex "hex" "in hexadecimal" => key.bytes().map(|byte| format!("{byte:02x}")).collect(),
        Reversed "reversed" "reversed" => key.chars().rev().collect(),
        Headless "headless" "without its first character" => key[1..].to_owned(),
        Shorter "shorter" "without its last character" => key[..key.len() - 1].to_owned(),
        Half "half" "without its last third" => key[..key.len() * 2 / 3].to_owned(),
        OtherEnd "other-end" "with another last character" => with_another_character(key, key.len() - 1),
        OtherFirst "other-first" "with another first character" => with_another_character(key, 0),
        OtherMiddle "other-middle" "with another character in the middle" => with_another_character(key, key.len() / 2),
        Swapped "swapped" "with its last two characters exchanged" => {
            let (beginning, end) = key.split_at(key.len().saturating_sub(2));
            format!("{beginning}{}", end.chars().rev().collect::<String>())
        },
        Unpunctuated "unpunctuated" "without its punctuation" => key.chars().filter(char::is_ascii_alphanumeric).collect(),
        Doubled "doubled" "twice" => key.repeat(2),
        BasicUser "basic-user" "as the user of Basic" => BASE64_STANDARD.encode(format!("{key}:")),
        BasicPassword "basic-password" "as the password of Basic" => BASE64_STANDARD.encode(format!(":{key}")),
        BasicBoth "basic-both" "as user and password of Basic" => BASE64_STANDARD.encode(format!("{key}:{key}")),
    }
}

impl KeyCodec {
    /// The codecs that change a key.
    pub fn changes() -> impl Iterator<Item = KeyCodec> {
        KeyCodec::ALL.iter().map(|(codec, _)| *codec).filter(|codec| *codec != KeyCodec::Plain)
    }

    /// Writes a key, which is ASCII. `None` if the key is empty, or if the change leaves this key as it is.
    pub fn apply(self, key: &str) -> Option<String> {
        let written = (!key.is_empty()).then(|| self.written(key))?;
        (self == KeyCodec::Plain || written != key).then_some(written)
    }
}

fn signed(number: i64, size: &str) -> String {
    format!("{}{size}", if number < 0 { "-" } else { "" })
}

/// The number in the decimal digits of another script, given its zero.
fn in_digits(number: i64, zero: char) -> String {
    let digit = |c: char| c.to_digit(10).and_then(|digit| char::from_u32(u32::from(zero) + digit)).unwrap_or(c);
    number.to_string().chars().map(digit).collect()
}

/// The characters that replace a character of a key: the first, or where the key has the first, the second.
pub const REPLACEMENTS: [char; 2] = ['x', 'y'];

/// The key with the character at this index replaced. A key is ASCII.
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
