//! Comparison of two reports: changes in the statuses of requirements and in the candidate's choices.
//!
//! A regression fails a pipeline: a requirement that held is broken now, or was selected and can no longer be judged. A run with a smaller
//! scope is no regression.

use jiff::Timestamp;
use serde::Serialize;

use animal_store_conformance::report::{Report, RequirementReport};
use animal_store_rules::catalogue::Level;
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::verdict::{Status, Verdict};

mod read;
mod text;

pub use read::{UnusableReport, read};
pub use text::render;

/// The differences between two reports. The first is the baseline.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// The first report.
    pub before: Side,
    /// The second report.
    pub after: Side,
    /// Whether a requirement or the verdict got worse.
    pub regression: bool,
    /// Every requirement whose status differs, regressions first.
    pub requirements: Vec<Change>,
    /// Every choice that both reports show and that differs.
    pub choices: Vec<ChoiceChange>,
}

/// One of the two reports.
#[derive(Clone, Debug, Serialize)]
pub struct Side {
    /// The base URL that was judged.
    pub base_url: String,
    /// The time of the first request, RFC 3339 in UTC.
    pub started_at: Option<Timestamp>,
    /// The profile.
    pub profile: Profile,
    /// The verdict.
    pub verdict: Verdict,
}

/// A requirement whose status changed.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// The identifier of the requirement.
    pub id: String,
    /// The title of the requirement.
    pub title: String,
    /// The level of the requirement.
    pub level: Level,
    /// The kind of the change.
    pub kind: Kind,
    /// The status in the first report, or `None` if the requirement was not selected.
    pub before: Option<Status>,
    /// The status in the second report, or `None` if the requirement was not selected.
    pub after: Option<Status>,
    /// The defect, or the reason why the requirement was not exercised.
    pub reason: Option<String>,
}

/// The kind of a change, in the order of the output.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The requirement is broken and was not, or it is stated and can no longer be judged.
    Worse,
    /// Any other change: the requirement was not selected before, for example.
    Changed,
    /// The requirement holds now and did not before.
    Better,
}

/// A choice that both reports show and that differs.
#[derive(Clone, Debug, Serialize)]
pub struct ChoiceChange {
    /// The identifier of the open requirement.
    pub id: String,
    /// The title of the open requirement.
    pub title: String,
    /// The choice in the first report.
    pub before: String,
    /// The choice in the second report.
    pub after: String,
}

/// Compares two reports.
pub fn compare(before: &Report, after: &Report) -> Difference {
    // The identifiers of both reports, each once, in the order of the specification.
    let removed = before.requirements.iter().filter(|removed| after.requirement(&removed.id).is_none());
    let ids = after.requirements.iter().chain(removed).map(|requirement| requirement.id.as_str());
    let mut requirements: Vec<Change> = ids.filter_map(|id| change(before, after, id)).collect();
    // Broken requirements come before those that were not exercised.
    requirements.sort_by_key(|change| (change.kind, change.after == Some(Status::NotExercised)));
    let worse = requirements.iter().any(|change| change.kind == Kind::Worse);
    let choices = after.gap_profile.iter().filter_map(|choice| {
        let was = before.gap_profile.iter().find(|other| other.id == choice.id)?;
        // A choice that was not observed has not changed.
        let (before, after) = was.observed.clone().zip(choice.observed.clone())?;
        (before != after).then(|| ChoiceChange { id: choice.id.clone(), title: choice.title.clone(), before, after })
    });
    Difference {
        before: side(before),
        after: side(after),
        regression: worse || rank(after.verdict) > rank(before.verdict),
        requirements,
        choices: choices.collect(),
    }
}

/// The status of a requirement, if it was selected.
fn status(requirement: Option<&RequirementReport>) -> Option<Status> {
    requirement.filter(|requirement| requirement.selected).map(|requirement| requirement.status)
}

fn change(before: &Report, after: &Report, id: &str) -> Option<Change> {
    let (before, after) = (before.requirement(id), after.requirement(id));
    let either = after.or(before)?;
    let (was, is) = (status(before), status(after));
    if was == is || either.level == Level::Open {
        return None;
    }
    let reason = after.and_then(RequirementReport::explanation).filter(|_| is != Some(Status::Pass));
    let violates = after.is_some_and(|requirement| requirement.violation);
    Some(Change {
        id: either.id.clone(),
        title: either.title.clone(),
        level: either.level,
        kind: kind(either.level, was, is, violates),
        before: was,
        after: is,
        reason: reason.map(str::to_owned),
    })
}

fn kind(level: Level, was: Option<Status>, is: Option<Status>, violates: bool) -> Kind {
    match is {
        Some(Status::Pass) => Kind::Better,
        Some(Status::StaleKnownFailing) if was == Some(Status::Pass) => Kind::Worse,
        Some(Status::Fail | Status::KnownFailing) if was == Some(Status::Pass) || violates => Kind::Worse,
        Some(Status::NotExercised) if level == Level::Stated && was == Some(Status::Pass) => Kind::Worse,
        _ => Kind::Changed,
    }
}

fn side(report: &Report) -> Side {
    Side {
        base_url: report.target.base_url.clone(),
        started_at: report.started_at,
        profile: report.profile,
        verdict: report.verdict,
    }
}

/// The order of verdicts, best first.
fn rank(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Conforms => 0,
        Verdict::Incomplete => 1,
        Verdict::Violates => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_regression_is_a_requirement_that_no_longer_holds() {
        use Status::{Fail, KnownFailing, NotExercised, Pass, StaleKnownFailing};
        let stated = |was, is, violates| kind(Level::Stated, was, is, violates);
        for was in [Some(Pass), Some(NotExercised), Some(KnownFailing), None] {
            assert_eq!(stated(was, Some(Fail), true), Kind::Worse, "{was:?}");
        }
        assert_eq!(stated(Some(Pass), Some(KnownFailing), false), Kind::Worse);
        assert_eq!(stated(Some(Fail), Some(KnownFailing), false), Kind::Changed);
        assert_eq!(stated(Some(KnownFailing), Some(StaleKnownFailing), true), Kind::Changed, "it has expired");
        assert_eq!(stated(Some(Pass), Some(StaleKnownFailing), true), Kind::Worse);
        assert_eq!(stated(Some(KnownFailing), Some(Pass), false), Kind::Better);
        assert_eq!(stated(Some(Pass), Some(NotExercised), false), Kind::Worse);
        assert_eq!(stated(Some(Fail), Some(NotExercised), false), Kind::Changed);
        assert_eq!(stated(Some(Pass), None, false), Kind::Changed, "a run with a smaller scope");
        assert_eq!(stated(Some(Fail), Some(Pass), false), Kind::Better);
        let inferred = |was, is| kind(Level::Inferred, was, is, false);
        assert_eq!(inferred(Some(Pass), Some(Fail)), Kind::Worse, "what held is broken");
        assert_eq!(inferred(Some(NotExercised), Some(Fail)), Kind::Changed);
        assert_eq!(inferred(Some(Pass), Some(NotExercised)), Kind::Changed);
    }
}
