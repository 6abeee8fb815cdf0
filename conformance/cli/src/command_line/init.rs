//! `init`: writes a commented configuration file.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use super::output::{could_not_run, print, usage};
use super::usage_error::UsageError;
use crate::exit_code::ExitCode;

/// The content of the file: every option, with an explanation.
pub(super) const EXAMPLE: &str = include_str!(env!("CONFIGURATION"));

/// Write a commented configuration file
///
/// It contains two example environments and every option with an explanation.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Arguments {
    /// The file to write, or the directory to write conform.toml in
    #[arg(default_value = "conform.toml")]
    pub path: PathBuf,

    /// Overwrite an existing file
    #[arg(long)]
    pub force: bool,

    /// Write conform.schema.json beside it, by which editors complete and check the file
    #[arg(long)]
    pub schema: bool,
}

/// The name of the schema.
const SCHEMA: &str = "conform.schema.json";

impl Arguments {
    /// Writes the file, and the schema if requested, and returns the exit code.
    pub(super) fn run(&self, schema: &serde_json::Value) -> Result<ExitCode, ExitCode> {
        let path = if self.path.is_dir() { self.path.join("conform.toml") } else { self.path.clone() };
        let shown = path.display().to_string();
        let mut text = EXAMPLE.to_owned();
        if self.schema {
            // The comment is a convention of taplo, which other editors share.
            text.insert_str(0, &format!("#:schema ./{SCHEMA}\n\n"));
            let beside = path.with_file_name(SCHEMA);
            let written = std::fs::write(&beside, format!("{schema:#}\n"));
            written.map_err(|source| could_not_run(&UsageError::of_file("write", &beside)(source)))?;
        }
        let mut open = OpenOptions::new();
        open.write(true);
        // No check beforehand: another program may write the file in between.
        if self.force {
            open.create(true).truncate(true)
        } else {
            open.create_new(true)
        };
        let written = open.open(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|source| match source.kind() {
            ErrorKind::AlreadyExists => usage(&UsageError::Exists(shown.clone())),
            _ => could_not_run(&UsageError::of_file("write", &path)(source)),
        })?;
        let hint = "Set the base URLs of your environments in it, then check it with --env staging --dry-run.";
        Ok(print(format!("Wrote {shown}. {hint}\n"), ExitCode::Success))
    }
}
