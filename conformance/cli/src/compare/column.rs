//! The implementations in a comparison, with their titles and their latest reports.

use jiff::Timestamp;
use serde::Serialize;

use super::Input;
use animal_store_conformance::report::{CatalogueVersion, Implementation, Outcome, Report};
use animal_store_rules::catalogue::Level;
use animal_store_rules::catalogue::scope::Profile;
use animal_store_rules::verdict::Verdict;

/// An implementation, by its latest report.
#[derive(Clone, Debug, Serialize)]
pub struct Column {
    /// The title: the name and the version, else the image, else the base URL.
    pub title: String,
    /// The implementation, as far as it is known.
    pub implementation: Implementation,
    /// The base URL that was judged.
    pub base_url: String,
    /// The image that was started for the run, if one was.
    pub image: Option<String>,
    /// The verdict.
    pub verdict: Verdict,
    /// The part of the requirements that was selected, unless all were.
    pub part: Option<String>,
    /// The profile.
    pub profile: Profile,
    /// Whether a broken inferred requirement is a violation.
    pub strict: bool,
    /// The number of selected stated requirements that held.
    pub held: usize,
    /// The number of stated requirements that were selected.
    pub stated: usize,
    /// The time at which the run began, RFC 3339 in UTC.
    pub started_at: Option<Timestamp>,
    /// The version of the judge.
    pub judge: String,
    /// The catalogue that the implementation was judged by, as an index into the catalogues of the comparison.
    pub catalogue: usize,
    /// The command that repeats the run.
    pub rerun_command: String,
    /// The file of the report.
    pub file: String,
}

/// The identity of an implementation: its name (else the image, else the base URL), its version and its address.
pub(super) fn key(report: &Report) -> (String, Option<String>, Option<String>) {
    let (target, implementation) = (&report.target, &report.target.implementation);
    let base_url = target.base_url.clone();
    let version = implementation.version.clone();
    let Some(name) = implementation.name.clone().or_else(|| target.image.clone()) else {
        return (base_url, version, None);
    };
    // The port of a container, and of a server that was started for the run, means nothing.
    let is_loopback = ["://127.", "://localhost", "://[::1]"].iter().any(|host| base_url.contains(host));
    (name, version, (target.image.is_none() && !is_loopback).then_some(base_url))
}

pub(super) fn columns(latest: &[&Input], catalogues: &[CatalogueVersion]) -> Vec<Column> {
    let title = |input: &&Input| {
        let target = &input.report.target;
        let title = target.implementation.title().or_else(|| target.image.clone());
        title.unwrap_or_else(|| target.base_url.clone())
    };
    let titles: Vec<String> = latest.iter().map(title).collect();
    let columns = latest.iter().zip(&titles).map(|(input, title)| {
        let report = &input.report;
        let is_ambiguous = titles.iter().filter(|other| *other == title).count() > 1;
        let at = if is_ambiguous { format!(" at {}", report.target.base_url) } else { String::new() };
        let stated = report.tally(Level::Stated);
        Column {
            title: format!("{title}{at}"),
            implementation: report.target.implementation.clone(),
            base_url: report.target.base_url.clone(),
            image: report.target.image.clone(),
            verdict: report.verdict,
            part: report.part(),
            profile: report.profile,
            strict: report.strict,
            held: stated.count(&[Outcome::Held]),
            stated: stated.selected(),
            started_at: report.started_at,
            judge: report.tool.version.clone(),
            catalogue: catalogues.iter().position(|catalogue| *catalogue == report.catalogue).unwrap_or_default(),
            rerun_command: report.rerun_command.clone(),
            file: input.file.clone(),
        }
    });
    columns.collect()
}
