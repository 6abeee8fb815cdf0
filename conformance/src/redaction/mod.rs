//! Text that may be shown: without secrets, and without characters that act on a terminal.
//!
//! The secrets of a run are its keys and other values of its options: [`redactor`] replaces them. [`Printable`] is the one gate to
//! terminals and reports. The texts of a [`Report`](crate::Report) have passed both.
//!
//! [`animal_store_secrets`] finds secrets in texts, in every encoding in which a candidate may repeat them.

pub(crate) mod urls;

pub use animal_store_secrets::printable::{Printable, printable};
pub(crate) use animal_store_secrets::printable::{is_plain_ascii, is_printable};
pub use animal_store_secrets::{HIDDEN, Redactor};
pub use urls::without_secrets;

use crate::options::Options;
use animal_store_rules::near_misses::{self, KeyCodec};
use animal_store_rules::trace::Trace;
use animal_store_rules::trace::exchange::Exchange;
use animal_store_secrets::{LEAST_DISTINCT, LEAST_SECRET, is_credential, is_ordinary};

/// The redactor for the secrets in the options. Keys become shell variables, such as `${CONFORM_API_KEY}`, and other secrets [`HIDDEN`].
pub fn redactor(options: &Options) -> Redactor {
    let mut redactor = Redactor::default();
    for (key, variable) in options.keys().zip(options.invoked.variables()) {
        redactor.hide_key(key.reveal(), format!("${{{variable}}}"));
        for (form, expansion) in key_forms_of(key.reveal(), variable) {
            redactor.hide(&form, expansion);
        }
    }
    for value in further_secrets(options) {
        redactor.hide_key(value, HIDDEN);
    }
    redactor
}

/// The redactor for the secrets in the options and for the invalid keys in the requests that were derived from them: a
/// shortened key, or one with a character changed.
pub(crate) fn redactor_for(options: &Options, trace: &Trace) -> Redactor {
    let mut redactor = redactor(options);
    for token in trace.exchanges.iter().filter_map(token) {
        for (key, variable) in options.keys().zip(options.invoked.variables()) {
            if let Some(expansion) = derived(key.reveal(), token, variable) {
                redactor.hide(token, expansion);
            }
        }
    }
    redactor
}

/// The token of an `Authorization` value.
pub(crate) fn token(exchange: &Exchange) -> Option<&str> {
    let (_, token) = exchange.request.authorization.as_deref()?.trim().split_once(char::is_whitespace)?;
    Some(token.trim_start())
}

/// The secrets of a run that are not keys of the API: the values of its own header fields, and the password of its proxy. Ordinary words
/// and parts of the service's address are left out; they are hidden only where they are the value itself.
pub(crate) fn further_secrets(options: &Options) -> Vec<&str> {
    let transport = &options.transport;
    let mut secrets = Vec::new();
    for (name, value) in &transport.headers {
        let is_distinct = value.len() >= LEAST_DISTINCT && !is_ordinary(value);
        if is_distinct || value.len() >= LEAST_SECRET && is_credential(name) {
            secrets.push(value.as_str());
        }
    }
    let userinfo = transport.proxy.as_deref().and_then(urls::userinfo).unwrap_or_default();
    secrets.extend(userinfo.splitn(2, ':').filter(|part| part.len() >= LEAST_SECRET));
    secrets.retain(|secret| !transport.addresses().any(|address| address.contains(secret)));
    secrets
}

/// The length of the beginning that this token has in common with the key, if the token is the key shortened or with one character changed.
fn derived_from(key: &str, token: &str) -> Option<usize> {
    // A key is ASCII, and so is every token that is derived from it.
    if token.len() < LEAST_SECRET || token == key || !token.is_ascii() {
        return None;
    }
    let alike = token.bytes().zip(key.bytes()).take_while(|(one, other)| one == other).count();
    let changed_once = || token.len() == key.len() && token[alike + 1..] == key[alike + 1..];
    (alike == token.len() || changed_once()).then_some(alike)
}

/// The shell expansion that derives this token from the key, if it is the key shortened or with one character changed.
fn derived(key: &str, token: &str, variable: &str) -> Option<String> {
    let alike = derived_from(key, token)?;
    let beginning = format!(r#"$(printf %.{alike}s "${{{variable}}}")"#);
    let Some(changed) = token.get(alike..=alike) else { return Some(beginning) };
    Some(format!(r#"{beginning}{changed}$(printf %s "${{{variable}}}" | cut -c{}-)"#, alike + 2))
}

/// The forms in which the judge sends a key, other than the key itself, each with the POSIX shell expansion of the variable that holds
/// the key. Keys of the same shape have the same number of forms, in the same order.
pub(crate) fn key_forms_of(key: &str, variable: &str) -> Vec<(String, String)> {
    let piped = |text: &str, commands: &str| format!("$({text} | {commands})");
    let alone = format!(r#"printf %s "${{{variable}}}""#);
    let translated = |from: &str, to: &str| piped(&alone, &format!("tr {from} {to}"));
    let encoding = r"base64 | tr -d '\n'";
    let pair = piped(&format!(r#"printf %s:%s "${{{variable}}}" "${{{variable}}}""#), encoding);
    let in_hex = r"od -An -tx1 | tr -d ' \n'";
    let escaping = format!("{in_hex} | tr a-f A-F | sed 's/../%&/g'");
    let percent_encoded = near_misses::percent_encoded(key);
    let codecs = [
        (KeyCodec::Toggle, translated("a-zA-Z", "A-Za-z")),
        (KeyCodec::BasicBoth, pair.clone()),
        (KeyCodec::BasicUser, piped(&format!(r#"printf %s: "${{{variable}}}""#), encoding)),
        (KeyCodec::BasicPassword, piped(&format!(r#"printf :%s "${{{variable}}}""#), encoding)),
        (KeyCodec::Base64, piped(&alone, encoding)),
        (KeyCodec::Base64Url, piped(&alone, r"base64 | tr -d '\n=' | tr +/ -_")),
        (KeyCodec::Hex, piped(&alone, in_hex)),
        (KeyCodec::Reversed, piped(&alone, "rev")),
        (KeyCodec::Swapped, piped(&alone, r"sed 's/\(.\)\(.\)$/\2\1/'")),
        (KeyCodec::Unpunctuated, piped(&alone, "tr -cd a-zA-Z0-9")),
        (KeyCodec::Percent, piped(&alone, &escaping)),
        (KeyCodec::PercentLast, format!("${{{variable}%?}}{}", piped(&format!("{alone} | tail -c 1"), &escaping))),
    ];
    let mut forms =
        Vec::from(codecs.map(|(codec, expansion)| (codec.apply(key).unwrap_or_else(|| key.to_owned()), expansion)));
    let encoded = forms[1].0.trim_end_matches('=').to_owned();
    forms.push((encoded, pair));
    if percent_encoded != key {
        // Every byte is escaped, because a choice of bytes would reveal characters of the key. To a server, both forms are equal.
        forms.push((percent_encoded, piped(&alone, &escaping)));
    }
    if key.len() > LEAST_SECRET {
        forms.push((key[..key.len() - 1].to_owned(), format!("${{{variable}%?}}")));
        forms.push((key[1..].to_owned(), format!("${{{variable}#?}}")));
    }
    if key.len() >= LEAST_DISTINCT {
        forms.push((key.to_ascii_lowercase(), translated("A-Z", "a-z")));
        forms.push((key.to_ascii_uppercase(), translated("a-z", "A-Z")));
    }
    forms
}

/// The token that is derived from `other` as `token` is from `key`: shortened to the same length, or with the same character changed.
/// `other` contains none of [`REPLACEMENTS`](near_misses::REPLACEMENTS), so that the derived token differs from it.
pub(crate) fn derived_alike(key: &str, token: &str, other: &str) -> Option<String> {
    let alike = derived_from(key, token)?;
    let Some(changed) = token.get(alike..=alike) else { return Some(other[..alike].to_owned()) };
    Some(format!("{}{changed}{}", &other[..alike], &other[alike + 1..]))
}

/// A `Set-Cookie` or `Cookie` field without the value of its first cookie, which is a credential: `sid=(hidden); Path=/`.
pub fn without_its_value(cookie: &str) -> String {
    let (pair, attributes) = cookie.split_at(cookie.find(';').unwrap_or(cookie.len()));
    let name = pair.split('=').next().unwrap_or_default();
    format!("{name}={HIDDEN}{attributes}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_is_replaced_by_its_variable_and_every_other_secret_is_hidden() {
        const KEY: &str = "aB+/c\"d&e'f<9";
        let mut options = Options::new("http://staging-7.test/v1", "another-key").unwrap();
        options.quota_key = animal_store_rules::trace::keys::ApiKey::new(KEY).ok();
        options.transport.proxy = Some("http://me:s3cret-pw@proxy:3128".to_owned());
        let fields =
            [("X-Pass", "hunter2"), ("x-vercel-protection-bypass", "0123456789abcdef"), ("X-Env", "staging-7")];
        options.transport.headers = fields.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let redactor = redactor(&options);
        let codecs = [
            KeyCodec::Plain,
            KeyCodec::Shorter,
            KeyCodec::Headless,
            KeyCodec::BasicUser,
            KeyCodec::BasicBoth,
            KeyCodec::Toggle,
            KeyCodec::Lower,
            KeyCodec::Upper,
            KeyCodec::Percent,
            KeyCodec::Hex,
            KeyCodec::Reversed,
            KeyCodec::Swapped,
        ];
        let forms = codecs.iter().filter_map(|codec| codec.apply(KEY));
        for form in forms.chain(["aB%2B%2Fc%22d%26e%27f%3C9".to_owned()]) {
            let shown = redactor.redact(&form);
            assert!(shown.contains("CONFORM_QUOTA_KEY"), "{form}: {shown}");
            assert!(!shown.contains("f<9") && !shown.contains("aB") && !shown.contains(&form), "{form}: {shown}");
        }
        let others = "hunter2, 0123456789abcdef, s3cret-pw, staging-7, me";
        assert_eq!(redactor.redact(others), "(hidden), (hidden), (hidden), staging-7, me");
    }

    #[test]
    fn a_cookie_keeps_its_name_and_attributes_only() {
        assert_eq!(without_its_value("sid=a=b; Path=/; HttpOnly"), "sid=(hidden); Path=/; HttpOnly");
        assert_eq!(without_its_value("sid"), "sid=(hidden)");
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
}
