//! The parts of a run, and the requirements that each exercises. With `--only`, a run sends the parts that the selected requirements need.

use animal_store_rules::catalogue::scope::Scope;
use animal_store_rules::catalogue::{Party, catalogue};

/// A part of a run, which is left out if no selected requirement needs it. [`Part::described`] says which requests it sends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Part {
    FirstLists,
    Orders,
    Creations,
    Fetches,
    /// A run that needs only this part sends a few of the near misses for it.
    OtherIds,
    Credentials,
    Lists,
    NearMisses,
    FullPage,
    Generated,
    Exhaustion,
}

use Part::{
    Creations, Credentials, Exhaustion, Fetches, FirstLists, FullPage, Generated, Lists, NearMisses, Orders, OtherIds,
};

/// Every part, in the order in which a run sends them.
const ALL: &[Part] = &[
    FirstLists,
    Orders,
    Creations,
    Fetches,
    OtherIds,
    Credentials,
    Lists,
    NearMisses,
    FullPage,
    Generated,
    Exhaustion,
];

/// The parts that send every operation, with and without a key, but do not exhaust a key.
const EVERY_OPERATION: &[Part] =
    &[FirstLists, Orders, Creations, Fetches, OtherIds, Credentials, Lists, NearMisses, Generated];

/// The parts that the requirements with this prefix of their identifier need. The first row that matches applies.
const NEEDS: &[(&str, &[Part])] = &[
    ("service.", EVERY_OPERATION),
    ("errors.", EVERY_OPERATION),
    ("pet.", &[FirstLists, Creations, Fetches, Lists, NearMisses, FullPage, Generated]),
    ("list.array", &[FirstLists, Lists]),
    ("list.bad-parameters", &[Lists, NearMisses, Generated]),
    ("list.", &[FirstLists, Creations, Fetches, Lists, NearMisses, FullPage, Generated]),
    ("create.", &[Creations, Fetches, OtherIds, Lists, NearMisses, FullPage, Generated]),
    ("get.not-found", &[OtherIds]),
    ("get.malformed-id", &[OtherIds]),
    ("get.", &[Creations, Fetches, Lists, NearMisses, FullPage, Generated]),
    ("orders.", &[Orders]),
    // An exhausted key shows a limiter that runs before authentication, and an animal that was stored.
    ("auth.before-all-else", ALL),
    ("auth.refused-stores-nothing", ALL),
    ("auth.", &[FirstLists, Orders, Creations, Fetches, OtherIds, Credentials, Lists, NearMisses]),
    ("versioning.", &[Orders, Creations, Fetches, OtherIds]),
    // An exhaustion takes the same number of requests of any kind.
    ("quota.", ALL),
    ("headers.", ALL),
];

/// The parts that only the requirements with these prefixes need, where [`NEEDS`] names the part for further ones: other parts exercise them,
/// too. `--skip` with all of the prefixes leaves the part out.
const PURPOSES: &[(Part, &[&str])] = &[
    (Orders, &["orders."]),
    (OtherIds, &["create.", "get."]),
    (Credentials, &["auth."]),
    (NearMisses, &["create.", "get.", "list.", "pet."]),
    (FullPage, &["list."]),
    (Generated, &["create.", "get.", "list.", "pet."]),
    (Exhaustion, &["quota."]),
];

/// The parts of a run that exercise a requirement.
pub(crate) fn parts_for(requirement: &str) -> &'static [Part] {
    NEEDS.iter().find(|(beginning, _)| requirement.starts_with(beginning)).map_or(&[], |(_, parts)| parts)
}

impl Part {
    /// Returns true if a run of this scope sends the part.
    #[must_use]
    pub(super) fn is_needed(self, scope: &Scope) -> bool {
        // Without a selection, a run also observes which choices the server has made.
        let is_selected = scope.only.is_empty()
            || catalogue()
                .of(Party::Server)
                .any(|requirement| scope.selects(&requirement.id) && parts_for(&requirement.id).contains(&self));
        is_selected && !self.is_skipped(scope) && (self != Exhaustion || scope.profile.exhausts())
    }

    /// Returns true if `--skip` leaves out every requirement that the part is for.
    fn is_skipped(self, scope: &Scope) -> bool {
        let purposes = PURPOSES.iter().find(|(part, _)| *part == self).map_or(&[][..], |(_, purposes)| purposes);
        let is_for = |id: &str| purposes.iter().any(|purpose| id.starts_with(purpose));
        let mut served = catalogue().of(Party::Server).filter(|requirement| is_for(&requirement.id));
        !purposes.is_empty() && served.all(|requirement| scope.skips(&requirement.id))
    }

    /// The requests of the part, in a few words.
    #[must_use]
    pub(crate) fn described(self) -> &'static str {
        match self {
            FirstLists => "lists before anything is created",
            Orders => "store orders",
            Creations => "creations, valid and invalid",
            Fetches => "fetches of animals",
            OtherIds => "fetches with identifiers that no animal has",
            Credentials => "requests without a valid key",
            Lists => "lists of every kind",
            NearMisses => "near misses",
            FullPage => "lists of more than 100 animals (with a limit of 200 or more)",
            Generated => "generated requests",
            Exhaustion => "the exhaustion of a key",
        }
    }
}
