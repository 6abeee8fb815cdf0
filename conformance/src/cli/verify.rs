//! `verify`: derives a report again from the trace of its run.

use std::path::PathBuf;

use super::output::{print, usage};
use crate::exit_code::ExitCode;
use crate::recorded;

/// Verify a JSON report with the trace of its run
///
/// The trace is judged again, and the result compared with the report: whoever has both can check the report without trusting who sent
/// it. Exit codes: 0 no difference · 1 the report differs · 2 a file cannot be used
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Arguments {
    /// The report, as `--report json=FILE` writes it
    #[arg(value_name = "REPORT")]
    pub report: PathBuf,

    /// The trace of the run, as `--record FILE` writes it
    #[arg(long, value_name = "FILE")]
    pub trace: PathBuf,
}

impl Arguments {
    /// Prints the differences; the exit code.
    pub(super) fn run(&self) -> ExitCode {
        let verification = match recorded::verify(&self.report, &self.trace) {
            Ok(verification) => verification,
            Err(error) => return usage(&error),
        };
        if verification.count == 0 {
            let exchanges = verification.exchanges;
            let text = format!("verified: the trace of {exchanges} exchanges gives the same report\n");
            return print(&text, ExitCode::Success);
        }
        let differences = if verification.count == 1 { "difference" } else { "differences" };
        let mut text = format!("the trace gives another report: {} {differences}\n", verification.count);
        verification.differences.iter().for_each(|difference| text.push_str(&format!("  {difference}\n")));
        let more = verification.count - verification.differences.len();
        if more > 0 {
            text.push_str(&format!("  and {more} more\n"));
        }
        print(&text, ExitCode::Violation)
    }
}
