//! `compare`: compares any number of reports.

use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;

use super::output::{could_not_run, print, say, usage};
use super::report_files::replace_file;
use crate::compare::{self, Comparison, Input};
use crate::diff;
use crate::exit_code::ExitCode;
use crate::formats::json;
use animal_store_conformance::redaction::{Printable, printable};

/// Compare any number of JSON reports: requirements and choices by implementation
///
/// `--report json=FILE` of a run writes such a report, and --implementation names the implementation. The order of the reports does
/// not matter. If an implementation has several reports, the latest is compared. Exit codes: 0 compared · 2 a file cannot be used ·
/// 3 the output cannot be written
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Arguments {
    /// The reports
    #[arg(value_name = "REPORT.json", required = true)]
    pub reports: Vec<PathBuf>,

    /// Format on standard output
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,

    /// Write the comparison to a file (repeatable); formats: markdown, json
    #[arg(long, value_name = "FORMAT=PATH")]
    pub report: Vec<Output>,
}

/// The formats of a comparison.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub(super) enum Format {
    /// Tables for a wiki or a job summary
    #[default]
    Markdown,
    /// Everything, for programs
    Json,
}

/// A file to write.
#[derive(Clone, Debug)]
pub(super) struct Output {
    format: Format,
    path: PathBuf,
}

impl FromStr for Output {
    type Err = String;

    fn from_str(text: &str) -> Result<Output, String> {
        let (name, path) = text
            .split_once('=')
            .filter(|(_, path)| !path.is_empty())
            .ok_or("write FORMAT=PATH, such as markdown=compare.md")?;
        Ok(Output { format: Format::from_str(name, false)?, path: PathBuf::from(path) })
    }
}

impl Format {
    fn render(self, comparison: &Comparison) -> Printable {
        match self {
            Format::Markdown => Printable::document(&compare::markdown(comparison)),
            Format::Json => Printable::json(&json::render(comparison)),
        }
    }
}

impl Arguments {
    /// Prints and writes the comparison, and returns the exit code.
    pub(super) fn run(&self) -> Result<ExitCode, ExitCode> {
        let mut inputs = Vec::new();
        for path in &self.reports {
            let report = diff::read(path).map_err(|error| usage(&error))?;
            inputs.push(Input { file: printable(&path.display().to_string()), report });
        }
        let comparison = compare::compare(inputs);
        if comparison.catalogues.len() > 1 {
            say(
                "note: these reports were judged by different catalogues of requirements, so one ID may mean different things: judge all \
                 implementations with one version of conform",
            );
        }
        for Output { format, path } in &self.report {
            let written = replace_file(path, &format.render(&comparison));
            written.map_err(|problem| could_not_run(&format!("cannot write {}: {problem}", path.display())))?;
        }
        // Nothing is printed if files are written.
        let text = if self.report.is_empty() { self.format.render(&comparison) } else { Printable::default() };
        Ok(print(text, ExitCode::Success))
    }
}
