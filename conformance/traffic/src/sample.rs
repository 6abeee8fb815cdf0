//! Traffic of clients other than the judge: its valid keys, and the facts that its recording withholds.
//!
//! A recording does not say which keys are valid. A key is assumed to be valid if a request with it succeeded. All keys and other possible
//! secrets are replaced by pseudonyms here; no part of a pseudonym is derived from its key.

use std::collections::{HashMap, HashSet};

use animal_store_rules::trace::exchange::{Exchange, Outcome, Request};
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::trace::knowledge::{Extent, Fact, KeyPlace, Knowledge};
use animal_store_rules::trace::{Context, Trace, conditions};
use animal_store_secrets::{Announced, LEAST_DISTINCT, MOST_VALUES, Redactor, announced, is_ordinary};
use jiff::Timestamp;

use super::credentials;
use crate::misplaced::{KEY_FIELDS, Keys, is_key_name};

/// The secrets of recorded traffic and their pseudonyms, which are equal in all parts of a recording.
#[derive(Clone, Debug, Default)]
pub struct Pseudonyms {
    salt: String,
    of_keys: HashMap<String, String>,
    /// The secrets that are replaced in every text.
    secrets: Redactor,
    /// The keys that may be a part of another text by chance.
    by_chance: Redactor,
    /// The keys that a request was admitted with, or refused for another reason than its credential. A recording that the judge wrote
    /// states where they are out of place, so its pseudonyms are not among them.
    keys: Keys,
    /// The keys that succeeded under Bearer, with the time of the first success. A proxy reads exchanges twice.
    bearers: HashMap<String, Timestamp>,
    is_trace: bool,
}

/// The number of secrets of a recording that are searched for in other texts. Further ones are replaced only where they were sent as
/// credentials.
const MOST_SECRETS: usize = 20_000;

/// The number of secrets whose parts are searched for as well.
const MOST_IN_PARTS: usize = 256;

/// The replacement of a value that no rule needs.
const OMITTED: &str = "omitted";

/// The beginning of every pseudonym; a number and the salt follow.
const PREFIX: &str = "key-";

/// The number of letters of the salt, which distinguishes the pseudonyms of different recordings.
pub const SALT: usize = 4;

/// Returns true if a text is a pseudonym, such as `key-12-abcd`.
fn is_pseudonym(text: &str) -> bool {
    let Some((number, salt)) = text.strip_prefix(PREFIX).and_then(|name| name.split_once('-')) else { return false };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number && salt.len() == SALT && salt.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Returns true if a value is a pseudonym or ends with one, after a space or as a parameter.
fn is_with_pseudonym(value: &str) -> bool {
    value.rsplit([' ', ',', '=', ':']).next().is_some_and(|word| is_pseudonym(word.trim_matches('"')))
}

impl Pseudonyms {
    /// A collection without pseudonyms. The salt, of letters and digits, distinguishes the pseudonyms of different recordings.
    pub fn new(salt: impl Into<String>) -> Pseudonyms {
        Pseudonyms { salt: salt.into(), ..Pseudonyms::default() }
    }

    /// States whether the exchanges that follow are of a trace that the judge wrote. Pseudonyms in a trace are no secrets and stay as they
    /// are.
    pub fn read_trace(&mut self, is_trace: bool) {
        self.is_trace = is_trace;
    }

    /// The redactor for all secrets that have been learned.
    pub fn redactor(&self) -> &Redactor {
        &self.secrets
    }

    fn known(&self, key: &str) -> Option<&str> {
        self.of_keys.get(key).map(String::as_str)
    }

    /// Learns every credential of a part of the recording. Bearer tokens come first, then all other credentials, each in the order of
    /// sending, so that the pseudonyms are equal each time.
    fn learn(&mut self, exchanges: &[Exchange], base_url: &str) {
        exchanges.iter().filter_map(|exchange| token(&exchange.request)).for_each(|key| self.learn_key(key));
        for exchange in exchanges {
            let is_refused = matches!(exchange.status(), None | Some(401));
            for found in credentials::of(&exchange.request) {
                match found {
                    credentials::Found::Key(key) if !is_refused && !self.is_own(&key) => {
                        self.learn_key(&key);
                        if self.keys.count() < MOST_SECRETS {
                            self.keys.add(&key);
                        }
                    }
                    credentials::Found::Key(key) => self.learn_key(&key),
                    // A cookie may repeat the name of the host.
                    credentials::Found::Other(secret) if base_url.contains(&*secret) => {}
                    // The secret in it was replaced when the trace was written.
                    credentials::Found::Other(secret) if self.is_trace && is_with_pseudonym(&secret) => {}
                    credentials::Found::Other(secret) => self.learn_secret(&secret, OMITTED),
                }
            }
        }
    }

    fn learn_key(&mut self, key: &str) {
        if self.of_keys.contains_key(key) {
            return;
        }
        if self.is_own(key) {
            self.of_keys.insert(key.to_owned(), key.to_owned());
            return;
        }
        // The salt comes last, so that no pseudonym is the beginning of another one.
        let pseudonym = format!("{PREFIX}{}-{}", self.of_keys.len() + 1, self.salt);
        self.of_keys.insert(key.to_owned(), pseudonym.clone());
        if is_distinct(key) {
            self.learn_secret(key, &pseudonym);
        } else if self.by_chance.count() < MOST_SECRETS {
            self.by_chance.hide(key, OMITTED);
        }
    }

    /// Whether a request has a key under another scheme than Bearer, although the key had succeeded under Bearer.
    fn has_another_scheme(&self, Exchange { request, sent_at, known, .. }: &Exchange) -> bool {
        let had_succeeded = |key: &String| {
            self.bearers.get(key).is_some_and(|success| sent_at.duration_since(*success) >= known.precision)
        };
        request.authorizations().any(|value| {
            let scheme = value.split_whitespace().next().unwrap_or_default();
            let alone = Request::new("", "").authorization(value);
            !scheme.eq_ignore_ascii_case("bearer")
                && credentials::of(&alone)
                    .iter()
                    .any(|(credentials::Found::Key(text) | credentials::Found::Other(text))| had_succeeded(text))
        })
    }

    /// Whether a key is a pseudonym that the judge wrote.
    fn is_own(&self, key: &str) -> bool {
        self.is_trace && is_pseudonym(key)
    }

    fn learn_secret(&mut self, secret: &str, replacement: &str) {
        match self.secrets.count() {
            _ if !is_distinct(secret) || is_ordinary(secret) => {}
            MOST_SECRETS.. => {}
            MOST_IN_PARTS.. => self.secrets.hide(secret, replacement),
            _ => self.secrets.hide_key(secret, replacement),
        }
    }
}

/// Whether a key is so long, with at least one letter, that it is not a part of another text, such as a time, by chance.
fn is_distinct(key: &str) -> bool {
    key.len() >= LEAST_DISTINCT && key.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Makes a trace of exchanges as they were recorded, with their keys replaced by pseudonyms. If all times are known, the exchanges are
/// sorted by the time of sending.
pub fn trace(mut context: Context, mut exchanges: Vec<Exchange>, pseudonyms: &mut Pseudonyms) -> Trace {
    context.extent = context.extent.min(Extent::Complete);
    if exchanges.iter().all(|exchange| exchange.known.precision < Knowledge::NO_TIME) {
        exchanges.sort_by_key(|exchange| exchange.sent_at);
    }
    pseudonyms.learn(&exchanges, &context.base_url);
    let (mut valid, mut is_valid) = (Vec::new(), HashSet::new());
    for exchange in exchanges.iter().filter(|exchange| is_served(exchange)) {
        let pseudonym = token(&exchange.request).and_then(|key| pseudonyms.known(key));
        valid.extend(pseudonym.filter(|pseudonym| is_valid.insert((*pseudonym).to_owned())).map(str::to_owned));
    }
    let (extent, has_no_keys) = (context.extent, pseudonyms.of_keys.is_empty());
    find_misplaced(&mut exchanges, pseudonyms, |exchange| {
        let is_missed = extent > Extent::Sample || exchange.status() == Some(401);
        // Outside the service, names have other meanings.
        has_no_keys && is_missed && !is_outside(&exchange.request)
    });
    // Where no request shows a key, the program that recorded them may leave keys out, as browsers do.
    let shows_keys =
        context.extent > Extent::Sample || exchanges.iter().any(|exchange| exchange.request.authorization.is_some());
    for (at, exchange) in exchanges.iter_mut().enumerate() {
        exchange.number = at + 1;
        let is_known = match &exchange.request.authorization {
            None => shows_keys,
            Some(value) => {
                let token = value.split_once(' ').map_or(value.as_str(), |(_, token)| token).trim();
                pseudonyms.known(token).is_some_and(|pseudonym| is_valid.contains(pseudonym))
            }
        };
        if !is_known {
            exchange.known.withheld.insert(Fact::Credential);
        }
        hide_keys(&mut exchange.request, pseudonyms);
        hide_in_texts(exchange, pseudonyms);
    }
    context.keys = valid.into_iter().filter_map(|key| ApiKey::new(key).ok()).collect();
    Trace { context, exchanges }
}

/// Exchanges for a recording that is written while there is traffic, with their keys replaced by pseudonyms. Facts that later exchanges
/// may change, such as which keys are valid, are left to the reader of the recording.
pub fn without_secrets(mut exchanges: Vec<Exchange>, base_url: &str, pseudonyms: &mut Pseudonyms) -> Vec<Exchange> {
    pseudonyms.learn(&exchanges, base_url);
    find_misplaced(&mut exchanges, pseudonyms, |_| false);
    for exchange in &mut exchanges {
        hide_keys(&mut exchange.request, pseudonyms);
        hide_in_texts(exchange, pseudonyms);
    }
    exchanges
}

/// Notes the places of keys outside `Authorization`, before the keys are replaced, and removes the exchanges outside the service that have
/// none. Where no request has a credential, the client may send its key elsewhere, under the name of one. A program that records only some
/// requests may have left the credential out, unless the service missed it.
fn find_misplaced(
    exchanges: &mut Vec<Exchange>,
    pseudonyms: &mut Pseudonyms,
    counts_by_name: impl Fn(&Exchange) -> bool,
) {
    for exchange in exchanges.iter_mut() {
        let place = pseudonyms.keys.misplaced(&exchange.request, counts_by_name(exchange));
        let place = place.or(pseudonyms.has_another_scheme(exchange).then_some(KeyPlace::Scheme));
        exchange.known.misplaced_key = exchange.known.misplaced_key.or(place);
        if let Some(key) = token(&exchange.request).filter(|_| is_served(exchange)) {
            let success = pseudonyms.bearers.entry(key.to_owned()).or_insert(exchange.received_at);
            *success = exchange.received_at.min(*success);
        }
    }
    exchanges.retain(|exchange| !is_outside(&exchange.request) || exchange.known.misplaced_key.is_some());
}

/// Whether a request was sent to a path outside the service. Only the places of keys in it are judged.
fn is_outside(request: &Request) -> bool {
    request.path.starts_with("/../")
}

/// The key of a request, if it has the described form.
fn token(request: &Request) -> Option<&str> {
    request.authorization.as_deref()?.strip_prefix("Bearer ").filter(|token| !token.is_empty())
}

/// Whether a request for an operation succeeded, so that its key is valid.
fn is_served(exchange: &Exchange) -> bool {
    let path = exchange.request.path.as_str();
    let is_operation = path == "/pets" || path.starts_with("/pets/") || path == "/store/orders";
    is_operation && matches!(exchange.status(), Some(200..=299))
}

/// Replaces the credentials of a request, keys by their pseudonyms and others by [`OMITTED`]. Header fields that no rule needs are removed.
fn hide_keys(request: &mut Request, pseudonyms: &Pseudonyms) {
    let replaced = |value: &str| pseudonyms.known(value).unwrap_or(OMITTED).to_owned();
    request.authorization = request.authorization.take().map(|value| match value.split_once(' ') {
        Some((scheme, token)) => {
            let space = &token[..token.len() - token.trim_start().len()];
            format!("{scheme} {space}{}", replaced(token.trim()))
        }
        None => replaced(&value),
    });
    request.headers.retain(|(name, _)| is_needed(name));
    for (name, value) in &mut request.headers {
        if KEY_FIELDS.contains(&name.as_str()) {
            *value = replaced(value);
        }
    }
    if let Some((path, parameters)) = request.path.split_once(';') {
        let parameters = parameters.split(';').map(|parameter| match parameter.split_once('=') {
            Some((name, value)) => {
                let (value, segments) = value.split_at(value.find('/').unwrap_or(value.len()));
                format!(";{name}={}{segments}", replaced(value))
            }
            None => format!(";{parameter}"),
        });
        request.path = format!("{path}{}", parameters.collect::<String>());
    }
    request.query = request.query.take().map(|query| {
        let parameters = query.split('&').map(|parameter| match parameter.split_once('=') {
            Some((name @ ("limit" | "status"), value)) => format!("{name}={value}"),
            Some((name, value)) => format!("{name}={}", replaced(value)),
            None => parameter.to_owned(),
        });
        parameters.collect::<Vec<_>>().join("&")
    });
}

/// Replaces secrets in every other text of an exchange: clients put keys anywhere by mistake, and servers may repeat them. A body with a
/// key that may be there by chance is withheld.
fn hide_in_texts(exchange: &mut Exchange, Pseudonyms { secrets, by_chance, .. }: &Pseudonyms) {
    let Exchange { request, outcome, known, .. } = exchange;
    let hide_in_text = |text: &mut String| *text = secrets.redact(text);
    let mut hide_in_body = |body: &mut Vec<u8>, fact| {
        *body = secrets.redact_bytes(body);
        // A key may be so short that it is replaced nowhere, and values beyond the bound are not read.
        let names_key = |body: &[u8]| {
            let named = announced(body);
            named.len() >= MOST_VALUES
                || named.iter().any(|Announced { name, value }| {
                    is_key_name(name) && !value.ends_with(OMITTED) && !is_with_pseudonym(value)
                })
        };
        if by_chance.finds_in(body) || fact == Fact::RequestBody && names_key(body) {
            body.clear();
            known.withheld.insert(fact);
        }
    };
    if let Some(body) = &mut request.body {
        hide_in_body(&mut body.bytes, Fact::RequestBody);
        hide_in_text(&mut body.content_type);
    }
    match outcome {
        Outcome::Response(response) => {
            hide_in_body(&mut response.body, Fact::ResponseBody);
            response.headers.iter_mut().flat_map(|(name, value)| [name, value]).for_each(hide_in_text);
        }
        Outcome::Failed(failure) => hide_in_text(&mut failure.detail),
    }
    [&mut request.method, &mut request.path].into_iter().chain(&mut request.query).for_each(hide_in_text);
    request.headers.iter_mut().flat_map(|(name, value)| [name, value]).for_each(hide_in_text);
}

/// Returns true if a header field of a request is needed for judging. The name is given in lower case. Findings show the client program, an
/// archive with the host shows all fields of the request, and a content coding makes the meaning of a body ambiguous.
fn is_needed(name: &str) -> bool {
    KEY_FIELDS.contains(&name)
        || ["user-agent", "host", "content-encoding", conditions::ACCEPT].contains(&name)
        || conditions::FIELDS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace_builder::TraceBuilder;
    use animal_store_rules::request::{Credential, Defect, credential_of};

    fn sampled(requests: Vec<(Request, u16)>) -> Trace {
        recorded(Extent::Sample, requests)
    }

    fn recorded(extent: Extent, requests: Vec<(Request, u16)>) -> Trace {
        read(extent, requests, &mut Pseudonyms::new("ab12"))
    }

    fn read(extent: Extent, requests: Vec<(Request, u16)>, pseudonyms: &mut Pseudonyms) -> Trace {
        let mut builder = TraceBuilder::new();
        for (request, status) in requests {
            let authorization = request.authorization.clone();
            builder = builder.ask(request, status, String::new());
            builder = builder.change_last(|exchange| exchange.request.authorization = authorization);
        }
        let Trace { mut context, exchanges } = builder.trace();
        context.extent = extent;
        trace(context, exchanges, pseudonyms)
    }

    fn credentials(requests: Vec<(Request, u16)>) -> Vec<Credential> {
        let trace = sampled(requests);
        trace.exchanges.iter().map(|exchange| credential_of(exchange, &trace.context)).collect()
    }

    fn list() -> Request {
        Request::new("GET", "/pets")
    }

    #[test]
    fn a_pseudonym_of_a_trace_stays_and_a_key_that_looks_like_one_does_not() {
        let read = |key: &str, is_trace: bool| {
            let mut pseudonyms = Pseudonyms::new("wxyz");
            pseudonyms.read_trace(is_trace);
            let request = list().authorization(format!("Bearer {key}"));
            let Trace { context, mut exchanges } = TraceBuilder::new().ask(request, 200, String::new()).trace();
            exchanges.iter_mut().for_each(|exchange| exchange.request.authorization = Some(format!("Bearer {key}")));
            let trace = trace(context, exchanges, &mut pseudonyms);
            let shown = trace.exchanges[0].request.authorization.clone().unwrap_or_default();
            (shown, pseudonyms.redactor().redact(&format!("Bearer {key}")))
        };
        let same = ("Bearer key-3-abcd".to_owned(), "Bearer key-3-abcd".to_owned());
        assert_eq!(read("key-3-abcd", true), same);
        for (key, is_trace) in
            [("key-3-abcd", false), ("key-3-abcdef", true), ("a-key-3-abcd", true), ("key-x-abcd", true)]
        {
            let (shown, redacted) = read(key, is_trace);
            assert_eq!(shown, "Bearer key-1-wxyz", "{key}");
            assert!(!redacted.contains(key), "{key}: {redacted}");
        }
    }

    #[test]
    fn a_key_is_valid_if_a_request_with_it_succeeded_and_unknown_otherwise() {
        let found = credentials(vec![
            (list().authorization("Bearer one"), 200),
            (list().authorization("Bearer two"), 401),
            (list().authorization("Bearer one"), 429),
            (list().authorization("bearer one"), 200),
            (list().authorization("Basic other"), 401),
            (list().authorization("Basic one"), 401),
            (list(), 401),
            (list().query("api_key=one"), 401),
        ]);
        let not_bearer = Credential::Invalid(Defect::NotBearer);
        assert_eq!(
            found,
            [
                Credential::Valid(0),
                Credential::Withheld,
                Credential::Valid(0),
                Credential::Ambiguous(0),
                Credential::Withheld,
                not_bearer,
                Credential::Invalid(Defect::Absent),
                not_bearer,
            ]
        );
    }

    #[test]
    fn where_no_request_shows_a_key_keys_may_have_been_left_out() {
        assert_eq!(credentials(vec![(list(), 200), (list(), 401)]), [Credential::Withheld; 2]);
    }

    #[test]
    fn a_token_that_the_service_never_knew_and_a_name_beside_keys_put_no_key_in_the_wrong_place() {
        let places = |extent, requests| {
            let exchanges = recorded(extent, requests).exchanges;
            exchanges.iter().filter_map(|exchange| exchange.known.misplaced_key).collect::<Vec<_>>()
        };
        let of_test = |status| {
            let path = Request::new("GET", "/pets/sk-invalid-1").authorization("Bearer sk-valid-1");
            vec![(list().authorization("Bearer sk-invalid-1"), status), (path, 404)]
        };
        assert_eq!(places(Extent::Conversation, of_test(401)), [], "a test with an invalid key");
        assert_eq!(places(Extent::Conversation, of_test(429)), [KeyPlace::Path]);
        let query = || list().query("token=page-2");
        assert_eq!(places(Extent::Conversation, vec![(query(), 200)]), [KeyPlace::Query]);
        assert_eq!(places(Extent::Sample, vec![(query(), 401)]), [KeyPlace::Query]);
        assert_eq!(places(Extent::Sample, vec![(query(), 200)]), [], "an archive without credentials");
        let with_key = (list().authorization("Bearer sk-valid-1"), 200);
        assert_eq!(places(Extent::Conversation, vec![(query(), 401), with_key]), [], "the client has another key");
    }

    #[test]
    fn a_key_under_another_scheme_is_out_of_place_once_it_has_succeeded_under_bearer() {
        let list_with = |value: &str| list().authorization(value);
        let places_by = |pseudonyms: &mut Pseudonyms, requests| {
            let exchanges = read(Extent::Conversation, requests, pseudonyms).exchanges;
            exchanges.iter().map(|exchange| exchange.known.misplaced_key).collect::<Vec<_>>()
        };
        let places = |requests| places_by(&mut Pseudonyms::new("ab12"), requests);
        let bearer = || (list_with("Bearer sk-valid-1"), 200);
        for other in ["Token sk-valid-1", "sk-valid-1", "Basic c2stdmFsaWQtMTo="] {
            assert_eq!(places(vec![bearer(), (list_with(other), 401)]), [None, Some(KeyPlace::Scheme)], "{other}");
            let mut pseudonyms = Pseudonyms::new("ab12");
            for pass in ["to record it", "to judge it"] {
                let found = places_by(&mut pseudonyms, vec![(list_with(other), 401), bearer()]);
                assert_eq!(found, [None, None], "{other}, before it was known, read {pass}");
            }
        }
        for same in ["bearer sk-valid-1", "BEARER  sk-valid-1", "Basic b3RoZXI6"] {
            assert_eq!(places(vec![bearer(), (list_with(same), 401)]), [None, None], "{same}");
        }
    }

    #[test]
    fn a_time_in_a_cookie_is_no_secret_that_other_texts_have() {
        let visit = list().authorization("Bearer sk-valid-1").header("cookie", "visited=1780315200");
        let builder = TraceBuilder::new().ask(visit, 200, "[]".to_owned()).header("x-seen", "1780315200");
        let Trace { context, exchanges } = builder.trace();
        let trace = trace(context, exchanges, &mut Pseudonyms::new("ab12"));
        let response = trace.exchanges[0].response().expect("a response");
        assert!(response.headers.iter().any(|(_, value)| value == "1780315200"), "{:?}", response.headers);
    }

    #[test]
    fn a_key_is_replaced_wherever_a_request_has_it() {
        let sent =
            |request: Request| sampled(vec![(request.authorization("Bearer sk-secret-1"), 200)]).exchanges.remove(0);
        let query = list().query("limit=5&token=sk-other&key=sk-secret-1&x").header("x-api-key", "sk-third");
        let query = sent(query).request;
        assert_eq!(query.authorization.as_deref(), Some("Bearer key-1-ab12"));
        assert_eq!(query.query.as_deref(), Some("limit=5&token=omitted&key=key-1-ab12&x"), "no other value is left");
        assert_eq!(query.headers, [("x-api-key".to_owned(), "omitted".to_owned())]);
        let path = sent(Request::new("GET", "/pets/sk-secret-1").query("sk-secret-1&x=1")).request;
        assert_eq!(path.target(), "/pets/key-1-ab12?key-1-ab12&x=omitted");
        let mut fields = Request::new("POST", "/pets").body("text/sk-secret-1", "x");
        for name in ["user-agent", "accept", "if-none-match", "host", "x-http-method"] {
            fields = fields.header(name, "of sk-secret-1 (x)");
        }
        let Exchange { request, known, .. } = sent(fields);
        assert_eq!(request.body.expect("a body").content_type, "text/key-1-ab12");
        assert_eq!(request.headers.len(), 5);
        assert!(request.headers.iter().all(|(_, value)| value == "of key-1-ab12 (x)"), "{:?}", request.headers);
        assert_eq!(known.misplaced_key, Some(KeyPlace::Field));
    }

    #[test]
    fn a_key_that_only_a_body_announces_is_left_nowhere() {
        for (body, key) in [
            (r#"{"name":"Rex","apiKey":"sk-secret-1"}"#, "sk-secret-1"),
            (r#"{"name":"Rex","apiKey":"sk-secret-1""#, "sk-secret-1"),
            (r#"{"name":"Rex","apiKey":"abc"}"#, "abc"),
            (r#"{"name":"Rex","apiKey":"2837465910"}"#, "2837465910"),
            ("--x\r\nContent-Disposition: form-data; name=\"api_key\"\r\n\r\nsk-secret-1\r\n--x--", "sk-secret-1"),
            ("<pet><token>sk-secret-1</token></pet>", "sk-secret-1"),
        ] {
            let request = Request::new("POST", "/pets").json(body);
            let exchange = recorded(Extent::Conversation, vec![(request, 401)]).exchanges.remove(0);
            let shown = exchange.request.body.as_ref().map(|body| String::from_utf8_lossy(&body.bytes).into_owned());
            assert!(!shown.unwrap_or_default().contains(key), "{body}");
            assert_eq!(exchange.known.misplaced_key, Some(KeyPlace::Body), "{body}");
        }
        let many = Request::new("POST", "/pets").json(format!("{}token=sk-secret-1", "pass=a&".repeat(MOST_VALUES)));
        let request = recorded(Extent::Conversation, vec![(many, 401)]).exchanges.remove(0).request;
        assert_eq!(request.body.map(|body| body.bytes.len()), Some(0), "after more names than are read");
        let exchange = sampled(vec![(Request::new("GET", "/pets;key=abc/7;v=1;x"), 404)]).exchanges.remove(0);
        assert_eq!(exchange.request.path, "/pets;key=omitted/7;v=omitted;x");
    }

    #[test]
    fn a_key_in_a_body_is_replaced_and_a_body_with_one_that_may_stand_there_by_chance_is_withheld() {
        let sent = |key: &str, body: &str| {
            let request = Request::new("POST", "/pets").authorization(format!("Bearer {key}")).json(body);
            let exchange = sampled(vec![(request, 200)]).exchanges.remove(0);
            let body = exchange.request.body.map(|body| String::from_utf8(body.bytes).expect("text"));
            (body.unwrap_or_default(), exchange.known.withheld.contains(Fact::RequestBody))
        };
        let (key, body) = ("sk-secret-1", r#"{"a":"sk-secret-1","b":["xsk-secret-1sk-secret-1"]}"#);
        assert_eq!(sent(key, body), (body.replace(key, "key-1-ab12"), false));
        assert_eq!(sent("12345678", r#"{"id":123456789}"#), (String::new(), true));
        assert_eq!(sent("12345678", r#"{"id":7}"#), (r#"{"id":7}"#.to_owned(), false));
    }
}
