//! The outcome of each change, over all runs: of several shards, of several sets of tests, and of interrupted runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::ValueEnum;

use super::place::Mutant;

/// What became of a change.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, ValueEnum)]
pub(super) enum Outcome {
    /// A test noticed.
    Caught,
    /// No test noticed, of those that were asked.
    Missed,
    /// The tests did not come to an end.
    Timeout,
    /// The compiler noticed.
    Unviable,
}

impl Outcome {
    /// The word for it in the ledger, and the name of the file in which cargo-mutants lists those that fared so.
    fn word(self) -> &'static str {
        match self {
            Outcome::Caught => "caught",
            Outcome::Missed => "missed",
            Outcome::Timeout => "timeout",
            Outcome::Unviable => "unviable",
        }
    }
}

/// What is known of a change.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Fate {
    pub(super) outcome: Outcome,
    /// How many sets of tests were asked, the quickest first.
    pub(super) asked: usize,
}

impl Fate {
    /// Whether there is no need to ask further tests.
    pub(super) fn is_settled(self) -> bool {
        self.outcome != Outcome::Missed
    }
}

/// The last that is known of each change.
#[derive(Debug)]
pub(super) struct Ledger {
    output: PathBuf,
    pub(super) fates: BTreeMap<Mutant, Fate>,
}

impl Ledger {
    /// Reads what is known in a folder.
    pub(super) fn open(output: &Path) -> anyhow::Result<Ledger> {
        let mut ledger = Ledger { output: output.to_owned(), fates: BTreeMap::new() };
        for line in lines(&ledger.path())? {
            let mut fields = line.splitn(3, '\t');
            let mut read = || {
                let outcome = Outcome::from_str(fields.next()?, false).ok()?;
                let asked = fields.next()?.parse().ok()?;
                Some((Mutant::parse(fields.next()?)?, Fate { outcome, asked }))
            };
            let (mutant, fate) = read().with_context(|| format!("{}: what is {line}?", ledger.path().display()))?;
            ledger.fates.insert(mutant, fate);
        }
        // Of a run that was interrupted, what is settled is settled.
        ledger.add(0)?;
        Ok(ledger)
    }

    /// Adds what the last run of cargo-mutants has found, when so many sets of tests have been asked with it.
    pub(super) fn add(&mut self, asked: usize) -> anyhow::Result<()> {
        for outcome in Outcome::value_variants() {
            for line in lines(&self.output.join("mutants.out").join(format!("{}.txt", outcome.word())))? {
                let mutant = Mutant::parse(&line).with_context(|| format!("cargo mutants reports {line}"))?;
                let fate = Fate { outcome: *outcome, asked };
                if asked > 0 || fate.is_settled() {
                    self.fates.insert(mutant, fate);
                }
            }
        }
        Ok(())
    }

    /// Of these, the ones that the set of tests in this place has yet to be asked about.
    pub(super) fn open_in<'m>(&self, place: usize, mutants: &'m [Mutant]) -> Vec<&'m Mutant> {
        let is_open = |mutant: &&Mutant| match self.fates.get(*mutant) {
            Some(fate) => !fate.is_settled() && fate.asked == place,
            None => place == 0,
        };
        mutants.iter().filter(is_open).collect()
    }

    /// Forgets changes that can no longer be made.
    pub(super) fn keep(&mut self, possible: &[Mutant]) {
        self.fates.retain(|mutant, _| possible.contains(mutant));
    }

    /// Forgets what became of some of these.
    pub(super) fn forget(&mut self, mutants: &[Mutant], which: impl Fn(Fate) -> bool) {
        self.fates.retain(|mutant, fate| !which(*fate) || !mutants.contains(mutant));
    }

    /// Writes it down, and clears away what the last run of cargo-mutants has left.
    pub(super) fn save(&self) -> anyhow::Result<()> {
        std::fs::create_dir_all(&self.output).with_context(|| format!("cannot make {}", self.output.display()))?;
        let line = |(mutant, fate): (&Mutant, &Fate)| format!("{}\t{}\t{mutant}\n", fate.outcome.word(), fate.asked);
        let text: String = self.fates.iter().map(line).collect();
        std::fs::write(self.path(), text).with_context(|| format!("cannot write {}", self.path().display()))?;
        for outcome in Outcome::value_variants() {
            let path = self.output.join("mutants.out").join(format!("{}.txt", outcome.word()));
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error).with_context(|| format!("cannot remove {}", path.display()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn path(&self) -> PathBuf {
        self.output.join("ledger.tsv")
    }
}

/// The lines of a file; none if it is not there.
fn lines(path: &Path) -> anyhow::Result<Vec<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(line: usize) -> Mutant {
        Mutant::parse(&format!("src/a.rs:{line}:1: replace f with ()")).expect("a name")
    }

    fn report(folder: &Path, name: &str, numbers: &[usize]) {
        let out = folder.join("mutants.out");
        std::fs::create_dir_all(&out).expect("a folder");
        let text: String = numbers.iter().map(|line| format!("{}\n", mutant(*line))).collect();
        std::fs::write(out.join(name), text).expect("a file");
    }

    fn fates(ledger: &Ledger) -> Vec<(usize, Outcome, usize)> {
        ledger.fates.iter().map(|(mutant, fate)| (mutant.line, fate.outcome, fate.asked)).collect()
    }

    #[test]
    fn what_one_set_of_tests_misses_the_next_is_asked_about_and_what_it_notices_is_settled() {
        let folder = tempfile::tempdir().expect("a folder");
        let all: Vec<Mutant> = (1..=5).map(mutant).collect();
        let mut ledger = Ledger::open(folder.path()).expect("a ledger");
        assert_eq!(ledger.open_in(0, &all).len(), 5);
        report(folder.path(), "missed.txt", &[1, 2, 3]);
        report(folder.path(), "unviable.txt", &[4]);
        ledger.add(1).expect("added");
        ledger.save().expect("written");
        assert_eq!(ledger.open_in(0, &all), [&all[4]]);
        assert_eq!(ledger.open_in(1, &all), [&all[0], &all[1], &all[2]]);
        report(folder.path(), "missed.txt", &[2]);
        report(folder.path(), "caught.txt", &[1]);
        ledger.add(2).expect("added");
        ledger.save().expect("written");
        ledger = Ledger::open(folder.path()).expect("a ledger");
        let known =
            [(1, Outcome::Caught, 2), (2, Outcome::Missed, 2), (3, Outcome::Missed, 1), (4, Outcome::Unviable, 1)];
        assert_eq!(fates(&ledger), known);
        ledger.keep(&all[1..]);
        ledger.forget(&all, |fate| !fate.is_settled() && fate.asked == 2);
        assert_eq!(fates(&ledger), known[2..]);
    }

    #[test]
    fn of_an_interrupted_run_only_what_is_settled_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        report(folder.path(), "missed.txt", &[1]);
        report(folder.path(), "caught.txt", &[2]);
        let ledger = Ledger::open(folder.path()).expect("a ledger");
        assert_eq!(fates(&ledger), [(2, Outcome::Caught, 0)]);
    }
}
