//! The outline of a report: its sections, the outcomes of their requirements, each in one word for level, status and selection, the order in which to fix findings, and the lines that
//! every format begins with.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{Evidence, Report, ReportedExchange, RequirementReport, Selection};
use crate::layout::counted;
use animal_store_diagnose::causes::Cause;
use animal_store_rules::catalogue::scope::Side;
use animal_store_rules::catalogue::{About, Hides, Level, Party, Requirement, catalogue};
use animal_store_rules::verdict::Status;
use animal_store_rules::worded;

worded! {
    /// The outcomes. The first of several stands for all of them: the worst, unless the worst is only [`Outcome::NotExercised`].
    #[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
    #[serde(rename_all = "kebab-case")]
    #[non_exhaustive]
    pub enum Outcome {
        /// The requirement is broken, which is a violation.
        Violated = "violated",
        /// The requirement is broken, and the entry that lists it as known to fail has expired.
        StaleKnownFailing = "stale-known-failing",
        /// The requirement is broken, which is a warning.
        Warning = "warning",
        /// The requirement is broken and known to fail.
        KnownFailing = "known-failing",
        /// The run did not exercise the requirement, and is incomplete without it.
        Gap = "gap",
        /// The requirement held.
        Held = "held",
        /// The run did not exercise the requirement, and may be complete without it.
        NotExercised = "not-exercised",
        /// The requirement is open.
        Open = "open",
        /// The requirement was not selected.
        NotSelected = "not-selected",
    }
}

impl RequirementReport {
    /// The outcome of the requirement.
    pub fn outcome(&self) -> Outcome {
        match self.status {
            _ if !self.selected => Outcome::NotSelected,
            Status::Pass => Outcome::Held,
            Status::Fail if self.violation => Outcome::Violated,
            Status::Fail => Outcome::Warning,
            Status::KnownFailing => Outcome::KnownFailing,
            Status::StaleKnownFailing => Outcome::StaleKnownFailing,
            Status::NotExercised if self.level == Level::Stated && self.party() == Party::Server => Outcome::Gap,
            Status::NotExercised => Outcome::NotExercised,
            Status::Observed => Outcome::Open,
        }
    }

    /// Returns true if the requirement is selected and was broken, also as a warning or as known to fail.
    pub fn is_broken(&self) -> bool {
        self.selected && self.failures > 0
    }

    /// Returns true if the requirement is broken without being a violation.
    pub fn is_warning(&self) -> bool {
        self.outcome() == Outcome::Warning
    }

    /// The part of the requirement that the run could not see, although the requirement held.
    pub fn unseen(&self) -> Option<&str> {
        self.reason.as_deref().filter(|_| self.outcome() == Outcome::Held)
    }

    /// Returns true if the requirement makes the run incomplete.
    pub fn is_gap(&self) -> bool {
        self.outcome() == Outcome::Gap
    }

    /// The number of known faults that the requirement catches, as reports show it: `catches 8 faults`.
    pub fn confidence(&self) -> Option<String> {
        self.faults_caught.map(|count| format!("catches {}", counted(count, "fault")))
    }

    /// The party that the requirement binds.
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

    /// Returns true if the findings of the requirement are in rate-limit headers and times, and not in bodies.
    pub fn concerns_limits(&self) -> bool {
        self.about() == About::Limits
    }

    /// The findings in a line, the worst first.
    pub fn findings(&self) -> String {
        if self.evidence.is_empty() {
            return self.reason.as_ref().unwrap_or(&self.title).clone();
        }
        self.evidence.iter().map(Evidence::finding).collect::<Vec<_>>().join("; ")
    }

    /// The expectation and the finding of the worst failure, or else the reason for the status.
    pub fn explanation(&self) -> Option<&str> {
        self.evidence.first().map(|evidence| evidence.sentence.as_str()).or(self.reason.as_deref())
    }

    /// The exchange that shows the worst failure.
    pub fn decisive(&self) -> Option<&ReportedExchange> {
        self.evidence.first()?.exchanges.first()
    }

    /// The number of failures of kinds without an example in the evidence.
    pub fn further_failures(&self) -> usize {
        let shown: usize = self.evidence.iter().map(|evidence| evidence.count).sum();
        if self.evidence.is_empty() { 0 } else { self.failures.saturating_sub(shown) }
    }
}

impl Outcome {
    /// A character for the outcome.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Outcome::Violated | Outcome::StaleKnownFailing => "✗",
            Outcome::Warning => "!",
            Outcome::KnownFailing => "~",
            Outcome::Gap => "?",
            Outcome::Held => "✓",
            Outcome::NotExercised => "-",
            Outcome::Open => "·",
            Outcome::NotSelected => "–",
        }
    }

    /// The outcome for people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Outcome::StaleKnownFailing => "stale known failure",
            Outcome::KnownFailing => "known to fail",
            Outcome::Gap => "stated and not exercised",
            Outcome::NotExercised => "not exercised",
            Outcome::NotSelected => "not judged",
            other => other.as_str(),
        }
    }
}

/// The title, in every format, of requirements that held although a part of them could not be seen.
pub const PARTLY_SEEN: &str = "Held, with limited evidence";

/// A section of the specification with its requirements, those on clients last.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Section<'r> {
    /// The title of the section.
    pub name: &'r str,
    /// The requirements, also those that were not selected.
    pub requirements: Vec<&'r RequirementReport>,
}

/// The number of requirements by outcome.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally([usize; Outcome::ALL.len()]);

impl<'r> FromIterator<&'r RequirementReport> for Tally {
    fn from_iter<I: IntoIterator<Item = &'r RequirementReport>>(requirements: I) -> Tally {
        let mut tally = Tally::default();
        requirements.into_iter().for_each(|requirement| tally.0[requirement.outcome() as usize] += 1);
        tally
    }
}

impl Tally {
    /// The number of requirements with one of these outcomes.
    pub fn count(&self, outcomes: &[Outcome]) -> usize {
        outcomes.iter().map(|outcome| self.0[*outcome as usize]).sum()
    }

    /// The number of requirements that were selected.
    pub fn selected(&self) -> usize {
        self.count(&Outcome::ALL) - self.count(&[Outcome::NotSelected])
    }
}

impl Report {
    /// The sections of the specification, in its order.
    pub fn outline(&self) -> Vec<Section<'_>> {
        let mut sections: Vec<Section<'_>> = Vec::new();
        for requirement in &self.requirements {
            // The requirements of a section are not adjacent: requirements on clients come later in the catalogue.
            match sections.iter_mut().find(|section| section.name == requirement.section) {
                Some(section) => section.requirements.push(requirement),
                None => sections.push(Section { name: &requirement.section, requirements: vec![requirement] }),
            }
        }
        sections
    }

    /// The requirements of one level, counted over all sections.
    pub fn tally(&self, level: Level) -> Tally {
        self.requirements.iter().filter(|requirement| requirement.level == level).collect()
    }

    /// The verdict in a line: `violates: 58 of 60 stated requirements held, 2 broken, 1 inferred broken`.
    pub fn headline(&self) -> String {
        format!("{}: {}", self.verdict_shown(), self.counts())
    }

    /// The numbers of requirements in a line: `58 of 60 stated requirements held, 2 broken, 1 inferred broken`.
    pub fn counts(&self) -> String {
        use Outcome::{Gap, Held, KnownFailing, NotExercised, StaleKnownFailing, Violated, Warning};
        let (stated, inferred) = (self.tally(Level::Stated), self.tally(Level::Inferred));
        let both = |outcome| stated.count(&[outcome]) + inferred.count(&[outcome]);
        let mut counts = format!("{} of {} stated requirements held", stated.count(&[Held]), stated.selected());
        for (count, what) in [
            (stated.count(&[Violated, Warning]), "broken"),
            (stated.count(&[Gap, NotExercised]), "not exercised"),
            (both(KnownFailing), "known to fail"),
            (both(StaleKnownFailing), "with an expired known failure"),
            (inferred.count(&[Violated, Warning]), "inferred broken"),
        ] {
            if count > 0 {
                counts.push_str(&format!(", {count} {what}"));
            }
        }
        counts
    }

    /// The cost of the run in a line: requests with the key and without it, refusals, animals and time.
    pub fn cost(&self) -> String {
        let with_key = self.requests_with_key.min(self.requests);
        let requests = match self.requests - with_key {
            0 => counted(self.requests, "request"),
            without => format!("{} with the key, {without} without", counted(with_key, "request")),
        };
        format!(
            "{requests}, {} refused with 429, {} created, {:.1} s",
            self.refused,
            counted(self.created, "animal"),
            std::time::Duration::from_millis(self.duration_ms).as_secs_f64()
        )
    }

    /// A requirement, if the catalogue of the report has it.
    pub fn requirement(&self, id: &str) -> Option<&RequirementReport> {
        self.requirements.iter().find(|requirement| requirement.id == id)
    }

    /// The part of the requirements that was selected, unless it is all of them: `1 of 70 requirements selected, by --only orders.exists`.
    pub fn part(&self) -> Option<String> {
        let Selection { selected, requirements, by } = &self.selection;
        let by = if by.is_empty() { String::new() } else { format!(", by {}", by.join(" ")) };
        (selected < requirements).then(|| format!("{selected} of {requirements} requirements selected{by}"))
    }

    /// The verdict, with the part of the requirements that was selected: `conforms (1 of 70 requirements selected, by --only
    /// orders.exists)`.
    pub fn verdict_shown(&self) -> String {
        let part = self.part().map_or_else(String::new, |part| format!(" ({part})"));
        format!("{}{part}", self.verdict.as_str())
    }

    /// The side that was judged, to follow the profile in a line, such as `, side client`. Empty for the server.
    pub fn side_judged(&self) -> &'static str {
        match self.side {
            Side::Server => "",
            Side::Client => ", side client",
            Side::Both => ", both sides",
        }
    }

    /// The address that was judged. Where clients were judged as well, with the party that is judged, or that alone violates.
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

    /// The requirements that make the run incomplete, by the reason why they were not exercised.
    pub fn gaps_by_reason(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut gaps: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for requirement in self.requirements.iter().filter(|requirement| requirement.is_gap()) {
            gaps.entry(requirement.reason.as_deref().unwrap_or_default()).or_default().push(&requirement.id);
        }
        gaps
    }

    /// The broken requirements, except known failures, in the order in which to fix them: violations before warnings. Among each,
    /// requirements that hide others come first, and then requirements that share a cause or exchanges with most others.
    pub fn to_fix(&self) -> Vec<&RequirementReport> {
        let broken: Vec<&RequirementReport> =
            self.requirements.iter().filter(|r| r.violation || r.is_warning()).collect();
        let shared = |requirement: &RequirementReport| {
            let own = exchanges(requirement);
            let alike = broken.iter().filter(|other| !own.is_disjoint(&exchanges(other))).count();
            self.cause_of(&requirement.id).map_or(alike, |cause| cause.requirements.len().max(alike))
        };
        let mut ordered = broken.clone();
        ordered.sort_by_cached_key(|r| {
            let hides = r.entry().map_or(Hides::Nothing, |entry| entry.hides);
            (!r.violation, hides, Reverse(if hides == Hides::Nothing { shared(r) } else { 0 }))
        });
        ordered
    }

    /// The likely cause that explains every failure of a requirement, if there is one.
    pub fn cause_of(&self, id: &str) -> Option<&Cause> {
        self.causes.iter().find(|cause| cause.requirements.iter().any(|explained| explained == id))
    }

    /// The facts about the implementation and the judge, as names and values. Unknown facts are left out.
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

    /// The part of a URL below the base URL; of a service with several addresses, the whole, which says where a request went.
    pub fn shown_target<'u>(&self, url: &'u str) -> &'u str {
        if self.replicas.is_empty() { url.strip_prefix(&self.target.base_url).unwrap_or(url) } else { url }
    }
}

/// The exchanges that show a requirement to be broken, as far as the report has them.
fn exchanges(requirement: &RequirementReport) -> BTreeSet<usize> {
    requirement.evidence.iter().flat_map(|evidence| &evidence.exchanges).map(|exchange| exchange.number).collect()
}
