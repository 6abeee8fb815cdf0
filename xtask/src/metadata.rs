//! What cargo knows about the workspace: its packages, where they lie, and which needs which.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Deserialize;

use crate::cargo;

/// The optional parts that the programs are built with.
pub(crate) const FEATURES: &str = "animal-store-conform/containers";

/// The part of `cargo metadata` that is used here.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) workspace_root: PathBuf,
    /// Where cargo builds.
    pub(crate) target_directory: PathBuf,
    packages: Vec<Package>,
    resolve: Resolve,
}

/// A package, of the workspace or from elsewhere.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    /// The licence, as an SPDX expression.
    pub(crate) license: Option<String>,
    /// The file with the licence, relative to the manifest.
    pub(crate) license_file: Option<PathBuf>,
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

#[derive(Debug, Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Debug, Deserialize)]
struct Kind {
    /// The kind of the dependency: `build` or `dev`; nothing for packages that are linked into the program.
    kind: Option<String>,
}

impl Metadata {
    /// Asks cargo, for programs of this target triple.
    pub(crate) fn read(target: &str) -> anyhow::Result<Metadata> {
        let mut command = cargo::cargo();
        command.args(["metadata", "--format-version", "1", "--locked", "--features", FEATURES]);
        let output = cargo::output(command.args(["--filter-platform", target]))?;
        serde_json::from_str(&output).context("the output of cargo metadata has an unknown format")
    }

    /// The package of this name, of those in the workspace.
    pub(crate) fn member(&self, name: &str) -> anyhow::Result<&Package> {
        let member = self.packages.iter().find(|package| package.name == name && package.source.is_none());
        member.with_context(|| format!("the workspace has no package {name}"))
    }

    /// The packages from elsewhere that are compiled into the programs of a package, by name and version.
    pub(crate) fn parts_of(&self, package: &Package) -> Vec<&Package> {
        let nodes: HashMap<&str, &Node> = self.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
        let (mut found, mut open) = (HashSet::new(), vec![package.id.as_str()]);
        while let Some(id) = open.pop() {
            for dependency in nodes.get(id).into_iter().flat_map(|node| &node.deps) {
                let linked = dependency.dep_kinds.iter().any(|kind| kind.kind.is_none());
                if linked && found.insert(dependency.pkg.as_str()) {
                    open.push(&dependency.pkg);
                }
            }
        }
        let is_part = |package: &&Package| package.source.is_some() && found.contains(package.id.as_str());
        let mut parts: Vec<&Package> = self.packages.iter().filter(is_part).collect();
        parts.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
        parts
    }

    /// The folders in which packages from elsewhere lie, each under its name.
    pub(crate) fn crate_folders(&self) -> BTreeSet<&Path> {
        let elsewhere = self.packages.iter().filter(|package| package.source.is_some());
        elsewhere.filter_map(|package| package.folder().parent()).collect()
    }
}
