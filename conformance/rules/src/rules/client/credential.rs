//! The key travels in the `Authorization` header.

use crate::facts::Facts;
use crate::history::{Entry, History};
use crate::request;
use crate::rules::needs::Needs;
use crate::rules::{Judgement, Rule};
use crate::trace::exchange::Request;
use crate::trace::json::Json;

pub(crate) const RULES: &[Rule] = &[Rule::new("client.key-in-header", key_in_header).needing(Needs::REQUEST)];

fn key_in_header(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for entry in &history.entries {
        match place(history, &entry.exchange.request) {
            Some(place) => judgement.fail(
                &[entry],
                "the API key in the Authorization header only",
                format!("an API key in the {place} of {}", entry.operation.name()),
            ),
            None if has_key(entry, history) => judgement.hold(),
            None => {}
        }
    }
}

fn has_key(entry: &Entry<'_>, history: &History<'_>) -> bool {
    !request::credential(&entry.exchange.request, history.context).is_invalid()
}

/// Where else a request carries a key. Only a whole value counts: a short key may stand in another word by chance.
fn place(history: &History<'_>, request: &Request) -> Option<&'static str> {
    let is_key = |value: &str| history.context.keys.iter().any(|key| key.reveal() == value);
    let decoded = |text: &str| {
        let text = text.replace('+', " ");
        percent_encoding::percent_decode_str(&text).decode_utf8_lossy().into_owned()
    };
    let in_pairs = |pairs: &str| {
        pairs.split('&').filter_map(|pair| pair.split_once('=')).any(|(_, value)| is_key(&decoded(value)))
    };
    if request.query.as_deref().is_some_and(in_pairs) {
        return Some("query");
    }
    let body = request.body.as_ref()?;
    let in_json = Json::parse_foreign(&body.bytes).is_ok_and(|json| holds(&json, &is_key));
    (in_json || std::str::from_utf8(&body.bytes).is_ok_and(in_pairs)).then_some("body")
}

fn holds(json: &Json, is_key: &impl Fn(&str) -> bool) -> bool {
    match json {
        Json::Object(members) => members.iter().any(|(_, value)| holds(value, is_key)),
        Json::Array(items) => items.iter().any(|item| holds(item, is_key)),
        other => other.as_str().is_some_and(is_key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace_builder::TraceBuilder;

    fn broken(request: Request) -> bool {
        TraceBuilder::new().ask(request, 200, "[]".to_owned()).client_broken().contains(&"client.key-in-header")
    }

    #[test]
    fn a_key_in_the_query_or_in_the_body_is_in_the_wrong_place() {
        assert!(broken(Request::new("GET", "/pets").query("api_key=sk-Key1")));
        assert!(broken(Request::new("GET", "/pets").query("api_key=sk%2DKey1")));
        assert!(broken(Request::new("POST", "/pets").json(r#"{"name":"Rex","auth":{"key":"sk-Key1"}}"#)));
        assert!(broken(Request::new("POST", "/pets").body("application/x-www-form-urlencoded", "key=sk-Key1")));
    }

    #[test]
    fn a_key_in_the_header_is_in_its_place_and_a_part_of_a_word_is_no_key() {
        assert!(!broken(Request::new("GET", "/pets").query("limit=5")));
        assert!(!broken(Request::new("POST", "/pets").json(r#"{"name":"sk-Key12"}"#)));
    }
}
