//! `cargo xtask completions` and `cargo xtask man`: the shell completions and the man pages of `conform`, `reference` and `animal-lab`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, ValueEnum};
use clap_complete::Shell;

use crate::products::{PRODUCTS, Product};

/// The arguments of `cargo xtask completions`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cargo xtask completions --out target/completions
  cargo xtask completions --shell bash --out ~/.local/share/bash-completion/completions
  cargo xtask completions --shell fish --out ~/.config/fish/completions")]
pub(crate) struct CompletionsOptions {
    /// Only for this shell (repeatable) [default: all of them]
    #[arg(long, value_enum)]
    shell: Vec<Shell>,

    /// The folder to write to; created if missing
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// The arguments of `cargo xtask man`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cargo xtask man --out target/man && man target/man/conform.1
  cargo xtask man --out ~/.local/share/man/man1")]
pub(crate) struct ManOptions {
    /// The folder to write to; created if missing
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Writes the completions and names their files.
pub(crate) fn run_completions(options: &CompletionsOptions) -> anyhow::Result<ExitCode> {
    let shells = if options.shell.is_empty() { Shell::value_variants() } else { &options.shell };
    for product in PRODUCTS {
        for file in completions(product, shells, &options.out)? {
            println!("{}", file.display());
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the man pages and names the first of each program.
pub(crate) fn run_man(options: &ManOptions) -> anyhow::Result<ExitCode> {
    for product in PRODUCTS {
        man(product, &options.out)?;
        println!("{}", options.out.join(format!("{}.1", product.program)).display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the completions of a program for each of the shells into a folder. Returns the paths of the files.
pub(crate) fn completions(product: Product, shells: &[Shell], folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let write = |shell: &Shell| clap_complete::generate_to(*shell, &mut (product.command)(), product.program, folder);
    let files = std::fs::create_dir_all(folder).and_then(|()| shells.iter().map(write).collect());
    files.with_context(|| format!("{} cannot be written to", folder.display()))
}

/// Writes a page for a program and each of its commands into a folder.
pub(crate) fn man(product: Product, folder: &Path) -> anyhow::Result<()> {
    let written = std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to((product.command)(), folder));
    written.with_context(|| format!("{} cannot be written to", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shell_gets_a_file_for_each_program() {
        let folder = tempfile::tempdir().expect("a folder");
        for product in PRODUCTS {
            let files = completions(product, Shell::value_variants(), &folder.path().join("made/on/the/way"));
            let files = files.expect("files");
            assert_eq!(files.len(), Shell::value_variants().len());
            assert!(files.iter().all(|file| file.is_file()), "{files:?}");
        }
    }

    #[test]
    fn bash_can_read_what_is_written_for_it() {
        let folder = tempfile::tempdir().expect("a folder");
        for file in PRODUCTS.map(|product| completions(product, &[Shell::Bash], folder.path()).expect("files")).concat()
        {
            let Ok(output) = std::process::Command::new("bash").arg("-n").arg(&file).output() else {
                eprintln!("skipped: there is no bash");
                return;
            };
            assert!(output.status.success(), "{}: {}", file.display(), String::from_utf8_lossy(&output.stderr));
        }
    }

    #[test]
    fn every_command_has_a_page_of_its_own() {
        let folder = tempfile::tempdir().expect("a folder");
        for product in PRODUCTS {
            man(product, folder.path()).expect("pages");
        }
        for page in ["conform.1", "conform-init.1", "reference.1", "reference-keys-issue.1", "animal-lab.1"] {
            assert!(folder.path().join(page).is_file(), "{page}");
        }
    }
}
