//! The ways in which a request may lack the key.

use crate::http::key_forms::{basic, basic_user, percent_encoded, toggle_case, with_another_end};
use animal_store_rules::trace::exchange::{Body, Request};
use serde_json::{Map, Value};

/// Text made of the key and of a token that nobody issued.
type MadeOf = fn(&str, &str) -> String;

/// The way in which a request lacks the key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    /// The form in words, for the step of a request.
    pub(super) described: &'static str,
    /// The beginning of the value of `Authorization`.
    scheme: &'static str,
    /// The rest of the value of `Authorization`, if there is such a field.
    credential: Option<MadeOf>,
    /// Whether a second `Authorization` field has the key under Basic.
    has_second_field: bool,
    /// Whether the key is in the query, in other header fields, in a cookie, and in the body if that is an object.
    is_elsewhere: bool,
}

/// A token under the scheme Bearer.
const fn bearer(described: &'static str, token: MadeOf) -> Form {
    field(described, "Bearer ", token)
}

/// A credential behind the beginning of the value of `Authorization`.
const fn field(described: &'static str, scheme: &'static str, credential: MadeOf) -> Form {
    Form { described, scheme, credential: Some(credential), has_second_field: false, is_elsewhere: false }
}

/// The unchanged key behind the beginning of the value of `Authorization`.
const fn key_behind(scheme: &'static str, described: &'static str) -> Form {
    field(described, scheme, |key, _| key.to_owned())
}

impl Form {
    pub(super) const NONE: Form = Form { credential: None, ..key_behind("", "without a key") };
    pub(super) const UNKNOWN: Form = bearer("with an unknown key", |_, unknown| unknown.to_owned());
    pub(super) const LONG_UNKNOWN: Form =
        bearer("with a long unknown key", |_, unknown| format!("{unknown}{}", "-and-longer-than-others".repeat(12)));
    pub(super) const BEYOND_ASCII: Form = bearer("with a key beyond ASCII", |_, unknown| format!("{unknown}\u{e9}"));
    pub(super) const EMPTY: Form = field("with an empty key", "Bearer", |_, _| String::new());
    pub(super) const NOTHING: Form = field("with an empty field", "", |_, _| String::new());
    /// Clients without a token may send this word, or the next one.
    pub(super) const NULL: Form = bearer("with the key null", |_, _| "null".to_owned());
    pub(super) const UNDEFINED: Form = bearer("with the key undefined", |_, _| "undefined".to_owned());
    /// The percent sign matches any text in SQL.
    pub(super) const WILDCARD: Form = bearer("with a wildcard", |_, _| "%".to_owned());
    pub(super) const LONGER: Form = bearer("with the key and a letter more", |key, _| format!("{key}x"));
    pub(super) const PREFIXED: Form = bearer("with a letter and the key", |key, _| format!("x{key}"));
    pub(super) const SHORTER: Form = bearer("with the key and a letter less", |key, _| key[..key.len() - 1].to_owned());
    pub(super) const HEADLESS: Form = bearer("with the key without its first letter", |key, _| key[1..].to_owned());
    pub(super) const OTHER_END: Form = bearer("with another last letter", |key, _| with_another_end(key));
    pub(super) const OTHER_CASE: Form = bearer("with the key in another case", |key, _| toggle_case(key));
    pub(super) const LOWER_CASE: Form =
        bearer("with the key in lower case", |key, _| another_case(key, key.to_ascii_lowercase()));
    pub(super) const UPPER_CASE: Form =
        bearer("with the key in upper case", |key, _| another_case(key, key.to_ascii_uppercase()));
    pub(super) const DOUBLED: Form = bearer("with the key twice", |key, _| key.repeat(2));
    /// A fragment of a URL.
    pub(super) const FRAGMENT: Form = bearer("with the key and a fragment", |key, _| format!("{key}#x"));
    /// A password as under Basic.
    pub(super) const COLON: Form = bearer("with the key and a password", |key, _| format!("{key}:x"));
    /// A second value as in a list.
    pub(super) const COMMA: Form = bearer("with the key and a comma", |key, _| format!("{key},x"));
    /// Padding as in base64.
    pub(super) const PADDED: Form = bearer("with the key and padding", |key, _| format!("{key}="));
    pub(super) const QUOTED: Form = bearer("with the key in quotation marks", |key, _| format!("\"{key}\""));
    pub(super) const ANOTHER_WORD: Form = bearer("with the key and a word more", |key, _| format!("{key} more"));
    pub(super) const BARE: Form = key_behind("", "with the key without a scheme");
    pub(super) const GLUED: Form = key_behind("Bearer", "with the key and no space before it");
    pub(super) const COLON_FOR_SPACE: Form = key_behind("Bearer:", "with a colon between the scheme and the key");
    pub(super) const SCHEME_TWICE: Form = key_behind("Bearer Bearer ", "with the scheme twice and the key");
    pub(super) const TOKEN: Form = key_behind("Token ", "with the key under Token");
    pub(super) const API_KEY: Form = key_behind("ApiKey ", "with the key under ApiKey");
    pub(super) const BASIC_BARE: Form = key_behind("Basic ", "with the key under Basic");
    pub(super) const BASIC_USER: Form = field("with the key under Basic, as the user", "", |key, _| basic_user(key));
    /// The key as user and as password.
    pub(super) const BASIC_BOTH: Form = field("with the key under Basic, encoded", "", |key, _| basic(key));
    pub(super) const ELSEWHERE: Form = Form { is_elsewhere: true, described: "with the key elsewhere", ..Form::NONE };
    pub(super) const UNKNOWN_AND_ELSEWHERE: Form =
        Form { is_elsewhere: true, described: "with an unknown key and the key elsewhere", ..Form::UNKNOWN };
    pub(super) const TWICE: Form =
        Form { has_second_field: true, described: "with an unknown key and the key under Basic", ..Form::UNKNOWN };

    /// The value of `Authorization` in this form, if there is one, made of the key and of a token that nobody issued.
    pub(super) fn value(self, key: &str, unknown: &str) -> Option<String> {
        self.credential.map(|credential| format!("{}{}", self.scheme, credential(key, unknown)))
    }

    /// The spellings of the key in the query, one for each request. The key is left out where it is to stay out of URLs. A key with a
    /// plus sign is sent in two requests, because the sign may be read in two ways.
    pub(super) fn queries(self, key: &str, keeps_out: bool) -> &'static [Query] {
        match self {
            Form { is_elsewhere: true, .. } if keeps_out => &[Query::Absent],
            Form { is_elsewhere: true, credential: None, .. } if key.contains('+') => &[Query::Encoded, Query::Raw],
            _ => &[Query::Encoded],
        }
    }

    /// The request with a credential in this form, made of the key or of a token that nobody issued.
    pub(super) fn apply(self, mut request: Request, key: &str, unknown: &str, query: Query) -> Request {
        if self.is_elsewhere {
            request = elsewhere(request, key, query);
        }
        request.authorization = self.value(key, unknown);
        if self.has_second_field { request.header("Authorization", basic_user(key)) } else { request }
    }
}

/// The changed key if it differs from the key, else the key with the case of each letter inverted.
fn another_case(key: &str, changed: String) -> String {
    if changed == key { toggle_case(key) } else { changed }
}

/// The spelling of a key in the query. Queries appear in access logs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Query {
    /// The query does not contain the key.
    Absent,
    /// Percent-encoded, as clients write it.
    Encoded,
    /// The key with unencoded plus signs. Some servers read them as spaces, and so take it for another key.
    Raw,
}

impl Query {
    fn write(self, key: &str) -> Option<String> {
        match self {
            Query::Absent => None,
            Query::Encoded => Some(percent_encoded(key)),
            Query::Raw => Some(percent_encoded(key).replace("%2B", "+")),
        }
    }
}

/// A part of a request that may carry a key.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Part {
    Query,
    Field,
    Cookie,
    /// A member of a JSON object.
    Body,
}

/// The places of keys other than Authorization, each with the name of the key there. The most frequent places come first.
const PLACES: [(Part, &str); 20] = [
    (Part::Field, "X-API-Key"),
    (Part::Query, "api_key"),
    (Part::Cookie, "api_key"),
    (Part::Query, "access_token"),
    (Part::Field, "Api-Key"),
    (Part::Query, "apiKey"),
    (Part::Query, "key"),
    (Part::Field, "X-Auth-Token"),
    (Part::Query, "token"),
    (Part::Cookie, "token"),
    (Part::Query, "apikey"),
    (Part::Body, "api_key"),
    (Part::Body, "access_token"),
    (Part::Field, "X-Access-Token"),
    (Part::Cookie, "access_token"),
    (Part::Query, "api-key"),
    (Part::Query, "auth"),
    (Part::Field, "X-Authorization"),
    (Part::Field, "X-Credential-Token"),
    (Part::Field, "Proxy-Authorization"),
];

/// The maximum size of the copies of the key in one request, in bytes. A server may refuse any request whose URL or fields are
/// longer than 8 KiB.
const COPIES: usize = 4 * 1024;

/// The request with the key in the usual places other than Authorization, and in the query as chosen. A long key is put in the
/// first places only.
fn elsewhere(mut request: Request, key: &str, query: Query) -> Request {
    let places = &PLACES[..(COPIES / key.len()).clamp(1, PLACES.len())];
    let key_in_query = query.write(key);
    let (mut pairs, mut cookies): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut members = Vec::new();
    for &(part, name) in places {
        match part {
            Part::Field => request = request.header(name, key),
            Part::Query => pairs.extend(key_in_query.as_ref().map(|key| format!("{name}={key}"))),
            Part::Cookie => cookies.push(format!("{name}={key}")),
            Part::Body => members.push(name),
        }
    }
    let object = |body: &Body| serde_json::from_slice::<Map<String, Value>>(&body.bytes).ok();
    if let Some(mut object) = request.body.as_ref().and_then(object) {
        object.extend(members.into_iter().map(|name| (name.to_owned(), Value::from(key))));
        request = request.json(Value::from(object).to_string());
    }
    if !pairs.is_empty() {
        request = request.query(pairs.join("&"));
    }
    if !cookies.is_empty() {
        request = request.header("Cookie", cookies.join("; "));
    }
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_in_the_query_as_clients_write_it_and_only_where_it_is_wanted() {
        let written = |query: Query| elsewhere(Request::new("GET", "/pets"), "a+b/c", query).query;
        assert!(written(Query::Encoded).is_some_and(|query| query.starts_with("api_key=a%2Bb%2Fc&access_token=")));
        assert!(written(Query::Raw).is_some_and(|query| query.starts_with("api_key=a+b%2Fc&access_token=")));
        assert_eq!(written(Query::Absent), None);
    }

    #[test]
    fn a_key_elsewhere_is_in_every_place_and_a_long_one_in_as_many_as_no_server_refuses_for_their_length() {
        let copies = |key: &str| {
            let request = elsewhere(Request::new("POST", "/pets").json("{}"), key, Query::Encoded);
            let fields = request.headers.iter().map(|(_, value)| value.as_str());
            let body = request.body.as_ref().map(|body| std::str::from_utf8(&body.bytes).expect("UTF-8"));
            let texts = fields.chain(request.query.as_deref()).chain(body);
            texts.map(|text| text.matches(key).count()).sum::<usize>()
        };
        assert_eq!(copies("sk-1"), PLACES.len());
        assert_eq!(copies(&"k".repeat(COPIES / PLACES.len())), PLACES.len());
        assert_eq!(copies(&"k".repeat(1_100)), 3);
        assert_eq!(copies(&"k".repeat(5_000)), 1);
    }
}
