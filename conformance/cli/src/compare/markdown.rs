//! The comparison as GitHub-flavoured Markdown: for a page of a wiki, or a job summary.

use std::fmt::Write;

use super::Comparison;
use crate::formats::markdown::{code, text};
use crate::formats::written;
use animal_store_conformance::report::Outcome;

/// The maximum length of a reason in bytes; a longer one is cut.
const LONGEST: usize = 300;

/// The comparison for a page.
#[must_use]
pub fn render(comparison: &Comparison) -> String {
    written(|out| {
        writeln!(out, "# Animal Store API: implementations compared\n")?;
        implementations(out, comparison)?;
        requirements(out, comparison)?;
        choices(out, comparison)
    })
}

/// The columns of the tables are numbered, because names are long.
fn implementations(out: &mut String, comparison: &Comparison) -> std::fmt::Result {
    writeln!(out, "| | implementation | verdict | stated requirements held | profile | judged at | catalogue |")?;
    writeln!(out, "|---|---|---|---|---|---|---|")?;
    for (index, column) in comparison.implementations.iter().enumerate() {
        let strict = if column.strict { ", strict" } else { "" };
        let catalogue = &comparison.catalogues[column.catalogue];
        writeln!(
            out,
            "| {} | {} | {} | {} of {} | {}{strict} | {} | {} {} |",
            index + 1,
            text(&column.title),
            text(&column.part.as_ref().map_or_else(
                || column.verdict.as_str().to_owned(),
                |part| format!("{} ({part})", column.verdict.as_str())
            )),
            column.held,
            column.stated,
            column.profile.as_str(),
            text(&column.started_at.map_or("nothing was sent".to_owned(), |time| time.to_string())),
            text(&catalogue.version),
            text(catalogue.short()),
        )?;
    }
    if comparison.catalogues.len() > 1 {
        let count = comparison.catalogues.len();
        writeln!(
            out,
            "\n> The reports were judged by {count} different catalogues: the same identifier may mean different things. Judge all \
             implementations with one version of the judge."
        )?;
    }
    Ok(())
}

fn head(out: &mut String, comparison: &Comparison, first: &str) -> std::fmt::Result {
    let count = comparison.implementations.len();
    let numbers: String = (1..=count).map(|number| format!(" {number} |")).collect();
    writeln!(out, "| {first} |{numbers}\n|---|{}", "---|".repeat(count))
}

fn requirements(out: &mut String, comparison: &Comparison) -> std::fmt::Result {
    writeln!(out, "\n## Requirements\n")?;
    head(out, comparison, "requirement")?;
    for row in &comparison.requirements {
        let cells: String = row.cells.iter().map(|cell| format!(" {} |", cell.outcome.sign())).collect();
        writeln!(out, "| {} |{cells}", code(&row.id))?;
    }
    // An open requirement has a choice and no outcome.
    let legend = Outcome::ALL.into_iter().filter(|outcome| *outcome != Outcome::Open);
    let legend: Vec<String> = legend.map(|outcome| format!("{} {}", outcome.sign(), outcome.word())).collect();
    writeln!(out, "\n{}", legend.join(" · "))?;
    let cells = || comparison.requirements.iter().flat_map(|row| row.cells.iter().zip(1..).map(move |at| (row, at)));
    if cells().all(|(_, (cell, _))| cell.reason.is_none()) {
        return Ok(());
    }
    writeln!(out, "\n<details><summary>Reasons</summary>\n")?;
    for (row, (cell, number)) in cells() {
        if let Some(reason) = &cell.reason {
            let reason = animal_store_conformance::layout::at_most(reason, LONGEST);
            writeln!(out, "- {}, {number}: {}", code(&row.id), code(&reason))?;
        }
    }
    writeln!(out, "\n</details>")
}

fn choices(out: &mut String, comparison: &Comparison) -> std::fmt::Result {
    writeln!(out, "\n## Open choices\n")?;
    head(out, comparison, "choice")?;
    for row in &comparison.choices {
        let cells = row.observed.iter().map(|choice| choice.as_deref().map_or_else(|| "–".to_owned(), code));
        let cells: String = cells.map(|cell| format!(" {cell} |")).collect();
        writeln!(out, "| {} |{cells}", text(&row.title))?;
    }
    Ok(())
}
