//! `init`: a configuration file to start from.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

/// What is written: every option, with what it is for.
pub(super) const EXAMPLE: &str = include_str!("../../../fixtures/conform.example.toml");

/// Write a configuration file to start from
///
/// It names two environments, and every option with what it is for.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Arguments {
    /// The file, or the folder to write it in
    #[arg(default_value = "conform.toml")]
    pub path: PathBuf,

    /// Write it also where there is one already
    #[arg(long)]
    pub force: bool,
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotWritten {
    /// Somebody's file is there.
    #[error("{0} is there already: name another file, or write over it with --force")]
    Exists(String),
    /// It cannot be written.
    #[error("{path} cannot be written: {source}")]
    Io {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
}

impl Arguments {
    /// Writes the file; what to say about it.
    pub(super) fn write(&self) -> Result<String, NotWritten> {
        let path = if self.path.is_dir() { self.path.join("conform.toml") } else { self.path.clone() };
        let shown = path.display().to_string();
        let mut open = OpenOptions::new();
        open.write(true);
        // Not asked for beforehand: another program may write it in between.
        if self.force {
            open.create(true).truncate(true)
        } else {
            open.create_new(true)
        };
        open.open(&path).and_then(|mut file| file.write_all(EXAMPLE.as_bytes())).map_err(|source| {
            match source.kind() {
                ErrorKind::AlreadyExists => NotWritten::Exists(shown.clone()),
                _ => NotWritten::Io { path: shown.clone(), source },
            }
        })?;
        Ok(format!(
            "Wrote {shown}. Put your addresses in it, and look at what holds with --env staging --show-config; nothing is sent.\n"
        ))
    }
}
