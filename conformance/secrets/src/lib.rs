//! Secrets in texts, with their encodings and their replacements, and texts that are safe to print. Judge, proxy and laboratory use it.
//!
//! A [`Redactor`] searches the text and each of its layers (see `layers`), down to a few encodings inside each other, with one automaton
//! for all secrets. A match is mapped back to the part of the text that it comes from. So no list of encoded forms is needed, and a key is
//! found as `sk%2D1`, in the middle of a base64 text, in hexadecimal digits within a JSON string, or in a compressed body. The same layers
//! are searched for credentials that are not known yet, see `announced`.
//!
//! ```
//! let mut redactor = animal_store_secrets::Redactor::default();
//! redactor.hide("sk-live-1234", "(the key)");
//! assert_eq!(redactor.redact("/pets?key=sk%2Dlive%2D1234"), "/pets?key=(the key)");
//! ```

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};

mod announced;
mod layers;
mod names;
pub mod printable;

pub use announced::{Announced, MOST_VALUES, announced, unescaped};
use layers::{Legible, escapes, is_printed, layers};
pub use names::{is_credential, is_ordinary};

/// The least length in bytes of a secret that is found in any case. A shorter one, in another case, would be an ordinary word.
pub const LEAST_DISTINCT: usize = 8;

/// The least length in bytes of a secret that is searched for in encodings and in the judge's own sentences. A shorter one would be found
/// everywhere.
pub const LEAST_SECRET: usize = 4;

/// The least length in bytes of a part of a secret that is as secret as the whole.
const PART: usize = 8;

/// The number of encodings inside each other that are undone.
const DEPTH: usize = 3;

/// The mark in place of a secret that has no name, and of a part of a secret.
pub const HIDDEN: &str = "(hidden)";

/// A set of secrets with their replacements, which finds and replaces them in texts in many encodings.
#[derive(Clone, Default)]
pub struct Redactor {
    secrets: Vec<Secret>,
    /// The index of each secret.
    known: HashMap<String, usize>,
    /// The search, built when it is first needed after the last secret was added.
    search: OnceLock<Arc<Search>>,
}

#[derive(Clone)]
struct Secret {
    text: String,
    replacement: String,
    /// Whether parts of the secret are secret as well.
    has_parts: bool,
}

/// A piece of a redacted text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Piece<'t> {
    /// Text without a secret.
    Text(&'t str),
    /// The replacement of a secret.
    Secret(&'t str),
}

impl Redactor {
    /// Adds a secret and its replacement, such as the shell expansion `${CONFORM_API_KEY}`. A secret that is known keeps its replacement.
    pub fn hide(&mut self, secret: &str, replacement: impl Into<String>) {
        self.add(secret, replacement.into(), false);
    }

    /// Adds a key and its replacement: parts of eight or more characters are hidden as well, except ordinary words.
    pub fn hide_key(&mut self, secret: &str, replacement: impl Into<String>) {
        self.add(secret, replacement.into(), true);
    }

    fn add(&mut self, secret: &str, replacement: String, has_parts: bool) {
        if !secret.is_empty() && !self.known.contains_key(secret) {
            self.known.insert(secret.to_owned(), self.secrets.len());
            self.secrets.push(Secret { text: secret.to_owned(), replacement, has_parts });
            self.search = OnceLock::new();
        }
    }

    /// The number of secrets.
    pub fn count(&self) -> usize {
        self.secrets.len()
    }

    /// The replacement of a secret, if it is known.
    pub fn replacement(&self, secret: &str) -> Option<&str> {
        self.known.get(secret).map(|at| self.secrets[*at].replacement.as_str())
    }

    /// The redactor for the judge's own sentences, without the secrets that are so short that any sentence may contain them.
    #[must_use]
    pub fn for_prose(&self) -> Redactor {
        if self.secrets.iter().all(|secret| secret.text.len() >= LEAST_SECRET) {
            // The clone shares the search only if it is built before.
            self.search();
            return self.clone();
        }
        let mut redactor = Redactor::default();
        for secret in self.secrets.iter().filter(|secret| secret.text.len() >= LEAST_SECRET) {
            redactor.add(&secret.text, secret.replacement.clone(), secret.has_parts);
        }
        redactor
    }

    /// The redactor for the judge's own notes, which hides whole secrets only: a part of a key may be a common word.
    #[must_use]
    pub fn for_notes(&self) -> Redactor {
        let mut redactor = self.for_prose();
        redactor.secrets.iter_mut().for_each(|secret| secret.has_parts = false);
        redactor.search = OnceLock::new();
        redactor
    }

    /// Returns true if the text contains a secret.
    pub fn finds_in(&self, text: &[u8]) -> bool {
        !self.found(text).is_empty()
    }

    /// Splits a text into pieces without secrets and the replacements of its secrets.
    pub fn pieces<'t>(&'t self, text: &'t str) -> Vec<Piece<'t>> {
        let mut pieces = Vec::new();
        let mut done = 0;
        for (place, replacement) in self.found(text.as_bytes()) {
            if place.start > done {
                pieces.push(Piece::Text(&text[done..place.start]));
            }
            pieces.push(Piece::Secret(replacement));
            done = place.end;
        }
        if done < text.len() {
            pieces.push(Piece::Text(&text[done..]));
        }
        pieces
    }

    /// The text with every secret replaced.
    pub fn redact(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.redact_bytes(text.as_bytes())).into_owned()
    }

    /// The bytes with every secret replaced, also where they are not UTF-8.
    pub fn redact_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        self.redact_beginning(bytes, bytes.len()).0
    }

    /// The first bytes of a body with every secret replaced, and true if the body has more. Only the beginning of a long body is read. A
    /// secret that goes on after the last of these bytes is replaced as well.
    pub fn redact_beginning(&self, bytes: &[u8], at_most: usize) -> (Vec<u8>, bool) {
        /// The longest encoding of a byte is an escape within another one.
        const LONGEST_ENCODING: usize = 12;
        let end = bytes.len().min(at_most);
        let read = &bytes[..bytes.len().min(at_most + self.search().longest * LONGEST_ENCODING)];
        let mut redacted = Vec::with_capacity(end);
        let mut done = 0;
        for (place, replacement) in self.found(read).into_iter().filter(|(place, _)| place.start < end) {
            redacted.extend_from_slice(&read[done..place.start]);
            redacted.extend_from_slice(replacement.as_bytes());
            done = place.end;
        }
        redacted.extend_from_slice(read.get(done..end).unwrap_or_default());
        (redacted, end < bytes.len())
    }

    /// The bytes with each secret replaced. A replacement of the length of its secret gets the case of the letters that it replaces. A secret
    /// in an encoding that is no secret itself is replaced by the plain replacement.
    pub fn substitute(&self, bytes: &[u8]) -> Vec<u8> {
        let mut text = Vec::with_capacity(bytes.len());
        let mut done = 0;
        for (place, plain) in self.found(bytes) {
            text.extend_from_slice(&bytes[done..place.start]);
            done = place.end;
            let shown = &bytes[place];
            let found = self.search().find(shown, true).into_iter().find(|found| found.place == (0..shown.len()));
            let form = found.map(|found| (found.part.unwrap_or_default(), &self.search().forms[found.form]));
            let form =
                form.map(|(offset, form)| (offset, &form.text, self.secrets[form.secret].replacement.as_bytes()));
            let Some((offset, sought, new)) = form.filter(|(_, sought, new)| sought.len() == new.len()) else {
                text.extend_from_slice(plain.as_bytes());
                continue;
            };
            for ((byte, sought), new) in shown.iter().zip(&sought[offset..]).zip(&new[offset..]) {
                text.push(match *byte {
                    same if same == *sought => *new,
                    b' ' if *sought == b'+' => b' ',
                    upper if upper.is_ascii_uppercase() => new.to_ascii_uppercase(),
                    _ => new.to_ascii_lowercase(),
                });
            }
        }
        text.extend_from_slice(&bytes[done..]);
        text
    }

    /// The text with each secret replaced as by [`Redactor::substitute`].
    pub fn substitute_text(&self, text: &str) -> String {
        // Secrets are ASCII, and so are their encodings.
        String::from_utf8_lossy(&self.substitute(text.as_bytes())).into_owned()
    }

    /// The places of secrets in a text, in order and without overlap, and the replacement of each.
    fn found(&self, text: &[u8]) -> Vec<(Range<usize>, &str)> {
        if self.secrets.is_empty() {
            return Vec::new();
        }
        let mut found = self.search().find_decoded(text, DEPTH);
        found.sort_by_key(|found| (found.place.start, Reverse(found.place.end)));
        let mut places: Vec<(Range<usize>, &str)> = Vec::new();
        for Found { place, form, part } in found {
            match places.last_mut() {
                Some((last, _)) if place.start < last.end => last.end = last.end.max(place.end),
                _ => {
                    let secret = &self.secrets[self.search().forms[form].secret];
                    places.push((place, if part.is_some() { HIDDEN } else { &secret.replacement }));
                }
            }
        }
        places
    }

    fn search(&self) -> &Search {
        self.search.get_or_init(|| Arc::new(Search::new(&self.secrets)))
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} secrets)", self.secrets.len())
    }
}

/// A text by which a secret is recognised: the secret itself, or the secret with its apparent escapes undone.
struct Form {
    text: Vec<u8>,
    secret: usize,
}

/// A pattern of the automaton: a form, or a part of one.
#[derive(Default)]
struct Pattern {
    /// The indices of the forms that have the pattern, except for case.
    forms: Vec<usize>,
    /// The index in the form at which a part begins; `None` for a whole form.
    part: Option<usize>,
}

/// A secret, or a part of one, in a text.
struct Found {
    place: Range<usize>,
    form: usize,
    /// The index in the form at which a part begins; `None` for a whole form.
    part: Option<usize>,
}

/// A search for all secrets at once.
struct Search {
    automaton: AhoCorasick,
    patterns: Vec<Pattern>,
    forms: Vec<Form>,
    /// The number of bytes of the longest secret.
    longest: usize,
    is_legible: Legible,
}

/// The text in lower case, with spaces for plus signs, to compare texts without regard to both.
fn folded(text: &[u8]) -> Vec<u8> {
    text.iter().map(|byte| if *byte == b'+' { b' ' } else { byte.to_ascii_lowercase() }).collect()
}

impl Search {
    fn new(secrets: &[Secret]) -> Search {
        let mut forms: Vec<Form> = Vec::new();
        let mut patterns: BTreeMap<Vec<u8>, Pattern> = BTreeMap::new();
        for (secret, Secret { text, .. }) in secrets.iter().enumerate() {
            let mut form = text.as_bytes().to_vec();
            loop {
                patterns.entry(folded(&form)).or_default().forms.push(forms.len());
                let next = escapes(&form).map(|layer| layer.bytes);
                forms.push(Form { text: form, secret });
                match next.filter(|next| next.len() >= LEAST_DISTINCT && next.len() < text.len() && next.is_ascii()) {
                    Some(next) if !forms.iter().any(|form| form.text == next) => form = next,
                    _ => break,
                }
            }
        }
        for (at, form) in forms.iter().enumerate().filter(|(_, form)| secrets[form.secret].has_parts) {
            for (offset, part) in form.text.windows(PART).enumerate() {
                if !is_ordinary(&String::from_utf8_lossy(part)) {
                    patterns.entry(folded(part)).or_insert(Pattern { forms: vec![at], part: Some(offset) });
                }
            }
        }
        // Secrets become known one by one, and texts are short: the other kinds of automata take longer to build than they save.
        let automaton = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::NoncontiguousNFA))
            .match_kind(MatchKind::LeftmostLongest)
            .build(patterns.keys())
            .unwrap_or_else(|_| unreachable!("the secrets of a run or a recording are by far fewer than two billion"));
        // The value of a variable may be of several lines, or of letters beyond ASCII.
        let are_printed = secrets.iter().all(|secret| secret.text.bytes().all(is_printed));
        Search {
            automaton,
            patterns: patterns.into_values().collect(),
            forms,
            longest: secrets.iter().map(|secret| secret.text.len()).max().unwrap_or_default(),
            is_legible: if are_printed { is_printed } else { |_| true },
        }
    }

    /// The secrets in a text without its layers, from left to right and without overlap.
    fn find(&self, text: &[u8], is_outermost: bool) -> Vec<Found> {
        let (folded_text, mut all, mut at) = (folded(text), Vec::new(), 0);
        while let Some(found) = self.automaton.find(Input::new(&folded_text).range(at..)) {
            let pattern = &self.patterns[found.pattern().as_usize()];
            let place = found.range();
            at = place.start + 1;
            let shown = &text[place.clone()];
            let exact = pattern.forms.iter().find(|form| self.forms[**form].text == shown);
            let form = match (pattern.part, exact) {
                (None, Some(form)) if shown.len() >= LEAST_SECRET || is_outermost => *form,
                (None, None) if shown.len() >= LEAST_DISTINCT => pattern.forms[0],
                (Some(_), _) => pattern.forms[0],
                _ => continue,
            };
            let offset = pattern.part.unwrap_or_default();
            // A part goes on as far as the text goes on like the form.
            let rest = folded(&self.forms[form].text[offset + shown.len()..]);
            at = place.end
                + rest.iter().zip(&folded_text[place.end..]).take_while(|(sought, shown)| sought == shown).count();
            all.push(Found { place: place.start..at, form, part: pattern.part });
        }
        all
    }

    /// The secrets in a text and in its layers.
    fn find_decoded(&self, text: &[u8], depth: usize) -> Vec<Found> {
        let mut all = self.find(text, depth == DEPTH);
        if depth > 0 {
            for layer in layers(text, self.is_legible) {
                let inside = self.find_decoded(&layer.bytes, depth - 1);
                all.extend(inside.into_iter().map(|found| Found { place: layer.place(&found.place), ..found }));
            }
        }
        all
    }
}

#[cfg(test)]
mod tests;
