//! Debian packages of the static programs, made by cargo-deb. What goes where is in `[package.metadata.deb]` of each product.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::archive;
use crate::metadata::Metadata;
use crate::products::{DIST, Product, Programs};

/// The version of cargo-deb that is installed where there is none of its series.
const VERSION: &str = "3.8.0";
const SERIES: &str = "3.";

/// Makes the package of a product whose folder is filled, and puts it into `out`.
pub(crate) fn make(
    product: Product,
    programs: &Programs,
    metadata: &Metadata,
    folder: &Path,
    out: &Path,
    time: u64,
) -> anyhow::Result<()> {
    stage(folder, &programs.dir.join("deb").join(product.program))?;
    let mut command = Command::new(program(metadata)?);
    command.arg("deb").args(["--no-build", "--no-strip", "--locked", "--quiet"]);
    command.args(["--package", product.package, "--profile", DIST, "--target", &programs.target]);
    command.arg("--output").arg(out).current_dir(&metadata.workspace_root);
    // The times of the files in the package.
    command.env("SOURCE_DATE_EPOCH", time.to_string());
    Ok(xtask::run(&mut command)?)
}

/// Copies the folder beside the built program, where cargo-deb looks for assets. Man pages are compressed, as Debian's policy asks for:
/// cargo-deb does not compress files there, because it takes them for build results.
fn stage(folder: &Path, to: &Path) -> anyhow::Result<()> {
    if to.exists() {
        std::fs::remove_dir_all(to).with_context(|| format!("cannot empty {}", to.display()))?;
    }
    for name in archive::files(folder)? {
        let path = to.join(&name);
        std::fs::create_dir_all(path.parent().unwrap_or(to))?;
        if name.starts_with("man") {
            // The header of the result names no time and no file.
            let mut gzip = GzEncoder::new(File::create(path.with_added_extension("gz"))?, Compression::best());
            gzip.write_all(&std::fs::read(folder.join(&name))?)?;
            gzip.finish()?;
        } else {
            std::fs::copy(folder.join(&name), &path).with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    Ok(())
}

/// cargo-deb, from the path, or installed into the target folder: without optimisation, that takes a minute.
fn program(metadata: &Metadata) -> anyhow::Result<PathBuf> {
    let tools = metadata.target_directory.join("tools");
    let installed = tools.join("bin/cargo-deb");
    for program in [Path::new("cargo-deb"), &installed] {
        let version = xtask::output(Command::new(program).arg("--version")).unwrap_or_default();
        if version.split_whitespace().last().is_some_and(|version| version.starts_with(SERIES)) {
            return Ok(program.to_owned());
        }
    }
    let mut command = xtask::cargo();
    command.args(["install", "cargo-deb", "--version", VERSION, "--locked", "--debug", "--no-default-features"]);
    command.arg("--quiet").arg("--root").arg(&tools).arg("--target-dir").arg(tools.join("build"));
    xtask::run(&mut command).context("cargo-deb could not be installed; without Debian packages: --no-deb")?;
    Ok(installed)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn man_pages_are_staged_compressed_and_the_rest_as_it_is() {
        let dir = tempfile::tempdir().expect("a folder");
        let (folder, to) = (dir.path().join("thing"), dir.path().join("deb"));
        std::fs::create_dir_all(folder.join("man")).expect("a folder");
        for name in ["thing", "man/thing.1"] {
            std::fs::write(folder.join(name), name).expect("written");
        }
        stage(&folder, &to).expect("staged");
        assert_eq!(archive::files(&to).expect("files"), ["man/thing.1.gz", "thing"].map(PathBuf::from));
        assert_eq!(std::fs::read_to_string(to.join("thing")).expect("a file"), "thing");
        let mut page = String::new();
        let compressed = std::fs::read(to.join("man/thing.1.gz")).expect("a file");
        GzDecoder::new(compressed.as_slice()).read_to_string(&mut page).expect("gzip");
        assert_eq!(page, "man/thing.1");
        assert_eq!(compressed[3..8], [0; 5], "neither a name nor a time");
    }
}
