//! The credential of a request: a valid key, none, or one whose form is ambiguous.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::percent_decode_str;

use crate::trace::Context;
use crate::trace::exchange::{Exchange, Request};
use crate::trace::knowledge::Fact;

/// The credential of a request, or the lack of one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Credential {
    /// A valid key in the described form, with its index in the context.
    Valid(usize),
    /// A valid key as a bearer token in a form that the specification does not show: with another case of the scheme, or with other white
    /// space than one space. Its index in the context.
    Ambiguous(usize),
    /// A valid key beside another credential. The request is malformed, so a server may go by either credential or refuse the request.
    Contradictory,
    /// A valid key in the described form that may have been banned, so that any refusal is lawful.
    Banned,
    /// An unknown credential: the recording withholds it, or the key may have been revoked. Any response is lawful.
    Withheld,
    /// No valid key.
    Invalid(Defect),
}

impl Credential {
    /// Returns true if the request certainly has no valid key.
    pub fn is_invalid(self) -> bool {
        matches!(self, Credential::Invalid(_))
    }

    /// The index of the valid key that the request came with as a bearer token, however it is spelt.
    pub fn key(self) -> Option<usize> {
        if let Credential::Valid(key) | Credential::Ambiguous(key) = self { Some(key) } else { None }
    }

    /// Returns true if the request has several credentials. HTTP allows one `Authorization` field only (RFC 9110 section 5.3), so an
    /// intermediary that does not know the service may refuse the request with any status code.
    pub fn is_malformed(self) -> bool {
        matches!(self, Credential::Contradictory | Credential::Invalid(Defect::Repeated))
    }

    /// Returns true if a server is free to accept or to refuse the credential.
    pub fn is_open(self) -> bool {
        matches!(self, Credential::Ambiguous(_) | Credential::Contradictory)
    }
}

/// The reason why a request has no valid key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Defect {
    /// There is no credential at all.
    Absent,
    /// The credential is no valid key and resembles none.
    Unknown,
    /// The credential resembles a valid key, or contains one in some encoding.
    Inexact,
    /// A valid key was sent, but not as a bearer token in the header.
    NotBearer,
    /// There are several credentials, and none is a valid key as a bearer token. The request is malformed as well.
    Repeated,
}

/// Whether a text contains a key: as it is, percent-encoded, or within Basic authentication.
fn holds(text: &str, key: &str) -> bool {
    let unescaped = percent_decode_str(text).decode_utf8_lossy();
    let decoded = text.rsplit(' ').next().and_then(|last| BASE64_STANDARD.decode(last).ok());
    text.contains(key)
        || unescaped.contains(key)
        || decoded.is_some_and(|bytes| String::from_utf8_lossy(&bytes).contains(key))
}

/// The credential of the request of an exchange, as far as its recording shows it.
pub fn credential_of(exchange: &Exchange, context: &Context) -> Credential {
    if exchange.known.withheld.contains(Fact::Credential) {
        return Credential::Withheld;
    }
    credential(&exchange.request, context)
}

/// Reads the credential of a request.
pub fn credential(request: &Request, context: &Context) -> Credential {
    let values: Vec<&str> = request.authorizations().collect();
    let is_elsewhere = || {
        request.query.as_deref().is_some_and(|query| holds_any(query, context))
            || request.headers.iter().any(|(_, value)| holds_any(value, context))
    };
    match values[..] {
        [] => Credential::Invalid(if is_elsewhere() { Defect::NotBearer } else { Defect::Absent }),
        [value] => match of_value(value, context) {
            Credential::Invalid(Defect::Unknown) if is_elsewhere() => Credential::Invalid(Defect::NotBearer),
            credential => credential,
        },
        _ if values.iter().all(|value| of_value(value, context).is_invalid()) => Credential::Invalid(Defect::Repeated),
        _ => Credential::Contradictory,
    }
}

/// The index of the valid key that a request has as its only credential, as a bearer token, however it is spelt.
pub fn bearer_key(request: &Request, context: &Context) -> Option<usize> {
    let mut values = request.authorizations();
    let value = values.next()?;
    let (scheme, token) = bearer_parts(value);
    context.keys.place_of(token).filter(|_| values.next().is_none() && scheme.eq_ignore_ascii_case("bearer"))
}

/// The scheme and the token of an `Authorization` value. White space around the value is no part of it (RFC 9110 section 5.5), and no key
/// has white space around it.
fn bearer_parts(value: &str) -> (&str, &str) {
    let bare = value.trim();
    let (scheme, token) = bare.split_once(char::is_whitespace).unwrap_or((bare, ""));
    (scheme, token.trim_start())
}

/// Whether a text contains any key of the context.
fn holds_any(text: &str, context: &Context) -> bool {
    context.keys.iter().any(|key| holds(text, key.reveal()))
}

/// Reads one `Authorization` value.
fn of_value(value: &str, context: &Context) -> Credential {
    let (scheme, token) = bearer_parts(value);
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Credential::Invalid(if holds_any(value, context) { Defect::NotBearer } else { Defect::Unknown });
    }
    if let Some(index) = context.keys.place_of(token) {
        let is_as_described = value.strip_prefix("Bearer ") == Some(token);
        return if is_as_described { Credential::Valid(index) } else { Credential::Ambiguous(index) };
    }
    let is_inexact = holds_any(token, context) || context.keys.iter().any(|key| resembles(token, key.reveal()));
    Credential::Invalid(if is_inexact { Defect::Inexact } else { Defect::Unknown })
}

/// Whether a token is more than half of a key, or differs from the key only in case or in one character. Half of it or less may be in many
/// keys by chance. A change of case is not told from another change: the key of a trace is a pseudonym, and its letters may differ from the
/// key's in that.
fn resembles(token: &str, key: &str) -> bool {
    let is_part = 2 * token.len() > key.len() && key.contains(token);
    let is_of_one_length = token.chars().count() == key.chars().count();
    let changed = token.chars().zip(key.chars()).filter(|(one, other)| one != other).count();
    is_part || token.eq_ignore_ascii_case(key) || is_of_one_length && changed == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::keys::ApiKey;

    #[test]
    fn only_the_exact_key_in_the_described_form_is_valid() {
        let request = || Request::new("GET", "/pets");
        for (value, expected) in [
            ("Bearer sk-Key1", Credential::Valid(0)),
            ("bearer sk-Key1", Credential::Ambiguous(0)),
            ("Bearer  sk-Key1", Credential::Ambiguous(0)),
            ("Bearer\tsk-Key1", Credential::Ambiguous(0)),
            ("Bearer \tsk-Key1\t", Credential::Ambiguous(0)),
            (" Bearer sk-Key1", Credential::Ambiguous(0)),
            ("Bearer sk-Key1 ", Credential::Ambiguous(0)),
            // Every other form of the key is another key.
            ("Bearer %73k-Key1", Credential::Invalid(Defect::Inexact)),
            ("Bearer \"sk-Key1\"", Credential::Invalid(Defect::Inexact)),
            ("Bearer sk-Key1,", Credential::Invalid(Defect::Inexact)),
            ("Bearer sk-Key1, Basic other", Credential::Invalid(Defect::Inexact)),
            ("Bearer other, Bearer sk-Key1", Credential::Invalid(Defect::Inexact)),
            ("Bearer c2stS2V5MQ==", Credential::Invalid(Defect::Inexact)),
            ("Bearer sk-Key1\0", Credential::Invalid(Defect::Inexact)),
            ("Bearer SK-KEY1", Credential::Invalid(Defect::Inexact)),
            ("Bearer Bearer sk-Key1", Credential::Invalid(Defect::Inexact)),
            ("Bearer token=sk-Key1", Credential::Invalid(Defect::Inexact)),
            ("Bearer: sk-Key1", Credential::Invalid(Defect::NotBearer)),
            ("Bearersk-Key1", Credential::Invalid(Defect::NotBearer)),
            ("Bearer,sk-Key1", Credential::Invalid(Defect::NotBearer)),
            ("sk-Key1 Bearer", Credential::Invalid(Defect::NotBearer)),
            ("Bearer sk-key1", Credential::Invalid(Defect::Inexact)),
            ("Bearer sk-Key", Credential::Invalid(Defect::Inexact)),
            ("Bearer sk-Key1x", Credential::Invalid(Defect::Inexact)),
            ("Bearer sk-Key2", Credential::Invalid(Defect::Inexact)),
            ("Bearer sk-Kxy1", Credential::Invalid(Defect::Inexact)),
            ("Bearer sk-Ke\u{e9}1", Credential::Invalid(Defect::Inexact)),
            ("Bearer sk-Kxx1", Credential::Invalid(Defect::Unknown)),
            ("Bearer sk-Key1 more", Credential::Invalid(Defect::Inexact)),
            ("Bearer sk-Ke\u{e9}", Credential::Invalid(Defect::Unknown)),
            ("Bearer other", Credential::Invalid(Defect::Unknown)),
            // A part that may be there by chance.
            ("Bearer Key", Credential::Invalid(Defect::Unknown)),
            ("Bearer", Credential::Invalid(Defect::Unknown)),
            ("sk-Key1", Credential::Invalid(Defect::NotBearer)),
            ("Basic sk-Key1", Credential::Invalid(Defect::NotBearer)),
            ("Basic c2stS2V5MTpzay1LZXkx", Credential::Invalid(Defect::NotBearer)),
            ("Basic c2stS2V5MTo=", Credential::Invalid(Defect::NotBearer)),
        ] {
            let read = credential(&request().authorization(value), &Context::for_test());
            assert_eq!(read, expected, "{value}");
        }
        for elsewhere in [request().query("api_key=sk-Key1"), request().header("X-Api-Key", "sk-Key1")] {
            for request in [elsewhere.clone(), elsewhere.authorization("Bearer other")] {
                assert_eq!(credential(&request, &Context::for_test()), Credential::Invalid(Defect::NotBearer));
            }
        }
        assert_eq!(credential(&request(), &Context::for_test()), Credential::Invalid(Defect::Absent));
    }

    #[test]
    fn a_changed_key_that_equals_a_key_is_that_key() {
        let context = Context {
            keys: vec![ApiKey::new("7").unwrap(), ApiKey::new("a%62").unwrap()].into(),
            ..Context::for_test()
        };
        for (what, token, expected) in [
            ("a short key, in upper case", "7", Credential::Valid(0)),
            ("a short key in another text", "17", Credential::Invalid(Defect::Inexact)),
            ("a key with a percent sign", "a%62", Credential::Valid(1)),
            ("the same, decoded", "ab", Credential::Invalid(Defect::Unknown)),
            ("the same, encoded again", "a%2562", Credential::Invalid(Defect::Inexact)),
        ] {
            let request = Request::new("GET", "/pets").authorization(format!("Bearer {token}"));
            assert_eq!(credential(&request, &context), expected, "{what}");
        }
    }

    #[test]
    fn of_several_credentials_a_server_may_go_by_any() {
        let read = |first: &str, second: &str| {
            let request = Request::new("GET", "/pets").authorization(first).header("authorization", second);
            credential(&request, &Context::for_test())
        };
        assert_eq!(read("Bearer other", "Bearer sk-Key1"), Credential::Contradictory);
        assert_eq!(read("Bearer sk-Key1", "Basic other"), Credential::Contradictory);
        assert_eq!(read("Bearer other", "Basic sk-Key1"), Credential::Invalid(Defect::Repeated));
        let alone = Request::new("GET", "/pets").header("Authorization", "Bearer sk-Key1");
        assert_eq!(credential(&alone, &Context::for_test()), Credential::Valid(0));
    }
}
