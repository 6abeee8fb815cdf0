//! The ways in which a request may lack the key.

use crate::http::key_forms::{basic, basic_user, percent_encoded, toggle_case, with_another_end};
use animal_store_rules::trace::exchange::{Body, Request};
use serde_json::{Map, Value};

/// The way in which a request lacks the key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Form {
    /// There is no credential.
    None,
    /// A bearer token that nobody issued.
    Unknown,
    /// A long bearer token that nobody issued.
    LongUnknown,
    /// The scheme alone.
    Empty,
    /// An `Authorization` field without a value.
    Nothing,
    /// The word `null`, which a client without a token may send.
    Null,
    /// The word `undefined`, which a client without a token may send.
    Undefined,
    /// The key and a letter more.
    Longer,
    /// The key after a letter.
    Prefixed,
    /// The key without its last letter.
    Shorter,
    /// The key without its first letter.
    Headless,
    /// The key with another last letter.
    OtherEnd,
    /// The key with the case of each letter inverted.
    OtherCase,
    /// The key in lower case.
    LowerCase,
    /// The key in upper case.
    UpperCase,
    /// The key twice.
    Doubled,
    /// The key and a fragment, as of a URL.
    Fragment,
    /// The key and a password, as under Basic.
    Colon,
    /// The key and a second value, as in a list.
    Comma,
    /// The scheme and the key without a space.
    Glued,
    /// The scheme, a colon and the key.
    ColonForSpace,
    /// The scheme twice, and the key.
    SchemeTwice,
    /// The percent sign, which matches any text in SQL.
    Wildcard,
    /// The key and padding as in base64.
    Padded,
    /// The key in quotation marks.
    Quoted,
    /// The key and a word more.
    AnotherWord,
    /// The key without a scheme.
    Bare,
    /// The key under the scheme Token.
    Token,
    /// The key under the scheme ApiKey.
    ApiKey,
    /// The bare key under Basic.
    BasicBare,
    /// The key as the user's name under Basic, without a password.
    BasicUser,
    /// The key as name and password under Basic.
    BasicBoth,
    /// The key in the query, in other header fields and in a cookie.
    Elsewhere,
    /// An unknown bearer token, and the key elsewhere.
    UnknownAndElsewhere,
    /// An unknown bearer token, and the key under Basic in a second field.
    Twice,
    /// An unknown bearer token with a character beyond ASCII.
    BeyondAscii,
}

use Form::{
    AnotherWord, ApiKey, Bare, BasicBare, BasicBoth, BasicUser, BeyondAscii, Colon, ColonForSpace, Comma, Doubled,
    Elsewhere, Empty, Fragment, Glued, Headless, LongUnknown, Longer, LowerCase, None, Nothing, Null, OtherCase,
    OtherEnd, Padded, Prefixed, Quoted, SchemeTwice, Shorter, Token, Twice, Undefined, Unknown, UnknownAndElsewhere,
    UpperCase, Wildcard,
};

impl Form {
    /// Returns true if the credential differs from the key in case alone.
    pub(super) fn is_of_case(self) -> bool {
        matches!(self, OtherCase | LowerCase | UpperCase)
    }

    /// The form in words, for the step of a request.
    pub(super) fn described(self) -> &'static str {
        match self {
            None => "without a key",
            Unknown => "with an unknown key",
            LongUnknown => "with a long unknown key",
            Empty => "with an empty key",
            Nothing => "with an empty field",
            Null => "with the key null",
            Undefined => "with the key undefined",
            Longer => "with the key and a letter more",
            Prefixed => "with a letter and the key",
            Shorter => "with the key and a letter less",
            Headless => "with the key without its first letter",
            OtherEnd => "with another last letter",
            OtherCase => "with the key in another case",
            LowerCase => "with the key in lower case",
            UpperCase => "with the key in upper case",
            Doubled => "with the key twice",
            Fragment => "with the key and a fragment",
            Colon => "with the key and a password",
            Comma => "with the key and a comma",
            Glued => "with the key and no space before it",
            ColonForSpace => "with a colon between the scheme and the key",
            SchemeTwice => "with the scheme twice and the key",
            Wildcard => "with a wildcard",
            Padded => "with the key and padding",
            Quoted => "with the key in quotation marks",
            AnotherWord => "with the key and a word more",
            Bare => "with the key without a scheme",
            Token => "with the key under Token",
            ApiKey => "with the key under ApiKey",
            BasicBare => "with the key under Basic",
            BasicUser => "with the key under Basic, as the user",
            BasicBoth => "with the key under Basic, encoded",
            Elsewhere => "with the key elsewhere",
            UnknownAndElsewhere => "with an unknown key and the key elsewhere",
            Twice => "with an unknown key and the key under Basic",
            BeyondAscii => "with a key beyond ASCII",
        }
    }

    /// The request with a credential in this form, made of the key or of a key that nobody issued.
    pub(super) fn apply(self, request: Request, key: &str, unknown: &str, query: Query) -> Request {
        let token = match self {
            None => return request,
            Elsewhere => return elsewhere(request, key, query),
            UnknownAndElsewhere => return elsewhere(request, key, query).authorization(format!("Bearer {unknown}")),
            Bare => return request.authorization(key),
            Glued => return request.authorization(format!("Bearer{key}")),
            ColonForSpace => return request.authorization(format!("Bearer:{key}")),
            Token => return request.authorization(format!("Token {key}")),
            ApiKey => return request.authorization(format!("ApiKey {key}")),
            Nothing => return request.authorization(""),
            BasicBare => return request.authorization(format!("Basic {key}")),
            BasicUser => return request.authorization(basic_user(key)),
            BasicBoth => return request.authorization(basic(key)),
            Empty => return request.authorization("Bearer"),
            Twice => {
                return request.authorization(format!("Bearer {unknown}")).header("Authorization", basic_user(key));
            }
            Unknown => unknown.to_owned(),
            BeyondAscii => format!("{unknown}\u{e9}"),
            LongUnknown => format!("{unknown}{}", "-and-longer-than-others".repeat(12)),
            Null => "null".to_owned(),
            Undefined => "undefined".to_owned(),
            Longer => format!("{key}x"),
            Prefixed => format!("x{key}"),
            Shorter => key[..key.len() - 1].to_owned(),
            Headless => key[1..].to_owned(),
            OtherEnd => with_another_end(key),
            OtherCase => toggle_case(key),
            LowerCase => another_case(key, key.to_ascii_lowercase()),
            UpperCase => another_case(key, key.to_ascii_uppercase()),
            Doubled => format!("{key}{key}"),
            Fragment => format!("{key}#x"),
            Colon => format!("{key}:x"),
            Comma => format!("{key},x"),
            Wildcard => "%".to_owned(),
            Padded => format!("{key}="),
            Quoted => format!("\"{key}\""),
            AnotherWord => format!("{key} more"),
            SchemeTwice => format!("Bearer {key}"),
        };
        request.authorization(format!("Bearer {token}"))
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
            Query::Absent => Option::None,
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
    request = with_members(request, members.into_iter(), key);
    if !pairs.is_empty() {
        request = request.query(pairs.join("&"));
    }
    if !cookies.is_empty() {
        request = request.header("Cookie", cookies.join("; "));
    }
    request
}

/// The request with the key in members of these names, if its body is a JSON object.
fn with_members<'n>(mut request: Request, names: impl Iterator<Item = &'n str>, key: &str) -> Request {
    let object = |body: &Body| serde_json::from_slice::<Map<String, Value>>(&body.bytes).ok();
    if let Some(mut members) = request.body.as_ref().and_then(object) {
        members.extend(names.map(|name| (name.to_owned(), Value::from(key))));
        request = request.json(Value::from(members).to_string());
    }
    request
}

#[cfg(test)]
pub(super) mod tests {
    use animal_store_rules::request::credential;
    use animal_store_rules::trace::keys::ApiKey;

    use super::*;
    use crate::options::Options;
    use crate::run::judge::context;

    /// Every form.
    pub(in super::super) const FORMS: [Form; 36] = [
        None,
        Unknown,
        LongUnknown,
        Empty,
        Nothing,
        Null,
        Undefined,
        Longer,
        Prefixed,
        Shorter,
        Headless,
        OtherEnd,
        OtherCase,
        LowerCase,
        UpperCase,
        Doubled,
        Fragment,
        Colon,
        Comma,
        Padded,
        Quoted,
        AnotherWord,
        Bare,
        Glued,
        ColonForSpace,
        SchemeTwice,
        Wildcard,
        Token,
        ApiKey,
        BasicBare,
        BasicUser,
        BasicBoth,
        Elsewhere,
        UnknownAndElsewhere,
        Twice,
        BeyondAscii,
    ];

    #[test]
    fn no_form_is_a_valid_key_whatever_the_key_is() {
        for key in ["sk-Key1", "k", "xX", "0000", "x.x", "null-key"] {
            let mut options = Options::new("http://h/v1", "sk-1").expect("usable options");
            options.api_key = ApiKey::new(key).expect("a usable key");
            for form in FORMS.into_iter().filter(|form| !form.is_of_case() || toggle_case(key) != key) {
                let request = form.apply(Request::new("GET", "/pets"), key, "conform-unknown-1", Query::Encoded);
                let read = credential(&request, &context(&options));
                assert!(read.is_invalid(), "{form:?} of {key:?} is {read:?}");
            }
        }
    }

    #[test]
    fn a_key_is_in_the_query_as_clients_write_it_and_only_where_it_is_wanted() {
        let written = |query: Query| elsewhere(Request::new("GET", "/pets"), "a+b/c", query).query;
        assert!(written(Query::Encoded).is_some_and(|query| query.starts_with("api_key=a%2Bb%2Fc&access_token=")));
        assert!(written(Query::Raw).is_some_and(|query| query.starts_with("api_key=a+b%2Fc&access_token=")));
        assert_eq!(written(Query::Absent), Option::None);
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
