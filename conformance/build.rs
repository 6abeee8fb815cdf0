//! Finds the file that is compiled in: at the root of the workspace, else in the package that was made of this crate.
//!
//! `shared/` links to it, and `cargo package` packs what a link leads to. A checkout on Windows may have no links.

use std::path::PathBuf;

fn main() {
    // Read while it runs: checkouts that share a target directory share the compiled script.
    let package = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let in_workspace = package.join("../fixtures/confidence.json");
    let path = if in_workspace.exists() { in_workspace } else { package.join("shared/confidence.json") };
    println!("cargo::rustc-env=CONFIDENCE={}", path.display());
    println!("cargo::rerun-if-changed={}", path.display());
}
