//! The names of keys in reports.

use serde::{Deserialize, Serialize};

/// The key of a request, by its role.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum KeyAlias {
    /// The main key as a bearer token, however it is spelt.
    Main,
    /// The key that the run may exhaust, as a bearer token, however it is spelt.
    Quota,
    /// No credential at all.
    None,
    /// Anything else: a wrong key, or a key in another place.
    Other,
}

impl KeyAlias {
    /// The name of the role in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            KeyAlias::Main => "main",
            KeyAlias::Quota => "quota",
            KeyAlias::None => "none",
            KeyAlias::Other => "other",
        }
    }
}
