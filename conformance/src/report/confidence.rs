//! How far the judge can be trusted: how many broken servers it is known to catch, and how many lawful ones it is known to accept. The
//! project's own tests judge them all and keep the figures in `fixtures/confidence.json`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::RequirementReport;

/// The servers on which the judge was tested.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Confidence {
    /// How many servers with one known fault each the judge catches, all that were tried.
    pub faults: usize,
    /// How many lawful servers it accuses of nothing, all that were tried.
    pub lawful_servers: usize,
}

/// The file of the figures.
#[derive(Deserialize)]
struct Figures {
    #[serde(flatten)]
    all: Confidence,
    /// How many faults each requirement catches that can fail.
    caught: BTreeMap<String, usize>,
}

static FIGURES: LazyLock<Figures> = LazyLock::new(|| {
    // The tests of the project write the file.
    serde_json::from_str(include_str!(env!("CONFIDENCE"))).unwrap_or_else(|error| panic!("confidence.json: {error}"))
});

impl Confidence {
    /// The figures of this version of the judge.
    #[must_use]
    pub(super) fn measured() -> Confidence {
        FIGURES.all
    }

    /// The sentence for reports; none of a report that was written before there were figures.
    #[must_use]
    pub fn shown(&self) -> Option<String> {
        let Confidence { faults, lawful_servers } = self;
        (*faults > 0).then(|| {
            format!(
                "catches each of {faults} servers with a known fault, and accuses none of {lawful_servers} lawful ones"
            )
        })
    }
}

/// How many of the known faults a requirement catches.
#[must_use]
pub(super) fn faults_caught(id: &str) -> Option<usize> {
    FIGURES.caught.get(id).copied()
}

impl RequirementReport {
    /// The number of known faults that the requirement catches, as reports show it: `catches 8 faults`.
    #[must_use]
    pub fn confidence(&self) -> Option<String> {
        self.faults_caught.map(|count| format!("catches {count} fault{}", if count == 1 { "" } else { "s" }))
    }
}
