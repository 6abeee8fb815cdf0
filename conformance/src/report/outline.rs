//! The outline of a report: its sections, the numbers of their requirements by outcome, and the lines that every format begins with.

use super::{Outcome, Report, RequirementReport};
use crate::layout::counted;
use animal_store_rules::catalogue::Level;

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
    #[must_use]
    pub fn count(&self, outcomes: &[Outcome]) -> usize {
        outcomes.iter().map(|outcome| self.0[*outcome as usize]).sum()
    }

    /// The number of requirements that were selected.
    #[must_use]
    pub fn selected(&self) -> usize {
        self.count(&Outcome::ALL) - self.count(&[Outcome::NotSelected])
    }
}

impl Report {
    /// The sections of the specification, in its order.
    #[must_use]
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
    #[must_use]
    pub fn tally(&self, level: Level) -> Tally {
        self.requirements.iter().filter(|requirement| requirement.level == level).collect()
    }

    /// The verdict in a line: `violates: 58 of 60 stated requirements held, 2 broken, 1 inferred broken`.
    #[must_use]
    pub fn headline(&self) -> String {
        format!("{}: {}", self.verdict_shown(), self.counts())
    }

    /// The numbers of requirements in a line: `58 of 60 stated requirements held, 2 broken, 1 inferred broken`.
    #[must_use]
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
    #[must_use]
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
}
