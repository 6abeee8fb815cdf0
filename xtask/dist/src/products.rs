//! The products as programs: on Linux, one static file each that runs on any Linux of the architecture, also in an empty
//! container image. On macOS, programs that need only the system's own libraries. Images that are only tested may hold programs that are built already, with the shared libraries that they load.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::metadata::Metadata;

/// The cargo profile of released programs.
pub(crate) const DIST: &str = "dist";

/// A program that the project publishes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product {
    /// The name of its program.
    pub(crate) program: &'static str,
    /// The name of its package, and of its image.
    pub(crate) package: &'static str,
    /// The package and the name of the program that is built.
    pub(crate) built: (&'static str, &'static str),
    /// Its command line.
    pub(crate) command: fn() -> clap::Command,
    /// The folder of its image that it may write to.
    pub(crate) writable: &'static str,
}

pub(crate) const JUDGE: Product = Product {
    program: "conform",
    package: "animal-store-conform",
    // With `--image`.
    built: ("animal-store-containers", "conform-containers"),
    command: animal_store_conform::command,
    writable: "reports",
};
pub(crate) const REFERENCE: Product = Product {
    program: "reference",
    package: "animal-store-reference",
    built: ("animal-store-reference", "reference"),
    command: animal_store_reference::cli::command,
    writable: "data",
};
const LAB: Product = Product {
    program: "animal-lab",
    package: "animal-store-lab",
    built: ("animal-store-lab", "animal-lab"),
    command: animal_store_lab::cli::command,
    writable: "data",
};
pub(crate) const PRODUCTS: [Product; 3] = [JUDGE, REFERENCE, LAB];

/// Built programs.
#[derive(Debug)]
pub(crate) struct Programs {
    /// The target triple that they were built for.
    pub(crate) target: String,
    pub(crate) dir: PathBuf,
}

impl Programs {
    /// Builds all products with a cargo profile.
    ///
    /// On Linux they are linked statically (glibc included). They hold no path of this machine: two builds of one commit with one
    /// toolchain give the same bytes, wherever they are made.
    pub(crate) fn build(profile: &str) -> anyhow::Result<Programs> {
        let target = host()?;
        let metadata = Metadata::read(&target)?;
        let mut command = xtask::cargo();
        command.args(["build", "--locked", "--profile", profile, "--target", &target]);
        for Product { built: (package, program), .. } in PRODUCTS {
            command.args(["--package", package, "--bin", program]);
        }
        command.env("CARGO_ENCODED_RUSTFLAGS", rustflags(&target, &metadata)?.join(OsStr::new("\u{1f}")));
        xtask::run(&mut command)?;
        // Cargo's folder for the profile `dev` has a name of its own.
        let folder = if profile == "dev" { "debug" } else { profile };
        let dir = metadata.target_directory.join(&target).join(folder);
        for Product { program, built: (_, built), .. } in PRODUCTS {
            if program != built {
                std::fs::copy(dir.join(built), dir.join(program))?;
            }
        }
        Ok(Programs { target, dir })
    }

    /// Finds the programs in a folder, for example built by the tests.
    pub(crate) fn built_in(dir: &Path) -> anyhow::Result<Programs> {
        let programs = Programs { dir: dir.to_owned(), target: host()? };
        for product in PRODUCTS {
            let path = programs.path(product);
            anyhow::ensure!(path.is_file(), "{} is missing: run `cargo build --workspace` first", path.display());
        }
        Ok(programs)
    }

    /// The shared libraries that the program of a product loads, the loader included. An error if `ldd` cannot list them.
    pub(crate) fn libraries(&self, product: Product) -> anyhow::Result<Vec<PathBuf>> {
        let text = xtask::output(Command::new("ldd").arg(self.path(product)))?;
        // `libc.so.6 => /lib/libc.so.6 (0x…)`, or the loader: `/lib64/ld-linux-x86-64.so.2 (0x…)`.
        let paths = text.lines().filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')));
        Ok(paths.map(PathBuf::from).collect())
    }

    /// Where the program of a product is.
    pub(crate) fn path(&self, product: Product) -> PathBuf {
        self.dir.join(product.program)
    }
}

/// The compiler's flags: static linking, and neutral names for the folders of this machine, which panic messages report.
///
/// The flags apply to the programs only, not to build scripts, because cargo is given a `--target`.
fn rustflags(target: &str, metadata: &Metadata) -> anyhow::Result<Vec<OsString>> {
    let library = PathBuf::from(rustc(&["--print", "sysroot"])?).join("lib/rustlib/src/rust");
    // Of several that fit, the last one counts.
    let mut names = vec![
        (metadata.workspace_root.as_path(), "/animal-store"),
        (&metadata.target_directory, "/animal-store/target"),
        (&library, "/rust"),
    ];
    names.extend(metadata.crate_folders().into_iter().map(|folder| (folder, "/crates")));
    let mut flags = Vec::new();
    if is_linux(target) {
        flags.push(OsString::from("-Ctarget-feature=+crt-static"));
    }
    for (from, to) in names {
        let mut flag = OsString::from("--remap-path-prefix=");
        flag.push(from);
        flag.push("=");
        flag.push(to);
        flags.push(flag);
    }
    Ok(flags)
}

/// Returns true if programs for this target are static, and can be packed for Debian and for images.
pub(crate) fn is_linux(target: &str) -> bool {
    target.ends_with("-linux-gnu")
}

/// This machine's target triple, where programs for others can be made for it.
pub(crate) fn host() -> anyhow::Result<String> {
    let host = rustc(&["--print", "host-tuple"])?;
    anyhow::ensure!(
        is_linux(&host) || host.ends_with("-apple-darwin"),
        "programs for others are built on Linux with glibc or on macOS, and this is {host}: run the command there, or in a container"
    );
    Ok(host)
}

/// Returns the output of rustc for these arguments.
fn rustc(args: &[&str]) -> anyhow::Result<String> {
    let program = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    Ok(xtask::output(Command::new(program).args(args))?.trim().to_owned())
}
