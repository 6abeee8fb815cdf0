//! `init`: writes a commented configuration file.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use super::usage_error::{FileError, UsageError};

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
    /// Writes the file, and the schema if requested, and returns the message to print.
    pub(super) fn write(&self, schema: &serde_json::Value) -> Result<String, UsageError> {
        let path = if self.path.is_dir() { self.path.join("conform.toml") } else { self.path.clone() };
        let shown = path.display().to_string();
        let mut text = EXAMPLE.to_owned();
        if self.schema {
            // The comment is a convention of taplo, which other editors share.
            text.insert_str(0, &format!("#:schema ./{SCHEMA}\n\n"));
            let beside = path.with_file_name(SCHEMA);
            std::fs::write(&beside, format!("{schema:#}\n")).map_err(FileError::of("write", &beside))?;
        }
        let mut open = OpenOptions::new();
        open.write(true);
        // No check beforehand: another program may write the file in between.
        if self.force {
            open.create(true).truncate(true)
        } else {
            open.create_new(true)
        };
        open.open(&path).and_then(|mut file| file.write_all(text.as_bytes())).map_err(|source| {
            match source.kind() {
                ErrorKind::AlreadyExists => UsageError::Exists(shown.clone()),
                _ => FileError::of("write", &path)(source).into(),
            }
        })?;
        Ok(format!(
            "Wrote {shown}. Set the base URLs of your environments in it, then check it with --env staging --dry-run.\n"
        ))
    }
}
