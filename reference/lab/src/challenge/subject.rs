//! The servers that a suite is tried with.

use crate::choices::{Choice, Maker, choices};
use crate::faults::faults;
use crate::pattern::begins;
use crate::vector::{Vector, Wish};

/// A server that a suite is tried with.
#[derive(Clone)]
pub(super) struct Subject {
    pub(super) kind: Kind,
    /// The choices and faults of the server.
    pub(super) vector: Vector,
}

/// The kind of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// The plain reference.
    Plain,
    /// A lawful server whose choices are made by this seed.
    Lawful(u64),
    /// A server that makes one choice, or that is in one circumstance: the place in the list of choices.
    Choice(usize),
    /// A broken server: the place of its fault in the list of faults.
    Fault(usize),
}

impl Subject {
    /// The plain reference.
    pub(super) fn plain() -> Subject {
        Subject { kind: Kind::Plain, vector: Vector::default() }
    }

    /// The name of the server.
    pub(super) fn name(&self) -> String {
        match (&self.kind, self.vector.choices.first(), self.vector.faults.first()) {
            (Kind::Lawful(seed), ..) => format!("seed {seed}"),
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

impl Chosen<'_> {
    /// The selected servers, lawful ones first.
    pub(super) fn subjects(&self) -> Result<Vec<Subject>, String> {
        let mut subjects = Vec::new();
        // A suite that needs the server to the end can only fail where its access ends: such a choice is tried by name.
        let is_tried =
            |choice: &Choice| choice.maker != Maker::Reference && (!choice.ends_access() || !self.choices.is_empty());
        let choices: Vec<Choice> = choices().into_iter().filter(is_tried).collect();
        for place in self.named(self.choices, "choice", choices.iter().map(Choice::name))? {
            let vector = Vector { choices: vec![choices[place].clone()], ..Vector::default() };
            subjects.push(Subject { kind: Kind::Choice(place), vector });
        }
        for seed in 1..=self.seeds {
            let wish = Wish { lawful: Some(seed), ..Wish::default() };
            let vector = Vector::new(&wish).map_err(|error| error.to_string())?;
            subjects.push(Subject { kind: Kind::Lawful(seed), vector });
        }
        let faults = faults();
        for place in self.named(self.faults, "fault", faults.iter().map(|fault| fault.name.clone()))? {
            let vector = Vector { faults: vec![faults[place].clone()], ..Vector::default() };
            subjects.push(Subject { kind: Kind::Fault(place), vector });
        }
        Ok(subjects)
    }

    /// The places of the names that match one of the patterns, or of all names if there is no pattern of either kind.
    fn named(
        &self,
        patterns: &[String],
        kind: &str,
        names: impl Iterator<Item = String>,
    ) -> Result<Vec<usize>, String> {
        let names: Vec<String> = names.collect();
        if let Some(none) = patterns.iter().find(|pattern| !names.iter().any(|name| begins(pattern, name))) {
            return Err(format!("no {kind} matches `{none}`: `animal-lab {kind}s` lists all"));
        }
        let all = self.choices.is_empty() && self.faults.is_empty();
        let is_chosen = |name: &String| all || patterns.iter().any(|pattern| begins(pattern, name));
        Ok((0..names.len()).filter(|place| is_chosen(&names[*place])).collect())
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
