//! Finds the file that is compiled in: at the root of the workspace, else in the package that was made of this crate.
//!
//! `shared/` links to it, and `cargo package` packs what a link leads to. A checkout on Windows may have no links.

use std::path::Path;

fn main() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let name = "conform.example.toml";
    let in_workspace = package.join("../fixtures").join(name);
    let path = if in_workspace.exists() { in_workspace } else { package.join("shared").join(name) };
    println!("cargo::rustc-env=EXAMPLE={}", path.display());
    println!("cargo::rerun-if-changed={}", path.display());
}
