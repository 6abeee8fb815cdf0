//! `completions`: prints what a shell completes the options by.

use clap_complete::Shell;

use super::arguments::command;

/// Print the completions for a shell
///
/// For bash: `conform completions bash > ~/.local/share/bash-completion/completions/conform`
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Arguments {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

impl Arguments {
    /// The text to print.
    pub(super) fn output(&self) -> String {
        let (mut definition, mut text) = (command(), Vec::new());
        let name = definition.get_name().to_owned();
        clap_complete::generate(self.shell, &mut definition, name, &mut text);
        String::from_utf8_lossy(&text).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn every_shell_learns_the_options_and_the_commands() {
        for shell in Shell::value_variants() {
            let text = Arguments { shell: *shell }.output();
            for word in ["known-failing", "rules", "completions"] {
                assert!(text.contains(word), "{shell} does not learn {word}");
            }
        }
    }
}
