//! Requests without a valid key: no credential, and every way in which one may be mistaken for the key, on every operation.
//!
//! Since only 401 is right, one request can test two things: an invalid request with an invalid key shows whether the key is checked
//! first. None of these counts against the key.

use super::session::{Session, Stop};
use super::steps::filled;
use crate::http::key_forms::{basic, basic_user, toggle_case, with_another_end};
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::trace::exchange::Request;

/// In which way a request lacks the key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Form {
    /// There is no credential.
    None,
    /// A bearer token that nobody issued.
    Unknown,
    /// A long one.
    LongUnknown,
    /// The scheme alone.
    Empty,
    /// What a client sends that has no token.
    Null,
    /// The same, in another language.
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
    /// The key in another case.
    OtherCase,
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
    /// The bare key under Basic.
    BasicBare,
    /// The key as the user's name under Basic, without a password.
    BasicUser,
    /// The key as name and password under Basic.
    BasicBoth,
    /// The key in the query, in other header fields and in a cookie.
    Elsewhere,
    /// An unknown bearer token, and the key under Basic in a second field.
    Twice,
}

/// What a request without the key asks for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Target {
    List,
    Get,
    Orders,
    /// A valid creation.
    Create,
    /// A GET with this path and query, in which anything may be wrong.
    Path(&'static str),
    /// A creation with this body, in which anything may be wrong.
    Body(&'static str),
    /// A valid creation under another media type.
    Labelled(&'static str),
    /// A valid creation at another path.
    CreateAt(&'static str),
}

use Form::{
    AnotherWord, Bare, BasicBare, BasicBoth, BasicUser, Elsewhere, Empty, Headless, LongUnknown, Longer, None, Null,
    OtherCase, OtherEnd, Padded, Prefixed, Quoted, Shorter, Token, Twice, Undefined, Unknown,
};
use Target::{Body, Create, CreateAt, Get, Labelled, List, Orders, Path};

/// A valid body.
const ANIMAL: &str = r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"sold"}"#;

/// What the tour asks: each way of lacking the key once at least.
const FIRST: &[(Target, Form)] = &[
    (List, None),
    (Get, None),
    (Orders, None),
    (Create, None),
    (Path("/pets?status=lost"), Unknown),
    (Get, Unknown),
    (Orders, Unknown),
    (Create, Unknown),
    (Path("/pets/9223372036854775807"), None),
    (Path("/pets?limit=0"), None),
    (Path("/pets/not-a-number"), Prefixed),
    (List, Longer),
    (Get, Shorter),
    (Orders, Bare),
    (List, Empty),
    (Get, Token),
    (List, BasicBoth),
    (List, OtherEnd),
    (List, Elsewhere),
    (List, OtherCase),
    (Create, AnotherWord),
    (Body("{"), None),
    (Body(""), LongUnknown),
    (Body(r#"{"name":"@NAME@","status":"lost"}"#), None),
];

/// What is asked later: the ways that one operation alone may take for the key.
const SECOND: &[(Target, Form)] = &[
    (Orders, Null),
    (List, Unknown),
    (List, Undefined),
    (Create, Null),
    (Get, Undefined),
    (Get, Longer),
    (Orders, Longer),
    (Create, Longer),
    (List, Shorter),
    (Orders, Shorter),
    (Create, Shorter),
    (Orders, Headless),
    (Get, OtherEnd),
    (Orders, OtherEnd),
    (Create, OtherEnd),
    (Get, OtherCase),
    (Orders, OtherCase),
    (Create, OtherCase),
    (List, Padded),
    (Get, Quoted),
    (List, AnotherWord),
    (Get, AnotherWord),
    (Orders, AnotherWord),
    (List, Bare),
    (Get, Bare),
    (Create, Bare),
    (List, BasicBare),
    (Get, BasicUser),
    (Orders, BasicUser),
    (Create, BasicUser),
    (Get, Empty),
    (Orders, Empty),
    (Create, Empty),
    (List, Token),
    (Orders, Token),
    (Create, Token),
    (List, Twice),
    (Create, Twice),
    (Get, Elsewhere),
    (Orders, Elsewhere),
    (Create, Elsewhere),
    (Labelled("text/plain"), None),
    (Labelled("application/x-www-form-urlencoded"), Unknown),
    (Path("/pets/"), None),
    (CreateAt("/pets/"), None),
];

/// The number of requests without the key in the tour.
pub(super) const IN_TOUR: usize = FIRST.len();

/// The number of those that are sent later.
pub(super) const LATER: usize = SECOND.len();

/// Sends those of the tour. `id` is the id of an animal.
///
/// # Errors
///
/// [`Stop`] when the budget is exhausted.
pub(super) async fn of_tour(session: &mut Session<'_>, id: i64, profile: Profile) -> Result<(), Stop> {
    send(session, FIRST, id, profile).await
}

/// Sends the others.
///
/// # Errors
///
/// [`Stop`] when the budget is exhausted.
pub(super) async fn run(session: &mut Session<'_>, profile: Profile) -> Result<(), Stop> {
    session.begin("credentials");
    let id = session.known_ids().last().copied().unwrap_or(1);
    send(session, SECOND, id, profile).await?;
    session.step("");
    Ok(())
}

async fn send(session: &mut Session<'_>, asked: &[(Target, Form)], id: i64, profile: Profile) -> Result<(), Stop> {
    let key = session.key();
    let unknown = format!("conform-unknown-{:016x}", session.random.u64(..));
    for (target, form) in asked.iter().filter(|(target, _)| profile.creates() || !target.could_create()) {
        // A key without letters is the same in any case.
        if *form == OtherCase && toggle_case(key.reveal()) == key.reveal() {
            continue;
        }
        let (request, named) = target.request(session, id);
        session.step(format!("{named} {}", form.described()));
        session.ask_without_key(form.apply(request, key.reveal(), &unknown)).await?;
    }
    Ok(())
}

impl Target {
    /// Whether a broken server could create an animal for it.
    fn could_create(self) -> bool {
        matches!(self, Create | Body(_) | Labelled(_) | CreateAt(_))
    }

    /// The request, and its name without ids and names.
    fn request(self, session: &mut Session<'_>, id: i64) -> (Request, String) {
        let mut post = |path: &str, template: &str| Request::new("POST", path).json(filled(session, template).1);
        match self {
            List => (Request::new("GET", "/pets"), "GET /pets".to_owned()),
            Get => (Request::new("GET", format!("/pets/{id}")), "GET /pets/{petId}".to_owned()),
            Orders => (Request::new("GET", "/store/orders"), "GET /store/orders".to_owned()),
            Create => (post("/pets", ANIMAL), "POST /pets".to_owned()),
            Path(target) => {
                let (path, query) = target.split_once('?').unwrap_or((target, ""));
                let request = Request::new("GET", path);
                let request = if query.is_empty() { request } else { request.query(query) };
                (request, format!("GET {target}"))
            }
            Body(template) => {
                let named = if template.is_empty() { "(no body)".to_owned() } else { template.replace('@', "") };
                (post("/pets", template), format!("POST /pets {named}"))
            }
            Labelled(media_type) => {
                let body = filled(session, ANIMAL).1;
                (Request::new("POST", "/pets").body(media_type, body), format!("POST /pets as {media_type}"))
            }
            CreateAt(path) => (post(path, ANIMAL), format!("POST {path}")),
        }
    }
}

impl Form {
    fn described(self) -> &'static str {
        match self {
            None => "without a key",
            Unknown => "with an unknown key",
            LongUnknown => "with a long unknown key",
            Empty => "with an empty key",
            Null => "with the key null",
            Undefined => "with the key undefined",
            Longer => "with the key and a letter more",
            Prefixed => "with a letter and the key",
            Shorter => "with the key and a letter less",
            Headless => "with the key without its first letter",
            OtherEnd => "with another last letter",
            OtherCase => "with the key in another case",
            Padded => "with the key and padding",
            Quoted => "with the key in quotation marks",
            AnotherWord => "with the key and a word more",
            Bare => "with the key without a scheme",
            Token => "with the key under Token",
            BasicBare => "with the key under Basic",
            BasicUser => "with the key under Basic, as the user",
            BasicBoth => "with the key under Basic, encoded",
            Elsewhere => "with the key elsewhere",
            Twice => "with an unknown key and the key under Basic",
        }
    }

    fn apply(self, request: Request, key: &str, unknown: &str) -> Request {
        let token = match self {
            None => return request,
            Elsewhere => return elsewhere(request, key),
            Bare => return request.authorization(key),
            Token => return request.authorization(format!("Token {key}")),
            BasicBare => return request.authorization(format!("Basic {key}")),
            BasicUser => return request.authorization(basic_user(key)),
            BasicBoth => return request.authorization(basic(key)),
            Empty => return request.authorization("Bearer"),
            Twice => {
                return request.authorization(format!("Bearer {unknown}")).header("Authorization", basic_user(key));
            }
            Unknown => unknown.to_owned(),
            LongUnknown => format!("{unknown}{}", "-and-longer-than-others".repeat(12)),
            Null => "null".to_owned(),
            Undefined => "undefined".to_owned(),
            Longer => format!("{key}x"),
            Prefixed => format!("x{key}"),
            Shorter => key[..key.len() - 1].to_owned(),
            Headless => key[1..].to_owned(),
            OtherEnd => with_another_end(key),
            OtherCase => toggle_case(key),
            Padded => format!("{key}="),
            Quoted => format!("\"{key}\""),
            AnotherWord => format!("{key} more"),
        };
        request.authorization(format!("Bearer {token}"))
    }
}

/// A part of a request that may carry a key.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Part {
    Query,
    Field,
    Cookie,
}

/// Where keys are, other than in Authorization, each with the name that it has there: what is seen most comes first.
const PLACES: [(Part, &str); 15] = [
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
    (Part::Query, "api-key"),
    (Part::Query, "auth"),
    (Part::Field, "X-Credential-Token"),
    (Part::Field, "Proxy-Authorization"),
];

/// The most bytes that copies of the key take in one request. A server may refuse a request whose URL or fields are longer than 8 KiB,
/// whatever its key.
const COPIES: usize = 4 * 1024;

/// The key in the usual places, but not in Authorization. A long key is in the first of them only.
fn elsewhere(request: Request, key: &str) -> Request {
    let places = &PLACES[..(COPIES / key.len()).clamp(1, PLACES.len())];
    let names = |part: Part| places.iter().filter(move |place| place.0 == part).map(|place| place.1);
    let pairs = |part: Part| names(part).map(|name| format!("{name}={key}")).collect::<Vec<_>>();
    let request = names(Part::Field).fold(request, |request, name| request.header(name, key));
    let request = match pairs(Part::Query) {
        pairs if pairs.is_empty() => request,
        pairs => request.query(pairs.join("&")),
    };
    match pairs(Part::Cookie) {
        pairs if pairs.is_empty() => request,
        pairs => request.header("Cookie", pairs.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use animal_store_rules::request::credential;
    use animal_store_rules::trace::keys::ApiKey;

    use super::*;
    use crate::options::Options;
    use crate::run::judge::context;

    const FORMS: [Form; 22] = [
        None,
        Unknown,
        LongUnknown,
        Empty,
        Null,
        Undefined,
        Longer,
        Prefixed,
        Shorter,
        Headless,
        OtherEnd,
        OtherCase,
        Padded,
        Quoted,
        AnotherWord,
        Bare,
        Token,
        BasicBare,
        BasicUser,
        BasicBoth,
        Elsewhere,
        Twice,
    ];

    #[test]
    fn no_form_is_a_valid_key_whatever_the_key_is() {
        for key in ["sk-Key1", "k", "xX", "0000", "x.x", "null-key"] {
            let mut options = Options::new("http://h/v1", "sk-1").expect("usable options");
            options.api_key = ApiKey::new(key).expect("a usable key");
            for form in FORMS.into_iter().filter(|form| *form != OtherCase || toggle_case(key) != key) {
                let request = form.apply(Request::new("GET", "/pets"), key, "conform-unknown-1");
                let read = credential(&request, &context(&options));
                assert!(read.is_invalid(), "{form:?} of {key:?} is {read:?}");
            }
        }
    }

    #[test]
    fn a_key_elsewhere_is_in_every_place_and_a_long_one_in_as_many_as_no_server_refuses_for_their_length() {
        let copies = |key: &str| {
            let request = elsewhere(Request::new("GET", "/pets"), key);
            let fields = request.headers.iter().map(|(_, value)| value.as_str());
            fields.chain(request.query.as_deref()).map(|text| text.matches(key).count()).sum::<usize>()
        };
        assert_eq!(copies("sk-1"), PLACES.len());
        assert_eq!(copies(&"k".repeat(273)), PLACES.len());
        assert_eq!(copies(&"k".repeat(1_100)), 3);
        assert_eq!(copies(&"k".repeat(5_000)), 1);
    }

    #[test]
    fn every_form_is_asked_and_none_twice_of_one_target() {
        let asked: Vec<&(Target, Form)> = FIRST.iter().chain(SECOND).collect();
        for form in FORMS {
            assert!(asked.iter().any(|(_, asked)| *asked == form), "{form:?}");
        }
        let mut seen = HashSet::new();
        for (target, form) in asked {
            assert!(seen.insert(format!("{target:?} {form:?}")), "{target:?} {form:?}");
        }
    }

    #[test]
    fn every_operation_is_asked_with_every_kind_of_form() {
        let kinds: [&[Form]; 5] =
            [&[None], &[Unknown], &[Longer, Shorter, OtherEnd, OtherCase], &[BasicBare, BasicUser], &[Elsewhere]];
        for target in [List, Get, Orders, Create] {
            for kind in kinds {
                let is_asked = |form: &Form| FIRST.iter().chain(SECOND).any(|asked| *asked == (target, *form));
                assert!(kind.iter().any(is_asked), "{target:?} {kind:?}");
            }
        }
    }
}
