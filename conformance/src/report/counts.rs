//! The numbers of requirements by status.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::{Outcome, Report, RequirementReport, Selection};
use crate::layout::counted;
use animal_store_rules::catalogue::scope::Side;
use animal_store_rules::catalogue::{About, Party, Requirement, catalogue};

/// The title, in every format, of requirements that held although a part of them could not be seen.
pub const PARTLY_SEEN: &str = "Held, with limited evidence";

/// The number of known faults that each requirement catches, if it can fail. The tests of the project judge servers with one fault each, and
/// keep the numbers in this file.
pub(super) static FAULTS_CAUGHT: LazyLock<BTreeMap<String, usize>> = LazyLock::new(|| {
    serde_json::from_str(include_str!(env!("CONFIDENCE"))).unwrap_or_else(|error| panic!("confidence.json: {error}"))
});

impl Report {
    /// A requirement, if the catalogue of the report has it.
    #[must_use]
    pub fn requirement(&self, id: &str) -> Option<&RequirementReport> {
        self.requirements.iter().find(|requirement| requirement.id == id)
    }

    /// The part of the requirements that was selected, unless it is all of them: `1 of 70 requirements selected, by --only orders.exists`.
    #[must_use]
    pub fn part(&self) -> Option<String> {
        let Selection { selected, requirements, by } = &self.selection;
        let by = if by.is_empty() { String::new() } else { format!(", by {}", by.join(" ")) };
        (selected < requirements).then(|| format!("{selected} of {requirements} requirements selected{by}"))
    }

    /// The verdict, with the part of the requirements that was selected: `conforms (1 of 70 requirements selected, by --only
    /// orders.exists)`.
    #[must_use]
    pub fn verdict_shown(&self) -> String {
        let part = self.part().map_or_else(String::new, |part| format!(" ({part})"));
        format!("{}{part}", self.verdict.as_str())
    }

    /// The side that was judged, to follow the profile in a line, such as `, side client`. Empty for the server.
    #[must_use]
    pub fn side_judged(&self) -> &'static str {
        match self.side {
            Side::Server => "",
            Side::Client => ", side client",
            Side::Both => ", both sides",
        }
    }

    /// The address that was judged. Where clients were judged as well, with the party that is judged, or that alone violates.
    #[must_use]
    pub fn subject(&self) -> String {
        // The port of a container means nothing after the run.
        let target = self.target.image.as_ref().unwrap_or(&self.target.base_url);
        let violates = |party| self.requirements.iter().any(|r| r.violation && r.party() == party);
        match (self.side, violates(Party::Server), violates(Party::Client)) {
            (Side::Server, ..) => target.clone(),
            (Side::Both, true, false) => format!("the server at {target}"),
            (Side::Client, ..) | (Side::Both, false, true) => format!("the client at {target}"),
            (Side::Both, ..) => format!("the server and its clients at {target}"),
        }
    }

    /// The identifiers of the requirements that held although a part of them could not be seen, each with that part.
    pub fn partly_seen(&self) -> impl Iterator<Item = (&str, &str)> {
        self.requirements.iter().filter_map(|requirement| Some((requirement.id.as_str(), requirement.unseen()?)))
    }
}

impl RequirementReport {
    /// Returns true if the requirement is selected and was broken, also as a warning or as known to fail.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.selected && self.failures > 0
    }

    /// Returns true if the requirement is broken without being a violation.
    #[must_use]
    pub fn is_warning(&self) -> bool {
        self.outcome() == Outcome::Warning
    }

    /// The part of the requirement that the run could not see, although the requirement held.
    #[must_use]
    pub fn unseen(&self) -> Option<&str> {
        self.reason.as_deref().filter(|_| self.outcome() == Outcome::Held)
    }

    /// Returns true if the requirement makes the run incomplete.
    #[must_use]
    pub fn is_gap(&self) -> bool {
        self.outcome() == Outcome::Gap
    }

    /// The number of known faults that the requirement catches, as reports show it: `catches 8 faults`.
    #[must_use]
    pub fn confidence(&self) -> Option<String> {
        self.faults_caught.map(|count| format!("catches {}", counted(count, "fault")))
    }

    /// The party that the requirement binds.
    #[must_use]
    pub fn party(&self) -> Party {
        self.entry().map(|entry| entry.party).unwrap_or_default()
    }

    /// The subject of the requirement.
    pub(super) fn about(&self) -> About {
        self.entry().map(|entry| entry.about).unwrap_or_default()
    }

    /// The entry of the requirement in the catalogue, which a report of another version may lack.
    pub(super) fn entry(&self) -> Option<&'static Requirement> {
        catalogue().get(&self.id)
    }
}
