//! What the specification makes of a request, read from the request alone.
//!
//! This is where the policy on what may be demanded lives: a request is lawful and its answer is determined, or it is at
//! fault and its refusal is determined, or it is *debatable* and several answers are lawful. When in doubt a request is
//! debatable, because an accusation must rest on something the specification says.

use std::collections::HashSet;

use crate::wire::exchange::{Body, Request};
use crate::wire::json::{Json, Whole};
use crate::wire::trace::Context;

/// The three values of PetStatus.
pub const STATUSES: [&str; 3] = ["available", "pending", "sold"];

/// Bodies larger than this may be refused for their size.
const MODEST_BODY: usize = 8 * 1024;

/// Names longer than this may be refused for their length.
const MODEST_NAME: usize = 40;

/// Which operation a request calls, and with what.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// `GET /pets`
    List(ListQuery),
    /// `POST /pets`
    Create(CreateBody),
    /// `GET /pets/{petId}`
    Get(PetId),
    /// `GET /store/orders`
    Orders,
    /// Anything else: nothing is stated about it.
    Elsewhere,
}

impl Operation {
    /// Method and path template, for sentences.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Operation::List(_) => "GET /pets",
            Operation::Create(_) => "POST /pets",
            Operation::Get(_) => "GET /pets/{petId}",
            Operation::Orders => "GET /store/orders",
            Operation::Elsewhere => "an unspecified path or method",
        }
    }

    /// Whether the request, with a valid key, is beyond doubt lawful: neither at fault nor debatable.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        match self {
            Operation::List(query) => query.is_lawful(),
            Operation::Create(body) => body.is_valid(),
            Operation::Get(id) => matches!(id, PetId::Int64(_)),
            Operation::Orders => true,
            Operation::Elsewhere => false,
        }
    }
}

/// A value that is absent, lawful, or open to more than one treatment.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Parameter<T> {
    /// Not in the query.
    Absent,
    /// Lawful.
    Lawful(T),
    /// Out of range, unknown or ill-formed: the text as it was sent.
    Debatable(String),
    /// In the query more than once.
    Repeated,
}

impl<T> Parameter<T> {
    /// Whether its treatment is determined.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        matches!(self, Parameter::Absent | Parameter::Lawful(_))
    }
}

/// The query of `GET /pets`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ListQuery {
    /// `limit`
    pub limit: Parameter<usize>,
    /// `status`
    pub status: Parameter<String>,
    /// Whether there are parameters that the specification does not know.
    pub unknown: bool,
}

impl ListQuery {
    /// Whether the answer must be 200.
    #[must_use]
    pub fn is_lawful(&self) -> bool {
        !self.unknown && self.limit.is_certain() && self.status.is_certain()
    }

    /// The number of animals that a lawful query bounds the list to.
    #[must_use]
    pub fn bound(&self) -> Option<usize> {
        match self.limit {
            Parameter::Absent => Some(20),
            Parameter::Lawful(limit) => Some(limit),
            Parameter::Debatable(_) | Parameter::Repeated => None,
        }
    }
}

/// The identifier in the path of `GET /pets/{petId}`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PetId {
    /// An int64 in its usual decimal form.
    Int64(i64),
    /// No int64 in any reading.
    NotInt64,
    /// An int64 in an unusual form, such as `+7` or `007`.
    Debatable,
}

/// What is wrong with a body, beyond debate: each must be answered with 400.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fault {
    /// Nothing was sent, or JSON that is no object.
    NoObject,
    /// `name` is missing.
    NameMissing,
    /// `name` is no string.
    NameType,
    /// `categoryId` is missing.
    CategoryMissing,
    /// `categoryId` is no number.
    CategoryType,
    /// `categoryId` is outside int64 or has a fraction.
    CategoryRange,
    /// `status` is outside the enumeration.
    StatusEnum,
}

/// What may lawfully be refused or accepted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Debate {
    /// The name is blank, long, has unusual characters or was used before.
    Name,
    /// The category is not the one that the user vouched for.
    Category,
    /// `status` is null.
    NullStatus,
    /// There are members that NewPet does not have.
    UnknownMember,
    /// There is an `id`.
    ClientId,
    /// A whole number is written with a fraction or an exponent.
    IntegralNumber,
    /// A member stands twice.
    RepeatedMember,
    /// The body is so large that it may be refused for its size.
    Size,
}

/// The body of `POST /pets`.
#[derive(Clone, Debug, PartialEq)]
pub enum CreateBody {
    /// Labelled as something else than `application/json`.
    OtherMedia,
    /// Not JSON.
    Malformed,
    /// At fault: must be refused with 400. What was readable is kept, to look for side effects.
    Faulty(Vec<Fault>, Draft),
    /// A NewPet, valid if there is nothing to debate.
    NewPet(Draft, Vec<Debate>),
}

/// The members of a NewPet that could be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    /// `name`
    pub name: Option<String>,
    /// `categoryId`
    pub category_id: Option<i64>,
    /// `status`, if one of the three.
    pub status: Option<String>,
    /// `id`, if the client sent an int64.
    pub id: Option<i64>,
}

impl CreateBody {
    /// Whether the answer must be 201.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        matches!(self, CreateBody::NewPet(_, debates) if debates.is_empty())
    }

    /// What could be read of the animal.
    #[must_use]
    pub fn draft(&self) -> Option<&Draft> {
        match self {
            CreateBody::Faulty(_, draft) | CreateBody::NewPet(draft, _) => Some(draft),
            CreateBody::OtherMedia | CreateBody::Malformed => None,
        }
    }
}

/// Reads what a request asks for. `names` are the names of earlier creations: another with one of them is debatable.
#[must_use]
pub fn operation(request: &Request, context: &Context, names: &HashSet<String>) -> Operation {
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/pets") => Operation::List(list_query(request.query.as_deref().unwrap_or(""))),
        ("POST", "/pets") => Operation::Create(create_body(request.body.as_ref(), context, names)),
        ("GET", "/store/orders") => Operation::Orders,
        ("GET", path) => match path.strip_prefix("/pets/") {
            Some(id) if !id.is_empty() && !id.contains('/') => Operation::Get(pet_id(id)),
            _ => Operation::Elsewhere,
        },
        _ => Operation::Elsewhere,
    }
}

fn list_query(query: &str) -> ListQuery {
    let pairs: Vec<(&str, &str)> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .collect();
    let values = |name: &str| pairs.iter().filter(|(key, _)| *key == name).map(|(_, value)| *value).collect::<Vec<_>>();
    let limit = match values("limit")[..] {
        [] => Parameter::Absent,
        [text] => match text.parse::<usize>() {
            Ok(limit @ 1..=100) if text == limit.to_string() => Parameter::Lawful(limit),
            _ => Parameter::Debatable(text.to_owned()),
        },
        _ => Parameter::Repeated,
    };
    let status = match values("status")[..] {
        [] => Parameter::Absent,
        [text] if STATUSES.contains(&text) => Parameter::Lawful(text.to_owned()),
        [text] => Parameter::Debatable(text.to_owned()),
        _ => Parameter::Repeated,
    };
    ListQuery { limit, status, unknown: pairs.iter().any(|(key, _)| !["limit", "status"].contains(key)) }
}

fn pet_id(text: &str) -> PetId {
    match text.parse::<i64>() {
        Ok(id) if text == id.to_string() => PetId::Int64(id),
        Ok(_) => PetId::Debatable,
        // Percent-encoding could hide a number; other text that is no int64 has no second reading.
        Err(_) if text.contains('%') => PetId::Debatable,
        Err(_) => PetId::NotInt64,
    }
}

fn create_body(body: Option<&Body>, context: &Context, names: &HashSet<String>) -> CreateBody {
    let Some(body) = body else { return CreateBody::Faulty(vec![Fault::NoObject], Draft::default()) };
    let media_type = body.content_type.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    if media_type != "application/json" {
        return CreateBody::OtherMedia;
    }
    if body.bytes.is_empty() {
        return CreateBody::Faulty(vec![Fault::NoObject], Draft::default());
    }
    let Ok(json) = Json::parse(&body.bytes) else { return CreateBody::Malformed };
    let Json::Object(members) = &json else { return CreateBody::Faulty(vec![Fault::NoObject], Draft::default()) };

    let (mut faults, mut debates, mut draft) = (Vec::new(), Vec::new(), Draft::default());
    let mut seen = HashSet::new();
    for (name, value) in members {
        if !seen.insert(name.as_str()) {
            debates.push(Debate::RepeatedMember);
        }
        match name.as_str() {
            "name" | "categoryId" | "status" => {}
            "id" => {
                draft.id = value.as_int64();
                debates.push(Debate::ClientId);
            }
            _ => debates.push(Debate::UnknownMember),
        }
    }
    match json.get("name") {
        None => faults.push(Fault::NameMissing),
        Some(Json::String(name)) => {
            if !is_plain_name(name) || names.contains(name) {
                debates.push(Debate::Name);
            }
            draft.name = Some(name.clone());
        }
        Some(_) => faults.push(Fault::NameType),
    }
    match json.get("categoryId") {
        None => faults.push(Fault::CategoryMissing),
        Some(Json::Number(number)) => match number.whole() {
            Whole::Int64(category) => {
                if !number.is_plain_integer() {
                    debates.push(Debate::IntegralNumber);
                }
                if category != context.category_id {
                    debates.push(Debate::Category);
                }
                draft.category_id = Some(category);
            }
            Whole::OutOfRange | Whole::Fraction => faults.push(Fault::CategoryRange),
        },
        Some(_) => faults.push(Fault::CategoryType),
    }
    match json.get("status") {
        None => {}
        Some(Json::Null) => debates.push(Debate::NullStatus),
        Some(Json::String(status)) if STATUSES.contains(&status.as_str()) => draft.status = Some(status.clone()),
        Some(_) => faults.push(Fault::StatusEnum),
    }
    if body.bytes.len() > MODEST_BODY {
        debates.push(Debate::Size);
    }
    // Which of two members counts, or whether the size is looked at first, is not stated: no fault is certain then.
    let certain = !debates.iter().any(|debate| matches!(debate, Debate::RepeatedMember | Debate::Size));
    if !faults.is_empty() && certain { CreateBody::Faulty(faults, draft) } else { CreateBody::NewPet(draft, debates) }
}

/// A name that no constraint could sensibly exclude: letters, digits and single inner spaces or hyphens.
#[must_use]
pub fn is_plain_name(name: &str) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    name.len() <= MODEST_NAME
        && edge(name.chars().next())
        && edge(name.chars().last())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == ' ' || c == '-')
        && !name.contains("  ")
}

/// With which credential a request comes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Access {
    /// A valid key, in the described form; its index in the context.
    Valid(usize),
    /// A valid key in a form that HTTP allows and the specification does not show, such as `bearer`.
    Debatable,
    /// No valid key.
    Lacking(Lack),
}

impl Access {
    /// Whether there is beyond doubt no valid key.
    #[must_use]
    pub fn is_lacking(self) -> bool {
        matches!(self, Access::Lacking(_))
    }
}

/// In which way a valid key is lacking.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Lack {
    /// There is no credential at all.
    Absent,
    /// There is one that nobody issued.
    Unknown,
    /// There is one that resembles a valid key.
    Inexact,
    /// A valid key was sent, but not as a bearer token in the header.
    NotBearer,
}

/// Reads the credential of a request.
#[must_use]
pub fn access(request: &Request, context: &Context) -> Access {
    let holds_key = |text: &str| context.keys.iter().any(|key| text.contains(key.reveal()));
    let Some(value) = &request.authorization else {
        let elsewhere = request.query.as_deref().is_some_and(holds_key)
            || request.headers.iter().any(|(_, value)| holds_key(value));
        return Access::Lacking(if elsewhere { Lack::NotBearer } else { Lack::Absent });
    };
    let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Access::Lacking(if holds_key(value) { Lack::NotBearer } else { Lack::Unknown });
    }
    for (index, key) in context.keys.iter().enumerate() {
        let key = key.reveal();
        if token == key {
            return if scheme == "Bearer" { Access::Valid(index) } else { Access::Debatable };
        }
        if token.trim() == key {
            return Access::Debatable;
        }
    }
    let token = token.trim();
    let resembles = |key: &str| {
        !token.is_empty() && (token.contains(key) || key.contains(token) || token.eq_ignore_ascii_case(key))
    };
    let inexact = context.keys.iter().any(|key| resembles(key.reveal()));
    Access::Lacking(if inexact { Lack::Inexact } else { Lack::Unknown })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::secret::{ApiKey, Redactor};

    fn context() -> Context {
        Context {
            base_url: "http://127.0.0.1:1/v1".to_owned(),
            keys: vec![ApiKey::new("sk-Key1").unwrap()],
            figures: None,
            category_id: 1,
            assumed_date: None,
            redactor: Redactor::default(),
            left_out: Vec::new(),
        }
    }

    fn body(json: &str) -> CreateBody {
        let body = Body { content_type: "application/json".to_owned(), bytes: json.into() };
        create_body(Some(&body), &context(), &HashSet::from(["Used 1".to_owned()]))
    }

    #[test]
    fn a_body_is_valid_only_when_nothing_about_it_can_be_debated() {
        assert!(body(r#"{"name":"Heron 1","categoryId":1}"#).is_valid());
        assert!(body(r#"{"name":"Heron 1","categoryId":1,"status":"sold"}"#).is_valid());
        for debatable in [
            r#"{"name":"","categoryId":1}"#,
            r#"{"name":"Used 1","categoryId":1}"#,
            r#"{"name":"Zoë","categoryId":1}"#,
            r#"{"name":"Heron 1","categoryId":2}"#,
            r#"{"name":"Heron 1","categoryId":1.0}"#,
            r#"{"name":"Heron 1","categoryId":1,"status":null}"#,
            r#"{"name":"Heron 1","categoryId":1,"id":5}"#,
            r#"{"name":"Heron 1","categoryId":1,"colour":"grey"}"#,
            r#"{"name":5,"name":"Heron 1","categoryId":1}"#,
        ] {
            assert!(matches!(body(debatable), CreateBody::NewPet(_, debates) if !debates.is_empty()), "{debatable}");
        }
    }

    #[test]
    fn a_fault_stays_a_fault_beside_something_debatable() {
        for (json, fault) in [
            ("null", Fault::NoObject),
            ("[]", Fault::NoObject),
            (r#"{"categoryId":1,"colour":"grey"}"#, Fault::NameMissing),
            (r#"{"name":null,"categoryId":1}"#, Fault::NameType),
            (r#"{"name":"Heron 1"}"#, Fault::CategoryMissing),
            (r#"{"name":"Heron 1","categoryId":"1"}"#, Fault::CategoryType),
            (r#"{"name":"Heron 1","categoryId":1.5}"#, Fault::CategoryRange),
            (r#"{"name":"Heron 1","categoryId":9223372036854775808}"#, Fault::CategoryRange),
            (r#"{"name":"Heron 1","categoryId":1,"status":"Sold","id":1}"#, Fault::StatusEnum),
        ] {
            assert!(matches!(body(json), CreateBody::Faulty(faults, _) if faults == [fault]), "{json}");
        }
        assert_eq!(body("{"), CreateBody::Malformed);
    }

    #[test]
    fn only_the_plain_decimal_form_of_a_limit_or_an_id_is_beyond_debate() {
        assert_eq!(list_query("limit=100").limit, Parameter::Lawful(100));
        for text in ["0", "101", "-1", "+5", "05", "ten", "1.0", ""] {
            assert!(matches!(list_query(&format!("limit={text}")).limit, Parameter::Debatable(_)), "{text}");
        }
        assert!(matches!(list_query("limit=1&limit=2").limit, Parameter::Repeated));
        assert!(!list_query("limit=1&page=2").is_lawful());
        assert_eq!(pet_id("-9223372036854775808"), PetId::Int64(i64::MIN));
        assert_eq!(pet_id("9223372036854775808"), PetId::NotInt64);
        assert_eq!(pet_id("007"), PetId::Debatable);
        assert_eq!(pet_id("1.5"), PetId::NotInt64);
    }

    #[test]
    fn only_the_exact_key_in_the_described_form_is_valid() {
        let request = || Request::new("GET", "/pets");
        let read = |value: &str| access(&request().authorization(value), &context());
        assert_eq!(read("Bearer sk-Key1"), Access::Valid(0));
        assert_eq!(read("bearer sk-Key1"), Access::Debatable);
        assert_eq!(read("Bearer  sk-Key1"), Access::Debatable);
        assert_eq!(read("Bearer sk-key1"), Access::Lacking(Lack::Inexact));
        assert_eq!(read("Bearer sk-Key"), Access::Lacking(Lack::Inexact));
        assert_eq!(read("Bearer sk-Key1x"), Access::Lacking(Lack::Inexact));
        assert_eq!(read("Bearer other"), Access::Lacking(Lack::Unknown));
        assert_eq!(read("Bearer"), Access::Lacking(Lack::Unknown));
        assert_eq!(read("sk-Key1"), Access::Lacking(Lack::NotBearer));
        assert_eq!(read("Basic sk-Key1"), Access::Lacking(Lack::NotBearer));
        assert_eq!(access(&request(), &context()), Access::Lacking(Lack::Absent));
        assert_eq!(access(&request().query("api_key=sk-Key1"), &context()), Access::Lacking(Lack::NotBearer));
        assert_eq!(access(&request().header("X-Api-Key", "sk-Key1"), &context()), Access::Lacking(Lack::NotBearer));
    }
}
