//! The parts of a run.

use serde::Deserialize;

use crate::worded;

worded! {
    /// A part of a run, which is left out if no selected requirement needs it. A run sends its parts in this order.
    #[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
    #[serde(rename_all = "kebab-case")]
    pub enum RunPart {
        /// Lists before anything is created.
        FirstLists = "lists before anything is created",
        /// Requests for store orders.
        Orders = "store orders",
        /// Valid and invalid creations.
        Creations = "creations, valid and invalid",
        /// Fetches of animals.
        Fetches = "fetches of animals",
        /// Fetches with identifiers that no animal has. A run that needs only this part sends a few of the near misses for it.
        OtherIds = "fetches with identifiers that no animal has",
        /// Requests without a valid key.
        Credentials = "requests without a valid key",
        /// Lists of every kind.
        Lists = "lists of every kind",
        /// Requests that are nearly right.
        NearMisses = "near misses",
        /// Lists of more than 100 animals.
        FullPage = "lists of more than 100 animals (with a limit of 200 or more)",
        /// Generated requests.
        Generated = "generated requests",
        /// The exhaustion of a key.
        Exhaustion = "the exhaustion of a key",
    }
}

impl RunPart {
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
}
