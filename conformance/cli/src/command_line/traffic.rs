//! The options of the commands that judge traffic which they do not send: `judge` and `proxy`.

use std::path::PathBuf;

use super::delivery::deliver;
use super::report_files::ReportFiles;
use super::selection::{known_failing, scope_of};
use super::usage_error::UsageError;
use super::values::{self, Color, Printed, ReportFile};
use crate::exit_code::ExitCode;
use animal_store_conformance::recorded::Terms;
use animal_store_conformance::report::Report;
use animal_store_rules::catalogue::plan::Plan;
use animal_store_rules::catalogue::scope::{Scope, Side};

/// The selection of requirements, and the reports.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct TrafficArguments {
    /// Plan of the keys: free, pro, business, enterprise or enterprise=RPM,RPD
    #[arg(long, value_name = "PLAN")]
    pub plan: Option<Plan>,

    /// Judge only the requirements with this ID or ID prefix (repeatable)
    #[arg(long, value_name = "ID", value_parser = values::requirement, value_delimiter = ',')]
    pub only: Vec<String>,

    /// Skip the requirements with this ID or ID prefix (repeatable)
    #[arg(long, value_name = "ID", value_parser = values::requirement, value_delimiter = ',')]
    pub skip: Vec<String>,

    /// Count a broken inferred requirement as a violation [default: true if only clients are judged]
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOLEAN")]
    pub strict: Option<bool>,

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

impl TrafficArguments {
    /// The terms on which the traffic is judged. If no side is given, a recording may state it.
    pub(super) fn terms(
        &self,
        base_url: Option<String>,
        side: Option<Side>,
        program: String,
    ) -> Result<Terms, UsageError> {
        let selects = !self.only.is_empty() || !self.skip.is_empty();
        let scope = Scope {
            only: self.only.clone(),
            skip: self.skip.clone(),
            side: side.unwrap_or(Side::Both),
            ..Scope::default()
        };
        let known = self.known_failing.as_ref();
        Ok(Terms {
            base_url,
            plan: self.plan.clone(),
            side: side.or_else(|| (selects && !scope.selects_any_of(Side::Server)).then_some(Side::Client)),
            scope: selects.then(|| scope_of(scope)).transpose()?,
            strict: self.strict,
            known_failing: known.map(|path| known_failing(path).map(|list| (list, path.clone()))).transpose()?,
            program,
        })
    }

    /// Prints a report and writes the report files, and returns the exit code.
    pub(super) fn deliver(&self, report: &Report, files: &ReportFiles<'_>) -> ExitCode {
        deliver(report, self.format, (self.quiet, self.verbose), files)
    }
}
