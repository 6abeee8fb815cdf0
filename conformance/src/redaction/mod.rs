//! What nobody may see in any output: the keys, and the forms in which a candidate could give them back.

use base64::Engine;
use base64::prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};

pub mod redactor;

pub use redactor::Redactor;

use crate::http::key_forms;
use crate::options::Options;
use animal_store_rules::trace::Trace;

/// A text shorter than this is no secret, and hiding it would garble the report.
const MIN_SECRET: usize = 4;

/// Of a key shorter than this only the forms that the judge itself sends are hidden: the others would be ordinary words.
const MIN_FOR_ENCODINGS: usize = 8;

/// The variable that stands for the main key.
const API_KEY: &str = "CONFORM_API_KEY";

/// The variable that stands for the key that the run may exhaust.
const QUOTA_KEY: &str = "CONFORM_QUOTA_KEY";

/// The names of header fields that carry a credential hold one of these.
const CREDENTIALS: [&str; 8] = ["auth", "cookie", "credential", "key", "password", "secret", "session", "token"];

/// Stands for what is hidden and has no variable.
pub const HIDDEN: &str = "(hidden)";

/// Hides what a run must not show.
#[must_use]
pub fn redactor(options: &Options) -> Redactor {
    let mut redactor = Redactor::default();
    hide_key(&mut redactor, options.api_key.reveal(), API_KEY);
    if let Some(quota_key) = &options.quota_key {
        hide_key(&mut redactor, quota_key.reveal(), QUOTA_KEY);
    }
    hide_credentials(&mut redactor, &options.transport.headers);
    redactor
}

/// Hides what a run must not show, and what its requests made of the keys: a key cut short, or with one character changed.
#[must_use]
pub(crate) fn redactor_for(options: &Options, trace: &Trace) -> Redactor {
    let mut redactor = redactor(options);
    let keys = [(Some(&options.api_key), API_KEY), (options.quota_key.as_ref(), QUOTA_KEY)];
    for exchange in &trace.exchanges {
        let Some((_, token)) = exchange.request.authorization.as_deref().and_then(|value| value.split_once(' ')) else {
            continue;
        };
        for (key, variable) in keys {
            if let Some(expansion) = key.and_then(|key| derived(key.reveal(), token, variable)) {
                redactor.hide(token, expansion);
            }
        }
    }
    redactor
}

/// The shell expansion that makes this token of the key, if it is the key cut short or with one character changed.
fn derived(key: &str, token: &str, variable: &str) -> Option<String> {
    // A key is ASCII; a token that is not is none of these.
    if token.len() < MIN_SECRET || token == key || !token.is_ascii() {
        return None;
    }
    let alike = token.bytes().zip(key.bytes()).take_while(|(one, other)| one == other).count();
    let beginning = format!(r#"$(printf %.{alike}s "${{{variable}}}")"#);
    if alike == token.len() {
        return Some(beginning);
    }
    let changed_once = token.len() == key.len() && token[alike + 1..] == key[alike + 1..];
    changed_once.then(|| {
        let rest = format!(r#"$(printf %s "${{{variable}}}" | cut -c{}-)"#, alike + 2);
        format!("{beginning}{}{rest}", &token[alike..=alike])
    })
}

/// Hides the values of those header fields, or variables, whose names say that they carry a credential.
pub(crate) fn hide_credentials(redactor: &mut Redactor, fields: &[(String, String)]) {
    for (name, value) in fields {
        if value.len() >= MIN_SECRET && is_credential(name) {
            redactor.hide(value, HIDDEN);
        }
    }
}

/// Whether a header field, or a variable, of this name carries a credential.
fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    CREDENTIALS.iter().any(|word| name.contains(word))
}

/// Hides a key, and what is as good as the key. Each form is shown as what any POSIX shell makes of the variable that
/// holds the key.
fn hide_key(redactor: &mut Redactor, key: &str, variable: &str) {
    redactor.hide(key, format!("${{{variable}}}"));
    // What the tour makes of the key.
    redactor.hide(&key_forms::toggle_case(key), format!(r#"$(printf %s "${{{variable}}}" | tr a-zA-Z A-Za-z)"#));
    let encoding = r"base64 | tr -d '\n'";
    let pair = format!(r#"$(printf %s:%s "${{{variable}}}" "${{{variable}}}" | {encoding})"#);
    let basic = key_forms::basic(key);
    let encoded = basic.trim_start_matches("Basic ");
    redactor.hide(encoded, pair.clone());
    redactor.hide(encoded.trim_end_matches('='), pair);
    if key.len() > MIN_SECRET {
        redactor.hide(&key[..key.len() - 1], format!("${{{variable}%?}}"));
    }
    // What a candidate could make of it: another case, an encoding.
    if key.len() >= MIN_FOR_ENCODINGS {
        redactor.hide(&key.to_ascii_lowercase(), format!(r#"$(printf %s "${{{variable}}}" | tr A-Z a-z)"#));
        redactor.hide(&key.to_ascii_uppercase(), format!(r#"$(printf %s "${{{variable}}}" | tr a-z A-Z)"#));
        for text in [key.to_owned(), format!("{key}:"), format!(":{key}"), format!("Bearer {key}")] {
            let shown = format!("$(printf %s \"{}\" | {encoding})", text.replace(key, &format!("${{{variable}}}")));
            redactor.hide(&BASE64_STANDARD_NO_PAD.encode(&text), shown.clone());
            redactor.hide(&BASE64_URL_SAFE_NO_PAD.encode(&text), shown);
        }
        let in_a_url = [percent_encoded(key, "-._~"), percent_encoded(key, "-._~!$&'()*+,;=:@")];
        let in_a_text = [key.replace('/', r"\/"), json_escaped(key), html_escaped(key)];
        for escaped in in_a_url.iter().chain(&in_a_text) {
            redactor.hide(escaped, format!("${{{variable}}}"));
        }
    }
}

/// The key as a part of a URL in which these characters may stand, as those of a query's value or of a path may.
fn percent_encoded(key: &str, safe: &str) -> String {
    let kept = |byte: u8| byte.is_ascii_alphanumeric() || safe.as_bytes().contains(&byte);
    key.bytes().map(|b| if kept(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

fn json_escaped(key: &str) -> String {
    key.replace('\\', r"\\").replace('"', "\\\"")
}

fn html_escaped(key: &str) -> String {
    let escape = [('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;"), ('\'', "&#39;")];
    escape.into_iter().fold(key.to_owned(), |text, (c, entity)| text.replace(c, entity))
}

/// The address of a proxy without what it may hold of a user and a password.
pub(crate) fn without_password(proxy: &str) -> String {
    match proxy.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?.1))) {
        Some((scheme, host)) => format!("{scheme}://{HIDDEN}@{host}"),
        None => proxy.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use base64::prelude::BASE64_STANDARD;

    use super::*;

    #[test]
    fn a_key_is_hidden_in_every_form_that_a_candidate_could_echo() {
        const KEY: &str = "aB+/c\"d&e'f<9";
        let mut options = Options::new("http://h/v1", "another-key").unwrap();
        options.quota_key = animal_store_rules::trace::keys::ApiKey::new(KEY).ok();
        options.transport.headers = vec![("X-Gateway-Token".to_owned(), "tok-4711".to_owned())];
        let redactor = redactor(&options);
        for form in [
            KEY.to_owned(),
            KEY[..KEY.len() - 1].to_owned(),
            key_forms::toggle_case(KEY),
            KEY.to_ascii_lowercase(),
            KEY.to_ascii_uppercase(),
            key_forms::basic(KEY),
            BASE64_STANDARD.encode(KEY),
            BASE64_STANDARD.encode(format!("Bearer {KEY}")),
            "aB%2B%2Fc%22d%26e%27f%3C9".to_owned(),
            "aB+%2Fc%22d&e'f%3C9".to_owned(),
            "aB+\\/c\"d&e'f<9".to_owned(),
            "aB+/c\\\"d&e'f<9".to_owned(),
            "aB+/c&quot;d&amp;e&#39;f&lt;9".to_owned(),
            "tok-4711".to_owned(),
        ] {
            let shown = redactor.redact(&form);
            assert!(shown.contains("CONFORM_QUOTA_KEY") || shown == HIDDEN, "{form}: {shown}");
            assert!(!shown.contains("f<9") && !shown.contains("aB") && !shown.contains(&form), "{form}: {shown}");
        }
    }

    #[test]
    fn what_is_left_of_a_key_is_replaced_by_an_expansion_that_makes_it_again() {
        let left = |token: &str| derived("sk-Key1", token, "K");
        assert_eq!(left("sk-Key").as_deref(), Some(r#"$(printf %.6s "${K}")"#));
        let changed = r#"$(printf %.3s "${K}")x$(printf %s "${K}" | cut -c5-)"#;
        assert_eq!(left("sk-xey1").as_deref(), Some(changed));
        for other in ["sk-", "sk-Key1", "sk-Key12", "another", "sk-xex1", "sk-K\u{e9}y"] {
            assert_eq!(left(other), None, "{other}");
        }
    }

    #[test]
    fn ordinary_words_are_not_hidden_for_a_short_key() {
        let redactor = redactor(&Options::new("http://h/v1", "Test").unwrap());
        assert_eq!(redactor.redact("a test, a TEST, Test"), "a test, a TEST, ${CONFORM_API_KEY}");
    }
}
