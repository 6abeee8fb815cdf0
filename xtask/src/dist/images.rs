//! The files of container images of several platforms: `images/PROGRAM/linux/ARCHITECTURE`, and a Dockerfile next to them.
//!
//! Machines of different architectures fill the same folder, and one command makes the image of all of them:
//! `docker buildx build --platform linux/amd64,linux/arm64 images/conform`.

use std::path::Path;

use crate::image;
use crate::products::{Product, Programs};

/// Adds the files of a product for the platform that it was built for.
pub(super) fn collect(product: Product, programs: &Programs, out: &Path) -> anyhow::Result<()> {
    let folder = out.join("images").join(product.program);
    let platform = folder.join("linux").join(architecture(&programs.target));
    std::fs::create_dir_all(platform.join(image::writable_folder(product)))?;
    std::fs::copy(programs.path(product), platform.join(product.program))?;
    std::fs::write(folder.join("Dockerfile"), image::for_platforms(product))?;
    Ok(())
}

/// The architecture of a target triple, as container images call it.
fn architecture(target: &str) -> &str {
    match target.split('-').next().unwrap_or(target) {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_have_the_names_of_container_images() {
        let triples = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "riscv64gc-unknown-linux-gnu"];
        assert_eq!(triples.map(architecture), ["amd64", "arm64", "riscv64gc"]);
    }
}
