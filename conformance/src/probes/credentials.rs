//! Requests without a valid key: no credential, and every way in which one may be mistaken for the key, on every operation.
//!
//! Since only 401 is right, one request can test two things: an invalid request with an invalid key shows whether the key is checked
//! first. None of these counts against the key.

mod form;

use form::{Form, Query};

use super::session::{Session, Stop};
use super::steps::filled;
use crate::http::key_forms::toggle_case;
use animal_store_rules::catalogue::scope::{Profile, Scope};
use animal_store_rules::trace::exchange::Request;

/// The operation that a request without the key asks for.
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
    AnotherWord, ApiKey, Bare, BasicBare, BasicBoth, BasicUser, BeyondAscii, Colon, ColonForSpace, Comma, Doubled,
    Elsewhere, Empty, Fragment, Glued, Headless, LongUnknown, Longer, LowerCase, None, Nothing, Null, OtherCase,
    OtherEnd, Padded, Prefixed, Quoted, SchemeTwice, Shorter, Token, Twice, Undefined, Unknown, UnknownAndElsewhere,
    UpperCase, Wildcard,
};
use Target::{Body, Create, CreateAt, Get, Labelled, List, Orders, Path};

/// A valid body.
const ANIMAL: &str = r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"sold"}"#;

/// The requests without the key that the tour sends.
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
    (Body(r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"lost"}"#), None),
];

/// The requests without the key after the tour: credentials that one operation alone may take for the key.
const SECOND: &[(Target, Form)] = &[
    (Orders, Null),
    (Path("/pets?limit=101"), Unknown),
    (Path("/pets?limit=ten"), Undefined),
    (Body(r#"{"categoryId":@CATEGORY@}"#), Null),
    (Get, Undefined),
    (Get, Fragment),
    (Orders, Doubled),
    (Create, Colon),
    (List, Shorter),
    (Orders, Shorter),
    (Body(r#"{"name":"@NAME@","categoryId":"x"}"#), Shorter),
    (Orders, Headless),
    (Get, OtherEnd),
    (Body("null"), OtherEnd),
    (Create, OtherEnd),
    (Get, LowerCase),
    (Orders, OtherCase),
    (Create, UpperCase),
    (List, Padded),
    (Get, Quoted),
    (List, ColonForSpace),
    (Get, SchemeTwice),
    (Orders, AnotherWord),
    (List, Bare),
    (Get, Bare),
    (Create, Bare),
    (List, BasicBare),
    (Get, BasicUser),
    (Orders, BasicUser),
    (Create, BasicUser),
    (Path("/pets/-1"), Empty),
    (Orders, Empty),
    (Body("[]"), Empty),
    (List, Token),
    (Orders, Token),
    (Create, Token),
    (List, Twice),
    (Create, Twice),
    (Get, Elsewhere),
    (Orders, Elsewhere),
    (Create, Elsewhere),
    (Path("/pets/99999999999999999999"), Glued),
    (Orders, Wildcard),
    (Labelled("text/plain"), None),
    (Labelled("application/x-www-form-urlencoded"), Unknown),
    (Path("/pets/"), None),
    (CreateAt("/pets/"), None),
    (List, ApiKey),
    (List, Comma),
    (List, Nothing),
    (List, UnknownAndElsewhere),
    (Create, UnknownAndElsewhere),
    (List, BeyondAscii),
];

/// The number of requests without the key in the tour.
pub(super) const IN_TOUR: usize = FIRST.len();

/// The number of requests without the key after the tour.
pub(super) const LATER: usize = SECOND.len();

/// Sends the requests of the tour without the key. `id` is the id of an animal.
///
/// # Errors
///
/// [`Stop`] when the budget is exhausted.
pub(super) async fn of_tour(session: &mut Session<'_>, id: i64, scope: &Scope) -> Result<(), Stop> {
    send(session, FIRST, id, scope).await
}

/// Sends the requests without the key that come after the tour.
///
/// # Errors
///
/// [`Stop`] when the budget is exhausted.
pub(super) async fn run(session: &mut Session<'_>, scope: &Scope) -> Result<(), Stop> {
    session.begin("credentials");
    let id = session.known_ids().last().copied().unwrap_or(1);
    send(session, SECOND, id, scope).await?;
    session.step("");
    Ok(())
}

/// The queries for a key that is sent elsewhere than in Authorization. It is left out where it is to stay out of URLs. A key with a
/// plus sign is sent in two requests, because the sign may be read in two ways.
fn queries(form: Form, key: &str, keeps_out: bool) -> &'static [Query] {
    match form {
        Elsewhere | UnknownAndElsewhere if keeps_out => &[Query::Absent],
        Elsewhere if key.contains('+') => &[Query::Encoded, Query::Raw],
        _ => &[Query::Encoded],
    }
}

async fn send(session: &mut Session<'_>, asked: &[(Target, Form)], id: i64, scope: &Scope) -> Result<(), Stop> {
    let profile = scope.profile;
    // A run that selects this requirement by its name sends all of its requests.
    let keeps_out = profile == Profile::ReadOnly && !scope.only.iter().any(|id| id == "auth.bearer-header");
    let key = session.key();
    let unknown = format!("conform-unknown-{:016x}", session.random.u64(..));
    for (target, form) in asked.iter().filter(|(target, _)| profile.creates() || !target.could_create()) {
        // A key without letters is the same in any case.
        if form.is_of_case() && toggle_case(key.reveal()) == key.reveal() {
            continue;
        }
        let (request, named) = target.request(session, id);
        session.step(format!("{named} {}", form.described()));
        for query in queries(*form, key.reveal(), keeps_out) {
            session.ask_without_key(form.apply(request.clone(), key.reveal(), &unknown, *query)).await?;
        }
    }
    Ok(())
}

impl Target {
    /// Returns true if a broken server could create an animal for the request.
    fn could_create(self) -> bool {
        matches!(self, Create | Body(_) | Labelled(_) | CreateAt(_))
    }

    /// The request, and its name for steps, without ids and names of animals.
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::form::tests::FORMS;
    use super::*;

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
        let kinds: [&[Form]; 5] = [
            &[None],
            &[Unknown],
            &[Longer, Shorter, OtherEnd, OtherCase, LowerCase, UpperCase],
            &[BasicBare, BasicUser],
            &[Elsewhere],
        ];
        let operation = |target: &Target| match *target {
            Path(path) if path.starts_with("/pets/") => Get,
            Path(_) => List,
            Body(_) | Labelled(_) | CreateAt(_) => Create,
            operation => operation,
        };
        for wanted in [List, Get, Orders, Create] {
            for kind in kinds {
                let mut asked = FIRST.iter().chain(SECOND).filter(|(target, _)| operation(target) == wanted);
                assert!(asked.any(|(_, form)| kind.contains(form)), "{wanted:?} {kind:?}");
            }
        }
    }
}
