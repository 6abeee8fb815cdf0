//! Needs of a rule: the facts and the extent that a trace must have, declared next to the rule.
//!
//! Facts are parts of an exchange: a rule does not see exchanges that withhold a fact that it needs. A rule that needs only facts
//! must be right whatever else was sent: it fails because of what a recording contains, never because of what it lacks. A rule that
//! depends on the absence of requests, or on facts that only the judge knows about its own requests, needs an extent as well.

use crate::trace::knowledge::{Extent, Fact, FactSet};

/// The facts and the extent that a trace must have for a rule to judge it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Needs {
    /// The facts that each exchange must show.
    pub(crate) facts: FactSet,
    /// The least extent of the trace.
    pub(crate) extent: Extent,
}

impl Needs {
    /// The facts that no recording withholds: the status code and the requested operation.
    pub(crate) const NOTHING: Needs = Needs::of(&[]);
    /// The header fields of a response.
    pub(crate) const HEADERS: Needs = Needs::of(&[Fact::ResponseHeaders]);
    /// The body of a response.
    pub(crate) const BODY: Needs = Needs::of(&[Fact::ResponseBody]);
    /// The whole response: header fields and body.
    pub(crate) const RESPONSE: Needs = Needs::of(&[Fact::ResponseHeaders, Fact::ResponseBody]);
    /// The credential of the request, which the status code depends on.
    pub(crate) const CREDENTIAL: Needs = Needs::of(&[Fact::Credential]);
    /// The credential of the request and the body of the response.
    pub(crate) const ANSWER: Needs = Needs::of(&[Fact::Credential, Fact::ResponseBody]);
    /// The whole request: credential and body.
    pub(crate) const REQUEST: Needs = Needs::of(&[Fact::Credential, Fact::RequestBody]);
    /// The bodies of request and response.
    pub(crate) const BODIES: Needs = Needs::of(&[Fact::RequestBody, Fact::ResponseBody]);
    /// The animals that a key shows: the whole response, and the credential, because keys may have different scopes.
    pub(crate) const ANIMALS: Needs = Needs::of(&[Fact::Credential, Fact::ResponseHeaders, Fact::ResponseBody]);
    /// The complete use of a key: every request, and the header fields and times of every response.
    pub(crate) const LIMITS: Needs =
        Needs { facts: FactSet::of(&[Fact::Credential, Fact::ResponseHeaders, Fact::Times]), extent: Extent::Complete };

    /// The facts of each exchange that a sample has to show where it contradicts a limit.
    pub(crate) const OF_SAMPLES: FactSet = FactSet::of(&[Fact::Credential, Fact::ResponseHeaders]);

    const fn of(facts: &[Fact]) -> Needs {
        Needs { facts: FactSet::of(facts), extent: Extent::Sample }
    }

    /// Limits the needs to active runs: the judge must have sent every request itself.
    pub(crate) const fn of_run(self) -> Needs {
        Needs { extent: Extent::Run, ..self }
    }
}
