//! The number of known faults that each requirement catches. The tests of the project judge servers with one fault each, and keep the
//! numbers in `fixtures/confidence.json`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::RequirementReport;
use crate::layout::counted;

/// The number of known faults by requirement. It contains only requirements that can fail.
static CAUGHT: LazyLock<BTreeMap<String, usize>> = LazyLock::new(|| {
    // The tests of the project write the file.
    serde_json::from_str(include_str!(env!("CONFIDENCE"))).unwrap_or_else(|error| panic!("confidence.json: {error}"))
});

/// The number of known faults that a requirement catches.
#[must_use]
pub(super) fn faults_caught(id: &str) -> Option<usize> {
    CAUGHT.get(id).copied()
}

impl RequirementReport {
    /// The number of known faults that the requirement catches, as reports show it: `catches 8 faults`.
    #[must_use]
    pub fn confidence(&self) -> Option<String> {
        self.faults_caught.map(|count| format!("catches {}", counted(count, "fault")))
    }
}
