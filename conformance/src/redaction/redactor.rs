//! Replaces secrets in texts and bytes.

use std::fmt;

use super::MIN_SECRET;

/// Replaces keys, and what was derived from them, by shell expansions.
///
/// The longest secret is matched first, so that a key is not mistaken for a shortened form of itself.
#[derive(Clone)]
pub struct Redactor {
    secrets: Vec<(String, String)>,
    /// Whether a secret begins with the byte of this value. Most of a text is passed over by it.
    begins: Bytes,
}

/// For each byte, whether it is one of a kind.
type Bytes = [bool; u8::MAX as usize + 1];

impl Default for Redactor {
    fn default() -> Redactor {
        Redactor { secrets: Vec::new(), begins: [false; u8::MAX as usize + 1] }
    }
}

/// A piece of redacted text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Piece<'t> {
    /// Text without a secret.
    Text(&'t str),
    /// The shell expansion that replaces a secret.
    Secret(&'t str),
}

impl Redactor {
    /// Adds a secret and the shell expansion that replaces it, such as `${CONFORM_API_KEY}`.
    pub fn hide(&mut self, secret: &str, expansion: impl Into<String>) {
        let Some(first) = secret.bytes().next().filter(|_| !self.secrets.iter().any(|(known, _)| known == secret))
        else {
            return;
        };
        self.begins[usize::from(first)] = true;
        self.secrets.push((secret.to_owned(), expansion.into()));
        self.secrets.sort_by_key(|(known, _)| std::cmp::Reverse(known.len()));
    }

    /// The redactor for the judge's own sentences: it leaves out secrets shorter than `MIN_SECRET`, which any sentence may contain.
    #[must_use]
    pub fn for_prose(&self) -> Redactor {
        let mut redactor = Redactor::default();
        for (secret, expansion) in self.secrets.iter().filter(|(secret, _)| secret.len() >= MIN_SECRET) {
            redactor.hide(secret, &**expansion);
        }
        redactor
    }

    /// Splits a text into pieces, none of which contains a secret.
    #[must_use]
    pub fn pieces<'t>(&'t self, text: &'t str) -> Vec<Piece<'t>> {
        let mut pieces = Vec::new();
        let bytes = text.as_bytes();
        let (mut done, mut at) = (0, 0);
        while at < bytes.len() {
            let found = if self.begins[bytes[at] as usize] { self.secret_at(&bytes[at..]) } else { None };
            match found {
                None => at += 1,
                Some((secret, expansion)) => {
                    if at > done {
                        pieces.push(Piece::Text(&text[done..at]));
                    }
                    pieces.push(Piece::Secret(expansion));
                    at += secret.len();
                    done = at;
                }
            }
        }
        if done < text.len() {
            pieces.push(Piece::Text(&text[done..]));
        }
        pieces
    }

    /// The longest secret with which this rest of a text begins.
    fn secret_at(&self, rest: &[u8]) -> Option<&(String, String)> {
        self.secrets.iter().find(|(secret, _)| rest.starts_with(secret.as_bytes()))
    }

    /// The text with every secret replaced.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        self.pieces(text)
            .into_iter()
            .map(|piece| match piece {
                Piece::Text(text) => text,
                Piece::Secret(expansion) => expansion,
            })
            .collect()
    }

    /// The bytes with every secret replaced, also where they are not UTF-8.
    #[must_use]
    pub fn redact_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        if let Ok(text) = std::str::from_utf8(bytes) {
            return self.redact(text).into_bytes();
        }
        // A character for each byte and back; secrets and expansions are ASCII, which is the same in both.
        let text: String = bytes.iter().copied().map(char::from).collect();
        self.redact(&text).chars().filter_map(|c| u8::try_from(c).ok()).collect()
    }

    /// [`Redactor::redact_bytes`] of the beginning, and whether more follows. Only the beginning of a long body is read; no part of
    /// a secret remains where it is cut.
    #[must_use]
    pub fn redact_beginning(&self, bytes: &[u8], at_most: usize) -> (Vec<u8>, bool) {
        let longest = self.secrets.first().map_or(0, |(secret, _)| secret.len());
        let Some(beginning) = bytes.get(..at_most + longest) else { return (self.redact_bytes(bytes), false) };
        let mut redacted = self.redact_bytes(beginning);
        redacted.truncate(redacted.len().saturating_sub(longest));
        (redacted, true)
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} secrets)", self.secrets.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_redacted_everywhere_and_also_when_it_is_shortened() {
        let mut redactor = Redactor::default();
        redactor.hide("sk-12", "${CUT}");
        redactor.hide("sk-123", "${KEY}");
        assert_eq!(redactor.redact("Bearer sk-123x, sk-12; sk-123"), "Bearer ${KEY}x, ${CUT}; ${KEY}");
        assert_eq!(redactor.pieces("sk-123"), [Piece::Secret("${KEY}")]);
    }

    #[test]
    fn a_key_between_bytes_that_are_not_utf_8_is_redacted_and_the_bytes_are_kept() {
        let mut redactor = Redactor::default();
        redactor.hide("sk-123", "${KEY}");
        assert_eq!(redactor.redact_bytes(b"\xff\x00sk-123\xfe"), b"\xff\x00${KEY}\xfe");
    }

    #[test]
    fn no_part_of_a_key_remains_where_a_text_is_truncated() {
        let mut redactor = Redactor::default();
        redactor.hide("sk-123", "${KEY}");
        let text = b"one sk-123 two sk-123 three";
        for at_most in 0..text.len() {
            let (beginning, more) = redactor.redact_beginning(text, at_most);
            let shown = String::from_utf8(beginning).unwrap();
            assert_eq!(more, at_most + "sk-123".len() <= text.len());
            assert!(!more || "one ${KEY} two ${KEY} three".starts_with(&shown), "{at_most}: {shown}");
            assert!(!shown.contains("sk-"), "{at_most}: {shown}");
        }
    }

    #[test]
    fn a_key_of_one_letter_leaves_the_words_of_the_judge_as_they_are() {
        let mut redactor = Redactor::default();
        redactor.hide("e", "${KEY}");
        redactor.hide("sk-123", "${OTHER}");
        assert_eq!(redactor.for_prose().redact("expected no sk-123"), "expected no ${OTHER}");
        assert_eq!(redactor.redact("Bearer e"), "B${KEY}ar${KEY}r ${KEY}");
    }

    #[test]
    fn a_key_shows_in_no_debug_output() {
        let mut redactor = Redactor::default();
        redactor.hide("sk-0451", "${KEY}");
        assert!(!format!("{redactor:?}").contains("0451"));
    }
}
