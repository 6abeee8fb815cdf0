//! `diff`: two reports compared on the command line.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::cli::output::{print, usage};
use crate::cli::values::OutputFormat;
use crate::diff::{self, Difference, Unusable};

/// Compare two JSON reports: what changed from A to B
///
/// A report is what `--report json=FILE` writes. Exit codes: 0 nothing got worse · 1 something did: what held is broken, a
/// stated requirement can no longer be judged, or the verdict is worse · 2 a file cannot be used
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Arguments {
    /// The report to hold to: yesterday's, or production's
    #[arg(value_name = "A.json")]
    pub before: PathBuf,

    /// The report to compare with it: today's, or staging's
    #[arg(value_name = "B.json")]
    pub after: PathBuf,

    /// What to print on standard output
    #[arg(long, value_enum)]
    pub format: Option<OutputFormat>,
}

impl Arguments {
    /// Prints what differs; the exit code.
    pub(super) fn answer(&self) -> ExitCode {
        match self.difference() {
            Ok(difference) => {
                let text = match self.format.unwrap_or_default() {
                    OutputFormat::Text => diff::render(&difference),
                    OutputFormat::Json => diff::json(&difference),
                };
                print(&text, ExitCode::from(u8::from(difference.regression)))
            }
            Err(error) => usage(&error),
        }
    }

    fn difference(&self) -> Result<Difference, Unusable> {
        Ok(diff::compare(&diff::read(&self.before)?, &diff::read(&self.after)?))
    }
}
