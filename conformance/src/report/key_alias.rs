//! The names of keys in reports.

use animal_store_rules::worded;
use serde::{Deserialize, Serialize};

worded! {
    /// The key of a request, by its role.
    #[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    #[serde(rename_all = "lowercase")]
    pub enum KeyAlias {
        /// The main key as a bearer token, however it is spelt.
        Main = "main",
        /// The key that the run may exhaust, as a bearer token, however it is spelt.
        Quota = "quota",
        /// No credential at all.
        None = "none",
        /// Anything else: a wrong key, or a key in another place.
        // The JSON report does not name the keys of exchanges.
        #[default]
        Other = "other",
    }
}
