//! The results of a run, as text.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use anyhow::Context;
use serde::Serialize;

use super::accepted::{Accepted, PATH, Survivor};
use super::ledger::{Ledger, Outcome};
use super::subject::Subject;

/// How many mutants had each outcome, of one file or of all.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Counts {
    caught: usize,
    timeout: usize,
    unviable: usize,
    /// Missed, with a reason in the list.
    explained: usize,
    /// Missed, without.
    unexplained: usize,
}

/// The results of a run.
#[derive(Debug)]
pub(super) struct Summary<'a> {
    subject: Subject,
    files: BTreeMap<String, Counts>,
    /// How many changes have yet to be put to all tests.
    untried: usize,
    /// As entries for the list, but for the reason.
    unexplained: Vec<Survivor>,
    /// Entries of the list about changes that a test notices by now.
    stale: Vec<&'a Survivor>,
}

impl<'a> Summary<'a> {
    /// Sums up what is known of changes to the sources below a folder; `possible` is the number of all changes.
    pub(super) fn new(
        subject: Subject,
        ledger: &Ledger,
        possible: usize,
        accepted: &'a Accepted,
        tree: &Path,
    ) -> anyhow::Result<Summary<'a>> {
        let mut sources: BTreeMap<&str, String> = BTreeMap::new();
        let mut summary =
            Summary { subject, files: BTreeMap::new(), untried: 0, unexplained: Vec::new(), stale: Vec::new() };
        let (mut tried, mut explained) = (0, Vec::new());
        for (mutant, fate) in &ledger.fates {
            let outcome = fate.outcome;
            // Not all tests have been asked yet.
            if !fate.is_settled() && fate.asked < subject.passes().len() {
                continue;
            }
            tried += 1;
            if !sources.contains_key(mutant.file.as_str()) {
                let path = tree.join(&mutant.file);
                let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
                sources.insert(&mutant.file, text);
            }
            let at = mutant.at(&sources[mutant.file.as_str()]).with_context(|| format!("where is {mutant}?"))?;
            let entry = accepted.entry(mutant, at);
            let counts = summary.files.entry(mutant.file.clone()).or_default();
            match (outcome, entry) {
                (Outcome::Caught, _) => counts.caught += 1,
                (Outcome::Timeout, _) => counts.timeout += 1,
                (Outcome::Unviable, _) => counts.unviable += 1,
                (Outcome::Missed, Some(_)) => counts.explained += 1,
                (Outcome::Missed, None) => {
                    counts.unexplained += 1;
                    summary.unexplained.push(Survivor::unexplained(mutant, at));
                }
            }
            match entry {
                Some(entry) if outcome == Outcome::Missed => explained.push(entry),
                Some(entry) => summary.stale.push(entry),
                None => {}
            }
        }
        // One entry may stand for several changes, of which some are noticed and others are not.
        summary.stale.retain(|entry| !explained.contains(entry));
        summary.untried = possible.saturating_sub(tried);
        Ok(summary)
    }

    /// Whether every survivor is explained, and every explanation still needed.
    pub(super) fn is_good(&self) -> bool {
        self.unexplained.is_empty() && self.stale.is_empty()
    }
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.caught += other.caught;
        self.timeout += other.timeout;
        self.unviable += other.unviable;
        self.explained += other.explained;
        self.unexplained += other.unexplained;
    }
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = Counts::default();
        writeln!(
            f,
            "{:>7} {:>7} {:>9} {:>9} {:>11}  {}",
            "caught",
            "endless",
            "unviable",
            "explained",
            "unexplained",
            self.subject.name()
        )?;
        for (file, counts) in &self.files {
            all += *counts;
            row(f, counts, file)?;
        }
        row(f, &all, "all")?;
        if self.untried > 0 {
            writeln!(f, "{} further changes have not been put to all tests", self.untried)?;
        }
        report(f, &self.unexplained, &format!("no test notices, and {PATH} does not say why that is all right"))?;
        report(f, &self.stale, &format!("a test notices by now; take out of {PATH}"))
    }
}

fn row(f: &mut fmt::Formatter<'_>, counts: &Counts, name: &str) -> fmt::Result {
    let Counts { caught, timeout, unviable, explained, unexplained } = counts;
    writeln!(f, "{caught:>7} {timeout:>7} {unviable:>9} {explained:>9} {unexplained:>11}  {name}")
}

/// Lists survivors in the form in which they stand in the list.
fn report(f: &mut fmt::Formatter<'_>, survivors: &[impl Serialize], what: &str) -> fmt::Result {
    if survivors.is_empty() {
        return Ok(());
    }
    writeln!(f, "\n# {}: {what}", survivors.len())?;
    for survivor in survivors {
        let entry = toml::to_string(survivor).map_err(|_| fmt::Error)?;
        writeln!(f, "\n[[survivor]]\n{}", entry.trim_end())?;
    }
    Ok(())
}
