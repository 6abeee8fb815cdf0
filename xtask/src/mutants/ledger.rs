//! What became of each change, over all runs: those of several parts, those of several sets of tests, those that were interrupted.

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
    /// No test noticed.
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

/// The last that is known of each change.
#[derive(Debug)]
pub(super) struct Ledger {
    output: PathBuf,
    pub(super) outcomes: BTreeMap<Mutant, Outcome>,
}

impl Ledger {
    /// Reads what is known in a folder, and what the last run has added to it.
    pub(super) fn open(output: &Path) -> anyhow::Result<Ledger> {
        let mut ledger = Ledger { output: output.to_owned(), outcomes: BTreeMap::new() };
        for line in lines(&ledger.path())? {
            let read = line
                .split_once('\t')
                .and_then(|(word, name)| Some((Mutant::parse(name)?, Outcome::from_str(word, false).ok()?)));
            let (mutant, outcome) = read.with_context(|| format!("{}: what is {line}?", ledger.path().display()))?;
            ledger.outcomes.insert(mutant, outcome);
        }
        ledger.add()?;
        Ok(ledger)
    }

    /// Adds what the last run has found, as far as it came.
    pub(super) fn add(&mut self) -> anyhow::Result<()> {
        for outcome in Outcome::value_variants() {
            for line in lines(&self.output.join("mutants.out").join(format!("{}.txt", outcome.word())))? {
                let mutant = Mutant::parse(&line).with_context(|| format!("cargo mutants tells of {line}"))?;
                self.outcomes.insert(mutant, *outcome);
            }
        }
        Ok(())
    }

    /// Forgets changes that can no longer be made.
    pub(super) fn keep(&mut self, possible: &[Mutant]) {
        self.outcomes.retain(|mutant, _| possible.contains(mutant));
    }

    /// Writes it down; then also where `cargo mutants --iterate` looks for what it may leave out.
    pub(super) fn save(&self) -> anyhow::Result<()> {
        let folder = self.output.join("mutants.out");
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let line = |(mutant, outcome): (&Mutant, &Outcome)| format!("{}\t{mutant}\n", outcome.word());
        let noticed = self.outcomes.iter().filter(|(_, outcome)| **outcome != Outcome::Missed);
        let noticed: String = noticed.map(|(mutant, _)| format!("{mutant}\n")).collect();
        for (path, text) in
            [(self.path(), self.outcomes.iter().map(line).collect()), (folder.join("previously_caught.txt"), noticed)]
        {
            std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
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

    #[test]
    fn a_later_run_overrides_an_earlier_one_and_what_was_noticed_is_left_out_of_the_next() {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("mutants.out");
        let list = |name: &str, numbers: &[usize]| {
            let text: String = numbers.iter().map(|line| format!("{}\n", mutant(*line))).collect();
            std::fs::write(out.join(name), text).expect("a file");
        };
        std::fs::create_dir(&out).expect("a folder");
        list("missed.txt", &[1, 2, 3]);
        list("unviable.txt", &[4]);
        let mut ledger = Ledger::open(folder.path()).expect("a ledger");
        ledger.save().expect("written");
        list("missed.txt", &[2]);
        list("unviable.txt", &[]);
        list("caught.txt", &[1]);
        ledger = Ledger::open(folder.path()).expect("a ledger");
        ledger.keep(&[mutant(1), mutant(2), mutant(4)]);
        ledger.save().expect("written");
        let outcomes: Vec<_> = ledger.outcomes.iter().map(|(mutant, outcome)| (mutant.line, *outcome)).collect();
        assert_eq!(outcomes, [(1, Outcome::Caught), (2, Outcome::Missed), (4, Outcome::Unviable)]);
        let left_out = std::fs::read_to_string(out.join("previously_caught.txt")).expect("a list");
        assert_eq!(left_out, format!("{}\n{}\n", mutant(1), mutant(4)));
    }
}
