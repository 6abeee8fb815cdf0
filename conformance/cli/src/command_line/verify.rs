//! `verify`: derives a report again from the recording of its traffic.

use std::path::PathBuf;

use super::output::{print, usage};
use super::selection::known_failing;
use crate::exit_code::ExitCode;
use animal_store_conformance::recorded::{self, Terms, Verification};

/// Verify a JSON report with the recording of its traffic
///
/// The recording is judged again on the terms that the report states, and the result is compared with the report. The report may be that of
/// a run, of `conform judge` or of `conform proxy`. This proves that the report follows from the recording, not that the server sent it: a
/// recording can be changed. Exit codes: 0 no difference · 1 the report differs · 2 a file cannot be used
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Arguments {
    /// The report, as `--report json=FILE` writes it
    #[arg(value_name = "REPORT")]
    pub report: PathBuf,

    /// The trace, as `--record FILE` writes it, or the HTTP Archive that was judged
    #[arg(long, value_name = "FILE")]
    pub trace: PathBuf,

    /// TOML file that lists requirements known to fail, if `conform judge` or `proxy` was given one
    #[arg(long, value_name = "FILE")]
    pub known_failing: Option<PathBuf>,
}

impl Arguments {
    /// Prints the differences, and returns the exit code.
    pub(super) fn run(&self) -> ExitCode {
        let known = match self.known_failing.as_ref().map(|path| known_failing(path)).transpose() {
            Ok(known) => known.zip(self.known_failing.clone()),
            Err(error) => return usage(&error),
        };
        let terms = Terms { known_failing: known, ..Terms::default() };
        let verification = match recorded::verify(&self.report, &self.trace, &terms) {
            Ok(verification) => verification,
            Err(error) => return usage(&error),
        };
        let code = if verification.count == 0 { ExitCode::Success } else { ExitCode::Violation };
        print(described(&verification), code)
    }
}

/// A verification as text for the screen.
fn described(verification: &Verification) -> String {
    let Verification { reasons, differences, count, not_compared, exchanges, .. } = verification;
    let mut text: String = reasons.iter().map(|reason| format!("note: {reason}\n")).collect();
    if *count == 0 {
        let noun = if *exchanges == 1 { "exchange" } else { "exchanges" };
        text.push_str(&format!("verified: the trace of {exchanges} {noun} gives the same report\n"));
        text.push_str("This proves that the report follows from the trace, not that the server sent it.\n");
    } else {
        let noun = if *count == 1 { "difference" } else { "differences" };
        text.push_str(&format!("the trace gives another report: {count} {noun}\n"));
    }
    differences.iter().for_each(|difference| text.push_str(&format!("  {difference}\n")));
    let more = count - differences.len();
    if more > 0 {
        text.push_str(&format!("  and {more} more\n"));
    }
    if !not_compared.is_empty() {
        text.push_str("not compared, because the exchanges do not contain it:\n");
        not_compared.iter().for_each(|note| text.push_str(&format!("  {note}\n")));
    }
    text
}
