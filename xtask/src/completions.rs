//! `cargo xtask completions`: shell completions for `conform`, `reference` and `animal-lab`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Command, ValueEnum};
use clap_complete::Shell;

use crate::programs::programs;

/// The arguments of `cargo xtask completions`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cargo xtask completions --out target/completions
  cargo xtask completions --shell bash --out ~/.local/share/bash-completion/completions
  cargo xtask completions --shell fish --out ~/.config/fish/completions")]
pub(crate) struct Options {
    /// Only for this shell (repeatable) [default: all of them]
    #[arg(long, value_enum)]
    shell: Vec<Shell>,

    /// The folder to write to; created if missing
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Writes the files and names them.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let shells = if options.shell.is_empty() { Shell::value_variants() } else { &options.shell };
    for file in write(&options.out, shells, programs())? {
        println!("{}", file.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes a file for each program and shell into a folder. Returns the paths of the files.
pub(crate) fn write(
    folder: &Path,
    shells: &[Shell],
    programs: impl IntoIterator<Item = Command>,
) -> anyhow::Result<Vec<PathBuf>> {
    std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let mut files = Vec::new();
    for mut program in programs {
        let name = program.get_name().to_owned();
        for shell in shells {
            let file = clap_complete::generate_to(*shell, &mut program, &name, folder);
            files.push(file.with_context(|| format!("{} cannot be written to", folder.display()))?);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shell_gets_a_file_for_each_program_that_knows_its_options() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = write(&folder.path().join("made/on/the/way"), Shell::value_variants(), programs()).expect("files");
        assert_eq!(files.len(), 3 * Shell::value_variants().len());
        for file in files {
            let text = std::fs::read_to_string(&file).expect("a file");
            let name = file.file_name().expect("a name").to_string_lossy();
            // Fish writes its options without the dashes.
            let known = if name.contains("conform") {
                ["show-config", "known-failing", "rules"]
            } else if name.contains("reference") {
                ["ban-after", "keys", "revoke"]
            } else {
                ["lawful", "fault", "challenge"]
            };
            for word in known {
                assert!(text.contains(word), "{name} does not know {word}");
            }
        }
    }

    #[test]
    fn bash_can_read_what_is_written_for_it() {
        let folder = tempfile::tempdir().expect("a folder");
        for file in write(folder.path(), &[Shell::Bash], programs()).expect("files") {
            let Ok(output) = std::process::Command::new("bash").arg("-n").arg(&file).output() else {
                eprintln!("skipped: there is no bash");
                return;
            };
            assert!(output.status.success(), "{}: {}", file.display(), String::from_utf8_lossy(&output.stderr));
        }
    }
}
