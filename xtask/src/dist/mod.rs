//! `cargo xtask dist`: the release files, for users without a toolchain.
//!
//! For each product a folder and an archive of it: the program, its licence and the licences of the linked packages; a Debian package;
//! and the files of a container image, by platform. The same commit and toolchain give the same bytes, wherever and whenever it
//! runs. Nothing has the same name for another architecture, so that the results of several machines go into one folder.

mod archive;
mod deb;
mod images;
mod licences;
mod trial;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::{Args, ValueEnum};
use clap_complete::Shell;

use crate::metadata::Metadata;
use crate::products::{DIST, PRODUCTS, Product, Programs};
use crate::{cargo, completions, man, programs};

/// How many times a program is started to measure how long that takes.
const STARTS: usize = 21;

/// The arguments of `cargo xtask dist`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The folder to fill; its content is replaced [default: target/products]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Make no Debian packages, which need cargo-deb: where it is missing, it is installed into the target folder
    #[arg(long)]
    no_deb: bool,
}

/// Builds, collects, packs, tries the programs, computes checksums, and reports sizes and start-up times.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let programs = Programs::build(DIST)?;
    let metadata = Metadata::read(&programs.target)?;
    // Not `dist`: cargo keeps that for the profile of this name.
    let out = options.out.clone().unwrap_or_else(|| metadata.target_directory.join("products"));
    empty(&out)?;
    let time = source_time()?;
    for product in PRODUCTS {
        let folder = collect(product, &programs, &metadata, &out)?;
        let mut archive = folder.clone().into_os_string();
        archive.push(".tar.gz");
        archive::pack(&folder, Path::new(&archive), time)?;
        if !options.no_deb {
            deb::make(product, &programs, &metadata, &folder, &out, time)?;
        }
        images::collect(product, &programs, &out)?;
        describe(product, &folder.join(product.program), Path::new(&archive))?;
    }
    trial::run(&programs)?;
    std::fs::write(out.join("SHA256SUMS"), archive::sums(&out)?)?;
    println!("{}", out.display());
    Ok(ExitCode::SUCCESS)
}

/// Makes an empty folder of `out`. One that holds something else than an earlier run left is not touched.
fn empty(out: &Path) -> anyhow::Result<()> {
    let occupied = out.read_dir().is_ok_and(|mut entries| entries.next().is_some());
    if occupied {
        anyhow::ensure!(
            out.join("SHA256SUMS").is_file(),
            "{} holds other things; name an empty folder, or one that this command filled, with --out DIR",
            out.display()
        );
        std::fs::remove_dir_all(out).with_context(|| format!("cannot empty {}", out.display()))?;
    }
    std::fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))
}

/// Fills the folder of a product.
fn collect(product: Product, programs: &Programs, metadata: &Metadata, out: &Path) -> anyhow::Result<PathBuf> {
    let package = metadata.member(product.package)?;
    let folder = out.join(format!("{}-{}-{}", product.program, package.version, programs.target));
    std::fs::create_dir(&folder)?;
    std::fs::copy(programs.path(product), folder.join(product.program))?;
    std::fs::copy(metadata.workspace_root.join("LICENSE"), folder.join("LICENSE"))?;
    std::fs::write(folder.join("THIRD-PARTY.txt"), licences::text(metadata, package)?)?;
    let definition = || programs::programs().into_iter().filter(|program| program.get_name() == product.program);
    completions::write(&folder.join("completions"), Shell::value_variants(), definition())?;
    man::write(&folder.join("man"), definition())?;
    Ok(folder)
}

/// The time that everything packed bears, in seconds since 1970: `SOURCE_DATE_EPOCH`, or that of the commit.
fn source_time() -> anyhow::Result<u64> {
    let text = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => {
            let mut git = Command::new("git");
            git.args(["log", "-1", "--format=%ct"]).current_dir(cargo::workspace_root());
            // An unpacked source archive has no commits; then everything is as old as it can be.
            git.output().ok().and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default()
        }
    };
    let text = text.trim();
    if text.is_empty() { Ok(0) } else { text.parse().context("SOURCE_DATE_EPOCH is not a number of seconds") }
}

fn describe(product: Product, program: &Path, archive: &Path) -> anyhow::Result<()> {
    let mebibytes = |path: &Path| -> anyhow::Result<f64> {
        // No file here comes near 2^52 bytes.
        #[expect(clippy::cast_precision_loss, reason = "a size in megabytes, for people")]
        Ok(path.metadata()?.len() as f64 / f64::from(1 << 20))
    };
    println!(
        "{:<10}  {:.1} MiB, {:.1} MiB packed, starts in {:.1} ms",
        product.program,
        mebibytes(program)?,
        mebibytes(archive)?,
        start_up(program)?.as_secs_f64() * 1e3
    );
    Ok(())
}

/// How long a program takes to start and to report its version: the median.
fn start_up(program: &Path) -> anyhow::Result<Duration> {
    let mut times = Vec::with_capacity(STARTS);
    for _ in 0..STARTS {
        let start = Instant::now();
        let output = Command::new(program).arg("--version").output()?;
        anyhow::ensure!(output.status.success(), "{} --version: {}", program.display(), output.status);
        times.push(start.elapsed());
    }
    times.sort();
    Ok(times[STARTS / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_other_things_is_left_alone() {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(dir.path().join("thesis.txt"), "years of work").expect("written");
        assert!(empty(dir.path()).is_err());
        assert!(dir.path().join("thesis.txt").exists());
        std::fs::write(dir.path().join("SHA256SUMS"), "").expect("written");
        empty(dir.path()).expect("it was filled by an earlier run");
        assert_eq!(dir.path().read_dir().expect("a folder").count(), 0);
    }
}
