//! `completions`: prints shell completions.

use clap_complete::Shell;

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
    /// The text to print, for this command line.
    pub(super) fn output(&self, mut definition: clap::Command) -> String {
        let mut text = Vec::new();
        let name = definition.get_name().to_owned();
        clap_complete::generate(self.shell, &mut definition, name, &mut text);
        String::from_utf8_lossy(&text).into_owned()
    }
}
