//! Two reports compared: what changed in the verdicts, and in what the candidate chose.
//!
//! A regression is what a pipeline stops for. Comparing two environments or two days, one wants to hear of it when something
//! that held is broken, or is no longer looked at although the run was asked to, and not when a smaller run was asked for less.

use serde::Serialize;

use crate::report::{Report, RequirementReport};
use animal_store_rules::catalogue::Level;
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::verdict::{Status, Verdict};

mod read;
mod text;

pub use read::{Unusable, read};
pub use text::render;

/// What differs between two reports, the first of which is the one to hold to.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// The first report.
    pub before: Side,
    /// The second report.
    pub after: Side,
    /// Whether something got worse.
    pub regression: bool,
    /// Every requirement whose status differs, what got worse first.
    pub requirements: Vec<Change>,
    /// Every choice that both saw and that differs.
    pub choices: Vec<ChoiceChange>,
}

/// One of the two reports.
#[derive(Clone, Debug, Serialize)]
pub struct Side {
    /// What was judged.
    pub base_url: String,
    /// When, RFC 3339 in UTC.
    pub started_at: Option<String>,
    /// How much.
    pub profile: Profile,
    /// The verdict.
    pub verdict: Verdict,
}

/// A requirement that has another status now.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// Its identifier.
    pub id: String,
    /// The requirement in a line.
    pub title: String,
    /// Its level.
    pub level: Level,
    /// What kind of change it is.
    pub kind: Kind,
    /// What the first report found; nothing when its run was not asked.
    pub before: Option<Status>,
    /// What the second report found; nothing when its run was not asked.
    pub after: Option<Status>,
    /// What is wrong now, or why nothing was found.
    pub reason: Option<String>,
}

/// What a change means. The order is that of telling.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It is broken and was not, or it is stated and can no longer be judged.
    Worse,
    /// It differs in a way that is neither: it was not asked for, say.
    Other,
    /// It holds, and did not.
    Better,
}

/// A choice that both reports saw, and that differs.
#[derive(Clone, Debug, Serialize)]
pub struct ChoiceChange {
    /// The identifier of the open requirement.
    pub id: String,
    /// The open question in a line.
    pub title: String,
    /// What the first report saw.
    pub before: String,
    /// What the second report saw.
    pub after: String,
}

/// Compares two reports.
#[must_use]
pub fn compare(before: &Report, after: &Report) -> Difference {
    let mut requirements: Vec<Change> = ids(before, after).filter_map(|id| change(before, after, id)).collect();
    // What is broken comes before what could not be judged.
    requirements.sort_by_key(|change| (change.kind, change.after == Some(Status::NotExercised)));
    let worse = requirements.iter().any(|change| change.kind == Kind::Worse);
    Difference {
        before: side(before),
        after: side(after),
        regression: worse || rank(after.verdict) > rank(before.verdict),
        requirements,
        choices: choices(before, after),
    }
}

/// The difference as JSON, indented, with a line break at its end.
#[must_use]
pub fn json(difference: &Difference) -> String {
    crate::report::json::pretty(difference)
}

/// The identifiers of both reports, each once, in the order of the specification.
fn ids<'r>(before: &'r Report, after: &'r Report) -> impl Iterator<Item = &'r str> {
    let gone = before.requirements.iter().filter(|r| find(after, &r.id).is_none());
    after.requirements.iter().chain(gone).map(|requirement| requirement.id.as_str())
}

fn find<'r>(report: &'r Report, id: &str) -> Option<&'r RequirementReport> {
    report.requirements.iter().find(|requirement| requirement.id == id)
}

fn change(before: &Report, after: &Report, id: &str) -> Option<Change> {
    let (before, after) = (find(before, id), find(after, id));
    let either = after.or(before)?;
    let status = |found: Option<&RequirementReport>| found.filter(|r| r.selected).map(|r| r.status);
    let (was, is) = (status(before), status(after));
    if was == is || either.level == Level::Open {
        return None;
    }
    let evidence = after.and_then(|requirement| requirement.evidence.first());
    let reason = evidence
        .map(|evidence| evidence.sentence.clone())
        .or_else(|| after.and_then(|requirement| requirement.reason.clone()));
    let violates = after.is_some_and(|requirement| requirement.violation);
    Some(Change {
        id: either.id.clone(),
        title: either.title.clone(),
        level: either.level,
        kind: kind(either.level, was, is, violates),
        before: was,
        after: is,
        reason: reason.filter(|_| is != Some(Status::Pass)),
    })
}

fn kind(level: Level, was: Option<Status>, is: Option<Status>, violates: bool) -> Kind {
    let broken = |status| matches!(status, Some(Status::Fail | Status::KnownFailing));
    match is {
        Some(Status::Pass) => Kind::Better,
        Some(Status::StaleKnownFailing) => Kind::Worse,
        _ if broken(is) && (was == Some(Status::Pass) || violates) => Kind::Worse,
        Some(Status::NotExercised) if level == Level::Stated && was == Some(Status::Pass) => Kind::Worse,
        _ => Kind::Other,
    }
}

fn choices(before: &Report, after: &Report) -> Vec<ChoiceChange> {
    let changed = after.gap_profile.iter().filter_map(|choice| {
        let was = before.gap_profile.iter().find(|other| other.id == choice.id)?;
        // A run that shows nothing of a choice does not say that it is another.
        let (before, after) = was.observed.clone().zip(choice.observed.clone())?;
        (before != after).then(|| ChoiceChange { id: choice.id.clone(), title: choice.title.clone(), before, after })
    });
    changed.collect()
}

fn side(report: &Report) -> Side {
    Side {
        base_url: report.target.base_url.clone(),
        started_at: report.started_at.clone(),
        profile: report.profile,
        verdict: report.verdict,
    }
}

/// How bad a verdict is.
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
    fn worse_is_what_a_pipeline_stops_for() {
        use Status::{Fail, KnownFailing, NotExercised, Pass, StaleKnownFailing};
        let stated = |was, is, violates| kind(Level::Stated, was, is, violates);
        for was in [Some(Pass), Some(NotExercised), Some(KnownFailing), None] {
            assert_eq!(stated(was, Some(Fail), true), Kind::Worse, "{was:?}");
        }
        assert_eq!(stated(Some(Pass), Some(KnownFailing), false), Kind::Worse);
        assert_eq!(stated(Some(Fail), Some(KnownFailing), false), Kind::Other);
        assert_eq!(stated(Some(KnownFailing), Some(StaleKnownFailing), true), Kind::Worse);
        assert_eq!(stated(Some(Pass), Some(NotExercised), false), Kind::Worse);
        assert_eq!(stated(Some(Fail), Some(NotExercised), false), Kind::Other);
        assert_eq!(stated(Some(Pass), None, false), Kind::Other, "a run that was asked for less");
        assert_eq!(stated(Some(Fail), Some(Pass), false), Kind::Better);
        let inferred = |was, is| kind(Level::Inferred, was, is, false);
        assert_eq!(inferred(Some(Pass), Some(Fail)), Kind::Worse, "what held is broken");
        assert_eq!(inferred(Some(NotExercised), Some(Fail)), Kind::Other);
        assert_eq!(inferred(Some(Pass), Some(NotExercised)), Kind::Other);
    }
}
