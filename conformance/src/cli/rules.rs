//! `rules`: the catalogue on the command line.

use crate::cli::values::OutputFormat;
use crate::explain;
use animal_store_rules::catalogue::{Requirement, catalogue};

/// List the requirements, or explain one
///
/// An explanation says what the requirement is, where it comes from, what breaks it, and shows an example exchange that can
/// be tried against the server that `cargo xtask serve` starts.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Arguments {
    /// Explain this requirement, or list those that begin so
    pub id: Option<String>,

    /// What to print on standard output
    #[arg(long, value_enum)]
    pub format: Option<OutputFormat>,
}

/// No requirement is called so or begins so.
#[derive(Debug, thiserror::Error)]
#[error("no requirement is called {0} or begins so{hint}", hint = catalogue().did_you_mean(.0))]
pub(super) struct Unknown(String);

impl Arguments {
    /// What to print.
    pub(super) fn answer(&self) -> Result<String, Unknown> {
        let format = self.format.unwrap_or_default();
        let pattern = self.id.as_deref().unwrap_or_default();
        if let Some(requirement) = catalogue().get(pattern) {
            let explanation = explain::explain(requirement);
            return Ok(match format {
                OutputFormat::Text => explain::text(&explanation),
                OutputFormat::Json => explain::json(&explanation),
            });
        }
        let matching: Vec<&Requirement> =
            catalogue().requirements.iter().filter(|requirement| requirement.id.starts_with(pattern)).collect();
        if matching.is_empty() {
            return Err(Unknown(pattern.to_owned()));
        }
        Ok(match format {
            OutputFormat::Text => explain::list(&matching),
            OutputFormat::Json => explain::json(&matching),
        })
    }
}
