//! Redaction of secrets in all output: the keys, and the encodings in which a candidate could echo them.

use base64::Engine;
use base64::prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};

pub(crate) mod redactor;

pub(crate) use redactor::Redactor;

use crate::http::key_forms;
use crate::options::Options;
use animal_store_rules::trace::Trace;

/// Shorter secrets would be found in ordinary words, and redacting them would garble the report. So shorter values of header fields and
/// variables, and shorter parts of a key, are not redacted at all. A whole API key always is, except in the judge's own sentences if it
/// is shorter than this.
const MIN_SECRET: usize = 4;

/// Of a shorter key only the forms that the judge sends are redacted: others would be ordinary words.
const MIN_FOR_ENCODINGS: usize = 8;

/// The variable that replaces the main key.
const API_KEY: &str = "CONFORM_API_KEY";

/// The variable that replaces the quota key.
const QUOTA_KEY: &str = "CONFORM_QUOTA_KEY";

/// The name of a header field that carries a credential contains one of these.
const CREDENTIALS: [&str; 8] = ["auth", "cookie", "credential", "key", "password", "secret", "session", "token"];

/// Replaces secrets that have no variable.
pub(crate) const HIDDEN: &str = "(hidden)";

/// The redactor for the secrets in the options.
#[must_use]
pub(crate) fn redactor(options: &Options) -> Redactor {
    let mut redactor = Redactor::default();
    hide_key(&mut redactor, options.api_key.reveal(), API_KEY);
    if let Some(quota_key) = &options.quota_key {
        hide_key(&mut redactor, quota_key.reveal(), QUOTA_KEY);
    }
    hide_credentials(&mut redactor, &options.transport.headers);
    redactor
}

/// The redactor for the secrets in the options and for the invalid keys in the requests that were derived from them: a
/// shortened key, or one with a character changed.
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

/// The shell expansion that derives this token from the key, if it is the key shortened or with one character changed.
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

/// Redacts the values of header fields, or variables, whose names indicate a credential.
pub(crate) fn hide_credentials(redactor: &mut Redactor, fields: &[(String, String)]) {
    for (name, value) in fields {
        if value.len() >= MIN_SECRET && is_credential(name) {
            redactor.hide(value, HIDDEN);
        }
    }
}

/// Whether the name of a header field, or variable, indicates a credential.
pub(crate) fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    CREDENTIALS.iter().any(|word| name.contains(word))
}

/// Redacts a key and its encodings. Each is replaced by a POSIX shell expansion of the variable that holds the key.
fn hide_key(redactor: &mut Redactor, key: &str, variable: &str) {
    key_forms_of(key, variable).into_iter().for_each(|(form, expansion)| redactor.hide(&form, expansion));
}

/// The forms of a key that are secret as it is itself, each with the expansion that replaces it. Of keys of the same shape there are as
/// many, in the same order.
pub(crate) fn key_forms_of(key: &str, variable: &str) -> Vec<(String, String)> {
    let encoding = r"base64 | tr -d '\n'";
    let pair = format!(r#"$(printf %s:%s "${{{variable}}}" "${{{variable}}}" | {encoding})"#);
    let basic = key_forms::basic(key);
    let encoded = basic.trim_start_matches("Basic ");
    let user = key_forms::basic_user(key);
    let user_alone = format!(r#"$(printf %s: "${{{variable}}}" | {encoding})"#);
    let mut forms = vec![
        (key.to_owned(), format!("${{{variable}}}")),
        // The forms that the tour sends.
        (key_forms::toggle_case(key), format!(r#"$(printf %s "${{{variable}}}" | tr a-zA-Z A-Za-z)"#)),
        (encoded.to_owned(), pair.clone()),
        (encoded.trim_end_matches('=').to_owned(), pair),
        (user.trim_start_matches("Basic ").to_owned(), user_alone),
    ];
    if key.len() > MIN_SECRET {
        forms.push((key[..key.len() - 1].to_owned(), format!("${{{variable}%?}}")));
        forms.push((key[1..].to_owned(), format!("${{{variable}#?}}")));
    }
    // The forms in which a candidate could echo it: another case, an encoding.
    if key.len() >= MIN_FOR_ENCODINGS {
        forms.push((key.to_ascii_lowercase(), format!(r#"$(printf %s "${{{variable}}}" | tr A-Z a-z)"#)));
        forms.push((key.to_ascii_uppercase(), format!(r#"$(printf %s "${{{variable}}}" | tr a-z A-Z)"#)));
        for text in [key.to_owned(), format!("{key}:"), format!(":{key}"), format!("Bearer {key}")] {
            let shown = format!("$(printf %s \"{}\" | {encoding})", text.replace(key, &format!("${{{variable}}}")));
            forms.push((BASE64_STANDARD_NO_PAD.encode(&text), shown.clone()));
            forms.push((BASE64_URL_SAFE_NO_PAD.encode(&text), shown));
        }
        let in_a_url = [percent_encoded(key, "-._~"), percent_encoded(key, "-._~!$&'()*+,;=:@")];
        let in_a_text = [key.replace('/', r"\/"), json_escaped(key), html_escaped(key)];
        forms.extend(in_a_url.into_iter().chain(in_a_text).map(|form| (form, format!("${{{variable}}}"))));
    }
    forms
}

/// The variables that hold the keys of a run, in the order of its keys.
pub(crate) const VARIABLES: [&str; 2] = [API_KEY, QUOTA_KEY];

/// The token that is derived from another key as this one is from its key: the same beginning, or the same character changed. The other
/// key contains none of [`key_forms::REPLACEMENTS`], so what is derived from it is another text than the key itself.
pub(crate) fn derived_alike(key: &str, token: &str, other: &str) -> Option<String> {
    derived(key, token, "")?;
    let alike = token.bytes().zip(key.bytes()).take_while(|(one, other)| one == other).count();
    if alike == token.len() {
        return Some(other[..alike].to_owned());
    }
    Some(format!("{}{}{}", &other[..alike], &token[alike..=alike], &other[alike + 1..]))
}

/// The key percent-encoded, except for these characters, which are allowed in a query or a path.
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

/// The URL of a proxy without user and password.
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
    fn a_key_is_redacted_in_every_form_that_a_candidate_could_echo() {
        const KEY: &str = "aB+/c\"d&e'f<9";
        let mut options = Options::new("http://h/v1", "another-key").unwrap();
        options.quota_key = animal_store_rules::trace::keys::ApiKey::new(KEY).ok();
        options.transport.headers = vec![("X-Gateway-Token".to_owned(), "tok-4711".to_owned())];
        let redactor = redactor(&options);
        for form in [
            KEY.to_owned(),
            KEY[..KEY.len() - 1].to_owned(),
            KEY[1..].to_owned(),
            key_forms::basic_user(KEY),
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
    fn a_derived_key_is_replaced_by_an_expansion_that_derives_it() {
        let left = |token: &str| derived("sk-Key1", token, "K");
        assert_eq!(left("sk-Key").as_deref(), Some(r#"$(printf %.6s "${K}")"#));
        let changed = r#"$(printf %.3s "${K}")x$(printf %s "${K}" | cut -c5-)"#;
        assert_eq!(left("sk-xey1").as_deref(), Some(changed));
        for other in ["sk-", "sk-Key1", "sk-Key12", "another", "sk-xex1", "sk-K\u{e9}y"] {
            assert_eq!(left(other), None, "{other}");
        }
    }

    #[test]
    fn ordinary_words_are_not_redacted_for_a_short_key() {
        let redactor = redactor(&Options::new("http://h/v1", "Test").unwrap());
        assert_eq!(redactor.redact("a test, a TEST, Test"), "a test, a TEST, ${CONFORM_API_KEY}");
    }
}
