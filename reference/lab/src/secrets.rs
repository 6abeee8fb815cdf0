//! Secrets in texts: the names that announce one, and the replacement of known ones, encoded or not.

use std::collections::HashMap;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine;
use base64::prelude::BASE64_STANDARD_NO_PAD;

/// The minimum length of a secret that is replaced anywhere, in bytes. A shorter one may just be a word, and is replaced only where
/// a name announces it.
pub(crate) const LONG_ENOUGH: usize = 8;

/// The mark in place of a secret that has no stand-in.
pub(crate) const HIDDEN: &str = "redacted";

/// Returns true if the value of a header field, a parameter or an option of this name is secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    const WORDS: [&str; 10] =
        ["key", "token", "secret", "cookie", "auth", "session", "pass", "credential", "jwt", "assertion"];
    let name = name.to_ascii_lowercase();
    name == "sid" || name != "www-authenticate" && WORDS.iter().any(|word| name.contains(word))
}

/// Replaces known secrets in texts: as they are, with escapes of URLs and of JSON, and within base64.
#[derive(Default)]
pub(crate) struct Redactor {
    /// `None` if there is no secret to find.
    search: Option<AhoCorasick>,
    /// The stand-in of each secret, by the number of its pattern.
    stand_ins: Vec<String>,
}

impl Redactor {
    /// Replaces secrets with their stand-ins. Secrets that are too short for that are left out.
    pub(crate) fn new<'a>(secrets: impl IntoIterator<Item = (&'a str, &'a str)>) -> Redactor {
        let mut patterns = HashMap::new();
        for (secret, stand_in) in secrets.into_iter().filter(|(secret, _)| secret.len() >= LONG_ENOUGH) {
            patterns.insert(secret.to_owned(), stand_in);
            for shift in 0..3 {
                let standard = in_base64(secret.as_bytes(), shift);
                patterns.entry(standard.replace('+', "-").replace('/', "_")).or_insert(stand_in);
                patterns.entry(standard).or_insert(stand_in);
            }
        }
        let (patterns, stand_ins): (Vec<String>, Vec<&str>) = patterns.into_iter().unzip();
        // Building fails only with more patterns than memory has room for.
        let search = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&patterns).ok();
        Redactor {
            search: search.filter(|_| !patterns.is_empty()),
            stand_ins: stand_ins.into_iter().map(str::to_owned).collect(),
        }
    }

    /// The text without secrets.
    pub(crate) fn text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.bytes(text.as_bytes())).into_owned()
    }

    /// The bytes without secrets.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let plain = self.replaced(bytes, bytes, |found| found);
        let Some(unescaped) = Unescaped::new(&plain) else { return plain };
        self.replaced(&plain, &unescaped.bytes, |found| {
            unescaped.places[found.start].start..unescaped.places[found.end - 1].end
        })
    }

    /// Searches the decoded bytes `meaning`, and replaces the part of `bytes` that `place` gives for each match.
    fn replaced(&self, bytes: &[u8], meaning: &[u8], place: impl Fn(Range<usize>) -> Range<usize>) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        let mut done = 0;
        for found in self.search.iter().flat_map(|search| search.find_iter(meaning)) {
            let place = place(found.range());
            out.extend_from_slice(&bytes[done..place.start]);
            out.extend_from_slice(self.stand_ins[found.pattern().as_usize()].as_bytes());
            done = place.end;
        }
        out.extend_from_slice(&bytes[done..]);
        out
    }
}

/// The characters that a secret determines alone where this many bytes stand before it in a text that is encoded in base64.
fn in_base64(secret: &[u8], shift: usize) -> String {
    let encoded = BASE64_STANDARD_NO_PAD.encode([&[0; 2][..shift], secret].concat());
    let end = (shift + secret.len()) * 8 / 6;
    encoded[(shift * 8).div_ceil(6)..end].to_owned()
}

/// A text without escapes, and the place in the text that each byte of it comes from.
struct Unescaped {
    bytes: Vec<u8>,
    places: Vec<Range<usize>>,
}

impl Unescaped {
    /// `None` for a text without escapes.
    fn new(text: &[u8]) -> Option<Unescaped> {
        if !text.iter().any(|byte| matches!(byte, b'%' | b'\\')) {
            return None;
        }
        let mut unescaped = Unescaped { bytes: Vec::new(), places: Vec::new() };
        let mut at = 0;
        while at < text.len() {
            let (byte, length) = escape(&text[at..]).unwrap_or((text[at], 1));
            unescaped.bytes.push(byte);
            unescaped.places.push(at..at + length);
            at += length;
        }
        Some(unescaped)
    }
}

/// The text without escapes of URLs.
pub(crate) fn unescaped(text: &str) -> String {
    Unescaped::new(text.as_bytes())
        .map_or_else(|| text.to_owned(), |unescaped| String::from_utf8_lossy(&unescaped.bytes).into_owned())
}

/// The byte that an escape at the beginning of this text stands for, and the length of the escape.
fn escape(text: &[u8]) -> Option<(u8, usize)> {
    let (digits, start) = match text {
        [b'%', digits @ ..] => (digits.get(..2)?, 1),
        [b'\\', b'u', digits @ ..] => (digits.get(..4)?, 2),
        [b'\\', escaped, ..] if escaped.is_ascii_punctuation() => return Some((*escaped, 2)),
        _ => return None,
    };
    let value = digits.iter().try_fold(0, |value, digit| Some(value * 16 + char::from(*digit).to_digit(16)?))?;
    Some((u8::try_from(value).ok()?, start + digits.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "k+/ey-1234";

    #[test]
    fn a_secret_is_found_as_it_is_in_escapes_and_at_each_place_in_base64() {
        let redactor = Redactor::new([(KEY, "STAND-IN")]);
        for (text, expected) in [
            ("a k+/ey-1234 b", "a STAND-IN b"),
            ("a=k%2B%2Fey-1234&b", "a=STAND-IN&b"),
            ("a=k%2b/ey%2d1234&b", "a=STAND-IN&b"),
            (r#"{"a":"k+\/ey-123\u0034"}"#, r#"{"a":"STAND-IN"}"#),
            ("%k+/ey-123", "%k+/ey-123"),
        ] {
            assert_eq!(redactor.text(text), expected);
        }
        for before in ["", "u", "us", "use", "user:"] {
            let encoded = BASE64_STANDARD_NO_PAD.encode(format!("{before}{KEY}:more"));
            for encoded in [encoded.replace('+', "-").replace('/', "_"), encoded] {
                assert!(redactor.text(&encoded).contains("STAND-IN"), "{before}");
            }
        }
        assert_eq!(redactor.bytes(b"\xff k+/ey-1234"), b"\xff STAND-IN");
    }

    #[test]
    fn of_two_secrets_that_begin_alike_the_longer_one_is_replaced_and_short_ones_are_words() {
        let redactor = Redactor::new([("long-key", "A"), ("long-key-and-more", "B"), ("key", "C")]);
        assert_eq!(redactor.text("long-key-and-more long-key key"), "B A key");
        assert_eq!(Redactor::new([]).text("x%41"), "x%41");
    }

    #[test]
    fn names_of_secrets_are_known_and_those_of_other_fields_are_not() {
        for name in ["X-Api-Key", "Proxy-Authorization", "X-Pass", "api_key", "--token", "Cf-Access-Jwt-Assertion"] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["Accept", "limit", "status", "WWW-Authenticate", "X-RateLimit-Limit", "Host"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
