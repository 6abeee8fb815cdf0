//! Finds the files that are compiled in: at the root of the workspace, else in the package that was made of this crate.
//!
//! `shared/` links to them, and `cargo package` packs what a link leads to. A checkout on Windows may have no links.

#![allow(clippy::disallowed_methods, reason = "rules read no files; what compiles them does")]

use std::path::PathBuf;

use sha2::{Digest, Sha256};

fn main() {
    // Read while it runs: checkouts that share a target directory share the compiled script.
    let package = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    for (variable, file) in [
        ("REQUIREMENTS", "fixtures/requirements.toml"),
        ("NEAR_MISSES", "fixtures/near_misses.toml"),
        ("TOUR", "snapshots/tour.snap"),
    ] {
        let in_workspace = package.join("../..").join(file);
        let name = in_workspace.file_name().expect("a file");
        let path = if in_workspace.exists() { in_workspace.clone() } else { package.join("shared").join(name) };
        let digest = Sha256::digest(std::fs::read(&path).expect("the file is there"));
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        println!("cargo::rustc-env={variable}={}", path.display());
        println!("cargo::rustc-env={variable}_DIGEST={digest}");
        println!("cargo::rerun-if-changed={}", path.display());
    }
}
