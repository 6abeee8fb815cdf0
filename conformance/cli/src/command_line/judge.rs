//! `judge`: judges recorded traffic.

use std::path::PathBuf;

use super::output::{could_not_run, usage};
use super::report_files::ReportFiles;
use super::traffic::TrafficArguments;
use super::values;
use crate::exit_code::ExitCode;
use animal_store_conformance::{normal_base_url, recorded};
use animal_store_rules::catalogue::scope::Side;

/// Judge recorded traffic, without sending a request
///
/// A trace of `conform --record FILE` gets the verdicts of its run. Other traffic, such as an HTTP Archive (HAR 1.2) of a browser or a
/// proxy, is judged as far as the recording shows it: requirements that need more are not exercised.
///
/// Exit codes: 0 conforms · 1 violates · 2 a file cannot be read, nothing was judged · 3 a report could not be written ·
/// 4 incomplete: nothing failed, but a stated requirement was not exercised
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Arguments {
    /// Traces and HTTP Archives; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Base URL of the service, if an archive has requests to several services
    #[arg(long, value_name = "URL", value_parser = normal_base_url)]
    pub base_url: Option<String>,

    /// Side to judge [default: the side that the proxy judged when it recorded the trace, otherwise the server]
    #[arg(long, value_parser = values::side(), env = "CONFORM_SIDE")]
    pub side: Option<Side>,

    /// The selection of requirements, and the reports.
    #[command(flatten)]
    pub traffic: TrafficArguments,
}

impl Arguments {
    /// Judges, prints the report and writes the report files, and returns the exit code.
    pub(super) fn run(&self, program: String) -> Result<ExitCode, ExitCode> {
        self.traffic.color.apply();
        let terms = self.traffic.terms(self.base_url.clone(), self.side, program).map_err(|error| usage(&error))?;
        let files = ReportFiles::check(&self.traffic.report, None).map_err(|error| could_not_run(&error))?;
        let report = recorded::judge(&self.files, &terms).map_err(|error| usage(&error))?;
        Ok(self.traffic.deliver(&report, &files))
    }
}
