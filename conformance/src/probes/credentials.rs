//! Requests without a valid key: no credential, and every way in which one may be mistaken for the key, on every operation.
//!
//! Since only 401 is right, one request can test two things: an invalid request with an invalid key shows whether the key is checked
//! first. None of these counts against the key.

mod form;

use form::Form;

use super::session::{Session, Stop, credential};
use super::steps::filled;
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

use Target::{Body, Create, CreateAt, Get, Labelled, List, Orders, Path};

/// A valid body.
const ANIMAL: &str = r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"sold"}"#;

/// The requests without the key that the tour sends.
const FIRST: &[(Target, Form)] = &[
    (List, Form::NONE),
    (Get, Form::NONE),
    (Orders, Form::NONE),
    (Create, Form::NONE),
    (Path("/pets?status=lost"), Form::UNKNOWN),
    (Get, Form::UNKNOWN),
    (Orders, Form::UNKNOWN),
    (Create, Form::UNKNOWN),
    (Path("/pets/9223372036854775807"), Form::NONE),
    (Path("/pets?limit=0"), Form::NONE),
    (Path("/pets/not-a-number"), Form::PREFIXED),
    (List, Form::LONGER),
    (Get, Form::SHORTER),
    (Orders, Form::BARE),
    (List, Form::EMPTY),
    (Get, Form::TOKEN),
    (List, Form::BASIC_BOTH),
    (List, Form::OTHER_END),
    (List, Form::ELSEWHERE),
    (List, Form::OTHER_CASE),
    (Create, Form::ANOTHER_WORD),
    (Body("{"), Form::NONE),
    (Body(""), Form::LONG_UNKNOWN),
    (Body(r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"lost"}"#), Form::NONE),
];

/// The requests without the key after the tour: credentials that one operation alone may take for the key.
const SECOND: &[(Target, Form)] = &[
    (Orders, Form::NULL),
    (Path("/pets?limit=101"), Form::UNKNOWN),
    (Path("/pets?limit=ten"), Form::UNDEFINED),
    (Body(r#"{"categoryId":@CATEGORY@}"#), Form::NULL),
    (Get, Form::UNDEFINED),
    (Get, Form::FRAGMENT),
    (Orders, Form::DOUBLED),
    (Create, Form::COLON),
    (List, Form::SHORTER),
    (Orders, Form::SHORTER),
    (Body(r#"{"name":"@NAME@","categoryId":"x"}"#), Form::SHORTER),
    (Orders, Form::HEADLESS),
    (Get, Form::OTHER_END),
    (Body("null"), Form::OTHER_END),
    (Create, Form::OTHER_END),
    (Get, Form::LOWER_CASE),
    (Orders, Form::OTHER_CASE),
    (Create, Form::UPPER_CASE),
    (List, Form::PADDED),
    (Get, Form::QUOTED),
    (List, Form::COLON_FOR_SPACE),
    (Get, Form::SCHEME_TWICE),
    (Orders, Form::ANOTHER_WORD),
    (List, Form::BARE),
    (Get, Form::BARE),
    (Create, Form::BARE),
    (List, Form::BASIC_BARE),
    (Get, Form::BASIC_USER),
    (Orders, Form::BASIC_USER),
    (Create, Form::BASIC_USER),
    (Path("/pets/-1"), Form::EMPTY),
    (Orders, Form::EMPTY),
    (Body("[]"), Form::EMPTY),
    (List, Form::TOKEN),
    (Orders, Form::TOKEN),
    (Create, Form::TOKEN),
    (List, Form::TWICE),
    (Create, Form::TWICE),
    (Get, Form::ELSEWHERE),
    (Orders, Form::ELSEWHERE),
    (Create, Form::ELSEWHERE),
    (Path("/pets/99999999999999999999"), Form::GLUED),
    (Orders, Form::WILDCARD),
    (Labelled("text/plain"), Form::NONE),
    (Labelled("application/x-www-form-urlencoded"), Form::UNKNOWN),
    (Path("/pets/"), Form::NONE),
    (CreateAt("/pets/"), Form::NONE),
    (List, Form::API_KEY),
    (List, Form::COMMA),
    (List, Form::NOTHING),
    (List, Form::UNKNOWN_AND_ELSEWHERE),
    (Create, Form::UNKNOWN_AND_ELSEWHERE),
    (List, Form::BEYOND_ASCII),
];

/// The number of requests without the key in the tour.
pub(super) const IN_TOUR: usize = FIRST.len();

/// The number of requests without the key after the tour.
pub(super) const LATER: usize = SECOND.len();

/// Sends the requests of the tour without the key. `id` is the id of an animal.
pub(super) async fn of_tour(session: &mut Session<'_>, id: i64, scope: &Scope) -> Result<(), Stop> {
    send(session, FIRST, id, scope).await
}

/// Sends the requests without the key that come after the tour.
pub(super) async fn run(session: &mut Session<'_>, scope: &Scope) -> Result<(), Stop> {
    session.begin("credentials");
    let id = session.known_ids().last().copied().unwrap_or(1);
    send(session, SECOND, id, scope).await?;
    session.step("");
    Ok(())
}

async fn send(session: &mut Session<'_>, asked: &[(Target, Form)], id: i64, scope: &Scope) -> Result<(), Stop> {
    let profile = scope.profile;
    // A run that selects this requirement by its name sends all of its requests.
    let keeps_out = profile == Profile::ReadOnly && !scope.only.iter().any(|id| id == "auth.bearer-header");
    let key = session.key();
    let unknown = format!("conform-unknown-{:016x}", session.random.u64(..));
    for (target, form) in asked.iter().filter(|(target, _)| profile.creates() || !target.could_create()) {
        // A key without letters is the same in any case.
        if form.value(key.reveal(), &unknown).is_some_and(|value| value == credential(&key)) {
            continue;
        }
        let (request, named) = target.request(session, id);
        session.step(format!("{named} {}", form.described));
        for query in form.queries(key.reveal(), keeps_out) {
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
    use super::form::Query;
    use super::*;
    use crate::options::Options;
    use crate::run::judge::context;
    use animal_store_rules::request::credential;
    use animal_store_rules::trace::keys::ApiKey;

    fn asked() -> impl Iterator<Item = &'static (Target, Form)> {
        FIRST.iter().chain(SECOND)
    }

    #[test]
    fn no_form_is_a_valid_key_whatever_the_key_is() {
        for key in ["sk-Key1", "k", "xX", "0000", "x.x", "null-key"] {
            let mut options = Options::new("http://h/v1", "sk-1").expect("usable options");
            options.api_key = ApiKey::new(key).expect("a usable key");
            let unknown = "conform-unknown-1";
            let sent = |form: &Form| form.value(key, unknown) != Some(format!("Bearer {key}"));
            for (_, form) in asked().filter(|(_, form)| sent(form)) {
                let request = form.apply(Request::new("GET", "/pets"), key, unknown, Query::Encoded);
                let read = credential(&request, &context(&options));
                assert!(read.is_invalid(), "{} of {key:?} is {read:?}", form.described);
            }
        }
        let is_key = |form: Form| form.value("0000", "") == Some("Bearer 0000".to_owned());
        assert!([Form::OTHER_CASE, Form::LOWER_CASE, Form::UPPER_CASE].map(is_key).into_iter().all(|is_key| is_key));
        assert_eq!(asked().filter(|(_, form)| is_key(*form)).count(), 4, "only of forms that differ in case");
    }
}
