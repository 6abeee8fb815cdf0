//! The classification of a request by the specification, read from the request alone.
//!
//! A request is lawful and its response is determined, or it is at fault and its refusal is determined, or it is *ambiguous* and
//! several responses are lawful. When in doubt a request is ambiguous, because a finding must rest on a statement of the specification.

use std::collections::HashSet;

use percent_encoding::percent_decode_str;

use crate::catalogue::figures::{DEFAULT_LIMIT, MAX_LIMIT};
use crate::trace::exchange::Request;
use crate::trace::json::Json;
use crate::trace::{Context, conditions};

mod body;
mod credential;
mod edge;
mod expectation;
mod extended;
pub mod harmless;

pub use body::{Ambiguity, CreateBody, Draft, Fault, MODEST_NAME, is_plain_name};
pub use credential::{Credential, Defect, bearer_key, credential, credential_of};
pub use edge::may_be_refused_at_edge;
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
    /// The query has the parameter more than once, or under a name that some readers take for it, such as `limit[]` or `Limit`.
    Repeated,
}

impl<T> Parameter<T> {
    /// Returns true if the specification determines the treatment of the parameter.
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
    /// Whether there are parameters that the specification does not know by the names that were sent.
    pub unknown: bool,
}

impl ListQuery {
    /// Returns true if the response to the query must be 200.
    pub fn is_lawful(&self) -> bool {
        !self.unknown && self.limit.is_certain() && self.status.is_certain()
    }

    /// The number of animals that a lawful query bounds the list to.
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
    /// A text that is no int64. A reader that takes it for one, such as `7abc` for 7, is at fault.
    NotInt64,
    /// An int64 in an unusual form, such as `+7`, `007`, `7.0`, `%37` or `7;x=1`.
    Ambiguous,
    /// An int64 with a query, which the operation does not have.
    Queried,
}

/// Reads the operation of a request that was answered with this status code, if it was answered. `names` are the names of earlier creations: a
/// creation that repeats one of them is ambiguous.
pub fn operation(request: &Request, status: Option<u16>, context: &Context, names: &HashSet<String>) -> Operation {
    if conditions::change_the_answer(request, status) {
        return Operation::Elsewhere;
    }
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/pets") => Operation::List(list_query(request.query.as_deref().unwrap_or(""))),
        ("POST", "/pets") => Operation::Create(body::create_body(request, context, names)),
        ("GET", "/store/orders") => Operation::Orders,
        ("GET", path) => match path.strip_prefix("/pets/").and_then(pet_id) {
            Some(PetId::Int64(_)) if request.has_query() => Operation::Get(PetId::Queried),
            Some(id) => Operation::Get(id),
            None => Operation::Elsewhere,
        },
        _ => Operation::Elsewhere,
    }
}

/// Reads the query of a list. A value counts as lawful only in its plain form under its plain name: percent-encoded letters, which all
/// readers should decode, make it ambiguous.
fn list_query(query: &str) -> ListQuery {
    let pairs: Vec<(&str, &str)> = match query {
        "" => Vec::new(),
        query => query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, ""))).collect(),
    };
    let limit =
        |text: &str| text.parse().ok().filter(|limit| (1..=MAX_LIMIT).contains(limit) && text == limit.to_string());
    let status = |text: &str| STATUSES.contains(&text).then(|| text.to_owned());
    ListQuery {
        limit: parameter(query, &pairs, "limit", limit),
        status: parameter(query, &pairs, "status", status),
        unknown: pairs.iter().any(|(key, _)| !["limit", "status"].contains(key)),
    }
}

/// Reads a parameter. The function returns the value of a lawful text.
fn parameter<T>(
    query: &str,
    pairs: &[(&str, &str)],
    name: &str,
    lawful: impl FnOnce(&str) -> Option<T>,
) -> Parameter<T> {
    let meant = query.split(['&', ';']).filter(|pair| meant_name(pair) == name).count();
    match (pairs.iter().find(|(key, _)| *key == name), meant) {
        (None, 0) => Parameter::Absent,
        (Some((_, text)), 0..=1) => {
            lawful(text).map_or_else(|| Parameter::Ambiguous((*text).to_owned()), Parameter::Lawful)
        }
        _ => Parameter::Repeated,
    }
}

/// The parameter that a lenient reader may take a pair for: its name decoded, in lower case, and without brackets and blanks.
fn meant_name(pair: &str) -> String {
    let name = pair.split('=').next().unwrap_or(pair).replace('+', " ");
    let decoded = percent_decode_str(&name).decode_utf8_lossy().to_lowercase();
    decoded.split(['[', '\0']).next().unwrap_or("").trim().to_owned()
}

/// Reads the rest of a path below `/pets/`. `None` if it is not one segment, or if a reader may take it for another path or for none.
fn pet_id(text: &str) -> Option<PetId> {
    let Ok(decoded) = percent_decode_str(text).decode_utf8() else { return Some(PetId::NotInt64) };
    // Some readers remove the parameters of a segment, or decode it before they look for the query.
    let value = decoded.split([';', '?', '#']).next().unwrap_or("");
    if decoded.contains(['/', '\\']) || matches!(value, "" | "." | "..") {
        return None;
    }
    // A plus sign may stand for a blank.
    let bare = value.trim_matches(|char: char| char.is_whitespace() || char == '+');
    let is_whole = || Json::parse(bare.as_bytes()).is_ok_and(|json| json.as_int64().is_some());
    Some(match text.parse::<i64>() {
        Ok(id) if text == id.to_string() => PetId::Int64(id),
        _ if bare.parse::<i64>().is_ok() || is_whole() => PetId::Ambiguous,
        _ => PetId::NotInt64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_parameter_is_lawful_and_none_is_a_fault() {
        let absent = || Parameter::Absent;
        let five = || Parameter::Lawful(5);
        let sold = || Parameter::Lawful("sold".to_owned());
        let other = |text: &str| Parameter::Ambiguous(text.to_owned());
        let other_limit = |text: &str| Parameter::Ambiguous(text.to_owned());
        for (what, query, limit, status, unknown) in [
            ("no parameter", "", absent(), Parameter::Absent, false),
            ("both parameters", "status=sold&limit=5", five(), sold(), false),
            ("out of range", "limit=101", other_limit("101"), Parameter::Absent, false),
            ("zero", "limit=0", other_limit("0"), Parameter::Absent, false),
            ("a sign", "limit=%2B5", other_limit("%2B5"), Parameter::Absent, false),
            ("a leading zero", "limit=05", other_limit("05"), Parameter::Absent, false),
            ("a fraction", "limit=5.0", other_limit("5.0"), Parameter::Absent, false),
            ("no value", "limit", other_limit(""), Parameter::Absent, false),
            ("an encoded digit", "limit=%35", other_limit("%35"), Parameter::Absent, false),
            ("an encoded letter", "status=%73old", absent(), other("%73old"), false),
            ("a plus for a blank", "status=sold+", absent(), other("sold+"), false),
            ("an unknown word", "status=lost", absent(), other("lost"), false),
            ("a list", "status=sold,pending", absent(), other("sold,pending"), false),
            ("a parameter twice", "limit=5&limit=6", Parameter::Repeated, Parameter::Absent, false),
            (
                "a semicolon for an ampersand",
                "limit=5;status=sold",
                other_limit("5;status=sold"),
                Parameter::Repeated,
                false,
            ),
            ("a second limit behind a semicolon", "limit=5;limit=7", Parameter::Repeated, Parameter::Absent, false),
            ("brackets", "status[]=sold", absent(), Parameter::Repeated, true),
            ("a limit and one in brackets", "limit=5&limit[]=7", Parameter::Repeated, Parameter::Absent, true),
            ("encoded brackets", "limit%5B0%5D=5", Parameter::Repeated, Parameter::Absent, true),
            ("another case", "Limit=5", Parameter::Repeated, Parameter::Absent, true),
            ("an encoded name", "%6Cimit=5", Parameter::Repeated, Parameter::Absent, true),
            ("a blank before the name", "+limit=5", Parameter::Repeated, Parameter::Absent, true),
            ("another parameter", "limit=5&page=2", five(), Parameter::Absent, true),
            ("a part of the name", "limi=5", absent(), Parameter::Absent, true),
            ("an empty pair", "limit=5&", five(), Parameter::Absent, true),
            ("no name", "=5", absent(), Parameter::Absent, true),
        ] {
            assert_eq!(list_query(query), ListQuery { limit, status, unknown }, "{what}: {query}");
        }
    }

    #[test]
    fn an_id_is_plain_or_unusual_or_none() {
        for (what, text, expected) in [
            ("the least", "-9223372036854775808", Some(PetId::Int64(i64::MIN))),
            ("out of range", "9223372036854775808", Some(PetId::NotInt64)),
            ("leading zeros", "007", Some(PetId::Ambiguous)),
            ("a sign", "+7", Some(PetId::Ambiguous)),
            ("minus zero", "-0", Some(PetId::Ambiguous)),
            ("a fraction of zero", "7.0", Some(PetId::Ambiguous)),
            ("an exponent", "7e0", Some(PetId::Ambiguous)),
            ("a fraction", "1.5", Some(PetId::NotInt64)),
            ("an encoded digit", "%37", Some(PetId::Ambiguous)),
            ("a blank", "7%20", Some(PetId::Ambiguous)),
            ("a plus for a blank", "7+", Some(PetId::Ambiguous)),
            ("a parameter of the path", "7;x=1", Some(PetId::Ambiguous)),
            ("an encoded query", "7%3Fx=1", Some(PetId::Ambiguous)),
            ("encoded letters", "%61bc", Some(PetId::NotInt64)),
            ("a digit encoded twice", "%2537", Some(PetId::NotInt64)),
            ("bytes that are no text", "7%FF", Some(PetId::NotInt64)),
            ("a zero byte", "7%00", Some(PetId::NotInt64)),
            ("a suffix", "7abc", Some(PetId::NotInt64)),
            ("a list", "7,8", Some(PetId::NotInt64)),
            ("hexadecimal", "0x7", Some(PetId::NotInt64)),
            ("an underscore", "1_0", Some(PetId::NotInt64)),
            ("a wide digit", "%EF%BC%97", Some(PetId::NotInt64)),
            ("a blank alone", "%20", Some(PetId::NotInt64)),
            ("nothing", "", None),
            ("a further segment", "7/toys", None),
            ("an encoded slash", "7%2Ftoys", None),
            ("a backslash", "7\\toys", None),
            ("the segment before", "..", None),
            ("the segment before, encoded", "%2e%2E", None),
            ("a parameter alone", ";x=1", None),
        ] {
            assert_eq!(pet_id(text), expected, "{what}: {text}");
        }
    }

    #[test]
    fn one_segment_below_pets_is_an_id_and_anything_else_is_no_operation() {
        let called =
            |path: &str| operation(&Request::new("GET", path), None, &Context::for_test(), &HashSet::new()).name();
        assert_eq!(called("/pets/7"), "GET /pets/{petId}");
        for path in
            ["/pets/", "/pets/7/", "/pets//", "/pets/7/toys", "/pets/..", "/pets%2F7", "//pets", "/pet", "/store"]
        {
            assert_eq!(called(path), Operation::Elsewhere.name(), "{path}");
        }
    }

    #[test]
    fn a_query_that_an_operation_does_not_have_may_be_ignored_or_refused() {
        let read = |request: Request| operation(&request.query("x=1"), None, &Context::for_test(), &HashSet::new());
        assert_eq!(read(Request::new("GET", "/pets/7")), Operation::Get(PetId::Queried));
        assert_eq!(read(Request::new("GET", "/pets/x")), Operation::Get(PetId::NotInt64));
        let create = read(Request::new("POST", "/pets").json(r#"{"name":"Rex","categoryId":1}"#));
        assert!(
            matches!(&create, Operation::Create(CreateBody::NewPet(_, all)) if *all == [Ambiguity::UnknownParameter]),
            "{create:?}"
        );
    }
}
