//! `cargo xtask dist`: the release files, for users without a toolchain.
//!
//! For each product a folder and an archive of it: the program, its licence and, with cargo-about, the licences of the linked packages; on
//! Linux, a Debian package, and the files of a container image, by platform. The same commit and tools give the same bytes, wherever and whenever it
//! runs. Nothing has the same name for another architecture, so that the results of several machines go into one folder.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context;
use clap::{Args, ValueEnum};
use clap_complete::Shell;

use crate::metadata::{Metadata, Package};
use crate::products::{DIST, JUDGE, PRODUCTS, Product, Programs, REFERENCE, is_linux};
use crate::{archive, deb, documents, image};

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
    let has_about = xtask::output(Command::new("cargo-about").arg("--version")).is_ok();
    if !has_about {
        eprintln!(
            "without {THIRD_PARTY}, the licences of the linked packages: `cargo install cargo-about --features cli --locked` installs what makes it"
        );
    }
    for product in PRODUCTS {
        let folder = collect(product, &programs, &metadata, &out)?;
        if has_about {
            let package = metadata.member(product.built.0)?;
            write_licences(package, &programs.target, &folder.join(THIRD_PARTY))?;
        }
        let mut archive = folder.clone().into_os_string();
        archive.push(".tar.gz");
        archive::pack(&folder, Path::new(&archive), time)?;
        if is_linux(&programs.target) {
            if !options.no_deb {
                deb::make(product, &programs, &metadata, &folder, &out, time)?;
            }
            image::collect(product, &programs, &out.join("images").join(product.program))?;
        }
        describe(product, &folder.join(product.program), Path::new(&archive))?;
    }
    try_out(&programs)?;
    std::fs::write(out.join("SHA256SUMS"), archive::sums(&out)?)?;
    println!("{}", out.display());
    Ok(ExitCode::SUCCESS)
}

/// Makes an empty folder of `out`. One that holds something else than an earlier run left is not touched.
fn empty(out: &Path) -> anyhow::Result<()> {
    if out.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
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
    documents::completions(product, Shell::value_variants(), &folder.join("completions"))?;
    documents::man(product, &folder.join("man"))?;
    Ok(folder)
}

/// The file with the licences of the packages that are linked into a program.
const THIRD_PARTY: &str = "THIRD-PARTY.txt";

/// Writes the licences of the packages that are linked into the program of a package.
fn write_licences(package: &Package, target: &str, file: &Path) -> anyhow::Result<()> {
    let mut command = xtask::cargo();
    command.args(["about", "generate", "--frozen", "--fail", "--target", target]);
    command.arg("--manifest-path").arg(package.folder().join("Cargo.toml")).arg("--output-file").arg(file);
    Ok(xtask::run(command.args(["--config", ".ci/about.toml", ".ci/about.hbs"]))?)
}

/// The time that everything packed bears, in seconds since 1970: `SOURCE_DATE_EPOCH`, or that of the commit.
fn source_time() -> anyhow::Result<u64> {
    let mut git = Command::new("git");
    git.args(["log", "-1", "--format=%ct"]).current_dir(xtask::workspace_root());
    let text = std::env::var("SOURCE_DATE_EPOCH").or_else(|_| xtask::output(&mut git));
    // An unpacked source archive has no commits; then everything is as old as it can be.
    let text = text.unwrap_or_else(|_| "0".to_owned());
    text.trim().parse().context("SOURCE_DATE_EPOCH is not a number of seconds")
}

fn describe(product: Product, program: &Path, archive: &Path) -> anyhow::Result<()> {
    let mebibytes = |path: &Path| path.metadata().map(|file| file.len() as f64 / f64::from(1 << 20));
    let starts = (0..STARTS).map(|_| xtask::seconds(Command::new(program).arg("--version")));
    let mut starts: Vec<f64> = starts.collect::<Result<_, _>>()?;
    starts.sort_by(f64::total_cmp);
    println!(
        "{:<10}  {:.1} MiB, {:.1} MiB packed, starts in {:.1} ms",
        product.program,
        mebibytes(program)?,
        mebibytes(archive)?,
        starts[STARTS / 2] * 1e3
    );
    Ok(())
}

/// Lets the static judge judge the static reference server with the functional profile; an error unless it conforms.
fn try_out(programs: &Programs) -> anyhow::Result<()> {
    const KEY: &str = "trial-of-static-programs";
    let address = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let address = address.context("no loopback port is free")?;
    let mut serve = Command::new(programs.path(REFERENCE));
    serve.args(["serve", "--db", ":memory:", "--key", &format!("pro={KEY}"), "--listen", &address.to_string()]);
    let mut server = serve.stdout(Stdio::null()).spawn().context("the static server does not start")?;
    let mut judge = Command::new(programs.path(JUDGE));
    judge.args(["--no-config", "--profile", "functional", "--base-url", &format!("http://{address}/v1")]);
    let report = xtask::output(judge.env("CONFORM_API_KEY", KEY)).context("the static server does not conform");
    server.kill()?;
    server.wait()?;
    println!("{}", report?.lines().next().unwrap_or_default());
    Ok(())
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
