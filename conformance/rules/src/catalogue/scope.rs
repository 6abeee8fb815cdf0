//! Which requirements a run covers: its profile, and what the user selected or left out.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Party, catalogue};

/// How much of the catalogue a run covers, and what it does to the target.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Everything: creates animals, and exhausts the limit twice with one key, or once with each of two.
    #[default]
    Full,
    /// Everything but exhausting a key.
    Functional,
    /// Neither creates animals nor exhausts a key.
    ReadOnly,
}

impl Profile {
    /// Every profile.
    pub const ALL: [Profile; 3] = [Profile::Full, Profile::Functional, Profile::ReadOnly];

    /// The name of the profile, as the command line and reports use it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Profile::Full => "full",
            Profile::Functional => "functional",
            Profile::ReadOnly => "read-only",
        }
    }

    /// Whether the profile creates animals.
    #[must_use]
    pub fn creates(self) -> bool {
        self != Profile::ReadOnly
    }

    /// Whether the profile exhausts a key.
    #[must_use]
    pub fn exhausts(self) -> bool {
        self == Profile::Full
    }

    /// Whether the profile leaves a requirement out.
    fn leaves_out(self, id: &str) -> bool {
        let among = |patterns: &[&str]| patterns.iter().any(|pattern| id.starts_with(pattern));
        !self.exhausts() && among(NEED_EXHAUSTION) || !self.creates() && among(NEED_CREATION)
    }
}

/// A name that no profile has.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("no profile is called {0}: use full, functional or read-only")]
pub struct UnknownProfile(String);

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(name: &str) -> Result<Profile, UnknownProfile> {
        let named = Profile::ALL.into_iter().find(|profile| profile.as_str() == name);
        named.ok_or_else(|| UnknownProfile(name.to_owned()))
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The beginnings of the identifiers of requirements that only an exhausted limit exercises.
const NEED_EXHAUSTION: &[&str] = &[
    "quota.enforced",
    "quota.not-early",
    "quota.retry-after",
    "quota.recovers",
    "quota.refused-stores-nothing",
    "quota.error-body",
];

/// The beginnings of the identifiers of requirements that only a creation exercises.
const NEED_CREATION: &[&str] = &["create.", "pet.unique-id", "auth.refused-stores-nothing"];

/// Which parties of the traffic are judged.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The server. In a run the judge itself is the client.
    #[default]
    Server,
    /// The client, in recorded traffic.
    Client,
    /// Both, in recorded traffic.
    Both,
}

impl Side {
    /// Every side.
    pub const ALL: [Side; 3] = [Side::Server, Side::Client, Side::Both];

    /// The name of the side, as the command line and reports use it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Side::Server => "server",
            Side::Client => "client",
            Side::Both => "both",
        }
    }

    /// Whether a party is on this side.
    #[must_use]
    pub fn has(self, party: Party) -> bool {
        match self {
            Side::Server => party == Party::Server,
            Side::Client => party == Party::Client,
            Side::Both => true,
        }
    }
}

/// A name that no side has.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("no side is called {0}: use server, client or both")]
pub struct UnknownSide(String);

impl FromStr for Side {
    type Err = UnknownSide;

    fn from_str(name: &str) -> Result<Side, UnknownSide> {
        let named = Side::ALL.into_iter().find(|side| side.as_str() == name);
        named.ok_or_else(|| UnknownSide(name.to_owned()))
    }
}

/// Which requirements a run is asked for.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// The profile.
    pub profile: Profile,
    /// Identifiers, or beginnings of some, to keep to; empty for all.
    pub only: Vec<String>,
    /// Identifiers, or beginnings of some, to leave out.
    pub skip: Vec<String>,
    /// Which parties are judged. The requirements of the others have no verdict at all.
    pub side: Side,
}

impl Scope {
    /// Whether a requirement is asked for.
    #[must_use]
    pub fn selects(&self, id: &str) -> bool {
        let begins = |patterns: &[String]| patterns.iter().any(|pattern| id.starts_with(pattern.as_str()));
        (self.only.is_empty() || begins(&self.only)) && !begins(&self.skip) && !self.profile.leaves_out(id)
    }

    /// Whether any requirement of a side is asked for.
    #[must_use]
    pub fn selects_any_of(&self, side: Side) -> bool {
        catalogue().requirements.iter().any(|requirement| side.has(requirement.party) && self.selects(&requirement.id))
    }

    /// Why a requirement is not asked for.
    #[must_use]
    pub fn why_not(&self, id: &str) -> String {
        if self.profile.leaves_out(id) {
            format!("outside the profile {}", self.profile.as_str())
        } else {
            "not selected".to_owned()
        }
    }
}
