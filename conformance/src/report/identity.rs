//! The identity of the implementation that was judged, and of the judge: the same facts in every format.

use std::fmt;
use std::str::FromStr;

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
    /// The URL of the source or of the documentation.
    pub url: Option<String>,
    /// The digest of the deployed artifact, as `ALGORITHM:HEX`.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub digest: Option<Digest>,
}

impl Implementation {
    /// The facts of this value, completed by the facts of the other one.
    #[must_use]
    pub fn or(self, other: Implementation) -> Implementation {
        Implementation {
            name: self.name.or(other.name),
            version: self.version.or(other.version),
            url: self.url.or(other.url),
            digest: self.digest.or(other.digest),
        }
    }

    /// The URL, if a page may link to it. Other schemes than HTTP are not linked, because a report can come from anywhere.
    #[must_use]
    pub fn link(&self) -> Option<&str> {
        self.url.as_deref().filter(|url| url.starts_with("https://") || url.starts_with("http://"))
    }

    /// The name and the version, if the name is known.
    #[must_use]
    pub fn title(&self) -> Option<String> {
        let version = self.version.as_ref().map_or_else(String::new, |version| format!(" {version}"));
        self.name.as_ref().map(|name| format!("{name}{version}"))
    }
}

/// The catalogue of requirements that a report was judged by.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
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

/// A digest of an artifact: a SHA-2 of its bytes, or the name of a git commit.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest {
    /// `sha256`, `sha384`, `sha512` or `gitCommit`, as in an in-toto DigestSet.
    pub algorithm: String,
    /// The digest in hexadecimal, in small letters.
    pub hex: String,
}

/// The algorithms, each with the lengths that its digests may have in hexadecimal.
const ALGORITHMS: [(&str, &[usize]); 4] =
    [("sha256", &[64]), ("sha384", &[96]), ("sha512", &[128]), ("gitCommit", &[40, 64])];

/// A text that is not a [`Digest`].
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("a digest must have the form sha256:HEX with 64 hexadecimal digits, or sha384:, sha512: or gitCommit:")]
pub struct UnusableDigest;

impl FromStr for Digest {
    type Err = UnusableDigest;

    fn from_str(text: &str) -> Result<Digest, UnusableDigest> {
        let (name, hex) = text.split_once(':').ok_or(UnusableDigest)?;
        let known = ALGORITHMS.iter().find(|(algorithm, _)| *algorithm == name);
        let (algorithm, lengths) = known.ok_or(UnusableDigest)?;
        let valid = lengths.contains(&hex.len()) && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        if valid {
            Ok(Digest { algorithm: (*algorithm).to_owned(), hex: hex.to_ascii_lowercase() })
        } else {
            Err(UnusableDigest)
        }
    }
}

impl TryFrom<String> for Digest {
    type Error = UnusableDigest;

    fn try_from(text: String) -> Result<Digest, UnusableDigest> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        digest.to_string()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.algorithm, self.hex)
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
            ("implementation URL", implementation.url.clone()),
            ("digest", implementation.digest.as_ref().map(ToString::to_string)),
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
    fn a_digest_has_a_known_algorithm_and_its_length() {
        let hex = "0123456789abcdefABCDEF0123456789abcdef0123456789abcdef0123456789".to_owned();
        let digest: Digest = format!("sha256:{hex}").parse().expect("a digest");
        assert_eq!(digest.to_string(), format!("sha256:{}", hex.to_lowercase()));
        for wrong in [hex.clone(), format!("md5:{hex}"), format!("sha256:{}", &hex[1..]), format!("sha512:{hex}")] {
            assert!(wrong.parse::<Digest>().is_err(), "{wrong}");
        }
        assert!(format!("sha256:{}", hex.replace('0', "x")).parse::<Digest>().is_err());
    }

    #[test]
    fn what_was_given_holds_and_what_was_learnt_completes_it() {
        let given = Implementation { name: Some("Pets".to_owned()), ..Implementation::default() };
        let version = Some("1.2".to_owned());
        let learnt = Implementation { name: Some("pets".to_owned()), version, ..Implementation::default() };
        assert_eq!(given.or(learnt).title().as_deref(), Some("Pets 1.2"));
        assert_eq!(Implementation::default().title(), None);
    }
}
