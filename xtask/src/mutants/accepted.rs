//! `fixtures/mutants.toml`: the changes that no test notices, each with the reason why none can or need.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::place::Mutant;

/// Where the list stands, from the root of the workspace.
pub(super) const PATH: &str = "fixtures/mutants.toml";

/// The list.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Accepted {
    #[serde(default, rename = "survivor")]
    pub(super) survivors: Vec<Survivor>,
}

/// A change that no test notices. One that is made alike at several places of a function that read alike needs one entry.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Survivor {
    /// The file, from the root of the workspace.
    pub(super) file: String,
    /// What is changed, and in which function, as cargo-mutants says it.
    pub(super) change: String,
    /// The source from the changed place to the end of its line.
    pub(super) at: String,
    /// Why that is all right.
    pub(super) reason: String,
}

impl Accepted {
    /// Reads the list.
    pub(super) fn read(root: &Path) -> anyhow::Result<Accepted> {
        let path: PathBuf = root.join(PATH);
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        toml::from_str(&text).with_context(|| format!("{PATH} cannot be understood"))
    }

    /// The entry for a change that is made at a place.
    pub(super) fn entry(&self, mutant: &Mutant, at: &str) -> Option<&Survivor> {
        self.survivors.iter().find(|entry| entry.is(mutant, at))
    }
}

impl Survivor {
    /// An entry for a change that nothing is known of.
    pub(super) fn unexplained(mutant: &Mutant, at: &str) -> Survivor {
        let (file, change, at) = (mutant.file.clone(), mutant.change.clone(), at.to_owned());
        Survivor { file, change, at, reason: String::new() }
    }

    /// Whether it is about this change.
    pub(super) fn is(&self, mutant: &Mutant, at: &str) -> bool {
        self.file == mutant.file && self.change == mutant.change && self.at == at
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::cargo::workspace_root;

    #[test]
    fn every_accepted_survivor_has_a_reason_and_its_place_is_still_there() {
        let accepted = Accepted::read(&workspace_root()).expect("the list");
        let mut seen = HashSet::new();
        for entry in &accepted.survivors {
            let Survivor { file, change, at, reason } = entry;
            assert!(reason.len() > 15, "why is this all right? {entry:?}");
            assert!(seen.insert((file, change, at)), "twice: {entry:?}");
            let source = std::fs::read_to_string(workspace_root().join(file)).unwrap_or_default();
            assert!(
                source.lines().any(|line| line.trim_end().ends_with(at.as_str())),
                "the line has changed: take the entry out of {PATH} and run `cargo xtask mutants --file {file}`: {entry:?}"
            );
        }
    }
}
