//! `rules`: lists and explains the requirements.

use super::output::{print, usage};
use super::usage_error::UsageError;
use super::values::OutputFormat;
use crate::exit_code::ExitCode;
use crate::explain;
use crate::formats::json;
use animal_store_conformance::redaction::Printable;
use animal_store_rules::catalogue::{Requirement, catalogue};

/// List the requirements, or explain one
///
/// An explanation gives the requirement, its source, examples of violations, and an example exchange that can be tried
/// against the server that `cargo xtask serve` starts.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Arguments {
    /// ID of the requirement to explain, or ID prefix of those to list
    pub id: Option<String>,

    /// Output format
    #[arg(long, value_enum)]
    pub format: Option<OutputFormat>,
}

impl Arguments {
    /// Prints the list or the explanation, and returns the exit code.
    pub(super) fn run(&self) -> Result<ExitCode, ExitCode> {
        let pattern = self.id.as_deref().unwrap_or_default();
        let is_json = self.format == Some(OutputFormat::Json);
        let text = if let Some(requirement) = catalogue().get(pattern) {
            let explanation = explain::explain(requirement);
            if is_json { Printable::json(&json::render(&explanation)) } else { explain::text(&explanation) }
        } else {
            let all = catalogue().requirements.iter();
            let matching: Vec<&Requirement> = all.filter(|requirement| requirement.id.starts_with(pattern)).collect();
            if matching.is_empty() {
                return Err(usage(&UsageError::NoRequirement(pattern.to_owned())));
            }
            if is_json { Printable::json(&json::render(&matching)) } else { explain::list(&matching) }
        };
        Ok(print(text, ExitCode::Success))
    }
}
