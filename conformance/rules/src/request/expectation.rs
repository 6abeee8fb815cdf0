//! The lawful responses to a request, defined once for rules, the transcript and the probes.
//!
//! 429 is not part of an expectation: a refusal for the rate depends on the other requests of the key, and the limiter judges it.

use std::collections::BTreeSet;
use std::fmt;

use super::{Ambiguity, CreateBody, Credential, Defect, Fault, Operation, PetId};

/// The lawful responses to one request, by status code and by the shape of the body.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Expectation {
    success: Success,
    refusal: Refusal,
    /// Whether the credential may be refused with 401.
    may_be_unauthorized: bool,
    /// Whether the operation may have been removed, so that any status code but a success is lawful, as for an unknown path.
    may_be_removed: bool,
}

/// The lawful successes of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Success {
    /// No success: the request must be refused.
    None,
    /// 200 with an array of animals.
    Pets,
    /// 200 with an animal.
    Pet,
    /// 201 with the new animal.
    Created,
}

impl Success {
    /// The status code of the response, the shape of its body, and both in words.
    fn response(self) -> Option<(u16, Shape, &'static str)> {
        match self {
            Success::None => None,
            Success::Pets => Some((200, Shape::Pets, "200 Pets")),
            Success::Pet => Some((200, Shape::Pet, "200 Pet")),
            Success::Created => Some((201, Shape::Pet, "201 Pet")),
        }
    }
}

/// The lawful refusals of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Refusal {
    /// No refusal: the request must succeed.
    None,
    /// One of these status codes, with an Error.
    Statuses(&'static [u16]),
    /// Any 4xx status code.
    ClientError,
    /// Any status code from 300 on, because any intermediary may refuse a malformed request.
    Any,
    /// Any status code except these.
    AnythingBut(&'static [u16]),
}

/// The shape of the body of a response.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Shape {
    /// A Pet.
    Pet,
    /// An array of Pets.
    Pets,
    /// An Error.
    Error,
    /// An empty body, or any other.
    Other,
}

/// The magnitude below which an identifier may belong to an animal that existed before. An identifier picked at random above it does not.
pub(crate) const NEAR_ZERO: u64 = 1 << 32;

/// The evidence that the animal of a fetch exists.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Existence {
    /// The animal exists, and a read must show it.
    Certain,
    /// The animal exists or existed, but a read may not show it yet, or no longer.
    Possible,
    /// No response shows the animal.
    Unknown,
}

/// The ambiguities for which a constraint of the service may exclude a body.
const CONSTRAINTS: [Ambiguity; 5] =
    [Ambiguity::Name, Ambiguity::Unvouched, Ambiguity::UnknownParameter, Ambiguity::Size, Ambiguity::Nesting];

const ANY: Expectation = Expectation::new(Success::None, Refusal::AnythingBut(&[]));

impl Expectation {
    const fn new(success: Success, refusal: Refusal) -> Expectation {
        Expectation { success, refusal, may_be_unauthorized: false, may_be_removed: false }
    }

    /// The lawful responses to a request, read from the request alone.
    pub fn of(operation: &Operation, credential: Credential) -> Expectation {
        match (operation, credential) {
            (Operation::Elsewhere, _) | (_, Credential::Banned | Credential::Withheld) => ANY,
            (_, Credential::Invalid(Defect::Repeated)) => Expectation::new(Success::None, Refusal::Any),
            (_, Credential::Invalid(_)) => Expectation::new(Success::None, Refusal::Statuses(&[401])),
            (_, Credential::Valid(_)) => Expectation::with_valid_key(operation),
            (_, Credential::Ambiguous(_)) => {
                Expectation { may_be_unauthorized: true, ..Expectation::with_valid_key(operation) }
            }
            (_, Credential::Contradictory) => {
                Expectation { refusal: Refusal::Any, ..Expectation::with_valid_key(operation) }
            }
        }
    }

    fn with_valid_key(operation: &Operation) -> Expectation {
        match operation {
            Operation::List(query) if query.is_lawful() => Expectation::new(Success::Pets, Refusal::None),
            // A server may ignore or refuse a parameter that the specification does not have.
            Operation::List(query) if query.unknown => Expectation::new(Success::Pets, Refusal::ClientError),
            Operation::List(_) => Expectation::new(Success::Pets, Refusal::Statuses(&[400])),
            Operation::Create(body) => Expectation::of_creation(body),
            Operation::Get(PetId::Int64(_)) => Expectation::new(Success::Pet, Refusal::Statuses(&[404])),
            Operation::Get(PetId::NotInt64) => Expectation::new(Success::None, Refusal::Statuses(&[400, 404])),
            Operation::Get(PetId::Ambiguous) => Expectation::new(Success::Pet, Refusal::Statuses(&[400, 404])),
            Operation::Get(PetId::Queried) => Expectation::new(Success::Pet, Refusal::ClientError),
            Operation::Orders => Expectation::new(Success::None, Refusal::AnythingBut(&[404, 405])),
            Operation::Elsewhere => ANY,
        }
    }

    fn of_creation(body: &CreateBody) -> Expectation {
        match body {
            // The body is a NewPet or none, as the server reads it.
            CreateBody::OtherMedia | CreateBody::Unclear | CreateBody::Extended => {
                Expectation::new(Success::Created, Refusal::ClientError)
            }
            CreateBody::Malformed => Expectation::new(Success::None, Refusal::ClientError),
            CreateBody::Faulty(faults, _) => {
                let refusal = match faults {
                    faults if faults.contains(&Fault::Unread) => Refusal::ClientError,
                    faults if faults.contains(&Fault::NoLength) => Refusal::Statuses(&[400, 411]),
                    _ => Refusal::Statuses(&[400]),
                };
                Expectation::new(Success::None, refusal)
            }
            CreateBody::NewPet(_, ambiguities) => {
                let has = |ambiguity| ambiguities.contains(&ambiguity);
                let refusal = match ambiguities[..] {
                    [] => Refusal::None,
                    // A constraint that the specification does not have may have a status code that it does not have. The other
                    // ambiguities are about valid or invalid, 201 or 400.
                    _ if CONSTRAINTS.into_iter().any(has) => Refusal::ClientError,
                    [Ambiguity::NoLength] => Refusal::Statuses(&[411]),
                    _ if has(Ambiguity::NoLength) => Refusal::Statuses(&[400, 411]),
                    _ => Refusal::Statuses(&[400]),
                };
                Expectation::new(Success::Created, refusal)
            }
        }
    }

    /// The expectation, widened for a request that an [edge](super::may_be_refused_at_edge) may refuse. The successes stay, so without a
    /// valid key there is none.
    #[must_use]
    pub fn or_refused_at_edge(self) -> Expectation {
        let refusal = match self.refusal {
            Refusal::None | Refusal::Statuses(_) => Refusal::ClientError,
            // Only `GET /store/orders` excludes status codes, and an edge may use them.
            Refusal::AnythingBut(_) => Refusal::AnythingBut(&[]),
            Refusal::ClientError | Refusal::Any => self.refusal,
        };
        Expectation { refusal, ..self }
    }

    /// The expectation, narrowed by the evidence that the animal of a fetch exists. Other expectations do not change.
    #[must_use]
    pub fn given(self, id: i64, existence: Existence) -> Expectation {
        match existence {
            // A request that is refused for another reason is refused for every animal.
            _ if self.success != Success::Pet => self,
            // That there is no such animal is no reason to refuse it; its credential or its form may still be one.
            Existence::Certain => {
                let is_of_animal = matches!(self.refusal, Refusal::Statuses(_));
                Expectation { refusal: if is_of_animal { Refusal::None } else { self.refusal }, ..self }
            }
            Existence::Unknown if id.unsigned_abs() >= NEAR_ZERO => Expectation { success: Success::None, ..self },
            Existence::Possible | Existence::Unknown => self,
        }
    }

    /// The expectation, widened for an operation that may have been removed.
    #[must_use]
    pub fn or_removed(self) -> Expectation {
        Expectation { may_be_removed: true, ..self }
    }

    /// Returns true if a response with this status code is lawful.
    pub fn admits(self, status: u16) -> bool {
        self.success.response().is_some_and(|(code, ..)| code == status) || self.refuses_with(status)
    }

    /// Returns true if a response with this status code and a body of this shape is lawful.
    pub fn admits_answer(self, status: u16, shape: Shape) -> bool {
        let succeeds = self.success.response().is_some_and(|(code, body, _)| (code, body) == (status, shape));
        let states_error =
            matches!(self.refusal, Refusal::None | Refusal::Statuses(_)) && !self.is_removed_with(status);
        succeeds || self.refuses_with(status) && (!states_error || shape == Shape::Error)
    }

    /// Returns true if a refusal with this status code is lawful.
    pub fn refuses_with(self, status: u16) -> bool {
        let refuses = match self.refusal {
            Refusal::None => false,
            Refusal::Statuses(statuses) => statuses.contains(&status),
            Refusal::ClientError => (400..500).contains(&status),
            Refusal::Any => status >= 300,
            Refusal::AnythingBut(statuses) => !statuses.contains(&status),
        };
        refuses || self.may_be_unauthorized && status == 401 || self.is_removed_with(status)
    }

    fn is_removed_with(self, status: u16) -> bool {
        self.may_be_removed && !(200..300).contains(&status)
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let statuses = |refusals: &[u16]| {
            let all = refusals.iter().copied().chain(self.may_be_unauthorized.then_some(401));
            format!("{} Error", alternatives(&all.collect()))
        };
        let refusal = match self.refusal {
            Refusal::None if !self.may_be_unauthorized => String::new(),
            Refusal::None => statuses(&[]),
            Refusal::Statuses(refusals) => statuses(refusals),
            Refusal::ClientError => "any 4xx".to_owned(),
            Refusal::Any => "any refusal".to_owned(),
            Refusal::AnythingBut([]) => "any answer".to_owned(),
            Refusal::AnythingBut(statuses) => {
                format!("any answer but {}", alternatives(&statuses.iter().copied().collect()))
            }
        };
        let success = self.success.response().map(|(.., success)| success);
        let responses: Vec<&str> =
            success.into_iter().chain([refusal.as_str()]).filter(|words| !words.is_empty()).collect();
        f.write_str(&responses.join(", or "))
    }
}

/// Status codes as a sentence lists them: `400, 401 or 404`.
fn alternatives(statuses: &BTreeSet<u16>) -> String {
    let texts: Vec<String> = statuses.iter().map(u16::to_string).collect();
    match &texts[..] {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => texts.concat(),
    }
}

#[cfg(test)]
mod tests;
