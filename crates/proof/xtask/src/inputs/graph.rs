//! What a package is built from, by cargo's own graph.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use serde::Deserialize;

/// The packages of the workspace, and those that they depend on.
#[derive(Debug)]
pub(crate) struct CrateGraph {
    packages: BTreeMap<String, CargoPackage>,
    nodes: BTreeMap<String, CargoNode>,
    members: BTreeSet<String>,
    root: PathBuf,
}

/// What a package is built from.
#[derive(Debug, Default)]
pub(crate) struct ReachedCode {
    /// The workspace's packages, by name, and the folder of each, relative to the workspace.
    pub(crate) folders: BTreeMap<String, String>,
    /// Each package with its features, those from outside with their versions, too.
    pub(crate) versions: BTreeSet<String>,
}

#[derive(Deserialize)]
struct CargoMetadata {
    packages: Vec<CargoPackage>,
    workspace_members: BTreeSet<String>,
    workspace_root: PathBuf,
    resolve: CargoResolve,
}

#[derive(Debug, Deserialize)]
struct CargoPackage {
    id: String,
    name: String,
    manifest_path: PathBuf,
    targets: Vec<CargoTarget>,
}

#[derive(Debug, Deserialize)]
struct CargoTarget {
    name: String,
    kind: Vec<String>,
    src_path: PathBuf,
}

#[derive(Deserialize)]
struct CargoResolve {
    nodes: Vec<CargoNode>,
}

#[derive(Debug, Deserialize)]
struct CargoNode {
    id: String,
    features: BTreeSet<String>,
    deps: Vec<CargoDependency>,
}

#[derive(Debug, Deserialize)]
struct CargoDependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Debug, Deserialize)]
struct DependencyKind {
    kind: Option<String>,
}

impl CrateGraph {
    /// Asks cargo, for this machine and with these features.
    ///
    /// # Errors
    /// If cargo fails.
    pub(crate) fn read(root: &Path, features: &[&str]) -> anyhow::Result<Self> {
        let rustc = Command::new("rustc").arg("-vV").output().context("rustc")?;
        let rustc = String::from_utf8(rustc.stdout)?;
        let host =
            rustc.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc -vV")?;
        let mut cargo = Command::new("cargo");
        cargo.args(["metadata", "--format-version=1", "--locked", "--filter-platform", host]);
        if !features.is_empty() {
            cargo.arg("--features").arg(features.join(","));
        }
        cargo.current_dir(root).stdin(Stdio::null()).stderr(Stdio::inherit());
        let output = cargo.output().context("cargo metadata")?;
        ensure!(output.status.success(), "cargo metadata: {}", output.status);
        Self::from_json(&output.stdout)
    }

    /// Reads what cargo printed.
    pub(super) fn from_json(metadata: &[u8]) -> anyhow::Result<Self> {
        let metadata: CargoMetadata = serde_json::from_slice(metadata)?;
        let packages = metadata.packages.into_iter();
        let nodes = metadata.resolve.nodes.into_iter();
        Ok(Self {
            packages: packages.map(|package| (package.id.clone(), package)).collect(),
            nodes: nodes.map(|node| (node.id.clone(), node)).collect(),
            members: metadata.workspace_members,
            root: metadata.workspace_root,
        })
    }

    fn member(&self, name: &str) -> anyhow::Result<&CargoPackage> {
        let mut members = self.members.iter().filter_map(|id| self.packages.get(id));
        members
            .find(|package| package.name == name)
            .with_context(|| format!("{name}: no such package"))
    }

    /// What a package of the workspace is built from: with what its tests need, if it is tested.
    ///
    /// # Errors
    /// If there is no such package.
    pub(crate) fn reached(&self, package: &str, is_tested: bool) -> anyhow::Result<ReachedCode> {
        let mut reached = ReachedCode::default();
        let mut seen = BTreeSet::new();
        let mut waiting = vec![(self.member(package)?.id.as_str(), is_tested)];
        while let Some((id, is_tested)) = waiting.pop() {
            if !seen.insert(id) {
                continue;
            }
            let (package, node) = (&self.packages[id], &self.nodes[id]);
            let features: Vec<&str> = node.features.iter().map(String::as_str).collect();
            let features = features.join(",");
            if self.members.contains(id) {
                reached.folders.insert(package.name.clone(), self.folder(package)?);
                reached.versions.insert(format!("{} {features}", package.name));
            } else {
                reached.versions.insert(format!("{id} {features}"));
            }
            for dependency in &node.deps {
                let is_built =
                    dependency.dep_kinds.iter().any(|kind| kind.kind.as_deref() != Some("dev"));
                if is_built || is_tested {
                    waiting.push((&dependency.pkg, false));
                }
            }
        }
        Ok(reached)
    }

    fn folder(&self, package: &CargoPackage) -> anyhow::Result<String> {
        let folder = package.manifest_path.parent().context("a manifest in a folder")?;
        let folder = folder.strip_prefix(&self.root)?;
        Ok(folder.to_str().context("a folder's name")?.to_owned())
    }

    /// The files and folders of a package that only tests other than `test`, its benchmarks and its
    /// examples are made of.
    ///
    /// # Errors
    /// If there is no such package.
    pub(crate) fn beside(&self, package: &str, test: Option<&str>) -> anyhow::Result<Vec<String>> {
        let package = self.member(package)?;
        let folder = self.folder(package)?;
        let mut beside = vec![format!("{folder}/benches"), format!("{folder}/examples")];
        for target in
            package.targets.iter().filter(|target| target.kind.iter().any(|kind| kind == "test"))
        {
            if Some(target.name.as_str()) == test {
                continue;
            }
            let source = target.src_path.strip_prefix(&self.root)?;
            let source = match source.parent() {
                Some(folder) if source.ends_with("main.rs") => folder,
                _ => source,
            };
            beside.push(source.to_str().context("a file's name")?.to_owned());
        }
        Ok(beside)
    }
}
