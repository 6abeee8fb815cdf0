//! The credentials of a request, in every form and place in which clients send them.

use animal_store_rules::trace::exchange::Request;
use animal_store_secrets::{LEAST_DISTINCT, announced, is_credential, unescaped};
use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// The least length of a random value. A shorter value is a secret only if the name of its parameter says so.
const LEAST_RANDOM: usize = 16;

/// The header field in which programs of web pages send a key among the names of protocols, in lower case.
const SUBPROTOCOL: &str = "sec-websocket-protocol";

/// A part of a request that may be a secret.
#[derive(Debug, Eq, PartialEq)]
pub enum Found {
    /// The token of an `Authorization` field.
    Key(String),
    /// Another secret.
    Other(String),
}

/// The credentials of a request: of `Authorization` and fields like it, of cookies and forms, and whatever any other text of the request
/// announces as one.
pub fn of(request: &Request) -> Vec<Found> {
    let mut found = Vec::new();
    for value in request.authorizations() {
        let token = value.split_once(' ').map_or(value, |(_, token)| token).trim();
        if !token.is_empty() {
            found.push(Found::Key(token.to_owned()));
        }
        in_value(value, &mut found);
    }
    let mut texts = vec![request.path.as_bytes()];
    texts.extend(request.query.iter().map(String::as_bytes));
    for (name, value) in &request.headers {
        match name.to_ascii_lowercase().as_str() {
            "cookie" => {
                let cookies = value.split(';').filter_map(|cookie| cookie.split_once('='));
                cookies.for_each(|(_, value)| add(value, &mut found));
            }
            SUBPROTOCOL => value.split([',', ' ']).for_each(|protocol| {
                add(protocol, &mut found);
                protocol.split('.').for_each(|part| add(part, &mut found));
            }),
            name if is_credential(name) => in_value(value, &mut found),
            _ => texts.push(value.as_bytes()),
        }
    }
    let query = request.query.as_deref().unwrap_or_default();
    query.split('&').chain(request.path.split([';', '/'])).for_each(|pair| in_pair(pair, &mut found));
    if let Some(body) = &request.body {
        if body.content_type.to_ascii_lowercase().starts_with("application/x-www-form-urlencoded") {
            String::from_utf8_lossy(&body.bytes).split('&').for_each(|pair| in_pair(pair, &mut found));
        }
        texts.push(&body.bytes);
    }
    for named in texts.into_iter().flat_map(announced) {
        in_value(&named.value, &mut found);
    }
    found
}

/// Adds a secret, and the texts that it encodes.
fn add(secret: &str, found: &mut Vec<Found>) {
    let secret = secret.trim().trim_matches('"');
    if secret.is_empty() {
        return;
    }
    found.push(Found::Other(secret.to_owned()));
    found.extend(unescaped(secret).map(Found::Other));
    if let Some(decoded) = decoded(secret) {
        // Basic encodes a name and a password.
        decoded
            .splitn(2, ':')
            .filter(|part| !part.is_empty())
            .for_each(|part| found.push(Found::Other(part.to_owned())));
    }
}

/// The text that a secret encodes in base64, if it is one.
fn decoded(secret: &str) -> Option<String> {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let standard = secret.replace('-', "+").replace('_', "/");
    let bytes = GeneralPurpose::new(&alphabet::STANDARD, config).decode(standard).ok()?;
    let is_text = bytes.len() >= LEAST_DISTINCT && bytes.iter().all(|byte| matches!(byte, b' '..=b'~'));
    is_text.then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// The secrets of a value: the value after a scheme such as `Bearer`, each word of it, and the parameters of schemes such as Digest.
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
}

/// The secret of a parameter of a query, a path or a form.
fn in_pair(pair: &str, found: &mut Vec<Found>) {
    if let Some((name, value)) = pair.split_once('=')
        && !["limit", "status"].contains(&name)
        && (is_credential(name) || is_random(value))
    {
        add(value, found);
    }
}

/// Whether a value is long and has letters and digits, as generated secrets do.
fn is_random(value: &str) -> bool {
    value.len() >= LEAST_RANDOM
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
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
            Request::new("POST", "/pets").body("text/plain", format!("{}api_key={key}", "x".repeat(100_000))),
            Request::new("GET", format!("/pets;key={key}")),
            Request::new("GET", format!("/pets;v=1;key={key}/7")),
            Request::new("GET", "/pets;k=c2stTGl2ZS00NzExLWFiY2Q"),
            get().header("referer", format!("https://{key}:x@shop.example/pets")),
            get().header("x-forwarded-uri", format!("/pets?api_key={key}")),
            get().header("sec-websocket-protocol", format!("v1.pets, {key}")),
            get().header("sec-websocket-protocol", "base64url.bearer.authorization.k8s.io.c2stTGl2ZS00NzExLWFiY2Q"),
        ] {
            let found = of(&request);
            let is_there = |found: &Found| matches!(found, Found::Key(text) | Found::Other(text) if text == key);
            assert!(found.iter().any(is_there), "{request:?}: {found:?}");
        }
        assert_eq!(of(&get().query("limit=5&status=available&page=2")), []);
    }
}
