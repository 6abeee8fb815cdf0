//! The requirements that a run covers: its profile, and the user's selection.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Effect, Party, Requirement, RunPart, catalogue};
use crate::worded;

worded! {
    /// The part of the catalogue that a run covers, and its effects on the target.
    #[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Profile {
        /// All requirements, with every near miss, whatever the plan: the run waits for the windows that it needs.
        Deep = "deep",
        /// All requirements. The run creates animals, and exhausts the limit twice with one key, or once with each of two.
        #[default]
        Full = "full",
        /// All requirements except those that need an exhausted limit.
        Functional = "functional",
        /// The requirements that need neither an exhausted limit nor a created animal nor an unknown key.
        ReadOnly = "read-only",
    }
}

impl Profile {
    /// Returns true if a run with the profile creates animals.
    #[must_use]
    pub fn creates(self) -> bool {
        self != Profile::ReadOnly
    }

    /// Returns true if a run with the profile exhausts the limit of a key.
    #[must_use]
    pub fn exhausts(self) -> bool {
        matches!(self, Profile::Deep | Profile::Full)
    }

    /// Whether the profile leaves a requirement out.
    pub(crate) fn leaves_out(self, id: &str) -> bool {
        match catalogue().get(id).and_then(|requirement| requirement.effect) {
            None => false,
            Some(Effect::Exhaustion) => !self.exhausts(),
            Some(Effect::Creation | Effect::UnknownKeys) => self == Profile::ReadOnly,
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

worded! {
    /// The parties of the traffic that are judged.
    #[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Side {
        /// The server. In a run the judge itself is the client.
        #[default]
        Server = "server",
        /// The client, in recorded traffic.
        Client = "client",
        /// The server and the client, in recorded traffic.
        Both = "both",
    }
}

impl Side {
    /// Returns true if the side includes a party.
    #[must_use]
    pub fn has(self, party: Party) -> bool {
        match self {
            Side::Server => party == Party::Server,
            Side::Client => party == Party::Client,
            Side::Both => true,
        }
    }
}

fn begins_with_any(id: &str, beginnings: &[String]) -> bool {
    beginnings.iter().any(|beginning| id.starts_with(beginning))
}

/// The selection of requirements for a run.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Scope {
    /// The profile, which leaves out requirements by their effects on the target.
    pub profile: Profile,
    /// The beginnings of the identifiers to select; empty for all.
    pub only: Vec<String>,
    /// The beginnings of the identifiers to leave out.
    pub skip: Vec<String>,
    /// The parties that are judged. The requirements of the other party have no verdict at all.
    #[serde(skip)]
    pub side: Side,
    /// Whether a requirement outside [`Scope::only`] counts where it turns out to be broken.
    #[serde(skip)]
    pub reports_new_failures: bool,
}

impl Scope {
    /// Returns true if the scope selects a requirement.
    pub fn selects(&self, id: &str) -> bool {
        (self.only.is_empty() || begins_with_any(id, &self.only)) && self.admits(id)
    }

    /// Returns true if a requirement is judged: it is asked for, or a failure of it would count.
    pub(crate) fn judges(&self, id: &str) -> bool {
        if self.reports_new_failures { self.admits(id) } else { self.selects(id) }
    }

    /// Returns true if neither the profile nor [`Scope::skip`] leaves a requirement out.
    fn admits(&self, id: &str) -> bool {
        !self.skips(id) && !self.profile.leaves_out(id)
    }

    /// Returns true if a run of this scope sends unknown keys.
    pub fn sends_unknown_keys(&self) -> bool {
        let sends = |entry: &Requirement| entry.effect == Some(Effect::UnknownKeys) && self.admits(&entry.id);
        catalogue().requirements.iter().any(sends)
    }

    /// Returns true if a run of this scope sends a part.
    pub fn needs(&self, part: RunPart) -> bool {
        let mut of_server = catalogue().of(Party::Server);
        // Without a selection, a run also observes which choices the server has made.
        let is_selected =
            self.only.is_empty() || of_server.any(|entry| self.selects(&entry.id) && entry.needs.contains(&part));
        let mut meant = catalogue().of(Party::Server).filter(|entry| part.areas().contains(&entry.area()));
        let is_skipped = !part.areas().is_empty() && meant.all(|entry| self.skips(&entry.id));
        is_selected && !is_skipped && (part != RunPart::Exhaustion || self.profile.exhausts())
    }

    /// Returns true if [`Scope::skip`] leaves a requirement out.
    pub fn skips(&self, id: &str) -> bool {
        begins_with_any(id, &self.skip)
    }

    /// Returns true if the scope selects any requirement of a side.
    pub fn selects_any_of(&self, side: Side) -> bool {
        catalogue().requirements.iter().any(|requirement| side.has(requirement.party) && self.selects(&requirement.id))
    }
}
