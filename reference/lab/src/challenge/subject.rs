//! The servers that a suite is tried with.

use animal_store_reference::extension::ExtensionError;

use super::showing;
use crate::choices::{Choice, Maker, choices};
use crate::vector::{Vector, Wish};
use crate::{faults::faults, lists::begins};

/// A server that a suite is tried with.
#[derive(Clone, Default)]
pub(super) struct Subject {
    /// The place of the server among those that are tried.
    pub(super) place: usize,
    /// The seed of a lawful server that makes many choices. A server without one makes one choice, has one fault, or is plain.
    pub(super) seed: Option<u64>,
    /// The choices and faults of the server.
    pub(super) vector: Vector,
}

impl Subject {
    /// The choice of a server that makes one choice.
    pub(super) fn choice(&self) -> Option<&Choice> {
        self.vector.choices.first().filter(|_| self.seed.is_none())
    }

    /// The axis of the choice of a server that makes one choice.
    fn axis(&self) -> Option<&'static str> {
        self.choice().map(Choice::axis)
    }

    /// The name of the server.
    pub(super) fn name(&self) -> String {
        match (self.seed, self.choice(), self.vector.faults.first()) {
            (Some(seed), ..) => format!("seed {seed}"),
            (_, Some(choice), _) => choice.name(),
            (_, _, Some(fault)) => fault.name.clone(),
            _ => "the plain reference".to_owned(),
        }
    }
}

/// The selection of servers that a suite is tried with. Without any pattern, all are selected.
#[derive(Debug, Default)]
pub(super) struct Chosen<'a> {
    /// The number of servers that make many choices at once.
    pub(super) seeds: u64,
    /// Patterns of choices that are tried one by one.
    pub(super) choices: &'a [String],
    /// Patterns of faults.
    pub(super) faults: &'a [String],
}

/// The number of faults of a requirement among which [`one_of_each`] chooses.
const CANDIDATES: usize = 8;

/// Reduces servers to one choice on each axis and one fault for each requirement: the first one that an ordinary request shows, because a
/// suite can see it most easily, or else the first one.
pub(super) async fn one_of_each(subjects: Vec<Subject>) -> Result<Vec<Subject>, ExtensionError> {
    let mut chosen: Vec<Subject> = Vec::new();
    let mut candidates: Vec<(&'static str, Vec<Subject>)> = Vec::new();
    for subject in subjects {
        if let Some(fault) = subject.vector.faults.first() {
            let requirement = fault.targets[0];
            match candidates.iter_mut().find(|(of, _)| *of == requirement) {
                Some((_, faults)) => faults.push(subject),
                None => candidates.push((requirement, vec![subject])),
            }
        } else if !chosen.iter().any(|other| subject.axis().is_some() && other.axis() == subject.axis()) {
            chosen.push(subject);
        }
    }
    for (_, mut faults) in candidates {
        let mut place = 0;
        for (number, subject) in faults.iter().take(CANDIDATES).enumerate() {
            if showing::is_ordinary(&subject.vector.faults[0]).await? {
                place = number;
                break;
            }
        }
        chosen.push(faults.swap_remove(place));
    }
    Ok(chosen)
}

impl Chosen<'_> {
    /// The selected servers, lawful ones first.
    pub(super) fn subjects(&self) -> Result<Vec<Subject>, String> {
        let mut subjects = Vec::new();
        let mut add = |seed, vector| {
            let place = subjects.len();
            subjects.push(Subject { place, seed, vector });
        };
        // A suite that needs the server to the end can only fail where its access ends: such a choice is tried by name.
        let is_tried =
            |choice: &Choice| choice.maker != Maker::Reference && (!choice.ends_access() || !self.choices.is_empty());
        let choices = choices().into_iter().filter(is_tried).collect();
        for choice in self.named(self.choices, "choice", choices, Choice::name)? {
            add(None, Vector { choices: vec![choice], ..Vector::default() });
        }
        for seed in 1..=self.seeds {
            add(Some(seed), Vector::new(&Wish { lawful: Some(seed), ..Wish::default() })?);
        }
        for fault in self.named(self.faults, "fault", faults(), |fault| fault.name.clone())? {
            add(None, Vector { faults: vec![fault], ..Vector::default() });
        }
        Ok(subjects)
    }

    /// Returns the choices or faults whose names match one of the patterns, or all of them if no name of either kind was asked for.
    fn named<T>(
        &self,
        patterns: &[String],
        kind: &str,
        mut all: Vec<T>,
        name: fn(&T) -> String,
    ) -> Result<Vec<T>, String> {
        if let Some(none) = patterns.iter().find(|pattern| !all.iter().any(|one| begins(pattern, &name(one)))) {
            return Err(format!("no {kind} matches `{none}`: `animal-lab {kind}s` lists all"));
        }
        if !self.choices.is_empty() || !self.faults.is_empty() {
            all.retain(|one| patterns.iter().any(|pattern| begins(pattern, &name(one))));
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(seeds: u64, choices: &[&str], faults: &[&str]) -> Result<Vec<String>, String> {
        let owned = |patterns: &[&str]| patterns.iter().map(|pattern| (*pattern).to_owned()).collect::<Vec<_>>();
        let subjects = Chosen { seeds, choices: &owned(choices), faults: &owned(faults) }.subjects()?;
        Ok(subjects.iter().map(Subject::name).collect())
    }

    #[tokio::test]
    async fn one_of_each_takes_a_choice_of_each_axis_and_the_fault_of_each_requirement_that_is_easiest_to_see() {
        let owned = |patterns: &[&str]| patterns.iter().map(|pattern| (*pattern).to_owned()).collect::<Vec<_>>();
        let (choices, faults) = (owned(&["list.order"]), owned(&["create.success", "list.array"]));
        let subjects = Chosen { seeds: 1, choices: &choices, faults: &faults }.subjects().expect("servers");
        let names: Vec<String> = one_of_each(subjects).await.expect("servers").iter().map(Subject::name).collect();
        assert_eq!(
            names,
            ["list.order.oldest-first", "seed 1", "create.success.created-is-200", "list.array.envelope"]
        );
    }

    #[test]
    fn a_pattern_that_names_nothing_is_refused() {
        assert!(names(0, &[], &["lsit"]).is_err_and(|error| error.contains("no fault matches `lsit`")));
        assert!(names(0, &["lsit"], &[]).is_err_and(|error| error.contains("no choice matches `lsit`")));
    }

    #[test]
    fn patterns_of_either_kind_leave_out_what_they_do_not_name() {
        let chosen = names(2, &["list.order.by-name"], &["list.limit-default.f"]).expect("servers");
        assert_eq!(chosen, ["list.order.by-name", "seed 1", "seed 2", "list.limit-default.fifty"]);
        assert_eq!(names(0, &["list.order.by-name"], &[]).expect("servers").len(), 1);
        let all = names(0, &[], &[]).expect("servers");
        for name in ["list.order.random", "list.limit-default.fifty"] {
            assert!(all.iter().any(|one| one == name), "{name}");
        }
        assert!(!all.iter().any(|one| one == "list.order.newest-first"), "the plain reference does that");
    }
}
