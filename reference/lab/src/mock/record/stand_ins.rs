//! The replacements for keys and other credentials in a recording, which contains none.

use std::{collections::HashMap, sync::Arc};

use animal_store_rules::trace::exchange::{Exchange, Outcome, Request};
use animal_store_secrets::{HIDDEN, LEAST_DISTINCT, Redactor, is_credential, is_ordinary};
use animal_store_traffic::credentials::{self, Found};

/// The stand-in of the valid key that was the first to be presented, the second one, and so on.
pub(super) fn of_valid(number: usize) -> String {
    format!("sk-Recorded-Key-{number:04}")
}

/// The texts of the credentials of a request.
pub(super) fn presented(request: &Request) -> impl Iterator<Item = String> {
    credentials::of(request).into_iter().map(|(Found::Key(text) | Found::Other(text))| text)
}

/// The stand-in of each key of a trace.
pub(super) struct StandIns {
    of_keys: HashMap<String, String>,
    /// Replaces credentials in texts. A credential that is short or an ordinary word is replaced only where it was presented.
    search: Redactor,
}

impl StandIns {
    /// Makes stand-ins for presented valid keys and for invalid keys, in the order in which they were presented. Other credentials, and
    /// the keys of the start that were not presented, have none.
    pub(super) fn new(of_start: &[String], valid: &[String], exchanges: &[Arc<Exchange>]) -> StandIns {
        let of_keys = valid.iter().cloned().zip((1..).map(of_valid)).collect();
        let mut stand_ins = StandIns { of_keys, search: Redactor::default() };
        of_start.iter().chain(valid).for_each(|key| stand_ins.hide(key));
        let mut invalid = 0;
        for found in exchanges.iter().flat_map(|exchange| credentials::of(&exchange.request)) {
            let (Found::Key(text) | Found::Other(text)) = &found;
            if matches!(found, Found::Key(_)) && !stand_ins.of_keys.contains_key(text) {
                invalid += 1;
                stand_ins.of_keys.insert(text.clone(), format!("sk-Invalid-Key-{invalid:04}"));
            }
            if !is_ordinary(text) {
                stand_ins.hide(text);
            }
        }
        stand_ins
    }

    /// Replaces a credential in any text from now on, unless it is short.
    fn hide(&mut self, credential: &str) {
        if credential.len() >= LEAST_DISTINCT {
            self.search.hide(credential, self.of(credential).to_owned());
        }
    }

    fn of(&self, credential: &str) -> &str {
        self.of_keys.get(credential).map_or(HIDDEN, String::as_str)
    }

    /// The text without the credentials that are found in any place.
    pub(super) fn text(&self, text: &str) -> String {
        self.search.redact(text)
    }

    /// The exchange with stand-ins for its credentials.
    pub(super) fn exchange(&self, exchange: &Exchange) -> Exchange {
        let mut shown = exchange.clone();
        let request = &mut shown.request;
        request.method = self.text(&request.method);
        request.path = self.text(&request.path);
        request.query = request.query.as_deref().map(|query| self.query(query));
        request.authorization = request.authorization.as_deref().map(|value| self.authorization(value));
        self.fields(&mut request.headers);
        if let Some(body) = &mut request.body {
            body.content_type = self.text(&body.content_type);
            body.bytes = self.search.redact_bytes(&body.bytes);
        }
        if let Outcome::Response(response) = &mut shown.outcome {
            self.fields(&mut response.headers);
            response.body = self.search.redact_bytes(&response.body);
        }
        shown
    }

    /// Replaces the credentials in header fields. The challenge of a refusal is no credential.
    fn fields(&self, fields: &mut [(String, String)]) {
        for (name, value) in fields {
            *value = match name.as_str() {
                "authorization" => self.authorization(value),
                name if is_credential(name) && !name.ends_with("-authenticate") => self.of(value).to_owned(),
                _ => self.text(value),
            };
            *name = self.text(name);
        }
    }

    /// The value of an `Authorization` field with a stand-in for its credential.
    fn authorization(&self, value: &str) -> String {
        match value.split_once(' ') {
            Some((scheme, credential)) => format!("{} {}", self.text(scheme), self.of(credential.trim())),
            None if value.eq_ignore_ascii_case("bearer") => value.to_owned(),
            None => self.of(value).to_owned(),
        }
    }

    /// A query with stand-ins for credentials, and for values whose names announce a credential.
    fn query(&self, query: &str) -> String {
        let parameters = query.split_inclusive(['&', ';']).map(|parameter| {
            let separator = parameter.trim_start_matches(|c| !matches!(c, '&' | ';'));
            match parameter[..parameter.len() - separator.len()].split_once('=') {
                Some((name, value)) if !value.is_empty() && is_credential(name) => {
                    format!("{}={}{separator}", self.text(name), self.of(value))
                }
                _ => self.text(parameter),
            }
        });
        parameters.collect()
    }
}
