//! `completions`: prints shell completions.

use clap_complete::Shell;

use super::output::print;
use crate::exit_code::ExitCode;
use animal_store_conformance::redaction::Printable;

/// Print the completions for a shell
///
/// For bash: `mkdir -p ~/.local/share/bash-completion/completions` and then
/// `conform completions bash > ~/.local/share/bash-completion/completions/conform`
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Arguments {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

impl Arguments {
    /// Prints the completions of this command line, and returns the exit code.
    pub(super) fn run(&self, mut definition: clap::Command) -> ExitCode {
        let (mut text, name) = (Vec::new(), definition.get_name().to_owned());
        clap_complete::generate(self.shell, &mut definition, name, &mut text);
        print(Printable::document(&String::from_utf8_lossy(&text)), ExitCode::Success)
    }
}
