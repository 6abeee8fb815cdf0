//! The parts of a run.

use serde::Deserialize;

/// A part of a run, which is left out if no selected requirement needs it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum RunPart {
    /// Lists before anything is created.
    FirstLists,
    /// Requests for store orders.
    Orders,
    /// Valid and invalid creations.
    Creations,
    /// Fetches of animals.
    Fetches,
    /// Fetches with identifiers that no animal has. A run that needs only this part sends a few of the near misses for it.
    OtherIds,
    /// Requests without a valid key.
    Credentials,
    /// Lists of every kind.
    Lists,
    /// Requests that are nearly right.
    NearMisses,
    /// Lists of more than 100 animals.
    FullPage,
    /// Generated requests.
    Generated,
    /// The exhaustion of a key.
    Exhaustion,
}

impl RunPart {
    /// Every part, in the order in which a run sends them.
    pub const ALL: [RunPart; 11] = [
        RunPart::FirstLists,
        RunPart::Orders,
        RunPart::Creations,
        RunPart::Fetches,
        RunPart::OtherIds,
        RunPart::Credentials,
        RunPart::Lists,
        RunPart::NearMisses,
        RunPart::FullPage,
        RunPart::Generated,
        RunPart::Exhaustion,
    ];

    /// The areas that the part is for. The part exercises requirements of other areas as well, but other parts do so, too: `--skip` with all
    /// requirements of these areas leaves the part out. Empty for a part that `--skip` does not leave out.
    pub(super) fn areas(self) -> &'static [&'static str] {
        match self {
            RunPart::FirstLists | RunPart::Creations | RunPart::Fetches | RunPart::Lists => &[],
            RunPart::Orders => &["orders"],
            RunPart::OtherIds => &["create", "get"],
            RunPart::Credentials => &["auth"],
            RunPart::NearMisses | RunPart::Generated => &["create", "get", "list", "pet"],
            RunPart::FullPage => &["list"],
            RunPart::Exhaustion => &["quota"],
        }
    }

    /// The requests of the part, in a few words.
    #[must_use]
    pub fn described(self) -> &'static str {
        match self {
            RunPart::FirstLists => "lists before anything is created",
            RunPart::Orders => "store orders",
            RunPart::Creations => "creations, valid and invalid",
            RunPart::Fetches => "fetches of animals",
            RunPart::OtherIds => "fetches with identifiers that no animal has",
            RunPart::Credentials => "requests without a valid key",
            RunPart::Lists => "lists of every kind",
            RunPart::NearMisses => "near misses",
            RunPart::FullPage => "lists of more than 100 animals (with a limit of 200 or more)",
            RunPart::Generated => "generated requests",
            RunPart::Exhaustion => "the exhaustion of a key",
        }
    }
}
