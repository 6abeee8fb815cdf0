//! Comparison of any number of reports: requirements and choices by implementation.
//!
//! There are no scores, because a number would hide how implementations differ. The result does not depend on the order of the reports.
//! [`crate::diff`] compares two of them.

mod column;

use askama::Template;
use serde::Serialize;

pub use column::Column;

use crate::formats::markdown::{code, text};
use animal_store_conformance::layout::at_most;
use animal_store_conformance::report::{CatalogueVersion, Outcome, Report, RequirementReport};
use animal_store_rules::catalogue::Level;

/// A report, and the file that it is from.
#[derive(Clone, Debug)]
pub struct Input {
    /// The file, as it was named.
    pub file: String,
    /// The report in the file.
    pub report: Report,
}

/// The maximum length of a reason in Markdown in bytes; a longer one is cut.
const LONGEST: usize = 300;

/// The reports, compared.
#[derive(Clone, Debug, Serialize, Template)]
#[template(path = "compare.md")]
pub struct Comparison {
    /// The implementations, each with its latest report, by name.
    pub implementations: Vec<Column>,
    /// The catalogues that the reports were judged by, each once. With more than one, requirements of the same identifier may
    /// have been judged differently.
    pub catalogues: Vec<CatalogueVersion>,
    /// The requirements that can be broken and that a run judged, in the order of the specification.
    pub requirements: Vec<Row>,
    /// The choices of the implementations where the specification leaves one.
    pub choices: Vec<ChoiceRow>,
}

/// A requirement, with its outcome in each implementation.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The identifier of the requirement.
    pub id: String,
    /// The title of the requirement.
    pub title: String,
    /// The level of the requirement.
    pub level: Level,
    /// The section of the specification that the requirement is from.
    pub section: String,
    /// Whether the implementations that were judged by the requirement differ.
    pub differs: bool,
    /// A cell for each implementation.
    pub cells: Vec<Cell>,
}

/// The outcome of a requirement in an implementation, with its reason.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// The outcome.
    pub outcome: Outcome,
    /// The expectation and the finding, or the reason why the requirement was not exercised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The command that repeats the decisive request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub curl: Option<String>,
}

/// An open requirement, with the choice of each implementation.
#[derive(Clone, Debug, Serialize)]
pub struct ChoiceRow {
    /// The identifier of the open requirement.
    pub id: String,
    /// The title of the open requirement.
    pub title: String,
    /// Whether two implementations chose differently.
    pub differs: bool,
    /// The choice of each implementation, if its report shows one.
    pub observed: Vec<Option<String>>,
}

/// Compares reports. There must be at least one.
pub fn compare(mut inputs: Vec<Input>) -> Comparison {
    // A run that sent nothing has no time, and comes first.
    inputs.sort_by_cached_key(|input| (column::key(&input.report), input.report.started_at, input.file.clone()));
    let of_each = inputs.chunk_by(|a, b| column::key(&a.report) == column::key(&b.report));
    let latest: Vec<&Input> = of_each.filter_map(<[Input]>::last).collect();
    let mut catalogues: Vec<CatalogueVersion> = inputs.iter().map(|input| input.report.catalogue.clone()).collect();
    catalogues.sort_by(|a, b| (&a.version, &a.digest).cmp(&(&b.version, &b.digest)));
    catalogues.dedup();
    let reports: Vec<&Report> = latest.iter().map(|input| &input.report).collect();
    let rows = ids(&reports);
    Comparison {
        implementations: column::columns(&latest, &catalogues),
        requirements: rows.iter().filter_map(|id| row(&reports, id)).collect(),
        choices: rows.iter().filter_map(|id| choice(&reports, id)).collect(),
        catalogues,
    }
}

/// The comparison as GitHub-flavoured Markdown: for a page of a wiki, or a job summary. The columns of the tables are numbered, because
/// names are long.
pub fn markdown(comparison: &Comparison) -> String {
    // Every value is a string or a number, and writing to a String cannot fail.
    comparison.render().unwrap_or_default()
}

impl Comparison {
    /// The reasons of all cells, each with its requirement and the number of the implementation.
    fn reasons(&self) -> Vec<(&str, usize, String)> {
        let cells = self.requirements.iter().flat_map(|row| row.cells.iter().zip(1..).map(move |cell| (row, cell)));
        let reasons = cells.filter_map(|(row, (cell, number))| Some((row, number, cell.reason.as_deref()?)));
        reasons.map(|(row, number, reason)| (row.id.as_str(), number, at_most(reason, LONGEST))).collect()
    }
}

/// The identifiers of all reports, each once. An identifier that only some reports have follows its predecessor there.
fn ids(reports: &[&Report]) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for report in reports {
        let mut place = 0;
        for requirement in &report.requirements {
            match ids.iter().position(|id| *id == requirement.id) {
                Some(known) => place = known + 1,
                None => {
                    ids.insert(place, requirement.id.clone());
                    place += 1;
                }
            }
        }
    }
    ids
}

fn row(reports: &[&Report], id: &str) -> Option<Row> {
    let any = reports.iter().find_map(|report| report.requirement(id)).filter(|any| any.level != Level::Open)?;
    let cells: Vec<Cell> = reports.iter().map(|report| cell(report.requirement(id))).collect();
    let mut judged = cells.iter().map(|cell| cell.outcome).filter(|outcome| *outcome != Outcome::NotSelected);
    // A requirement that no run judged, such as one on clients, has no row.
    let first = judged.next()?;
    let differs = judged.any(|outcome| outcome != first);
    let (title, section) = (any.title.clone(), any.section.clone());
    Some(Row { id: id.to_owned(), title, level: any.level, section, differs, cells })
}

fn cell(requirement: Option<&RequirementReport>) -> Cell {
    let outcome = requirement.map_or(Outcome::NotSelected, RequirementReport::outcome);
    let found = requirement.filter(|_| !matches!(outcome, Outcome::Held | Outcome::NotSelected));
    Cell {
        outcome,
        reason: found.and_then(RequirementReport::explanation).map(str::to_owned),
        curl: found.and_then(RequirementReport::decisive).map(|exchange| exchange.curl.clone()),
    }
}

fn choice(reports: &[&Report], id: &str) -> Option<ChoiceRow> {
    let choices: Vec<_> =
        reports.iter().map(|report| report.gap_profile.iter().find(|choice| choice.id == id).cloned()).collect();
    let title = choices.iter().flatten().next()?.title.clone();
    let observed: Vec<Option<String>> = choices.into_iter().map(|choice| choice?.observed).collect();
    let mut known = observed.iter().flatten();
    let first = known.next();
    let differs = known.any(|choice| Some(choice) != first);
    Some(ChoiceRow { id: id.to_owned(), title, differs, observed })
}
