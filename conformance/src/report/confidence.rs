//! The reliability of the judge: the number of broken servers that it catches, and of lawful servers that it accepts. The project's own
//! tests judge all of them, and keep the figures in `fixtures/confidence.json`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::RequirementReport;
use crate::layout::counted;

/// The servers on which the judge was tested.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Confidence {
    /// The number of servers with one known fault each that were tried. The judge catches all of them.
    pub faults: usize,
    /// The number of lawful servers that were tried. The judge accuses none of them.
    pub lawful_servers: usize,
}

/// The file of the figures.
#[derive(Deserialize)]
struct Figures {
    #[serde(flatten)]
    all: Confidence,
    /// The number of known faults that each requirement catches. It contains only requirements that can fail.
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

    /// The figures as a sentence for reports. Reports that were written before there were figures have none.
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

/// The number of known faults that a requirement catches.
#[must_use]
pub(super) fn faults_caught(id: &str) -> Option<usize> {
    FIGURES.caught.get(id).copied()
}

impl RequirementReport {
    /// The number of known faults that the requirement catches, as reports show it: `catches 8 faults`.
    #[must_use]
    pub fn confidence(&self) -> Option<String> {
        self.faults_caught.map(|count| format!("catches {}", counted(count, "fault")))
    }
}
