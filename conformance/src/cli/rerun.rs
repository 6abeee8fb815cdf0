//! `--rerun REPORT`: what an earlier report calls broken, judged again with the same seed.

use std::path::Path;

use super::usage_error::UsageError;
use crate::report::Report;
use animal_store_rules::catalogue::catalogue;

/// What is taken from an earlier report.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Rerun {
    /// Its seed.
    pub seed: u64,
    /// The requirements that it calls broken.
    pub broken: Vec<String>,
}

impl Rerun {
    /// Reads a JSON report.
    pub(super) fn read(path: &Path) -> Result<Rerun, UsageError> {
        let unusable = |problem: String| UsageError::Rerun { path: path.display().to_string(), problem };
        let text = std::fs::read_to_string(path).map_err(|error| unusable(error.to_string()))?;
        let report: Report =
            serde_json::from_str(&text).map_err(|error| unusable(format!("not a JSON report: {error}")))?;
        Rerun::of(&report).map_err(unusable)
    }

    fn of(report: &Report) -> Result<Rerun, String> {
        let broken = report.requirements.iter().filter(|requirement| requirement.is_broken());
        let broken: Vec<String> = broken.map(|requirement| requirement.id.clone()).collect();
        if broken.is_empty() {
            return Err("nothing is broken in it".to_owned());
        }
        match broken.iter().find(|id| !catalogue().knows(id)) {
            Some(unknown) => Err(format!("no requirement is called {unknown}")),
            None => Ok(Rerun { seed: report.seed, broken }),
        }
    }
}
