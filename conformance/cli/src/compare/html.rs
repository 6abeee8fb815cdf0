//! The comparison as one self-contained HTML file. All data of the candidates is text: askama escapes every value.

use askama::Template;

use super::{Column, Comparison, Outcome, Pair, Row, Run};
use crate::formats::html::{self, labels};
use animal_store_rules::verdict::Verdict;

/// The style that this page adds to that of the report.
const STYLE: &str = include_str!("../../templates/compare/style.css");
const SCRIPT: &str = include_str!("../../templates/compare/script.js");

/// The digests of style and script for the Content-Security-Policy; a test verifies them.
const STYLE_DIGEST: &str = "sha256-Gy75HFpPcVT4L+phq+kRWLkJTwZGrn7Jv4renBj9swY=";
const SCRIPT_DIGEST: &str = "sha256-ICTxogoQr8qWWFdboPOb2nxdD2gy0UzoC5h5Wpm1Zm8=";

/// The maximum size of all reasons together, in bytes: a page on fifty reports stays below two megabytes.
const REASONS: usize = 900_000;

/// The bounds of the maximum size of one reason with its command, in bytes.
const SHORTEST: usize = 160;
const LONGEST: usize = 2_000;

/// The whole page.
#[must_use]
pub fn render(comparison: &Comparison) -> String {
    // Every value is a string or a number, and writing to a String cannot fail.
    Page::new(comparison).render().unwrap_or_default()
}

#[derive(Template)]
#[template(path = "compare/page.html", escape = "html")]
struct Page<'c> {
    comparison: &'c Comparison,
    policy: String,
    styles: [&'static str; 2],
    script: &'static str,
    reasons: Vec<Reason<'c>>,
    /// The differences of each implementation from each other one, or `None` where there are none.
    distances: Vec<Vec<Option<&'c Pair>>>,
}

/// The reason for the outcome in a cell.
struct Reason<'c> {
    column: usize,
    row: &'c Row,
    outcome: Outcome,
    text: String,
    curl: Option<&'c str>,
}

impl<'c> Page<'c> {
    fn new(comparison: &'c Comparison) -> Page<'c> {
        Page {
            comparison,
            policy: html::policy(&[html::STYLE_DIGEST, STYLE_DIGEST], SCRIPT_DIGEST),
            styles: [html::STYLE, STYLE],
            script: SCRIPT,
            reasons: reasons(comparison),
            distances: distances(comparison),
        }
    }
}

fn reasons(comparison: &Comparison) -> Vec<Reason<'_>> {
    let found = comparison.reasons();
    let room = (REASONS / found.len().max(1)).clamp(SHORTEST, LONGEST);
    found
        .into_iter()
        .map(|(row, column, cell, reason)| {
            let text = animal_store_conformance::layout::at_most(reason, room);
            // A command that is cut would not run.
            let curl = cell.curl.as_deref().filter(|curl| curl.len() + text.len() <= room);
            Reason { column, row, outcome: cell.outcome, text, curl }
        })
        .collect()
}

fn distances(comparison: &Comparison) -> Vec<Vec<Option<&Pair>>> {
    let count = comparison.implementations.len();
    let mut distances = vec![vec![None; count]; count];
    for pair in &comparison.differences {
        distances[pair.one][pair.other] = Some(pair);
        distances[pair.other][pair.one] = Some(pair);
    }
    distances
}

impl Column {
    fn time(&self) -> String {
        time(self.started_at.as_deref())
    }
}

impl Run {
    fn time(&self) -> String {
        time(self.started_at.as_deref())
    }
}

/// The time of a run, for people.
fn time(started_at: Option<&str>) -> String {
    started_at.map_or_else(|| "nothing was sent".to_owned(), labels::date_and_time)
}
