//! Writes a report to standard output and to the requested files.

use super::output::{print, say};
use super::report_files::ReportFiles;
use super::values::Printed;
use crate::exit_code::ExitCode;
use animal_store_conformance::report::text::Detail;
use animal_store_conformance::report::{self, Report};

/// Prints a report, quietly or verbosely if it is text, writes the report files, and returns the exit code.
pub(super) fn deliver(
    report: &Report,
    format: Printed,
    (quiet, verbose): (bool, bool),
    files: &ReportFiles<'_>,
) -> ExitCode {
    let detail = match (quiet, verbose) {
        (true, _) => Detail::Quiet,
        (_, true) => Detail::Verbose,
        _ => Detail::Normal,
    };
    let text = match format {
        Printed::Text => report::text::render_with_files(report, detail, columns(), &files.names()),
        Printed::Report(format) => format.render(report),
    };
    // A report file on standard output stands there alone.
    let code = if files.use_standard_output() {
        say(text.without_end());
        report.verdict.into()
    } else {
        print(text, report.verdict.into())
    };
    let missing = files.write(report);
    missing.iter().for_each(|problem| say(format!("error: {problem}")));
    if missing.is_empty() { code } else { ExitCode::CouldNotRun }
}

/// The number of columns of the report: that of `COLUMNS`, else that of the terminal, up to a width that is easy to read. Lines are not
/// wrapped if standard output is no terminal: a file or another program has no width.
fn columns() -> usize {
    const WIDEST: usize = 100;
    let named = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 0);
    let size = || terminal_size::terminal_size_of(std::io::stdout());
    named.or_else(|| size().map(|(width, _)| usize::from(width.0).min(WIDEST))).unwrap_or(usize::MAX)
}
