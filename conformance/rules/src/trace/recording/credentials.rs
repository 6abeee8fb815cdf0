//! The credentials of a request, in every form and place in which clients send them.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::secrets::is_credential;
use crate::trace::exchange::{Body, Request};

/// The least length of a random value. A shorter value is a secret only if the name of its parameter says so.
const LEAST_RANDOM: usize = 16;

/// The length in bytes up to which a body is searched for credentials.
const LONGEST_BODY: usize = 64 * 1024;

/// A part of a request that may be a secret.
#[derive(Debug, Eq, PartialEq)]
pub enum Found {
    /// The token of an `Authorization` field.
    Key(String),
    /// Another secret.
    Other(String),
}

/// The credentials of a request: of `Authorization` and fields like it, of cookies, of the query, and of the body.
#[must_use]
pub fn of(request: &Request) -> Vec<Found> {
    let mut found = Vec::new();
    for value in request.authorizations() {
        let token = value.split_once(' ').map_or(value, |(_, token)| token).trim();
        if !token.is_empty() {
            found.push(Found::Key(token.to_owned()));
        }
        in_value(value, &mut found);
    }
    for (name, value) in request.headers.iter().filter(|(name, _)| is_credential(name)) {
        match name.as_str() {
            "cookie" => {
                let cookies = value.split(';').filter_map(|cookie| cookie.split_once('='));
                cookies.for_each(|(_, value)| add(value, &mut found));
            }
            _ => in_value(value, &mut found),
        }
    }
    request.query.iter().for_each(|query| in_parameters(query, &mut found));
    if let Some(body) = &request.body {
        in_body(body, &mut found);
    }
    found
}

fn add(secret: &str, found: &mut Vec<Found>) {
    let secret = secret.trim().trim_matches('"');
    if !secret.is_empty() {
        found.push(Found::Other(secret.to_owned()));
    }
}

/// The secrets of a header field: its value after a scheme such as `Bearer`, each word of it, the parameters of schemes such as Digest, and
/// the name and password that Basic encodes.
fn in_value(value: &str, found: &mut Vec<Found>) {
    let (scheme, encoded) = value.split_once(' ').unwrap_or_default();
    let has_scheme = !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphabetic());
    // A part of a scheme and the space after it may be a part of any sentence.
    add(if has_scheme { encoded } else { value }, found);
    for word in value.split([' ', ',']).filter(|word| *word != value) {
        add(word, found);
        let of_parameter = word.split_once('=').filter(|(_, value)| !value.trim_matches('=').is_empty());
        of_parameter.into_iter().for_each(|(_, value)| add(value, found));
    }
    if scheme.eq_ignore_ascii_case("basic") {
        let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
        let decoded = GeneralPurpose::new(&alphabet::STANDARD, config).decode(encoded.trim()).unwrap_or_default();
        let pair = String::from_utf8_lossy(&decoded);
        pair.splitn(2, ':').for_each(|part| add(part, found));
    }
}

/// The secrets of a query, or of a form.
fn in_parameters(query: &str, found: &mut Vec<Found>) {
    for (name, value) in query.split('&').filter_map(|parameter| parameter.split_once('=')) {
        if !["limit", "status"].contains(&name) && (is_credential(name) || is_random(value)) {
            add(value, found);
            add(&percent_decode_str(value).decode_utf8_lossy(), found);
        }
    }
}

/// Whether a value is long and has letters and digits, as generated secrets do.
fn is_random(value: &str) -> bool {
    value.len() >= LEAST_RANDOM
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// The secrets of a body: members of JSON and fields of forms with the name of a credential.
fn in_body(body: &Body, found: &mut Vec<Found>) {
    if body.bytes.len() > LONGEST_BODY {
        return;
    }
    if let Ok(value) = serde_json::from_slice(&body.bytes) {
        in_json(&value, found);
    } else if body.content_type.to_ascii_lowercase().starts_with("application/x-www-form-urlencoded") {
        in_parameters(&String::from_utf8_lossy(&body.bytes), found);
    }
}

fn in_json(value: &Value, found: &mut Vec<Found>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(text) if is_credential(name) => add(text, found),
                    other => in_json(other, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| in_json(item, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_found_in_whatever_form_and_place_it_is_sent() {
        let key = "sk-Live-4711-abcd";
        let get = || Request::new("GET", "/pets");
        for request in [
            get().authorization(format!("bearer {key}")),
            get().authorization(format!("Token  {key}")),
            get().authorization(key),
            get().authorization("Basic c2stTGl2ZS00NzExLWFiY2Q6"),
            get().authorization("Basic YWRtaW46c2stTGl2ZS00NzExLWFiY2Q"),
            get().authorization(format!("Digest username=\"a\", response=\"{key}\"")),
            get().header("x-api-key", key),
            get().header("authorization", format!("Bearer {key}")),
            get().header("proxy-authorization", format!("Bearer {key}")),
            get().header("cookie", format!("theme=dark; sid={key}")),
            get().query(format!("limit=5&api_key={key}")),
            get().query("access_token=sk%2DLive-4711-abcd"),
            get().query(format!("k={key}")),
            Request::new("POST", "/pets").json(format!(r#"{{"name":"Rex","auth":{{"apiKey":"{key}"}}}}"#)),
            Request::new("POST", "/pets").body("application/x-www-form-urlencoded", format!("token={key}")),
        ] {
            let found = of(&request);
            let is_there = |found: &Found| matches!(found, Found::Key(text) | Found::Other(text) if text == key);
            assert!(found.iter().any(is_there), "{request:?}: {found:?}");
        }
        assert_eq!(of(&get().query("limit=5&status=available&page=2")), []);
    }
}
