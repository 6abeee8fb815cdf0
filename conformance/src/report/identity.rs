//! The identity of the implementation that was judged, and of the judge: the same facts in every format.

use serde::{Deserialize, Serialize};

use super::Report;

/// The name of the judge in its reports and traces.
pub const TOOL: &str = env!("CARGO_PKG_NAME");

/// The implementation that was judged, as far as it is known: a base URL tells neither its name nor its version.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Implementation {
    /// The name of the implementation.
    pub name: Option<String>,
    /// The version of the implementation.
    pub version: Option<String>,
}

impl Implementation {
    /// The facts of this value, completed by the facts of the other one.
    #[must_use]
    pub fn or(self, other: Implementation) -> Implementation {
        Implementation { name: self.name.or(other.name), version: self.version.or(other.version) }
    }

    /// The name and the version, if the name is known.
    #[must_use]
    pub fn title(&self) -> Option<String> {
        let version = self.version.as_ref().map_or_else(String::new, |version| format!(" {version}"));
        self.name.as_ref().map(|name| format!("{name}{version}"))
    }
}

/// The catalogue of requirements that a report was judged by.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CatalogueVersion {
    /// The version of the catalogue.
    pub version: String,
    /// The SHA-256 of the catalogue in hexadecimal. Reports with equal digests were judged by the same requirements.
    pub digest: String,
}

impl CatalogueVersion {
    /// The beginning of the digest, for people to compare.
    #[must_use]
    pub fn short(&self) -> &str {
        self.digest.get(..12).unwrap_or(&self.digest)
    }
}

impl Report {
    /// The facts about the implementation and the judge, as names and values. Unknown facts are left out.
    #[must_use]
    pub fn identity(&self) -> Vec<(&'static str, String)> {
        let implementation = &self.target.implementation;
        let catalogue = &self.catalogue;
        let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let facts = [
            ("environment", self.target.environment.clone()),
            ("implementation", implementation.name.clone()),
            ("implementation version", implementation.version.clone()),
            ("image", self.target.image.clone()),
            ("judge", known(&format!("{} {}", self.tool.name, self.tool.version))),
            ("specification", known(&self.specification)),
            ("catalogue", known(&catalogue.version)),
            ("catalogue digest", known(&catalogue.digest).map(|hex| format!("sha256:{hex}"))),
            ("rerun command", known(&self.rerun_command)),
        ];
        facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_holds_and_what_was_learnt_completes_it() {
        let given = Implementation { name: Some("Pets".to_owned()), ..Implementation::default() };
        let version = Some("1.2".to_owned());
        let learnt = Implementation { name: Some("pets".to_owned()), version, ..Implementation::default() };
        assert_eq!(given.or(learnt).title().as_deref(), Some("Pets 1.2"));
        assert_eq!(Implementation::default().title(), None);
    }
}
