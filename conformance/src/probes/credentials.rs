//! Requests without a valid key: no credential, and every way in which one may be mistaken for the key, on every operation.
//!
//! Since only 401 is right, one request can test two things: an invalid request with an invalid key shows whether the key is checked
//! first. None of these counts against the key.

use super::near_misses::{self, Amount};
use super::session::{Session, Stop, credential};
use super::steps::filled;
use animal_store_rules::catalogue::scope::Scope;
use animal_store_rules::near_misses::{self as table, Target, Values};
use animal_store_rules::trace::exchange::Request;

/// The request that is sent without the key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Asked {
    /// The path, in which `{petId}` stands for the id of an animal, and the query, in which anything may be wrong.
    target: &'static str,
    media_type: &'static str,
    /// The template of the body of a creation, in which anything may be wrong; none for a GET.
    body: Option<&'static str>,
}

const fn get(target: &'static str) -> Asked {
    Asked { target, media_type: "", body: None }
}

const fn post(body: &'static str) -> Asked {
    Asked { target: "/pets", media_type: "application/json", body: Some(body) }
}

const LIST: Asked = get("/pets");
const GET: Asked = get("/pets/{petId}");
const ORDERS: Asked = get("/store/orders");
const CREATE: Asked = post(ANIMAL);

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
    (LIST, NONE),
    (GET, NONE),
    (ORDERS, NONE),
    (CREATE, NONE),
    (get("/pets?status=lost"), UNKNOWN),
    (GET, UNKNOWN),
    (ORDERS, UNKNOWN),
    (CREATE, UNKNOWN),
    (get("/pets/9223372036854775807"), NONE),
    (get("/pets?limit=0"), NONE),
    (get("/pets/not-a-number"), form("with a letter and the key", "Bearer x@KEY@")),
    (LIST, form("with the key and a letter more", "Bearer @KEY@x")),
    (GET, form("with the key and a letter less", "Bearer @KEY|shorter@")),
    (ORDERS, form("with the key without a scheme", "@KEY@")),
    (LIST, form("with an empty key", "Bearer")),
    (GET, form("with the key under Token", "Token @KEY@")),
    (LIST, form("with the key under Basic, encoded", "Basic @KEY|basic-both@")),
    (LIST, form("with another last letter", "Bearer @KEY|other-end@")),
    (LIST, ELSEWHERE),
    (LIST, form("with the key in another case", "Bearer @KEY|toggle@")),
    (CREATE, form("with the key and a word more", "Bearer @KEY@ more")),
    (post("{"), NONE),
    (post(""), form("with a long unknown key", "Bearer @UNKNOWN@@*12:-and-longer-than-others@")),
    (post(r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"lost"}"#), NONE),
];

/// The requests without the key after the tour that are no near misses of a credential alone.
const FURTHER: &[(Asked, Form)] = &[
    (GET, ELSEWHERE),
    (ORDERS, ELSEWHERE),
    (CREATE, ELSEWHERE),
    (LIST, UNKNOWN_AND_ELSEWHERE),
    (CREATE, UNKNOWN_AND_ELSEWHERE),
    (LIST, TWICE),
    (CREATE, TWICE),
    (get("/pets?limit=101"), UNKNOWN),
    (get("/pets/4611686018427387904"), UNKNOWN),
    (post(r#"{"categoryId":@CATEGORY@}"#), UNKNOWN),
    (post(r#"{"name":"@NAME@","categoryId":"x"}"#), form("with the key and a letter less", "Bearer @KEY|shorter@")),
    (Asked { media_type: "text/plain", ..CREATE }, NONE),
    (Asked { media_type: "application/x-www-form-urlencoded", ..CREATE }, UNKNOWN),
    (get("/pets/"), NONE),
    (Asked { target: "/pets/", ..CREATE }, NONE),
];

/// The number of requests without a valid key that a run of this scope sends in the tour.
pub(super) fn in_tour(scope: &Scope) -> usize {
    count(FIRST, scope)
}

/// The number of these requests that a run of this scope sends.
fn count(asked: &[(Asked, Form)], scope: &Scope) -> usize {
    let is_sent = |(asked, form): &&(Asked, Form)| {
        (scope.sends_unknown_keys() || *form == NONE) && (scope.profile.creates() || asked.body.is_none())
    };
    asked.iter().filter(is_sent).count()
}

/// The number of requests without a valid key that a run of this scope sends after the tour.
pub(super) fn later(amount: Amount, scope: &Scope) -> usize {
    if !scope.sends_unknown_keys() {
        return count(FURTHER, scope);
    }
    let rows = near_misses::keyless(0).into_iter().filter(|row| amount.includes(row));
    count(FURTHER, scope) + rows.map(|row| row.at.len().max(1)).sum::<usize>()
}

/// Returns true if the first request of the tour without the key was sent.
pub(super) fn were_sent(session: &Session<'_>) -> bool {
    session.trace.exchanges.iter().any(|exchange| exchange.step == "GET /pets without a key")
}

/// Sends the requests of the tour without the key. `id` is the id of an animal.
pub(super) async fn of_tour(session: &mut Session<'_>, id: i64) -> Result<(), Stop> {
    send(session, FIRST, id).await
}

/// Sends the requests without the key that come after the tour.
pub(super) async fn run(session: &mut Session<'_>, amount: Amount) -> Result<(), Stop> {
    session.begin("credentials");
    let id = session.known_ids().last().copied().unwrap_or(1);
    send(session, FURTHER, id).await?;
    let creates = session.options.judging.scope.profile.creates();
    for row in near_misses::keyless(session.options.seed).into_iter().filter(|row| amount.includes(row)) {
        let drawn = [Target::ALL[session.random.usize(..Target::ALL.len())]];
        let targets: &[Target] = if row.at.is_empty() { &drawn } else { row.at };
        for target in targets.iter().filter(|target| creates || **target != Target::Create) {
            let request = near_misses::with_values(session, Some(id), |values| row.request(*target, values));
            let Some(request) = request else { continue };
            session.step(row.step(*target));
            session.draw_without_key(request).await?;
        }
    }
    session.step("");
    Ok(())
}

async fn send(session: &mut Session<'_>, asked: &[(Asked, Form)], id: i64) -> Result<(), Stop> {
    let creates = session.options.judging.scope.profile.creates();
    for (asked, form) in asked.iter().filter(|(asked, _)| creates || asked.body.is_none()) {
        let (request, named) = asked.request(session, id);
        let request = near_misses::with_values(session, Some(id), |values| form.apply(request, values));
        let Some(request) = request else { continue };
        // A key without letters is the same in any case.
        if request.authorization.as_ref() == Some(&credential(&session.key())) {
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
            request = table::with_key_everywhere(request, values);
        }
        if let Some(value) = self.value {
            request = request.authorization(table::credential(value, values)?);
        }
        match self.second {
            Some(second) => Some(request.header("Authorization", table::credential(second, values)?)),
            None => Some(request),
        }
    }
}

impl Asked {
    /// The request, and its name for steps, without ids and names of animals.
    fn request(self, session: &mut Session<'_>, id: i64) -> (Request, String) {
        let Asked { target, media_type, body } = self;
        let path = target.replace("{petId}", &id.to_string());
        let Some(template) = body else {
            let request = match path.split_once('?') {
                Some((path, query)) => Request::new("GET", path).query(query),
                None => Request::new("GET", path),
            };
            return (request, format!("GET {target}"));
        };
        let named = match template {
            _ if media_type != CREATE.media_type => format!("POST /pets as {media_type}"),
            ANIMAL => format!("POST {target}"),
            "" => "POST /pets (no body)".to_owned(),
            defective => format!("POST /pets {}", defective.replace('@', "")),
        };
        (Request::new("POST", path).body(media_type, filled(session, template)), named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use crate::run::context;
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
            let rows = near_misses::keyless(1)
                .into_iter()
                .filter_map(|row| Some((row.step(Target::List), row.request(Target::List, &values)?)));
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
