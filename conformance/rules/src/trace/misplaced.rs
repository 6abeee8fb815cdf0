//! Keys outside the `Authorization` field of a request.

use std::collections::HashSet;

use percent_encoding::percent_decode_str;

use crate::trace::exchange::Request;
use crate::trace::json::Json;
use crate::trace::knowledge::KeyPlace;

/// Header fields other than `Authorization` in which clients send keys, in lower case.
pub(crate) const KEY_FIELDS: [&str; 4] = ["api-key", "apikey", "x-api-key", "x-auth-token"];

/// Names of parameters and members that hold a key, in lower case without `-` and `_`.
const KEY_NAMES: [&str; 12] = [
    "accesstoken",
    "apikey",
    "apitoken",
    "auth",
    "authkey",
    "authorization",
    "authtoken",
    "bearer",
    "bearertoken",
    "key",
    "token",
    "xapikey",
];

/// The place in a request of a key outside `Authorization`. In a request without a credential, a value with the name of a credential counts
/// as a key.
///
/// Only a whole word is a key: a short key may be a part of another word by chance. `others` are values with such names that came beside a
/// key in other requests, so that they are no keys. If it is `None`, names are not considered.
pub(crate) fn misplaced(
    request: &Request,
    is_key: &dyn Fn(&str) -> bool,
    others: Option<&HashSet<String>>,
) -> Option<KeyPlace> {
    let search = Search { is_key, others: others.filter(|_| request.authorization.is_none()) };
    if request.query.as_deref().is_some_and(|query| search.finds_in_pairs(query)) {
        return Some(KeyPlace::Query);
    }
    if request.path.split(['/', ';', '=', ',', ':']).any(|segment| is_key(&decoded(segment))) {
        return Some(KeyPlace::Path);
    }
    if key_fields(request).any(|value| is_key(value) || search.is_named("key", value)) {
        return Some(KeyPlace::Field);
    }
    let body = request.body.as_ref()?;
    let is_in_body = match Json::parse_foreign(&body.bytes) {
        Ok(json) => search.finds_in_json("", &json),
        Err(_) => {
            let text = String::from_utf8_lossy(&body.bytes);
            search.finds_in_pairs(text.trim()) || search.finds_in_parts(&text)
        }
    };
    is_in_body.then_some(KeyPlace::Body)
}

/// The values of credential names in a request with an `Authorization` field, which are therefore no keys.
pub(crate) fn values_beside_key(request: &Request) -> Vec<String> {
    if request.authorization.is_none() {
        return Vec::new();
    }
    let named = request.query.as_deref().into_iter().flat_map(pairs).map(|(_, value)| value);
    named.chain(key_fields(request).map(str::to_owned)).collect()
}

/// The values of the header fields in which clients send keys.
fn key_fields(request: &Request) -> impl Iterator<Item = &str> {
    KEY_FIELDS.into_iter().flat_map(|name| request.further(name))
}

fn decoded(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

fn pairs(text: &str) -> impl Iterator<Item = (String, String)> {
    text.split('&').map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or(("", pair));
        (decoded(name), decoded(value))
    })
}

/// A search for keys in the parts of a request.
struct Search<'s> {
    is_key: &'s dyn Fn(&str) -> bool,
    /// The values that are no keys, whatever their names are. `None` if names are not considered.
    others: Option<&'s HashSet<String>>,
}

impl Search<'_> {
    /// Whether a value has a key as a word, or counts as a key by its name.
    fn finds(&self, name: &str, value: &str) -> bool {
        value.split_whitespace().any(self.is_key) || self.is_named(name, value)
    }

    fn is_named(&self, name: &str, value: &str) -> bool {
        let name: String = name.to_ascii_lowercase().chars().filter(|c| !matches!(c, '-' | '_')).collect();
        KEY_NAMES.contains(&name.as_str())
            && !value.is_empty()
            && self.others.is_some_and(|others| !others.contains(value))
    }

    fn finds_in_pairs(&self, text: &str) -> bool {
        pairs(text).any(|(name, value)| self.finds(&name, &value))
    }

    fn finds_in_json(&self, name: &str, json: &Json) -> bool {
        match json {
            Json::Object(members) => members.iter().any(|(name, value)| self.finds_in_json(name, value)),
            Json::Array(items) => items.iter().any(|item| self.finds_in_json("", item)),
            other => other.as_str().is_some_and(|value| self.finds(name, value)),
        }
    }

    /// Whether a part of a multipart body has a key. The name of the part is a parameter of its `Content-Disposition`, and its value
    /// follows a blank line.
    fn finds_in_parts(&self, text: &str) -> bool {
        let mut name = "";
        text.lines().any(|line| {
            if let Some((_, rest)) = line.split_once("name=\"") {
                name = rest.split('"').next().unwrap_or_default();
                return false;
            }
            self.finds(name, line.trim())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(request: &Request) -> Option<KeyPlace> {
        misplaced(request, &|word| word == "sk-Key1", Some(&HashSet::new()))
    }

    fn list() -> Request {
        Request::new("GET", "/pets")
    }

    fn posted(media_type: &str, body: &str) -> Request {
        Request::new("POST", "/pets").authorization("Bearer sk-Key1").body(media_type, body)
    }

    #[test]
    fn a_key_is_found_wherever_it_is_out_of_place() {
        let multipart = "--x\r\nContent-Disposition: form-data; name=\"animal\"\r\n\r\nsk-Key1\r\n--x--\r\n";
        for (request, found) in [
            (list().query("api_key=sk-Key1"), KeyPlace::Query),
            (list().query("limit=5&x=sk%2DKey1"), KeyPlace::Query),
            (list().query("sk-Key1"), KeyPlace::Query),
            (list().query("auth=Bearer+sk-Key1"), KeyPlace::Query),
            (Request::new("GET", "/pets/sk-Key1"), KeyPlace::Path),
            (Request::new("GET", "/pets;key=sk-Key1"), KeyPlace::Path),
            (list().header("X-Api-Key", "sk-Key1"), KeyPlace::Field),
            (posted("application/json", r#"{"name":"Rex","auth":{"key":"sk-Key1"}}"#), KeyPlace::Body),
            (posted("application/x-www-form-urlencoded", "name=Rex&secret=sk-Key1"), KeyPlace::Body),
            (posted("multipart/form-data; boundary=x", multipart), KeyPlace::Body),
        ] {
            assert_eq!(place(&request), Some(found), "{:?}", request.target());
        }
    }

    #[test]
    fn where_there_is_no_credential_a_value_that_is_named_as_one_is_it() {
        let multipart = "--x\r\nContent-Disposition: form-data; name=\"api_key\"\r\n\r\nother\r\n--x--\r\n";
        for (request, found) in [
            (list().query("api_key=other"), KeyPlace::Query),
            (list().query("access_token=other"), KeyPlace::Query),
            (list().header("x-api-key", "other"), KeyPlace::Field),
            (Request::new("POST", "/pets").json(r#"{"name":"Rex","apiKey":"other"}"#), KeyPlace::Body),
            (Request::new("POST", "/pets").body("multipart/form-data; boundary=x", multipart), KeyPlace::Body),
        ] {
            assert_eq!(place(&request), Some(found), "{:?}", request.target());
            let with_key = request.authorization("Bearer sk-Key1");
            assert_eq!(place(&with_key), None, "another service's, {:?}", with_key.target());
        }
        let others = HashSet::from(["other".to_owned()]);
        assert_eq!(
            misplaced(&list().query("token=other"), &|_| false, Some(&others)),
            None,
            "it came beside a key as well"
        );
    }

    #[test]
    fn a_part_of_a_word_and_an_ordinary_value_are_no_keys() {
        for request in [
            list().query("limit=5&status=sold"),
            list().query("key="),
            posted("application/json", r#"{"name":"sk-Key12"}"#),
            Request::new("GET", "/pets/7"),
        ] {
            assert_eq!(place(&request), None, "{:?}", request.target());
        }
    }
}
