//! Requests without a valid key: no credential, and every way in which one may be mistaken for the key, on every operation.
//!
//! Since only 401 is right, one request can test two things: an invalid request with an invalid key shows whether the key is checked
//! first. None of these counts against the key.

use super::deck::{self, OwnValues};
use super::near_misses::Amount;
use super::session::{Session, Stop, credential};
use super::steps::filled;
use animal_store_rules::catalogue::scope::Scope;
use animal_store_rules::near_misses::{self, Target, Values};
use animal_store_rules::trace::exchange::Request;

/// The request that is sent without the key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Asked {
    /// A valid request.
    Operation(Target),
    /// A GET with this path and query, in which anything may be wrong.
    Path(&'static str),
    /// A creation with this body, in which anything may be wrong.
    Body(&'static str),
    /// A valid creation under another media type.
    Labelled(&'static str),
    /// A valid creation at another path.
    CreateAt(&'static str),
}

use Asked::{Body, CreateAt, Labelled, Operation, Path};
use Target::{Create, Get, List, Orders};

/// A credential in words, and the value of `Authorization`, with placeholders; none without the field.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Form {
    described: &'static str,
    value: Option<&'static str>,
    /// Whether the key is in every other place as well.
    is_elsewhere: bool,
    /// The value of a second `Authorization` field.
    second: Option<&'static str>,
}

const fn form(described: &'static str, value: &'static str) -> Form {
    Form { described, value: Some(value), is_elsewhere: false, second: None }
}

const NONE: Form = Form { value: None, ..form("without a key", "") };
const UNKNOWN: Form = form("with an unknown key", "Bearer @UNKNOWN@");
const ELSEWHERE: Form = Form { described: "with the key elsewhere", is_elsewhere: true, ..NONE };
const UNKNOWN_AND_ELSEWHERE: Form =
    Form { described: "with an unknown key and the key elsewhere", is_elsewhere: true, ..UNKNOWN };
const TWICE: Form = Form {
    described: "with an unknown key and the key under Basic",
    second: Some("Basic @KEY|basic-user@"),
    ..UNKNOWN
};

/// A valid body.
const ANIMAL: &str = r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"sold"}"#;

/// The requests without the key that the tour sends.
const FIRST: &[(Asked, Form)] = &[
    (Operation(List), NONE),
    (Operation(Get), NONE),
    (Operation(Orders), NONE),
    (Operation(Create), NONE),
    (Path("/pets?status=lost"), UNKNOWN),
    (Operation(Get), UNKNOWN),
    (Operation(Orders), UNKNOWN),
    (Operation(Create), UNKNOWN),
    (Path("/pets/9223372036854775807"), NONE),
    (Path("/pets?limit=0"), NONE),
    (Path("/pets/not-a-number"), form("with a letter and the key", "Bearer x@KEY@")),
    (Operation(List), form("with the key and a letter more", "Bearer @KEY@x")),
    (Operation(Get), form("with the key and a letter less", "Bearer @KEY|shorter@")),
    (Operation(Orders), form("with the key without a scheme", "@KEY@")),
    (Operation(List), form("with an empty key", "Bearer")),
    (Operation(Get), form("with the key under Token", "Token @KEY@")),
    (Operation(List), form("with the key under Basic, encoded", "Basic @KEY|basic-both@")),
    (Operation(List), form("with another last letter", "Bearer @KEY|other-end@")),
    (Operation(List), ELSEWHERE),
    (Operation(List), form("with the key in another case", "Bearer @KEY|toggle@")),
    (Operation(Create), form("with the key and a word more", "Bearer @KEY@ more")),
    (Body("{"), NONE),
    (Body(""), form("with a long unknown key", "Bearer @UNKNOWN@@*12:-and-longer-than-others@")),
    (Body(r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"lost"}"#), NONE),
];

/// The requests without the key after the tour that are no near misses of a credential alone.
const FURTHER: &[(Asked, Form)] = &[
    (Operation(Get), ELSEWHERE),
    (Operation(Orders), ELSEWHERE),
    (Operation(Create), ELSEWHERE),
    (Operation(List), UNKNOWN_AND_ELSEWHERE),
    (Operation(Create), UNKNOWN_AND_ELSEWHERE),
    (Operation(List), TWICE),
    (Operation(Create), TWICE),
    (Path("/pets?limit=101"), UNKNOWN),
    (Path("/pets/4611686018427387904"), UNKNOWN),
    (Body(r#"{"categoryId":@CATEGORY@}"#), UNKNOWN),
    (Body(r#"{"name":"@NAME@","categoryId":"x"}"#), form("with the key and a letter less", "Bearer @KEY|shorter@")),
    (Labelled("text/plain"), NONE),
    (Labelled("application/x-www-form-urlencoded"), UNKNOWN),
    (Path("/pets/"), NONE),
    (CreateAt("/pets/"), NONE),
];

/// The number of requests without a valid key that a run of this scope sends in the tour.
pub(super) fn in_tour(scope: &Scope) -> usize {
    count(FIRST, scope)
}

/// The number of these requests that a run of this scope sends.
fn count(asked: &[(Asked, Form)], scope: &Scope) -> usize {
    let is_sent = |(asked, form): &&(Asked, Form)| {
        (scope.sends_unknown_keys() || *form == NONE) && (scope.profile.creates() || !asked.could_create())
    };
    asked.iter().filter(is_sent).count()
}

/// The number of requests without a valid key that a run of this scope sends after the tour.
pub(super) fn later(amount: Amount, scope: &Scope) -> usize {
    if !scope.sends_unknown_keys() {
        return count(FURTHER, scope);
    }
    let rows = deck::keyless(0).into_iter().filter(|row| amount.includes(row));
    count(FURTHER, scope) + rows.map(|row| row.at.len().max(1)).sum::<usize>()
}

/// Sends the requests of the tour without the key. `id` is the id of an animal.
pub(super) async fn of_tour(session: &mut Session<'_>, id: i64, scope: &Scope) -> Result<(), Stop> {
    send(session, FIRST, id, scope).await
}

/// Sends the requests without the key that come after the tour.
pub(super) async fn run(session: &mut Session<'_>, amount: Amount, scope: &Scope) -> Result<(), Stop> {
    session.begin("credentials");
    let id = session.known_ids().last().copied().unwrap_or(1);
    send(session, FURTHER, id, scope).await?;
    let creates = scope.profile.creates();
    for row in deck::keyless(session.seed).into_iter().filter(|row| amount.includes(row)) {
        let drawn = [Target::ALL[session.random.usize(..Target::ALL.len())]];
        let targets: &[Target] = if row.at.is_empty() { &drawn } else { row.at };
        for target in targets.iter().filter(|target| creates || **target != Create) {
            let values = OwnValues::next(session, Some(id));
            let Some(request) = row.request(*target, &values.borrowed()) else { continue };
            session.step(row.step(*target));
            session.ask_without_key(request).await?;
        }
    }
    session.step("");
    Ok(())
}

async fn send(session: &mut Session<'_>, asked: &[(Asked, Form)], id: i64, scope: &Scope) -> Result<(), Stop> {
    let key = session.key();
    for (asked, form) in asked.iter().filter(|(asked, _)| scope.profile.creates() || !asked.could_create()) {
        let (request, named) = asked.request(session, id);
        let values = OwnValues::next(session, Some(id));
        let Some(request) = form.apply(request, &values.borrowed()) else { continue };
        // A key without letters is the same in any case.
        if request.authorization.as_ref() == Some(&credential(&key)) {
            continue;
        }
        session.step(format!("{named} {}", form.described));
        // Some servers read an unencoded plus sign in the query as a space, and so take the key for another.
        let raw = request.query.as_ref().filter(|_| form.is_elsewhere).map(|query| query.replace("%2B", "+"));
        let raw = raw.filter(|raw| request.query.as_ref() != Some(raw)).map(|raw| request.clone().query(raw));
        session.ask_without_key(request).await?;
        if let Some(raw) = raw {
            session.ask_without_key(raw).await?;
        }
    }
    Ok(())
}

impl Form {
    /// The request with a credential in this form. `None` if the key cannot be changed in this way.
    fn apply(self, mut request: Request, values: &Values<'_>) -> Option<Request> {
        if self.is_elsewhere {
            request = near_misses::with_key_everywhere(request, values);
        }
        if let Some(value) = self.value {
            request = request.authorization(near_misses::credential(value, values)?);
        }
        match self.second {
            Some(second) => Some(request.header("Authorization", near_misses::credential(second, values)?)),
            None => Some(request),
        }
    }
}

impl Asked {
    /// Returns true if a broken server could create an animal for the request.
    fn could_create(self) -> bool {
        matches!(self, Operation(Create) | Body(_) | Labelled(_) | CreateAt(_))
    }

    /// The request, and its name for steps, without ids and names of animals.
    fn request(self, session: &mut Session<'_>, id: i64) -> (Request, String) {
        let mut post = |path: &str, template: &str| Request::new("POST", path).json(filled(session, template).1);
        match self {
            Operation(List) => (Request::new("GET", "/pets"), "GET /pets".to_owned()),
            Operation(Get) => (Request::new("GET", format!("/pets/{id}")), "GET /pets/{petId}".to_owned()),
            Operation(Orders) => (Request::new("GET", "/store/orders"), "GET /store/orders".to_owned()),
            Operation(Create) => (post("/pets", ANIMAL), "POST /pets".to_owned()),
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
    use super::*;
    use crate::options::Options;
    use crate::run::judge::context;
    use animal_store_rules::request::credential;
    use animal_store_rules::trace::keys::ApiKey;

    #[test]
    fn no_request_has_a_valid_key_whatever_the_key_is() {
        for key in ["sk-Key1", "k", "xX", "0000", "x.x", "null-key", "null", "a+b/c="] {
            let mut options = Options::new("http://h/v1", "sk-1").expect("usable options");
            options.api_key = ApiKey::new(key).expect("a usable key");
            let context = context(&options);
            let values =
                Values { name: "Rex", digits: "4711", category: 1, id: Some(7), key, unknown: "conform-unknown-1" };
            let fixed = FIRST.iter().chain(FURTHER).filter_map(|(_, form)| {
                let request = form.apply(Request::new("GET", "/pets"), &values)?;
                Some((form.described.to_owned(), request))
            });
            let rows =
                deck::keyless(1).into_iter().filter_map(|row| Some((row.step(List), row.request(List, &values)?)));
            for (described, request) in fixed.chain(rows) {
                if request.authorization.as_deref() == Some(&*format!("Bearer {key}")) {
                    // The probe leaves it out.
                    continue;
                }
                let read = credential(&request, &context);
                assert!(read.is_invalid(), "{described} of {key:?} is {read:?}");
            }
        }
    }
}
