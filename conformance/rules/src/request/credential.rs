//! The credential of a request: a valid key, none, or one whose form is debatable.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::trace::Context;
use crate::trace::exchange::Request;

/// With which credential a request comes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Access {
    /// A valid key, in the described form; its index in the context.
    Valid(usize),
    /// A valid key in a form that HTTP allows and the specification does not show, such as `bearer`.
    Debatable,
    /// A valid key, in the described form, while it may have been banned: whatever refuses it is lawful.
    Banned,
    /// No valid key.
    Lacking(Lack),
}

impl Access {
    /// Whether there is beyond doubt no valid key.
    #[must_use]
    pub fn is_lacking(self) -> bool {
        matches!(self, Access::Lacking(_))
    }
}

/// In which way a valid key is lacking.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Lack {
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
pub fn access(request: &Request, context: &Context) -> Access {
    let holds_key = |text: &str| context.keys.iter().any(|key| holds(text, key.reveal()));
    let Some(value) = &request.authorization else {
        let elsewhere = request.query.as_deref().is_some_and(holds_key)
            || request.headers.iter().any(|(_, value)| holds_key(value));
        return Access::Lacking(if elsewhere { Lack::NotBearer } else { Lack::Absent });
    };
    let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Access::Lacking(if holds_key(value) { Lack::NotBearer } else { Lack::Unknown });
    }
    for (index, key) in context.keys.iter().enumerate() {
        let key = key.reveal();
        if token == key {
            return if scheme == "Bearer" { Access::Valid(index) } else { Access::Debatable };
        }
        if token.trim() == key {
            return Access::Debatable;
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
    Access::Lacking(if inexact { Lack::Inexact } else { Lack::Unknown })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_key_in_the_described_form_is_valid() {
        let request = || Request::new("GET", "/pets");
        let read = |value: &str| access(&request().authorization(value), &Context::for_test());
        assert_eq!(read("Bearer sk-Key1"), Access::Valid(0));
        assert_eq!(read("bearer sk-Key1"), Access::Debatable);
        assert_eq!(read("Bearer  sk-Key1"), Access::Debatable);
        assert_eq!(read("Bearer sk-key1"), Access::Lacking(Lack::Inexact));
        assert_eq!(read("Bearer sk-Key"), Access::Lacking(Lack::Inexact));
        assert_eq!(read("Bearer sk-Key1x"), Access::Lacking(Lack::Inexact));
        assert_eq!(read("Bearer sk-Key2"), Access::Lacking(Lack::Inexact));
        assert_eq!(read("Bearer sk-Ke\u{e9}"), Access::Lacking(Lack::Unknown));
        assert_eq!(read("Bearer other"), Access::Lacking(Lack::Unknown));
        assert_eq!(read("Bearer"), Access::Lacking(Lack::Unknown));
        assert_eq!(read("sk-Key1"), Access::Lacking(Lack::NotBearer));
        assert_eq!(read("Basic sk-Key1"), Access::Lacking(Lack::NotBearer));
        assert_eq!(read("Basic c2stS2V5MTpzay1LZXkx"), Access::Lacking(Lack::NotBearer));
        assert_eq!(access(&request(), &Context::for_test()), Access::Lacking(Lack::Absent));
        assert_eq!(access(&request().query("api_key=sk-Key1"), &Context::for_test()), Access::Lacking(Lack::NotBearer));
        assert_eq!(
            access(&request().header("X-Api-Key", "sk-Key1"), &Context::for_test()),
            Access::Lacking(Lack::NotBearer)
        );
    }
}
