//! What a suite's result depends on: the code that it is built from, the files that it reads, and
//! the tools that it runs. Each becomes a hash; a result holds as long as all three stay.

mod graph;
mod tools;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use anyhow::Context as _;
use regex::Regex;
use serde::{Deserialize, Serialize};

use graph::CrateGraph;
pub(crate) use tools::{SET, SuiteNeed, ToolVersions};
use tree::CheckoutFiles;
pub(crate) use tree::{SHARED, git, hash};

/// The crate whose folders are policies, of which a suite may name those that it runs.
const POLICIES: &str = "crates/base/policy/src/";

/// Files whose change concerns whatever is built.
const ALWAYS: [&str; 2] = [".cargo/config.toml", "rust-toolchain.toml"];

/// The hashes of what a suite depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SuiteInputs {
    /// The sources, the packages from outside with their features, and the profile.
    pub(crate) code: String,
    /// The other files that it reads.
    pub(crate) data: String,
    /// The command, the toolchain, the programs that it needs, the kernel and the environment.
    pub(crate) tools: String,
}

/// A suite or a step, as far as its inputs are concerned.
#[derive(Clone, Debug, Default)]
pub(crate) struct CheckSubject {
    pub(crate) name: String,
    pub(crate) package: Option<String>,
    pub(crate) test: Option<String>,
    /// Whether it depends on the running kernel.
    pub(crate) is_of_the_system: bool,
    pub(crate) policies: Vec<String>,
    pub(crate) data: Vec<String>,
    pub(crate) needs: Vec<String>,
    /// What is run.
    pub(crate) command: Vec<String>,
    /// The profile and the features of the build.
    pub(crate) profile: String,
}

/// The checkout, as far as results depend on it.
#[derive(Clone)]
pub(crate) struct Checkout {
    tree: CheckoutFiles,
    graph: Arc<CrateGraph>,
    tools: ToolVersions,
    /// Files that a crate reads outside its folder, where its sources don't name them.
    reads: BTreeMap<String, Vec<String>>,
    /// The names of the policies' folders.
    policies: BTreeSet<String>,
}

/// Where the folder `shared` is, if it is there.
pub(crate) fn shared(root: &Path) -> Option<PathBuf> {
    let beside = root.join("../shared");
    let shared = std::env::var_os("FAIRWAYS_SHARED").map_or(beside, PathBuf::from);
    shared.is_dir().then_some(shared)
}

impl Checkout {
    /// Reads the checkout at `root`. `reads` has the files that a crate reads outside its folder.
    ///
    /// # Errors
    /// If git or cargo fails, or a file can't be read.
    pub(crate) fn read(
        root: &Path,
        features: &[String],
        reads: &BTreeMap<String, Vec<String>>,
        tools: ToolVersions,
    ) -> anyhow::Result<Self> {
        let tree = CheckoutFiles::read(root, shared(root).as_deref())?;
        let features: Vec<&str> = features.iter().map(String::as_str).collect();
        let folders = tree.matching(POLICIES).filter_map(|file| {
            let (folder, _) = file.strip_prefix(POLICIES)?.split_once('/')?;
            Some(folder.to_owned())
        });
        Ok(Self {
            policies: folders.collect(),
            graph: Arc::new(CrateGraph::read(root, &features)?),
            tools,
            reads: reads.clone(),
            tree,
        })
    }

    /// The same checkout with its files read again.
    ///
    /// # Errors
    /// If one can't be read.
    pub(crate) fn reread(&self, root: &Path) -> anyhow::Result<Self> {
        Ok(Self { tree: CheckoutFiles::read(root, shared(root).as_deref())?, ..self.clone() })
    }

    /// Whether both are built from the same manifest and with the same versions.
    pub(crate) fn is_built_as(&self, other: &Self) -> bool {
        ["Cargo.toml", "Cargo.lock"]
            .iter()
            .all(|file| self.tree.hash(file) == other.tree.hash(file))
    }

    /// Whether it has a file, or the folder `shared` has.
    pub(crate) fn has(&self, file: &str) -> bool {
        self.tree.hash(file).is_some()
    }

    /// The hashes of what a suite or a step depends on.
    ///
    /// # Errors
    /// If it names a package or a policy that is not there.
    pub(crate) fn inputs(&self, subject: &CheckSubject) -> anyhow::Result<SuiteInputs> {
        let InputFiles { code, data, versions } = self.files(subject)?;
        let mut words: Vec<String> = vec![subject.profile.clone()];
        words.extend(versions);
        for (file, is_whole) in &code {
            let hash =
                if *is_whole { self.tree.hash(file) } else { self.tree.hash_without_tests(file) };
            words.push(format!("{file} {}", hash.unwrap_or_default()));
        }
        let data =
            data.iter().map(|file| format!("{file} {}", self.tree.hash(file).unwrap_or_default()));
        Ok(SuiteInputs {
            code: short(words),
            data: short(data.collect()),
            tools: short(self.tools.words(subject)),
        })
    }

    /// The files that a suite or a step may open.
    ///
    /// # Errors
    /// As [`Checkout::inputs`].
    pub(crate) fn opened(&self, subject: &CheckSubject) -> anyhow::Result<BTreeSet<String>> {
        let InputFiles { code, data, .. } = self.files(subject)?;
        Ok(code.into_keys().chain(data).collect())
    }

    fn files(&self, subject: &CheckSubject) -> anyhow::Result<InputFiles> {
        let mut files = InputFiles::default();
        if let Some(package) = &subject.package {
            self.add_code(package, subject, &mut files)?;
        }
        for file in ALWAYS {
            files.code.extend(self.tree.matching(file).map(|file| (file.to_owned(), true)));
        }
        for entry in &subject.data {
            files.data.extend(self.tree.matching(entry).map(str::to_owned));
            let is_there = self.tree.matching(entry).next().is_some();
            // The folder `shared` is not everywhere.
            let may_lack = entry.starts_with(SHARED.trim_end_matches('/'));
            anyhow::ensure!(is_there || may_lack, "{}: {entry}: no such file", subject.name);
        }
        Ok(files)
    }

    /// Adds what a package and one of its tests are built from, and the files that these sources
    /// name.
    fn add_code(
        &self,
        package: &str,
        subject: &CheckSubject,
        to: &mut InputFiles,
    ) -> anyhow::Result<()> {
        let reached = self.graph.reached(package, subject.test.is_some())?;
        to.versions = reached.versions;
        let left_out = self.other_policies(&subject.policies)?;
        for (name, folder) in &reached.folders {
            let is_own = name == package;
            let beside = match (&subject.test, is_own) {
                (Some(test), true) => self.graph.beside(package, Some(test))?,
                _ => ["tests", "benches", "examples"].map(|part| format!("{folder}/{part}")).into(),
            };
            let tests = format!("{folder}/tests/");
            for file in self.tree.matching(folder) {
                let is_beside = beside.iter().any(|part| is_in(file, part));
                // By convention, modules of tests.
                let is_test = ["/tests/", "/tests.rs"].iter().any(|part| file.contains(part))
                    && file[folder.len()..].starts_with("/src/");
                let is_left_out = left_out.iter().any(|policy| is_in(file, policy));
                if !is_beside && !is_test && !is_left_out && !file.ends_with(".snap") {
                    to.code.insert(file.to_owned(), file.starts_with(&tests));
                }
            }
            for entry in self.reads.get(name).into_iter().flatten() {
                to.data.extend(self.tree.matching(entry).map(str::to_owned));
            }
        }
        let mut waiting: Vec<String> = to.code.keys().cloned().collect();
        while let Some(file) = waiting.pop() {
            let folder = reached.folders.values().find(|folder| is_in(&file, folder));
            let Some(folder) = folder.filter(|_| file.ends_with(".rs")) else { continue };
            for named in self.named_files(&file, folder) {
                let is_new = !to.code.contains_key(&named) && !to.data.contains(&named);
                let is_code = named.ends_with(".rs") && is_in(&named, folder);
                if is_new && is_code {
                    to.code.insert(named.clone(), true);
                    waiting.push(named);
                } else if is_new {
                    to.data.insert(named);
                }
            }
        }
        Ok(())
    }

    /// The files of the checkout that a source file names as a module, or by a path with `..`.
    fn named_files(&self, file: &str, folder: &str) -> BTreeSet<String> {
        static PATH: LazyLock<Option<Regex>> =
            LazyLock::new(|| Regex::new(r#"(?:path = )"([^"\n]+)"|"([^"\n]*\.\./[^"\n]*)""#).ok());
        let text = self.tree.text(file);
        let text = if file.contains("/tests/") { &text } else { tree::code(&text) };
        let from = file.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut all = BTreeSet::new();
        for found in PATH.iter().flat_map(|path| path.captures_iter(text)) {
            // A pattern stands for the folder before it; a path may follow a placeholder.
            let path = found.get(1).or(found.get(2)).map_or("", |path| path.as_str());
            let path = path.trim_start_matches("{}").trim_start_matches('/');
            let path = path.split(['*', '{']).next().unwrap_or(path);
            for base in [from, folder] {
                if let Some(path) = joined(base, path) {
                    all.extend(self.tree.matching(&path).map(str::to_owned));
                }
            }
        }
        all
    }

    /// The folders of policies that a suite does not run, if it names those that it runs: neither
    /// these nor what they are built on.
    fn other_policies(&self, named: &[String]) -> anyhow::Result<Vec<String>> {
        if named.is_empty() {
            return Ok(Vec::new());
        }
        let mut used = BTreeSet::new();
        let mut waiting: Vec<String> = Vec::new();
        for policy in named {
            let folder = policy.replace('-', "_");
            let is_there = self.policies.contains(&folder);
            anyhow::ensure!(is_there, "policies: {policy}: no such folder of {POLICIES}");
            waiting.push(folder);
        }
        // What stands beside the folders is always compiled; these two only list the policies.
        let listing = ["lib.rs", "table.rs"].map(|file| format!("{POLICIES}{file}"));
        for file in self.tree.matching(POLICIES) {
            if !file[POLICIES.len()..].contains('/') && !listing.iter().any(|list| list == file) {
                waiting.extend(self.policies_in(file));
            }
        }
        while let Some(folder) = waiting.pop() {
            if used.insert(folder.clone()) {
                let files: Vec<&str> = self.policy_files(&folder).collect();
                waiting.extend(files.into_iter().flat_map(|file| self.policies_in(file)));
            }
        }
        let others = self.policies.iter().filter(|folder| !used.contains(*folder));
        Ok(others.map(|folder| format!("{POLICIES}{folder}")).collect())
    }

    fn policy_files(&self, folder: &str) -> impl Iterator<Item = &str> {
        let folder = format!("{POLICIES}{folder}");
        self.tree.matching(POLICIES).filter(move |file| is_in(file, &folder))
    }

    /// The policies that a file imports.
    fn policies_in(&self, file: &str) -> Vec<String> {
        let text = self.tree.text(file);
        let mut found = Vec::new();
        for (at, mark) in text.match_indices("crate::") {
            let rest = &text[at + mark.len()..];
            let names = match rest.strip_prefix('{') {
                Some(list) => list.split(';').next().unwrap_or(list),
                None => {
                    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or(rest)
                }
            };
            let words = names.split(|c: char| !c.is_alphanumeric() && c != '_');
            found.extend(words.filter(|word| self.policies.contains(*word)).map(str::to_owned));
        }
        found
    }
}

/// What a suite depends on.
#[derive(Default)]
struct InputFiles {
    /// Sources, and whether their unit tests count.
    code: BTreeMap<String, bool>,
    data: BTreeSet<String>,
    /// Packages with their versions and features.
    versions: BTreeSet<String>,
}

/// Whether a file is `part`, or in the folder `part`.
fn is_in(file: &str, part: &str) -> bool {
    file.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A path from a folder on, without `.` and `..`; `None` for the checkout itself and what is above
/// it.
fn joined(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// A hash that fits a line of the record: 80 bits.
fn short(words: Vec<String>) -> String {
    let words: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
    let mut hash = hash(&words);
    hash.truncate(20);
    hash
}

/// The profile that tests are built with, and what is set for all packages.
///
/// # Errors
/// If Cargo.toml can't be read.
pub(crate) fn profile(root: &Path) -> anyhow::Result<String> {
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).context("Cargo.toml")?;
    let manifest: toml::Table = toml::from_str(&manifest).context("Cargo.toml")?;
    let workspace = manifest.get("workspace");
    let [package, resolver] =
        ["package", "resolver"].map(|key| workspace.and_then(|workspace| workspace.get(key)));
    // Build scripts build with other profiles.
    let [profiles, patch] = ["profile", "patch"].map(|key| manifest.get(key));
    Ok(format!("{profiles:?} {patch:?} {package:?} {resolver:?}"))
}

#[cfg(test)]
mod tests;
