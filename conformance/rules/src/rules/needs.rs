//! What a rule needs to know, declared next to the rule.
//!
//! Facts are parts of an exchange: the rule does not see exchanges that withhold any fact that it needs. So a rule that needs only facts
//! must be right whatever else was sent: it fails because of what a recording contains, never because of what it lacks. A rule that
//! depends on the absence of requests, or on what only the judge knows of its own requests, needs an extent as well.

use crate::trace::knowledge::{Extent, Fact, FactSet};

/// What has to be known for a rule to judge.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Needs {
    /// The facts of each exchange.
    pub(crate) facts: FactSet,
    /// How much of what was sent.
    pub(crate) extent: Extent,
}

impl Needs {
    /// The status, and what was asked for.
    pub(crate) const NOTHING: Needs = Needs::of(&[]);
    /// The header fields of a response.
    pub(crate) const HEADERS: Needs = Needs::of(&[Fact::ResponseHeaders]);
    /// The body of a response.
    pub(crate) const BODY: Needs = Needs::of(&[Fact::ResponseBody]);
    /// A whole response.
    pub(crate) const RESPONSE: Needs = Needs::of(&[Fact::ResponseHeaders, Fact::ResponseBody]);
    /// The credential, and with it the status.
    pub(crate) const CREDENTIAL: Needs = Needs::of(&[Fact::Credential]);
    /// The answer to a credential.
    pub(crate) const ANSWER: Needs = Needs::of(&[Fact::Credential, Fact::ResponseBody]);
    /// A whole request.
    pub(crate) const REQUEST: Needs = Needs::of(&[Fact::Credential, Fact::RequestBody]);
    /// Both bodies.
    pub(crate) const BODIES: Needs = Needs::of(&[Fact::RequestBody, Fact::ResponseBody]);
    /// What becomes of the animals: whole answers, with the key, because keys may have different scopes.
    pub(crate) const ANIMALS: Needs = Needs::of(&[Fact::Credential, Fact::ResponseHeaders, Fact::ResponseBody]);
    /// The whole account of a key: every request, and the header fields and times of every response.
    pub(crate) const LIMITS: Needs =
        Needs { facts: FactSet::of(&[Fact::Credential, Fact::ResponseHeaders, Fact::Times]), extent: Extent::Complete };

    /// The facts of each exchange that a sample has to show where it contradicts a limit.
    pub(crate) const OF_SAMPLES: FactSet = FactSet::of(&[Fact::Credential, Fact::ResponseHeaders]);

    const fn of(facts: &[Fact]) -> Needs {
        Needs { facts: FactSet::of(facts), extent: Extent::Sample }
    }

    /// The same, of requests that the judge chose.
    pub(crate) const fn of_run(self) -> Needs {
        Needs { extent: Extent::Run, ..self }
    }
}
