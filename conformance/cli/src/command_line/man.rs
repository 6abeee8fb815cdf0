//! `man`: the man pages.

use std::io;
use std::path::{Path, PathBuf};

use clap::Command;

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
    pub(super) fn run(&self, definition: Command) -> ExitCode {
        match &self.out {
            None => match page(definition) {
                Ok(page) => print(Printable::document(&page), ExitCode::Success),
                Err(error) => could_not_run(&error),
            },
            Some(folder) => match write(definition, folder) {
                Ok(()) => ExitCode::Success,
                Err(error) => could_not_run(&format!("cannot write man pages to {}: {error}", folder.display())),
            },
        }
    }
}

/// The page of the program, in roff.
fn page(definition: Command) -> io::Result<String> {
    let mut page = Vec::new();
    clap_mangen::Man::new(definition).render(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

/// Writes a page for the program and for each command.
fn write(definition: Command, folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(definition, folder)
}
