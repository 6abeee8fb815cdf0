//! The development of an implementation with several reports.

use serde::Serialize;

use super::{Input, column};
use crate::diff::{self, Kind};
use animal_store_conformance::report::Report;
use animal_store_rules::catalogue::Level;
use animal_store_rules::verdict::Verdict;

/// The runs against one implementation, in any version and at any address, the first one first.
#[derive(Clone, Debug, Serialize)]
pub struct Trend {
    /// The name of the implementation, its image, or its base URL.
    pub name: String,
    /// The runs.
    pub runs: Vec<Run>,
}

/// A run, with the changes since the run before.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// The time at which the run began, RFC 3339 in UTC.
    pub started_at: Option<String>,
    /// The version of the implementation, if it is known.
    pub version: Option<String>,
    /// The base URL.
    pub base_url: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The number of selected stated requirements that held.
    pub held: usize,
    /// The number of stated requirements that were selected.
    pub stated: usize,
    /// The requirements that got worse since the run before.
    pub worse: Vec<String>,
    /// The requirements that hold and did not in the run before.
    pub better: Vec<String>,
    /// The requirements that changed otherwise.
    pub otherwise: Vec<String>,
    /// The choices that changed since the run before.
    pub choices: Vec<String>,
    /// The file of the report.
    pub file: String,
}

/// The trends of the implementations that have more than one report. The reports are sorted by key.
pub(super) fn trends(inputs: &[Input]) -> Vec<Trend> {
    let same_name = |a: &Input, b: &Input| column::key(&a.report).name == column::key(&b.report).name;
    let several = inputs.chunk_by(same_name).filter(|inputs| inputs.len() > 1);
    let trends = several.map(|inputs| {
        let mut inputs: Vec<&Input> = inputs.iter().collect();
        inputs.sort_by_key(|input| super::time_of(&input.report));
        let mut before: Option<&Report> = None;
        let runs = inputs.iter().map(|input| run(before.replace(&input.report), input)).collect();
        Trend { name: column::key(&inputs[0].report).name, runs }
    });
    trends.collect()
}

fn run(before: Option<&Report>, input: &Input) -> Run {
    let report = &input.report;
    let difference = before.map(|before| diff::compare(before, report));
    let changed = |kind: Kind| -> Vec<String> {
        let changes = difference.iter().flat_map(|difference| &difference.requirements);
        changes.filter(|change| change.kind == kind).map(|change| change.id.clone()).collect()
    };
    let stated = report.total(Level::Stated);
    Run {
        started_at: report.started_at.clone(),
        version: report.target.implementation.version.clone(),
        base_url: report.target.base_url.clone(),
        verdict: report.verdict,
        held: stated.pass,
        stated: stated.selected(),
        worse: changed(Kind::Worse),
        better: changed(Kind::Better),
        otherwise: changed(Kind::Changed),
        choices: difference.iter().flat_map(|difference| &difference.choices).map(|c| c.id.clone()).collect(),
        file: input.file.clone(),
    }
}
