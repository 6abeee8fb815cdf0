//! The packages of the workspace, and where they lie, as cargo knows them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Deserialize;

/// The part of `cargo metadata` that is used here.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) workspace_root: PathBuf,
    /// Where cargo builds.
    pub(crate) target_directory: PathBuf,
    packages: Vec<Package>,
}

/// A package, of the workspace or from elsewhere.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    name: String,
    pub(crate) version: String,
    manifest_path: PathBuf,
    /// Where it comes from; nowhere, for packages of the workspace.
    source: Option<String>,
}

impl Package {
    /// The folder of the package.
    pub(crate) fn folder(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(&self.manifest_path)
    }
}

impl Metadata {
    /// Asks cargo, for programs of this target triple.
    pub(crate) fn read(target: &str) -> anyhow::Result<Metadata> {
        let mut command = xtask::cargo();
        command.args(["metadata", "--format-version", "1", "--locked"]);
        let output = xtask::output(command.args(["--filter-platform", target]))?;
        serde_json::from_str(&output).context("the output of cargo metadata has an unknown format")
    }

    /// The package of this name, of those in the workspace.
    pub(crate) fn member(&self, name: &str) -> anyhow::Result<&Package> {
        let member = self.packages.iter().find(|package| package.name == name && package.source.is_none());
        member.with_context(|| format!("the workspace has no package {name}"))
    }

    /// The folders in which packages from elsewhere lie, each under its name.
    pub(crate) fn crate_folders(&self) -> BTreeSet<&Path> {
        let elsewhere = self.packages.iter().filter(|package| package.source.is_some());
        elsewhere.filter_map(|package| package.folder().parent()).collect()
    }
}
