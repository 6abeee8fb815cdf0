//! The servers that a suite is tried with.

use crate::faults::faults;
use crate::pattern::begins;
use crate::vector::{Vector, Wish};

/// A server that a suite is tried with.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    /// What kind it is of.
    pub(super) kind: Kind,
    /// What it is made of.
    pub(super) vector: Vector,
}

/// What kind of server it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// The reference as it is.
    Plain,
    /// Another lawful server, of a seed.
    Lawful(u64),
    /// A broken one: its place in the list of faults.
    Fault(usize),
}

impl Subject {
    /// The reference as it is.
    pub(super) fn plain() -> Subject {
        Subject { kind: Kind::Plain, vector: Vector::default() }
    }

    /// What it is called.
    pub(super) fn name(&self) -> String {
        match (&self.kind, self.vector.faults.first()) {
            (Kind::Lawful(seed), _) => format!("seed {seed}"),
            (_, Some(fault)) => fault.name.clone(),
            _ => "the plain reference".to_owned(),
        }
    }
}

/// This many lawful servers, and one for each fault that a pattern names; all without a pattern.
pub(super) fn subjects(lawful: u64, patterns: &[String]) -> Result<Vec<Subject>, String> {
    let mut subjects = Vec::new();
    for seed in 1..=lawful {
        let wish = Wish { lawful: Some(seed), ..Wish::default() };
        let vector = Vector::new(&wish).map_err(|error| error.to_string())?;
        subjects.push(Subject { kind: Kind::Lawful(seed), vector });
    }
    let all = faults();
    for pattern in patterns {
        if !all.iter().any(|fault| begins(pattern, &fault.name)) {
            return Err(format!("no fault matches `{pattern}`: `animal-lab faults` lists all"));
        }
    }
    for (place, fault) in all.into_iter().enumerate() {
        if patterns.is_empty() || patterns.iter().any(|pattern| begins(pattern, &fault.name)) {
            subjects.push(Subject {
                kind: Kind::Fault(place),
                vector: Vector { faults: vec![fault], ..Vector::default() },
            });
        }
    }
    Ok(subjects)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_that_names_no_fault_is_refused() {
        assert!(subjects(0, &["lsit".to_owned()]).is_err());
        let chosen = subjects(2, &["list.limit-default".to_owned()]).expect("servers");
        assert_eq!(chosen.iter().filter(|subject| matches!(subject.kind, Kind::Lawful(_))).count(), 2);
        assert!(
            chosen.len() > 2 && chosen[2..].iter().all(|subject| subject.name().starts_with("list.limit-default."))
        );
    }
}
