//! The facts that recorded traffic shows, and the facts that it withholds.
//!
//! A part of a message is known, absent (the message did not have it) or withheld (the recording does not say: a body left out, a
//! header redacted by the exporter, a time rounded to seconds). Absence is known and can be judged; a withheld part cannot. A run of
//! the judge withholds nothing.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use crate::worded;

worded! {
    /// A fact of an exchange that a recording may withhold.
    #[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    #[non_exhaustive]
    pub enum Fact {
        /// The key of the request, if it had one, and its validity.
        Credential = "the API key",
        /// The query of the request, which may have had any parameters.
        Query = "the query",
        /// The body of the request.
        RequestBody = "the request body",
        /// The header fields of the response.
        ResponseHeaders = "the response headers",
        /// The body of the response.
        ResponseBody = "the response body",
        /// The times at which the request was sent and its response was complete, more precisely than to the second.
        Times = "the exact time",
    }
}

/// A set of facts.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct FactSet(u8);

impl FactSet {
    /// The empty set.
    pub const NONE: FactSet = FactSet(0);

    /// The set of these facts.
    pub const fn of(facts: &[Fact]) -> FactSet {
        let (mut set, mut at) = (0, 0);
        // `const fn` has no iterators.
        while at < facts.len() {
            set |= 1 << facts[at] as u8;
            at += 1;
        }
        FactSet(set)
    }

    /// Adds a fact.
    pub fn insert(&mut self, fact: Fact) {
        *self = self.union(FactSet::of(&[fact]));
    }

    /// Returns true if the set has this fact.
    #[must_use]
    pub const fn contains(self, fact: Fact) -> bool {
        self.0 & 1 << fact as u8 != 0
    }

    /// The facts that at least one of the sets has.
    #[must_use]
    pub const fn union(self, other: FactSet) -> FactSet {
        FactSet(self.0 | other.0)
    }

    /// The facts that both sets have.
    #[must_use]
    pub const fn intersection(self, other: FactSet) -> FactSet {
        FactSet(self.0 & other.0)
    }

    /// Returns true if the set has no fact.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The facts of the set, in the order of [`Fact::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Fact> {
        Fact::ALL.into_iter().filter(move |fact| self.contains(*fact))
    }
}

/// The part of the traffic that a trace contains. Each extent contains more than the one before.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Extent {
    /// Some requests of some clients. Requests before, between and after them are unknown.
    Sample,
    /// All requests and responses of some clients during the recording, in order. Other clients may use the same keys.
    Conversation,
    /// All requests that were sent with the keys of the trace during the recording, in order.
    Complete,
    /// A complete trace whose requests the judge chose: the keys are valid, the names of new animals are new, and no other client changes
    /// the animals.
    #[default]
    Run,
}

/// The party that answered a request.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answerer {
    /// The service, or no party although the service had to answer.
    #[default]
    Service,
    /// An intermediary between client and service, such as a proxy or a balancer.
    Intermediary,
    /// No party, and the service need not have received the request.
    Nobody,
}

/// The facts of a recording about an exchange in addition to its messages.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Knowledge {
    /// The facts that the recording withholds.
    pub withheld: FactSet,
    /// The most by which each of the two times may be wrong.
    pub precision: SignedDuration,
    /// The party that answered. Only an exchange with the service shows anything about the service.
    pub answerer: Answerer,
    /// The extent of the recording from this exchange on, where it may be divided: before a conversation no request is under way, and in a
    /// sample exchanges are missing.
    pub begins: Option<Extent>,
    /// The client's connection that carried the exchange, if the recorder saw connections.
    pub carrier: Option<Carrier>,
    /// The place of a key outside the `Authorization` field of the request, if there is one. The key itself is not recorded.
    pub misplaced_key: Option<KeyPlace>,
    /// Whether the other responses of the recording show that something between server and client wrote the `Date` of this one.
    pub has_foreign_date: bool,
}

/// The connection of a client that carried an exchange.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Carrier {
    /// The number of the connection, from 1, in the order in which clients opened them.
    pub connection: u64,
    /// The number of other connections of clients that were open during the exchange and had carried a request.
    pub others: u32,
}

worded! {
    /// A part of a request in which a key is out of place.
    #[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    #[non_exhaustive]
    pub enum KeyPlace {
        /// The query.
        Query = "the query",
        /// The path.
        Path = "the path",
        /// The body.
        Body = "the body",
        /// A header field other than `Authorization`.
        Field = "another header field",
        /// `Authorization` under another scheme than Bearer, although the key had succeeded under Bearer.
        Scheme = "another scheme than Bearer",
    }
}

impl Knowledge {
    /// The precision of an exchange whose times are unknown: more than the distance of any two times of a recording.
    pub const NO_TIME: SignedDuration = SignedDuration::from_hours(24 * 365 * 1_000);
}
