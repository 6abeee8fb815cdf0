//! Finds the files that are compiled in: at the root of the workspace, else in the package that was made of this crate.
//!
//! `shared/` links to them, and `cargo package` packs what a link leads to. A checkout on Windows may have no links.

use std::path::PathBuf;

fn main() {
    // Read while it runs: checkouts that share a target directory share the compiled script.
    let package = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    for (variable, file) in [("CONFIGURATION", "conform.example.toml"), ("EXAMPLES", "examples.jsonl")] {
        let in_workspace = package.join("../../fixtures").join(file);
        let path = if in_workspace.exists() { in_workspace } else { package.join("shared").join(file) };
        println!("cargo::rustc-env={variable}={}", path.display());
        println!("cargo::rerun-if-changed={}", path.display());
    }
}
