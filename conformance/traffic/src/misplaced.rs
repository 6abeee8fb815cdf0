//! Keys outside the `Authorization` field of a request.

use std::collections::HashSet;

use animal_store_rules::trace::exchange::Request;
use animal_store_rules::trace::knowledge::KeyPlace;
use animal_store_secrets::{LEAST_DISTINCT, Redactor, announced, is_ordinary};

/// Header fields other than `Authorization` in which clients send keys, in lower case.
pub(crate) const KEY_FIELDS: [&str; 4] = ["api-key", "apikey", "x-api-key", "x-auth-token"];

/// Names of parameters and members that hold a key, in lower case without `-` and `_`.
const KEY_NAMES: &str = "accesstoken apikey apitoken auth authkey authorization authtoken bearer bearertoken \
    key token xapikey";

/// The keys that the service knows, as far as a recording shows, to find them where they are out of place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys {
    all: HashSet<String>,
    /// The keys that are no part of another text by chance.
    distinct: Redactor,
}

impl Keys {
    /// Adds a key.
    pub(crate) fn add(&mut self, key: &str) {
        if self.all.insert(key.to_owned()) && is_distinct(key) {
            self.distinct.hide(key, "");
        }
    }

    /// The number of keys.
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// The place in a request of a key outside `Authorization`. A distinct key is found as a part of any text, in any encoding. An ordinary
    /// word is a key only where its name is that of a credential. With `counts_by_name`, any value with such a name is a key.
    pub(crate) fn misplaced(&self, request: &Request, counts_by_name: bool) -> Option<KeyPlace> {
        let has_key = |text: &[u8]| self.distinct.finds_in(text);
        let is_key =
            |value: &str| value.split_whitespace().last().is_some_and(|word| counts_by_name || self.all.contains(word));
        let names_key =
            |text: &[u8]| announced(text).iter().any(|found| is_key_name(&found.name) && is_key(&found.value));
        let Request { query, path, headers, body, .. } = request;
        if query.as_ref().is_some_and(|query| has_key(query.as_bytes()) || names_key(query.as_bytes())) {
            return Some(KeyPlace::Query);
        }
        if has_key(path.as_bytes()) || path.split('/').any(|part| names_key(part.as_bytes())) {
            return Some(KeyPlace::Path);
        }
        for (name, value) in headers {
            let name = name.to_ascii_lowercase();
            // A second `Authorization` field is a matter of its own.
            if name != "authorization"
                && (has_key(value.as_bytes()) || KEY_FIELDS.contains(&name.as_str()) && is_key(value))
            {
                return Some(KeyPlace::Field);
            }
        }
        let is_in_body = body.as_ref().is_some_and(|body| has_key(&body.bytes) || names_key(&body.bytes));
        is_in_body.then_some(KeyPlace::Body)
    }
}

/// Returns true if a key is so long and mixed that it is not a part of another text by chance.
fn is_distinct(key: &str) -> bool {
    key.len() >= LEAST_DISTINCT && key.bytes().any(|byte| byte.is_ascii_digit()) && !is_ordinary(key)
}

/// Returns true if a parameter or a member with this name holds a key.
pub(crate) fn is_key_name(name: &str) -> bool {
    let name: String = name.to_ascii_lowercase().chars().filter(|c| !matches!(c, '-' | '_')).collect();
    KEY_NAMES.split_whitespace().any(|known| known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place_of(key: &str, request: &Request) -> Option<KeyPlace> {
        let mut keys = Keys::default();
        keys.add(key);
        keys.misplaced(request, false)
    }

    fn list() -> Request {
        Request::new("GET", "/pets")
    }

    fn posted(media_type: &str, body: &str) -> Request {
        Request::new("POST", "/pets").authorization("Bearer sk-live-Key1").body(media_type, body)
    }

    #[test]
    fn a_key_is_found_wherever_it_is_out_of_place() {
        let multipart = "--x\r\nContent-Disposition: form-data; name=\"animal\"\r\n\r\nsk-live-Key1\r\n--x--\r\n";
        for (request, found) in [
            (list().query("api_key=sk-live-Key1"), KeyPlace::Query),
            (list().query("limit=5&x=sk%2Dlive-Key1"), KeyPlace::Query),
            (list().query("sk-live-Key1"), KeyPlace::Query),
            (list().query("auth=Bearer+sk-live-Key1"), KeyPlace::Query),
            (list().query("filter=key%3Dsk-live-Key1"), KeyPlace::Query),
            (list().query("filter={%22auth%22:%22sk-live-Key1%22}"), KeyPlace::Query),
            (list().query("auth=c2stbGl2ZS1LZXkx"), KeyPlace::Query),
            (Request::new("GET", "/pets/sk-live-Key1"), KeyPlace::Path),
            (Request::new("GET", "/pets;key=sk-live-Key1"), KeyPlace::Path),
            (list().header("X-Api-Key", "sk-live-Key1"), KeyPlace::Field),
            (list().header("X-Animal-Store-Key", "sk-live-Key1"), KeyPlace::Field),
            (list().header("Proxy-Authorization", "Bearer sk-live-Key1"), KeyPlace::Field),
            (list().header("Cookie", "theme=dark; sid=sk-live-Key1"), KeyPlace::Field),
            (list().header("User-Agent", "shop/1.0 (sk-live-Key1)"), KeyPlace::Field),
            (posted("application/json", r#"{"name":"Rex","auth":{"key":"sk-live-Key1"}}"#), KeyPlace::Body),
            (posted("application/json", r#"{"name":"Rex","note":"key=sk-live-Key1"}"#), KeyPlace::Body),
            (posted("application/x-www-form-urlencoded", "name=Rex&secret=sk-live-Key1"), KeyPlace::Body),
            (posted("multipart/form-data; boundary=x", multipart), KeyPlace::Body),
            (posted("text/xml", "<pet><name>Rex</name><secret>sk-live-Key1</secret></pet>"), KeyPlace::Body),
        ] {
            assert_eq!(place_of("sk-live-Key1", &request), Some(found), "{:?}", request.target());
        }
        assert_eq!(place_of("sk-live-Key1", &list().header("Authorization", "Bearer sk-live-Key1")), None);
    }

    #[test]
    fn a_key_that_is_an_ordinary_word_is_found_where_its_name_announces_a_key() {
        for (key, request) in [
            ("pets", list()),
            ("12345", Request::new("GET", "/pets/12345")),
            ("abc", list().query("limit=abc")),
            ("test", posted("application/json", r#"{"name":"test","categoryId":1}"#)),
            ("demo", posted("application/json", r#"{"name":"demo","tags":["a demo"]}"#)),
            ("demo", list().header("User-Agent", "demo")),
            ("development", list().query("environment=development")),
        ] {
            assert_eq!(place_of(key, &request), None, "{key}: {:?}", request.target());
        }
        for (request, found) in [
            (list().query("limit=5&api_key=demo"), KeyPlace::Query),
            (Request::new("GET", "/pets;apikey=demo"), KeyPlace::Path),
            (list().header("x-api-key", "demo"), KeyPlace::Field),
            (posted("application/json", r#"{"name":"Rex","auth":"Bearer demo"}"#), KeyPlace::Body),
        ] {
            assert_eq!(place_of("demo", &request), Some(found), "{:?}", request.target());
        }
    }

    #[test]
    fn a_value_that_is_named_as_a_key_counts_as_one_if_the_names_count() {
        let multipart = "--x\r\nContent-Disposition: form-data; name=\"api_key\"\r\n\r\nother\r\n--x--\r\n";
        for (request, found) in [
            (list().query("api_key=other"), KeyPlace::Query),
            (list().query("access_token=other"), KeyPlace::Query),
            (list().header("x-api-key", "other"), KeyPlace::Field),
            (Request::new("POST", "/pets").json(r#"{"name":"Rex","apiKey":"other"}"#), KeyPlace::Body),
            (Request::new("POST", "/pets").body("multipart/form-data; boundary=x", multipart), KeyPlace::Body),
            (Request::new("POST", "/pets").json(r#"{"name":"Rex","apiKey":"other","#), KeyPlace::Body),
            (Request::new("POST", "/pets").json(r#""{\"name\":\"Rex\",\"token\":\"other\"}""#), KeyPlace::Body),
            (Request::new("POST", "/pets").body("text/xml", "<pet><apiKey>other</apiKey></pet>"), KeyPlace::Body),
        ] {
            assert_eq!(Keys::default().misplaced(&request, true), Some(found), "{:?}", request.target());
            assert_eq!(Keys::default().misplaced(&request, false), None, "{:?}", request.target());
        }
        assert_eq!(Keys::default().misplaced(&list().query("key=&limit=5"), true), None);
    }
}
