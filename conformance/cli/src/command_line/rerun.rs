//! `--rerun REPORT`: judges the requirements again that an earlier report calls broken, with the same selection and seed.
//!
//! A report is data of others. The configuration takes no option from it that names a file, a command, a header or a key.

use std::collections::BTreeSet;
use std::path::Path;

use super::usage_error::UsageError;
use animal_store_conformance::Earlier;
use animal_store_conformance::http::errors::of_file;
use animal_store_conformance::report::{GivenOption, Report, RequirementReport};
use animal_store_rules::catalogue::catalogue;

/// The values that are taken from an earlier report.
#[derive(Clone, Debug)]
pub(super) struct Rerun {
    /// The requirements that the report calls broken, with the probes that showed it.
    pub earlier: Earlier,
    /// The container image that was judged, if one was. A run starts none because a report names it.
    pub image: Option<String>,
    /// The options of the report and their values.
    options: Vec<(String, String)>,
}

impl Rerun {
    /// Reads a JSON report.
    pub(super) fn read(path: &Path) -> Result<Rerun, UsageError> {
        let unusable = |problem: String| UsageError::Rerun { path: path.display().to_string(), problem };
        let text = std::fs::read_to_string(path).map_err(|error| unusable(of_file(&error)))?;
        let report: Report =
            serde_json::from_str(&text).map_err(|error| unusable(format!("not a JSON report: {error}")))?;
        let broken: Vec<&RequirementReport> =
            report.requirements.iter().filter(|requirement| requirement.is_broken()).collect();
        if broken.is_empty() {
            return Err(unusable(
                "the report contains no broken requirement: judge everything, without --rerun".to_owned(),
            ));
        }
        if let Some(unknown) = broken.iter().find(|requirement| !catalogue().knows(&requirement.id)) {
            return Err(unusable(format!("no requirement is called {}", unknown.id)));
        }
        let shown_in = broken.iter().flat_map(|requirement| &requirement.shown_in);
        let probes: BTreeSet<&str> = shown_in.map(String::as_str).collect();
        // Recorded traffic has no probes, and a report on much of it does not name the probes of every failure.
        let is_complete = broken.iter().all(|requirement| !requirement.shown_in.is_empty()) && !probes.contains("");
        let probes = if is_complete { probes.into_iter().map(str::to_owned).collect() } else { Vec::new() };
        let mut earlier = Earlier::default();
        earlier.report = path.display().to_string();
        earlier.broken = broken.iter().map(|requirement| requirement.id.clone()).collect();
        earlier.probes = probes;
        let value = |given: GivenOption| (given.name, given.value.unwrap_or_else(|| "true".to_owned()));
        let mut options: Vec<(String, String)> = report.options.into_iter().map(value).collect();
        options.extend(report.target.environment.map(|name| ("--env".to_owned(), name)));
        Ok(Rerun { earlier, image: report.target.image, options })
    }

    /// The values of an option, such as `--base-url`.
    pub(super) fn values(&self, option: &str) -> Vec<String> {
        self.options.iter().filter(|(name, _)| name == option).map(|(_, value)| value.clone()).collect()
    }
}
