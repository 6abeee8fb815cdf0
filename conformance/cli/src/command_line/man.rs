//! `man`: the man pages.

use std::path::PathBuf;

use super::output::{could_not_run, print};
use crate::exit_code::ExitCode;
use animal_store_conformance::redaction::Printable;

/// Print the man page, or write a page for each command
///
/// To read it: `conform man | man -l -`
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Arguments {
    /// Directory to write the page of each command to, such as ~/.local/share/man/man1; it is created if necessary
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

impl Arguments {
    /// Prints the page of this command line, or writes all, and returns the exit code.
    pub(super) fn run(&self, definition: clap::Command) -> Result<ExitCode, ExitCode> {
        let Some(folder) = &self.out else {
            let mut page = Vec::new();
            clap_mangen::Man::new(definition).render(&mut page).map_err(|error| could_not_run(&error))?;
            return Ok(print(Printable::document(&String::from_utf8_lossy(&page)), ExitCode::Success));
        };
        let written = std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(definition, folder));
        written.map_err(|error| could_not_run(&format!("cannot write man pages to {}: {error}", folder.display())))?;
        Ok(ExitCode::Success)
    }
}
