//! Near misses: requests that are nearly right, from `fixtures/near_misses.toml`.
//!
//! A row of the table names a place of a request and the value that stands there. [`NearMiss::request`] makes the request. The table
//! says nothing about responses: they are judged as those to any other request. So a row is added by a line in one file.

mod codec;
mod template;

use std::sync::LazyLock;

use serde::Deserialize;
use serde::de::Error;

use crate::trace::exchange::Request;
use crate::worded;
pub use codec::{KeyCodec, REPLACEMENTS, percent_encoded, with_another_character};
use template::Template;
pub use template::Values;

/// The place of a request in which a near miss differs from a valid request.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[serde(rename_all = "camelCase")]
pub enum Place {
    /// The value of `name` in the body of a creation.
    Name,
    /// The value of `categoryId` in the body of a creation.
    CategoryId,
    /// The value of `status` in the body of a creation.
    Status,
    /// The body of a creation.
    Body,
    /// The media type of a creation.
    Media,
    /// The query of a list.
    Query,
    /// The identifier of a fetch.
    Id,
    /// Method and path of a request, written `GET /path`.
    Path,
    /// The value of `Authorization`, of any operation.
    Credential,
    /// The key in the place of another field (`Name: value`), of the query (`?name=value`) or of the body (`body name`), or a field that
    /// may be taken for a credential.
    Elsewhere,
}

impl Place {
    /// Returns true if the near misses of this place lack a valid key.
    pub fn is_keyless(self) -> bool {
        matches!(self, Place::Credential | Place::Elsewhere)
    }

    /// Returns true if the near misses of this place are creations.
    pub fn creates(self) -> bool {
        matches!(self, Place::Name | Place::CategoryId | Place::Status | Place::Body | Place::Media)
    }
}

worded! {
    /// An operation that a near miss without a valid key may call.
    #[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
    #[serde(rename_all = "lowercase")]
    pub enum Target {
        /// The list of animals.
        List = "GET /pets",
        /// The fetch of an animal that exists.
        Get = "GET /pets/{petId}",
        /// The store orders.
        Orders = "GET /store/orders",
        /// A creation with a valid body.
        Create = "POST /pets",
    }
}

/// A row of the table.
#[derive(Debug)]
pub struct NearMiss {
    /// The family, such as `numbers`.
    pub family: &'static str,
    /// The place of the request in which it differs from a valid one.
    pub place: Place,
    /// The reader that takes the request for another, and how.
    pub reader: &'static str,
    /// How common such readers are: 3 common, 2 plausible, 1 exotic.
    pub weight: u8,
    /// Whether every run sends the near miss, because no other request shows what it shows.
    pub is_first: bool,
    /// The operations that the near miss is always sent to, for a credential.
    pub at: &'static [Target],
    value: Template,
    body: Option<Template>,
    query: Option<Template>,
}

/// The file, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    family: Vec<Family>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Family {
    name: String,
    place: Place,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    value: String,
    reader: String,
    weight: u8,
    #[serde(default)]
    first: bool,
    #[serde(default)]
    at: Vec<Target>,
    body: Option<Template>,
    query: Option<Template>,
}

static TABLE: LazyLock<Vec<NearMiss>> = LazyLock::new(|| {
    read(include_str!(env!("NEAR_MISSES"))).expect("the compiled-in table parses: a test of this module reads it")
});

/// Every near miss, in the order of the file.
pub fn near_misses() -> &'static [NearMiss] {
    &TABLE
}

/// The near miss that a request was sent for, given the step of its exchange.
pub fn of_step(step: &str) -> Option<&'static NearMiss> {
    index_of_step(step).map(|index| &TABLE[index])
}

/// The index in the table of the near miss that a request was sent for.
pub fn index_of_step(step: &str) -> Option<usize> {
    static STEPS: LazyLock<std::collections::HashMap<String, usize>> = LazyLock::new(|| {
        let rows = TABLE.iter().enumerate();
        rows.flat_map(|(index, row)| row.steps().into_iter().map(move |step| (step, index))).collect()
    });
    STEPS.get(step).copied()
}

fn read(text: &str) -> Result<Vec<NearMiss>, toml::de::Error> {
    let file: File = toml::from_str(text)?;
    let mut near_misses = Vec::new();
    for family in file.family {
        // The table lives as long as the program.
        let name: &'static str = family.name.leak();
        for row in family.rows {
            near_misses.push(NearMiss {
                family: name,
                place: family.place,
                value: around(family.place, &row.value).parse().map_err(toml::de::Error::custom)?,
                body: row.body,
                query: row.query,
                reader: row.reader.leak(),
                weight: row.weight,
                is_first: row.first,
                at: row.at.leak(),
            });
        }
    }
    Ok(near_misses)
}

/// A valid body.
const ANIMAL: &str = r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"sold"}"#;

/// The text around the value of a place: for a member, the other members of the body.
fn around(place: Place, value: &str) -> String {
    match place {
        Place::Name => format!(r#"{{"name":{value},"categoryId":@CATEGORY@,"status":"sold"}}"#),
        Place::CategoryId => format!(r#"{{"name":"@NAME@","categoryId":{value},"status":"sold"}}"#),
        Place::Status => format!(r#"{{"name":"@NAME@","categoryId":@CATEGORY@,"status":{value}}}"#),
        _ => value.to_owned(),
    }
}

impl NearMiss {
    /// The name of the request to an operation, without names, ids and keys. No two near misses have one in common.
    pub fn step(&self, target: Target) -> String {
        let value = self.value.described();
        let operation = target.as_str();
        match self.place {
            Place::Name | Place::CategoryId | Place::Status | Place::Body if value.is_empty() => {
                "POST /pets (no body)".to_owned()
            }
            Place::Name | Place::CategoryId | Place::Status | Place::Body => match &self.query {
                Some(query) => format!("POST /pets?{} {value}", query.described()),
                None => format!("POST /pets {value}"),
            },
            Place::Media if value.is_empty() => "POST /pets without a media type".to_owned(),
            Place::Media => match &self.body {
                Some(body) => format!("POST /pets as {value}: {}", body.described()),
                None => format!("POST /pets as {value}"),
            },
            Place::Query => format!("GET /pets?{value}"),
            Place::Id => format!("GET /pets/{value}"),
            Place::Path => value,
            Place::Credential => format!("{operation} with Authorization: {value}"),
            Place::Elsewhere if self.has_key() => format!("{operation} with the key in {value}"),
            Place::Elsewhere => format!("{operation} without a key, with {value}"),
        }
    }

    /// Returns true if the key is in the value, or is put into the body under its name.
    fn has_key(&self) -> bool {
        self.value.has_key() || self.value.described().starts_with("body ")
    }

    /// The names of the requests of this near miss.
    fn steps(&self) -> Vec<String> {
        let targets: &[Target] = if self.place.is_keyless() { &Target::ALL } else { &[Target::List] };
        targets.iter().map(|target| self.step(*target)).collect()
    }

    /// The length of the value in bytes, without those that replace placeholders.
    pub fn length(&self) -> usize {
        self.value.length()
    }

    /// Returns true if a value is needed that only a response shows: the id of an animal.
    pub fn needs_animal(&self, target: Target) -> bool {
        self.value.has_id() || self.place.is_keyless() && target == Target::Get
    }

    /// The request without a valid key other than the one in the value. `None` if a value is missing, if the key is too short or regular
    /// to be changed, or if the key cannot be in that place of the request.
    pub fn request(&self, target: Target, values: &Values<'_>) -> Option<Request> {
        let bytes = self.value.fill(values)?;
        let text = || String::from_utf8(bytes.clone()).ok();
        let animal = || ANIMAL.parse::<Template>().ok()?.fill(values);
        let create = || Some(Request::new("POST", "/pets").json(animal()?));
        Some(match self.place {
            Place::Name | Place::CategoryId | Place::Status | Place::Body => {
                let request = Request::new("POST", "/pets").json(bytes);
                match &self.query {
                    Some(query) => request.query(String::from_utf8(query.fill(values)?).ok()?),
                    None => request,
                }
            }
            Place::Media => {
                let body = match &self.body {
                    Some(body) => body.fill(values)?,
                    None => animal()?,
                };
                Request::new("POST", "/pets").body(&text()?, body)
            }
            Place::Query => Request::new("GET", "/pets").query(text()?),
            Place::Id => Request::new("GET", format!("/pets/{}", text()?)),
            Place::Path => {
                let text = text()?;
                let (method, target) = text.split_once(' ')?;
                let request = at_target(method, target);
                if method == "GET" { request } else { request.json(animal()?) }
            }
            Place::Credential | Place::Elsewhere => {
                let request = match target {
                    Target::List => Request::new("GET", "/pets"),
                    Target::Get => Request::new("GET", format!("/pets/{}", values.id?)),
                    Target::Orders => Request::new("GET", "/store/orders"),
                    Target::Create => create()?,
                };
                if self.place == Place::Elsewhere {
                    return elsewhere(request, &text()?, values);
                }
                let value = text()?;
                // Some changes leave some keys as they are.
                if value.strip_prefix("Bearer ").is_some_and(|token| token.trim() == values.key) {
                    return None;
                }
                request.authorization(value)
            }
        })
    }
}

/// A name whose bytes stand for any letters in [`NearMiss::resembles`].
const ANY_NAME: &str = "\u{11}\u{11}\u{11}\u{11}\u{11}\u{11}\u{11}\u{11}\u{11}\u{11}";

/// Digits whose bytes stand for any digits in [`NearMiss::resembles`].
const ANY_DIGITS: &str = "\u{12}\u{12}\u{12}\u{12}";

/// Returns true if two texts are equal but for names and digits.
fn fits(wanted: &[u8], found: &[u8]) -> bool {
    let is_equal = |(wanted, found): (&u8, &u8)| match wanted {
        0x11 => found.is_ascii_alphabetic(),
        0x12 => found.is_ascii_digit(),
        _ => wanted == found,
    };
    wanted.len() == found.len() && wanted.iter().zip(found).all(is_equal)
}

impl NearMiss {
    /// Returns true if a request was made from the row with these values, whatever the name and the digits in it.
    pub fn resembles(&self, request: &Request, values: &Values<'_>) -> bool {
        let values = Values { name: ANY_NAME, digits: ANY_DIGITS, ..*values };
        let target = if self.place == Place::Elsewhere { Target::Create } else { Target::List };
        let Some(wanted) = self.request(target, &values) else { return false };
        let [body, found_body] =
            [&wanted, request].map(|request| request.body.as_ref().map_or(&[][..], |body| &body.bytes[..]));
        let [media_type, found_media_type] =
            [&wanted, request].map(|request| request.body.as_ref().map(|body| &body.content_type));
        let has_field = |(name, value): &(String, String)| {
            request.headers.iter().any(|(known, found)| known.eq_ignore_ascii_case(name) && found == value)
        };
        match (self.place, &wanted.query) {
            (Place::Credential, _) => wanted.authorization == request.authorization,
            (Place::Elsewhere, Some(pair)) => {
                request.query.as_deref().is_some_and(|found| found.split('&').any(|other| other == pair))
            }
            (Place::Elsewhere, None) if wanted.headers.is_empty() => fits(body, found_body),
            (Place::Elsewhere, None) => wanted.headers.iter().all(has_field),
            _ => {
                wanted.method == request.method
                    && fits(wanted.target().as_bytes(), request.target().as_bytes())
                    && media_type == found_media_type
                    && fits(body, found_body)
            }
        }
    }
}

fn at_target(method: &str, target: &str) -> Request {
    match target.split_once('?') {
        Some((path, query)) => Request::new(method, path).query(query),
        None => Request::new(method, target),
    }
}

/// The value of `Authorization` that this text with placeholders stands for. `None` if a placeholder has no value, or the text is unknown.
pub fn credential(text: &str, values: &Values<'_>) -> Option<String> {
    String::from_utf8(text.parse::<Template>().ok()?.fill(values)?).ok()
}

/// The maximum size of the copies of the key in one request, in bytes. A server may refuse any request whose URL or fields are longer
/// than 8 KiB.
const COPIES: usize = 4 * 1024;

/// The request with the key in every place of the table other than `Authorization`, the common places first. A long key is put in some of
/// these places only.
pub fn with_key_everywhere(mut request: Request, values: &Values<'_>) -> Request {
    let mut rows: Vec<&NearMiss> = TABLE.iter().filter(|row| row.place == Place::Elsewhere && row.has_key()).collect();
    // A reader takes one field of a name. Of several values, the request decides which one is sent.
    if (request.method.len() + request.path.len()).is_multiple_of(2) {
        rows.reverse();
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.weight));
    for row in rows.into_iter().take((COPIES / values.key.len().max(1)).max(1)) {
        let text = row.value.fill(values).and_then(|bytes| String::from_utf8(bytes).ok());
        let Some(text) = text else { continue };
        let name = text.split_once(": ").map(|(name, _)| name).filter(|name| *name != "Cookie");
        if !request.headers.iter().any(|(known, _)| name == Some(known.as_str())) {
            request = elsewhere(request.clone(), &text, values).unwrap_or(request);
        }
    }
    request
}

/// The request with the key in a further place than `Authorization`.
fn elsewhere(mut request: Request, place: &str, values: &Values<'_>) -> Option<Request> {
    if let Some(query) = place.strip_prefix('?') {
        let (name, _) = query.split_once('=')?;
        let before = request.query.take().map_or_else(String::new, |query| format!("{query}&"));
        return Some(request.query(format!("{before}{name}={}", percent_encoded(values.key))));
    }
    if let Some(member) = place.strip_prefix("body ") {
        let body = request.body.as_ref()?;
        let animal = body.bytes.strip_prefix(b"{")?;
        let member = serde_json::to_string(member).ok()?;
        let key = serde_json::to_string(values.key).ok()?;
        let bytes = [format!("{{{member}:{key},").as_bytes(), animal].concat();
        return Some(request.json(bytes));
    }
    let (name, value) = place.split_once(": ")?;
    // A request has one field of cookies.
    match request.headers.iter_mut().find(|(known, _)| name == "Cookie" && known == name) {
        Some((_, cookies)) => {
            *cookies = format!("{cookies}; {value}");
            Some(request)
        }
        None => Some(request.header(name, value)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::request::{Credential, Expectation, credential as credential_of_request, operation};
    use crate::trace::Context;

    const VALUES: Values<'_> = Values {
        name: "Heron 1",
        digits: "4711",
        category: 1,
        id: Some(42),
        key: "sk-Key1",
        unknown: "conform-unknown-1",
    };

    #[test]
    fn with_the_key_everywhere_each_field_is_sent_once_and_each_of_its_values_with_some_request() {
        let sent = |method| with_key_everywhere(Request::new(method, "/pets"), &VALUES).headers;
        let mut values_of_a_field = HashSet::new();
        for headers in [sent("GET"), sent("POST")] {
            let names: HashSet<&String> = headers.iter().map(|(name, _)| name).collect();
            assert_eq!(names.len(), headers.len(), "{headers:?}");
            values_of_a_field.extend(headers.into_iter().filter(|(name, _)| name == "Proxy-Authorization"));
        }
        assert_eq!(values_of_a_field.len(), 2, "{values_of_a_field:?}");
    }

    #[test]
    fn every_row_makes_a_request_with_a_name_of_its_own() {
        let rows = read(include_str!(env!("NEAR_MISSES"))).unwrap_or_else(|error| panic!("{error}"));
        let mut steps = HashSet::new();
        for row in &rows {
            assert!((1..=3).contains(&row.weight), "a weight is 1, 2 or 3: {}", row.reader);
            assert!(row.reader.chars().count() <= 70, "a reader has at most 70 characters: {}", row.reader);
            for step in row.steps() {
                assert!(of_step(&step).is_some_and(|known| known.reader == row.reader), "{step}");
                assert!(steps.insert(step.clone()), "twice: {step}");
            }
            assert!(row.request(Target::Create, &VALUES).is_some(), "{}", row.step(Target::Create));
        }
    }

    #[test]
    fn a_row_resembles_its_own_request_whatever_the_name_and_the_digits() {
        for row in near_misses() {
            let values = Values { name: "Qrstuvwxyz", digits: "9753", ..VALUES };
            let Some(request) = row.request(Target::Create, &values) else { continue };
            assert!(row.resembles(&request, &VALUES), "{}", row.step(Target::Create));
            assert!(!row.resembles(&Request::new("GET", "/pets"), &VALUES), "{}", row.step(Target::Create));
        }
    }

    /// The lawful responses of each row, for review: a row whose every response is lawful shows nothing.
    #[test]
    fn each_row_has_the_lawful_responses_that_were_reviewed() {
        let context = Context::for_test();
        let mut reviewed = String::new();
        for row in near_misses() {
            let request = row.request(Target::Create, &VALUES).expect("a request");
            let credential =
                if row.place.is_keyless() { credential_of_request(&request, &context) } else { Credential::Valid(0) };
            let expected = Expectation::of(&operation(&request, None, &context, &HashSet::new()), credential);
            reviewed.push_str(&format!("{expected} | {}\n", row.step(Target::Create)));
        }
        insta::with_settings!({ snapshot_path => "../../../../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!("near-misses", reviewed);
        });
    }
}
