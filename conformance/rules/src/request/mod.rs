//! The classification of a request by the specification, read from the request alone.
//!
//! A request is lawful and its response is determined, or it is at fault and its refusal is determined, or it is *ambiguous* and
//! several responses are lawful. When in doubt a request is ambiguous, because a finding must rest on a statement of the specification.

use std::collections::HashSet;

use percent_encoding::percent_decode_str;

use crate::catalogue::figures::{DEFAULT_LIMIT, MAX_LIMIT};
use crate::trace::exchange::Request;
use crate::trace::{Context, conditions};

mod body;
mod credential;
mod expectation;
mod extended;

pub use body::{Ambiguity, CreateBody, Draft, Fault, MODEST_NAME, is_plain_name};
pub use credential::{Credential, Defect, credential, credential_of};
pub(crate) use expectation::NEAR_ZERO;
pub use expectation::{Existence, Expectation, Shape};

/// The values of PetStatus.
pub const STATUSES: [&str; 3] = ["available", "pending", "sold"];

/// The operation that a request calls, with its parameters.
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
    /// A request about which the specification states nothing: another path or method, or header fields that ask for another response than
    /// the usual one.
    Elsewhere,
}

impl Operation {
    /// The method and the path template of the operation, for sentences.
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

    /// Returns true if the request, with a valid key, is certainly lawful: neither at fault nor ambiguous.
    #[must_use]
    pub fn is_certainly_valid(&self) -> bool {
        match self {
            Operation::List(query) => query.is_lawful(),
            Operation::Create(body) => body.is_valid(),
            Operation::Get(id) => matches!(id, PetId::Int64(_)),
            Operation::Orders => true,
            Operation::Elsewhere => false,
        }
    }
}

/// The value of a query parameter: absent, lawful, or open to more than one treatment.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Parameter<T> {
    /// The query does not have the parameter.
    Absent,
    /// The value is lawful.
    Lawful(T),
    /// The value is out of range, unknown or ill-formed: the text as it was sent.
    Ambiguous(String),
    /// The query has the parameter more than once.
    Repeated,
}

impl<T> Parameter<T> {
    /// Returns true if the specification determines the treatment of the parameter.
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
    /// Returns true if the response to the query must be 200.
    #[must_use]
    pub fn is_lawful(&self) -> bool {
        !self.unknown && self.limit.is_certain() && self.status.is_certain()
    }

    /// The number of animals that a lawful query bounds the list to.
    #[must_use]
    pub fn bound(&self) -> Option<usize> {
        match self.limit {
            Parameter::Absent => Some(DEFAULT_LIMIT),
            Parameter::Lawful(limit) => Some(limit),
            Parameter::Ambiguous(_) | Parameter::Repeated => None,
        }
    }
}

/// The identifier in the path of `GET /pets/{petId}`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PetId {
    /// An int64 in its usual decimal form.
    Int64(i64),
    /// A text that no reader takes for an int64.
    NotInt64,
    /// An int64 in an unusual form, such as `+7` or `007`.
    Ambiguous,
}

/// Reads the operation of a request that was answered with this status code, if it was answered. `names` are the names of earlier creations: a
/// creation that repeats one of them is ambiguous.
#[must_use]
pub fn operation(request: &Request, status: Option<u16>, context: &Context, names: &HashSet<String>) -> Operation {
    if conditions::change_the_answer(request, status) {
        return Operation::Elsewhere;
    }
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/pets") => Operation::List(list_query(request.query.as_deref().unwrap_or(""))),
        ("POST", "/pets") => Operation::Create(match body::create_body(request.body.as_ref(), context, names) {
            CreateBody::NewPet(draft, mut ambiguities) if request.is_chunked() => {
                ambiguities.push(Ambiguity::NoLength);
                CreateBody::NewPet(draft, ambiguities)
            }
            body => body,
        }),
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
    let limit =
        |text: &str| text.parse().ok().filter(|limit| (1..=MAX_LIMIT).contains(limit) && text == limit.to_string());
    let status = |text: &str| STATUSES.contains(&text).then(|| text.to_owned());
    ListQuery {
        limit: parameter(&pairs, "limit", limit),
        status: parameter(&pairs, "status", status),
        unknown: pairs.iter().any(|(key, _)| !["limit", "status"].contains(key)),
    }
}

/// Reads a parameter. The function returns the value of a lawful text.
fn parameter<T>(pairs: &[(&str, &str)], name: &str, lawful: impl FnOnce(&str) -> Option<T>) -> Parameter<T> {
    let mut values = pairs.iter().filter(|(key, _)| *key == name).map(|(_, value)| *value);
    match (values.next(), values.next()) {
        (None, _) => Parameter::Absent,
        (Some(text), None) => lawful(text).map_or_else(|| Parameter::Ambiguous(text.to_owned()), Parameter::Lawful),
        (Some(_), Some(_)) => Parameter::Repeated,
    }
}

fn pet_id(text: &str) -> PetId {
    match text.parse::<i64>() {
        Ok(id) if text == id.to_string() => PetId::Int64(id),
        Ok(_) => PetId::Ambiguous,
        // Percent-encoding could hide a number, unless it hides bytes that are no text; other text that is no int64 has no second reading.
        Err(_) if text.contains('%') && percent_decode_str(text).decode_utf8().is_ok() => PetId::Ambiguous,
        Err(_) => PetId::NotInt64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_plain_decimal_form_of_a_limit_or_an_id_is_unambiguous() {
        assert_eq!(list_query("limit=100").limit, Parameter::Lawful(100));
        for text in ["0", "101", "-1", "+5", "05", "ten", "1.0", ""] {
            assert!(matches!(list_query(&format!("limit={text}")).limit, Parameter::Ambiguous(_)), "{text}");
        }
        assert!(matches!(list_query("limit=1&limit=2").limit, Parameter::Repeated));
        assert!(!list_query("limit=1&page=2").is_lawful());
        assert_eq!(pet_id("-9223372036854775808"), PetId::Int64(i64::MIN));
        assert_eq!(pet_id("9223372036854775808"), PetId::NotInt64);
        assert_eq!(pet_id("007"), PetId::Ambiguous);
        assert_eq!(pet_id("1.5"), PetId::NotInt64);
        assert_eq!(pet_id("%37"), PetId::Ambiguous);
        assert_eq!(pet_id("7%FF"), PetId::NotInt64);
    }

    #[test]
    fn one_segment_below_pets_is_an_id_and_anything_else_is_no_operation() {
        let called =
            |path: &str| operation(&Request::new("GET", path), None, &Context::for_test(), &HashSet::new()).name();
        assert_eq!(called("/pets/7"), "GET /pets/{petId}");
        for path in ["/pets/", "/pets/7/", "/pets//", "/pets/7/toys", "/pet", "/store"] {
            assert_eq!(called(path), Operation::Elsewhere.name(), "{path}");
        }
    }
}
