//! `judge`: judges recorded traffic.

use std::path::PathBuf;

use super::output::{could_not_run, usage};
use super::report_files::ReportFiles;
use super::run::deliver;
use super::to_options::{known_failing, scope_has, scope_of};
use super::usage_error::UsageError;
use super::values::{self, Color, Printed, ReportFile};
use crate::exit_code::ExitCode;
use crate::recorded::{self, Terms};
use crate::report::text::Detail;
use animal_store_rules::catalogue::plan::Plan;
use animal_store_rules::catalogue::scope::{Profile, Scope, Side};

/// Judge recorded traffic, without sending a request
///
/// A trace of `conform --record FILE` gets the verdicts of its run. Of other traffic, such as an HTTP Archive (HAR 1.2) of a browser or
/// a proxy, only what the recording shows is judged: what it leaves out is not exercised.
///
/// Exit codes: 0 conforms · 1 violates · 2 a file cannot be read, nothing was judged · 3 a report could not be written ·
/// 4 incomplete: nothing failed, but a stated requirement was not exercised
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Arguments {
    /// Traces and HTTP Archives; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Base URL of the service, where an archive has requests to several
    #[arg(long, value_name = "URL", value_parser = values::base_url)]
    pub base_url: Option<String>,

    /// Plan of the keys: free, pro, business, enterprise or enterprise=RPM,RPD
    #[arg(long, value_name = "PLAN")]
    pub plan: Option<Plan>,

    /// Which side to judge [default: the server, or what the proxy judged that recorded the trace]
    #[arg(long, value_parser = values::side(), env = "CONFORM_SIDE")]
    pub side: Option<Side>,

    /// Judge only the requirements with this ID or ID prefix (repeatable)
    #[arg(long, value_name = "ID", value_parser = values::requirement, value_delimiter = ',')]
    pub only: Vec<String>,

    /// Skip the requirements with this ID or ID prefix (repeatable)
    #[arg(long, value_name = "ID", value_parser = values::requirement, value_delimiter = ',')]
    pub skip: Vec<String>,

    /// Count a broken inferred requirement as a violation
    #[arg(long)]
    pub strict: bool,

    /// TOML file that lists requirements known to fail
    #[arg(long, value_name = "FILE")]
    pub known_failing: Option<PathBuf>,

    #[arg(long, value_name = "FORMAT=PATH", help = values::report_help())]
    pub report: Vec<ReportFile>,

    /// Format of the report on standard output
    #[arg(long, value_parser = values::printed(), default_value = "text")]
    pub format: Printed,

    /// Print only the verdict and the violations
    #[arg(short, long)]
    pub quiet: bool,

    /// Print every requirement, and the exchanges of each failure
    #[arg(short, long, conflicts_with = "quiet")]
    pub verbose: bool,

    /// When to use colours
    #[arg(long, value_enum, default_value_t)]
    pub color: Color,
}

impl Arguments {
    /// Judges, prints the report and writes the report files; the exit code.
    pub(super) fn run(&self, program: String) -> ExitCode {
        self.color.apply();
        let terms = match self.terms(program) {
            Ok(terms) => terms,
            Err(error) => return usage(&error),
        };
        let files = match ReportFiles::check(&self.report) {
            Ok(files) => files,
            Err(error) => return could_not_run(&error),
        };
        let detail = match (self.quiet, self.verbose) {
            (true, _) => Detail::Quiet,
            (_, true) => Detail::Verbose,
            _ => Detail::Normal,
        };
        match recorded::judge(&self.files, &terms) {
            Ok(report) => deliver(&report, self.format, detail, &files),
            Err(error) => usage(&error),
        }
    }

    fn terms(&self, program: String) -> Result<Terms, UsageError> {
        let selects = !self.only.is_empty() || !self.skip.is_empty();
        // Of which side the recorded traffic is judged shows in the traffic, if it is not said here.
        let side = self.side.unwrap_or(Side::Both);
        let scope = Scope { profile: Profile::Full, only: self.only.clone(), skip: self.skip.clone(), side };
        let known = self.known_failing.as_ref();
        Ok(Terms {
            base_url: self.base_url.clone(),
            plan: self.plan.clone(),
            scope: selects.then(|| scope_of(scope.clone())).transpose()?,
            side: self.side.or_else(|| (selects && !scope_has(&scope, Side::Server)).then_some(Side::Client)),
            strict: self.strict.then_some(true),
            known_failing: known.map(|path| known_failing(path).map(|list| (list, path.clone()))).transpose()?,
            program,
        })
    }
}
