//! `diff`: compares two reports.

use std::path::{Path, PathBuf};

use crate::command_line::output::{print, usage};
use crate::command_line::values::OutputFormat;
use crate::diff;
use crate::exit_code::ExitCode;
use crate::formats::json;
use animal_store_conformance::redaction::Printable;

/// Compare two JSON reports
///
/// `--report json=FILE` writes such a report. Exit codes: 0 no regression · 1 regression: a requirement that held is broken, a
/// stated requirement can no longer be judged, or the verdict is worse · 2 a file cannot be used
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Arguments {
    /// The baseline, such as yesterday's report or that of production
    #[arg(value_name = "A.json")]
    pub before: PathBuf,

    /// The report to compare with it, such as today's or that of staging
    #[arg(value_name = "B.json")]
    pub after: PathBuf,

    /// Output format
    #[arg(long, value_enum)]
    pub format: Option<OutputFormat>,
}

impl Arguments {
    /// Prints the differences, and returns the exit code.
    pub(super) fn run(&self) -> Result<ExitCode, ExitCode> {
        let read = |path: &Path| diff::read(path).map_err(|error| usage(&error));
        let difference = diff::compare(&read(&self.before)?, &read(&self.after)?);
        let text = match self.format.unwrap_or_default() {
            OutputFormat::Text => diff::render(&difference),
            OutputFormat::Json => Printable::json(&json::render(&difference)),
        };
        Ok(print(text, if difference.regression { ExitCode::Violation } else { ExitCode::Success }))
    }
}
