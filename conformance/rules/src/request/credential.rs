//! The credential of a request: a valid key, none, or one whose form is debatable.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::trace::Context;
use crate::trace::exchange::Request;

/// With which credential a request comes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Credential {
    /// A valid key, in the described form; its index in the context.
    Valid(usize),
    /// A valid key in a form that HTTP allows and the specification does not show, such as `bearer`.
    Ambiguous,
    /// A valid key, in the described form, while it may have been banned: whatever refuses it is lawful.
    Banned,
    /// No valid key.
    Invalid(Defect),
}

impl Credential {
    /// Whether there is beyond doubt no valid key.
    #[must_use]
    pub fn is_invalid(self) -> bool {
        matches!(self, Credential::Invalid(_))
    }
}

/// In which way a valid key is lacking.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Defect {
    /// There is no credential at all.
    Absent,
    /// There is one that nobody issued.
    Unknown,
    /// There is one that resembles a valid key.
    Inexact,
    /// A valid key was sent, but not as a bearer token in the header.
    NotBearer,
}

/// Whether a text holds a key as it is, or within Basic authentication.
fn holds(text: &str, key: &str) -> bool {
    let decoded = text.rsplit(' ').next().and_then(|last| BASE64_STANDARD.decode(last).ok());
    text.contains(key) || decoded.is_some_and(|bytes| String::from_utf8_lossy(&bytes).contains(key))
}

/// Reads the credential of a request.
#[must_use]
pub fn credential(request: &Request, context: &Context) -> Credential {
    let holds_key = |text: &str| context.keys.iter().any(|key| holds(text, key.reveal()));
    let Some(value) = &request.authorization else {
        let elsewhere = request.query.as_deref().is_some_and(holds_key)
            || request.headers.iter().any(|(_, value)| holds_key(value));
        return Credential::Invalid(if elsewhere { Defect::NotBearer } else { Defect::Absent });
    };
    let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Credential::Invalid(if holds_key(value) { Defect::NotBearer } else { Defect::Unknown });
    }
    for (index, key) in context.keys.iter().enumerate() {
        let key = key.reveal();
        if token == key {
            return if scheme == "Bearer" { Credential::Valid(index) } else { Credential::Ambiguous };
        }
        if token.trim() == key {
            return Credential::Ambiguous;
        }
    }
    let token = token.trim();
    let differs_at_the_end = |key: &str| {
        let ends = [token, key].map(|text| text.char_indices().last().map_or(0, |(at, _)| at));
        token.len() == key.len() && ends[0] == ends[1] && token[..ends[0]] == key[..ends[1]]
    };
    let resembles = |key: &str| {
        let alike = token.contains(key) || key.contains(token) || token.eq_ignore_ascii_case(key);
        !token.is_empty() && (alike || differs_at_the_end(key))
    };
    let inexact = context.keys.iter().any(|key| resembles(key.reveal()));
    Credential::Invalid(if inexact { Defect::Inexact } else { Defect::Unknown })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_key_in_the_described_form_is_valid() {
        let request = || Request::new("GET", "/pets");
        let read = |value: &str| credential(&request().authorization(value), &Context::for_test());
        assert_eq!(read("Bearer sk-Key1"), Credential::Valid(0));
        assert_eq!(read("bearer sk-Key1"), Credential::Ambiguous);
        assert_eq!(read("Bearer  sk-Key1"), Credential::Ambiguous);
        assert_eq!(read("Bearer sk-key1"), Credential::Invalid(Defect::Inexact));
        assert_eq!(read("Bearer sk-Key"), Credential::Invalid(Defect::Inexact));
        assert_eq!(read("Bearer sk-Key1x"), Credential::Invalid(Defect::Inexact));
        assert_eq!(read("Bearer sk-Key2"), Credential::Invalid(Defect::Inexact));
        assert_eq!(read("Bearer sk-Ke\u{e9}"), Credential::Invalid(Defect::Unknown));
        assert_eq!(read("Bearer other"), Credential::Invalid(Defect::Unknown));
        assert_eq!(read("Bearer"), Credential::Invalid(Defect::Unknown));
        assert_eq!(read("sk-Key1"), Credential::Invalid(Defect::NotBearer));
        assert_eq!(read("Basic sk-Key1"), Credential::Invalid(Defect::NotBearer));
        assert_eq!(read("Basic c2stS2V5MTpzay1LZXkx"), Credential::Invalid(Defect::NotBearer));
        assert_eq!(credential(&request(), &Context::for_test()), Credential::Invalid(Defect::Absent));
        assert_eq!(
            credential(&request().query("api_key=sk-Key1"), &Context::for_test()),
            Credential::Invalid(Defect::NotBearer)
        );
        assert_eq!(
            credential(&request().header("X-Api-Key", "sk-Key1"), &Context::for_test()),
            Credential::Invalid(Defect::NotBearer)
        );
    }
}
