//! Pseudonyms, which replace the secrets of a run in its recording.
//!
//! A pseudonym is a random text of the same shape as its key, and every text that is derived from a key (another case, an encoding, the
//! key without its last character) is replaced by the text that is derived from the pseudonym in the same way. So a recording is what the
//! run would have been with other keys, and rules and reports treat it like the run. Only an encoding that the judge does not send, in a
//! response, is replaced by the pseudonym itself.

use fastrand::Rng;

use crate::options::Options;
use crate::redaction::{Redactor, derived_alike, further_secrets, key_forms_of, token, without_its_value};
use animal_store_rules::near_misses::{KeyCodec, REPLACEMENTS};
use animal_store_rules::trace::Trace;
use animal_store_rules::trace::exchange::{Exchange, Outcome, Request};
use animal_store_rules::trace::keys::ApiKey;

/// The trace and the options of a run with pseudonyms in place of keys, and of the values of its own header fields.
pub(super) fn without_secrets(trace: &Trace, options: &Options) -> (Trace, Options) {
    // Seeded, so that the recording of a run is the same each time.
    let mut rng = Rng::with_seed(options.seed);
    let mut substitution = Redactor::default();
    let mut replaced = options.clone();
    for key in std::iter::once(&mut replaced.api_key).chain(&mut replaced.quota_key) {
        let pseudonym = pseudonym_of(key.reveal(), &mut rng);
        substitution.hide_key(key.reveal(), &*pseudonym);
        let (forms, replacements) = (key_forms_of(key.reveal(), ""), key_forms_of(&pseudonym, ""));
        for ((form, _), (replacement, _)) in forms.iter().zip(replacements) {
            substitution.hide(form, replacement);
        }
        for token in trace.exchanges.iter().filter_map(token) {
            if let Some(replacement) = derived_alike(key.reveal(), token, &pseudonym) {
                substitution.hide(token, replacement);
            }
        }
        if let Ok(pseudonym) = ApiKey::new(pseudonym) {
            *key = pseudonym;
        }
    }
    for secret in further_secrets(options) {
        substitution.hide_key(secret, alike(secret, &mut rng));
    }
    for (_, value) in &mut replaced.transport.headers {
        *value = substitution.replacement(value).map_or_else(|| alike(value, &mut rng), str::to_owned);
    }
    let implementation = &mut replaced.judging.implementation;
    for text in [&mut implementation.name, &mut implementation.version].into_iter().flatten() {
        *text = substitution.substitute_text(text);
    }
    let mut trace = trace.clone();
    trace.context.keys = replaced.keys().cloned().collect();
    trace.exchanges.iter_mut().for_each(|exchange| substitute(exchange, &|text| substitution.substitute(text)));
    (trace, replaced)
}

/// Replaces the secrets in every part of an exchange that may contain one.
fn substitute(exchange: &mut Exchange, replaced: &dyn Fn(&[u8]) -> Vec<u8>) {
    let replace = |text: &mut String| *text = String::from_utf8_lossy(&replaced(text.as_bytes())).into_owned();
    replace(&mut exchange.step);
    let Request { path, query, authorization, headers, body, .. } = &mut exchange.request;
    replace(path);
    query.iter_mut().chain(authorization).for_each(replace);
    headers.iter_mut().for_each(|(_, value)| replace(value));
    if let Some(body) = body {
        body.bytes = replaced(&body.bytes);
    }
    match &mut exchange.outcome {
        Outcome::Failed(failure) => replace(&mut failure.detail),
        Outcome::Response(response) => {
            response.body = replaced(&response.body);
            for (name, value) in &mut response.headers {
                replace(name);
                replace(value);
                if name == "set-cookie" {
                    *value = without_its_value(value);
                }
            }
        }
    }
}

/// A pseudonym that every codec changes as it changes the key: else a key with its last two characters exchanged could be the pseudonym, or
/// differ from it in case only.
fn pseudonym_of(key: &str, rng: &mut Rng) -> String {
    let in_case_only = |codec: KeyCodec, key: &str| Some(codec.apply(key)?.eq_ignore_ascii_case(key));
    let is_alike = |pseudonym: &String| {
        let is_like = |codec| in_case_only(codec, key).is_none_or(|it| in_case_only(codec, pseudonym) == Some(it));
        KeyCodec::changes().all(is_like)
    };
    // Some keys are like few others: one that reads the same backwards, for example.
    let mut drawn = std::iter::repeat_with(|| alike(key, rng)).take(1_000);
    let last = drawn.next().unwrap_or_default();
    if is_alike(&last) { last } else { drawn.find(is_alike).unwrap_or(last) }
}

/// A random text of the same shape: a letter for each letter, in its case, a digit for each digit, everything else unchanged. It contains
/// none of the [`REPLACEMENTS`] by which the judge makes a key invalid: such a letter could leave the pseudonym as it is.
fn alike(text: &str, rng: &mut Rng) -> String {
    let other = |c: char| match c {
        'a'..='z' => loop {
            let letter = rng.lowercase();
            if !REPLACEMENTS.contains(&letter) {
                break letter;
            }
        },
        'A'..='Z' => rng.uppercase(),
        '0'..='9' => rng.digit(10),
        other => other,
    };
    text.chars().map(other).collect()
}

#[cfg(test)]
mod tests {
    use animal_store_rules::request::credential;
    use animal_store_rules::trace::exchange::Response;
    use animal_store_rules::trace::knowledge::Knowledge;
    use jiff::Timestamp;

    use super::*;

    use crate::run::context;
    use animal_store_rules::near_misses::with_another_character;

    #[test]
    fn a_pseudonym_has_the_shape_of_its_key_and_nothing_of_its_text() {
        let pseudonym = alike("sk-Live/4711+aB", &mut Rng::with_seed(1));
        assert_ne!(pseudonym, "sk-Live/4711+aB");
        let shape = |text: &str| {
            let class = |c: char| {
                if c.is_ascii_digit() {
                    '9'
                } else if c.is_ascii_lowercase() {
                    'a'
                } else {
                    c
                }
            };
            text.chars().map(class).map(|c| if c.is_ascii_uppercase() { 'A' } else { c }).collect::<String>()
        };
        assert_eq!(shape(&pseudonym), "aa-Aaaa/9999+aA");
    }

    #[test]
    fn a_changed_key_is_read_alike_before_and_after_its_replacement() {
        let key = "sk-Xl1ve-kEy";
        let mut options = Options::new("http://h/v1", key).expect("usable options");
        let changed = (0..key.len()).flat_map(|at| [with_another_character(key, at), key[..at].to_owned()]);
        for token in changed.chain(KeyCodec::changes().filter_map(|codec| codec.apply(key))).chain([format!("{key}x")])
        {
            let run = Trace { context: context(&options), ..trace_of(&token) };
            for seed in 0..200 {
                options.seed = seed;
                let (recorded, _) = without_secrets(&run, &options);
                let [read, read_again] =
                    [&run, &recorded].map(|trace| credential(&trace.exchanges[0].request, &trace.context));
                assert_eq!(read, read_again, "{token}, seed {seed}");
            }
        }
    }

    /// The trace of one request with this bearer token.
    fn trace_of(token: &str) -> Trace {
        let at = Timestamp::UNIX_EPOCH;
        let exchange = Exchange {
            number: 1,
            probe: "tour".into(),
            step: String::new(),
            request: Request::new("GET", "/pets").authorization(format!("Bearer {token}")),
            outcome: Outcome::Response(Response { status: 401, headers: Vec::new(), body: Vec::new(), cut: false }),
            sent_at: at,
            received_at: at,
            known: Knowledge::default(),
        };
        Trace {
            context: context(&Options::new("http://h/v1", "sk-live-key").expect("usable options")),
            exchanges: vec![exchange],
        }
    }
}
