//! `rules`: lists and explains the requirements.

use crate::command_line::usage_error::UsageError;
use crate::command_line::values::OutputFormat;
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
    /// The text to print.
    pub(super) fn output(&self) -> Result<Printable, UsageError> {
        let format = self.format.unwrap_or_default();
        let pattern = self.id.as_deref().unwrap_or_default();
        if let Some(requirement) = catalogue().get(pattern) {
            let explanation = explain::explain(requirement);
            return Ok(match format {
                OutputFormat::Text => explain::text(&explanation),
                OutputFormat::Json => Printable::json(&json::render(&explanation)),
            });
        }
        let matching: Vec<&Requirement> =
            catalogue().requirements.iter().filter(|requirement| requirement.id.starts_with(pattern)).collect();
        if matching.is_empty() {
            return Err(UsageError::NoRequirement(pattern.to_owned()));
        }
        Ok(match format {
            OutputFormat::Text => explain::list(&matching),
            OutputFormat::Json => Printable::json(&json::render(&matching)),
        })
    }
}
