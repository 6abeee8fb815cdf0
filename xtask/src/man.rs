//! `cargo xtask man`: the man pages of `conform`, `reference` and `animal-lab`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Command};

use crate::programs::programs;

/// The arguments of `cargo xtask man`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cargo xtask man --out target/man && man target/man/conform.1
  cargo xtask man --out ~/.local/share/man/man1")]
pub(crate) struct Options {
    /// The folder to write to; created if missing
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Writes the pages and names the first of each program.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    write(&options.out, programs())?;
    for program in programs() {
        println!("{}", options.out.join(format!("{}.1", program.get_name())).display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes a page for each program and each of its commands into a folder.
pub(crate) fn write(folder: &Path, programs: impl IntoIterator<Item = Command>) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    for program in programs {
        clap_mangen::generate_to(program, folder)
            .with_context(|| format!("{} cannot be written to", folder.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_of_its_own() {
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path(), programs()).expect("pages");
        for (page, words) in [
            ("conform.1", ["SYNOPSIS", "base\\-url", "CONFORM_API_KEY"]),
            ("conform-init.1", ["SYNOPSIS", "force", "conform.toml"]),
            ("conform-rules.1", ["SYNOPSIS", "format", "requirement"]),
            ("reference.1", ["SYNOPSIS", "serve", "keys"]),
            ("reference-serve.1", ["SYNOPSIS", "ban\\-after", "ANIMAL_STORE_DB"]),
            ("reference-keys-issue.1", ["SYNOPSIS", "plan", "name"]),
        ] {
            let text = std::fs::read_to_string(folder.path().join(page)).expect(page);
            for word in words {
                assert!(text.contains(word), "{page} does not know {word}");
            }
        }
    }
}
