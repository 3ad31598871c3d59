//! The list of suites and steps.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use clap::ValueEnum;
use serde::Deserialize;

use crate::inputs::{CheckSubject, SuiteNeed, profile};

/// The content of `suites.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Suites {
    /// The features of whatever is built: the same for all, so that nothing is built twice.
    pub(crate) features: Vec<String>,
    /// What suites and steps need besides the toolchain, by the words that they use.
    pub(crate) needs: BTreeMap<String, SuiteNeed>,
    /// Files outside its folder that a crate is built from, where its sources name them in another
    /// way than by a path with `..`.
    pub(crate) reads: BTreeMap<String, Vec<String>>,
    /// The suites in the order in which they start: the longest ones first.
    pub(crate) suite: Vec<Suite>,
    /// What CI does besides tests, one after the other.
    pub(crate) step: Vec<CiStep>,
}

/// A suite that `cargo test --workspace` leaves out.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Suite {
    pub(crate) package: String,
    pub(crate) test: String,
    pub(crate) tier: Tier,
    /// What it needs besides the toolchain, in words.
    #[serde(default)]
    pub(crate) needs: Vec<String>,
    /// Whether it runs alone, because it times real programs.
    #[serde(default)]
    pub(crate) alone: bool,
    /// Only tests whose names contain this are run.
    pub(crate) only: Option<String>,
    /// Tests whose names contain this are not run.
    pub(crate) skip: Option<String>,
    /// The policies that it runs, if a change of another one can't concern it.
    #[serde(default)]
    pub(crate) policies: Vec<String>,
    /// Files and folders that it reads and its sources don't name; `*.md` stands for all such
    /// files.
    #[serde(default)]
    pub(crate) data: Vec<String>,
}

/// Something that CI does besides tests.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CiStep {
    pub(crate) name: String,
    pub(crate) command: String,
    /// What it needs besides the toolchain.
    #[serde(default)]
    pub(crate) needs: Vec<String>,
    /// A program that cargo installs for it, with its version.
    pub(crate) tool: Option<String>,
    /// The package on whose code its result depends.
    pub(crate) package: Option<String>,
    /// Files and folders that its result depends on.
    #[serde(default)]
    pub(crate) data: Vec<String>,
    /// Whether only a run of everything has it.
    #[serde(default)]
    pub(crate) only_in_all: bool,
}

impl Suite {
    /// Its name in the record and in what is printed.
    pub(crate) fn name(&self) -> String {
        let only = self.only.as_deref();
        let words = [Some(self.package.as_str()), Some(&self.test), only];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// Whether a person means it by this: its test, or its test and its filter.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        let whole = self.only.as_ref().map(|only| format!("{} {only}", self.test));
        self.test == name || whole.is_some_and(|whole| whole == name)
    }

    /// The arguments of its binary.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let skip = self.skip.iter().flat_map(|skip| ["--skip".to_owned(), skip.clone()]);
        self.only.iter().cloned().chain(skip).collect()
    }

    /// Its inputs, by name.
    pub(crate) fn subject(&self, profile: &str) -> CheckSubject {
        CheckSubject {
            name: self.name(),
            package: Some(self.package.clone()),
            test: Some(self.test.clone()),
            is_of_the_system: self.tier == Tier::System,
            policies: self.policies.clone(),
            data: self.data.clone(),
            needs: self.needs.clone(),
            command: self.arguments(),
            profile: profile.to_owned(),
        }
    }
}

impl CiStep {
    /// Its inputs, by name.
    pub(crate) fn subject(&self, profile: &str) -> CheckSubject {
        CheckSubject {
            name: self.name.clone(),
            package: self.package.clone(),
            data: self.data.clone(),
            needs: self.needs.clone(),
            command: self.tool.iter().chain([&self.command]).cloned().collect(),
            profile: profile.to_owned(),
            ..CheckSubject::default()
        }
    }
}

/// Why `cargo test --workspace` leaves a suite out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Tier {
    /// It needs root, FUSE, or programs that packages bring
    System,
    /// It boots Linux
    Kernel,
    /// It simulates for long
    Long,
    /// CI leaves it out: it takes minutes, and fetches much
    Slow,
}

/// The file of the list.
const LIST: &str = "crates/proof/xtask/suites.toml";

impl Suites {
    /// # Errors
    /// If the list is not of this form.
    pub(crate) fn read() -> anyhow::Result<Self> {
        let suites: Self = toml::from_str(include_str!("../suites.toml")).context(LIST)?;
        let needs = suites.suite.iter().map(|suite| (suite.name(), &suite.needs));
        let of_steps = suites.step.iter().map(|step| (step.name.clone(), &step.needs));
        for (name, needs) in needs.chain(of_steps) {
            for need in needs {
                let is_known = suites.needs.contains_key(need);
                anyhow::ensure!(
                    is_known,
                    "{LIST}: {name} needs {need}, which [needs] does not explain"
                );
            }
        }
        Ok(suites)
    }

    /// The names of all suites and steps.
    pub(crate) fn names(&self) -> Vec<String> {
        let steps = self.step.iter().map(|step| step.name.clone());
        self.suite.iter().map(Suite::name).chain(steps).collect()
    }

    /// Cargo's arguments for whatever is built: one selection of packages and features, so that
    /// nothing is built twice.
    pub(crate) fn build_arguments(&self) -> Vec<&str> {
        let features = self.features.iter().flat_map(|feature| ["--features", feature.as_str()]);
        ["--workspace"].into_iter().chain(features).collect()
    }

    /// The profile and the features that everything is built with.
    ///
    /// # Errors
    /// If Cargo.toml can't be read.
    pub(crate) fn profile(&self, root: &Path) -> anyhow::Result<String> {
        Ok(format!("{} {}", profile(root)?, self.features.join(",")))
    }
}

/// Prints the list.
///
/// # Errors
/// If it can't be read or printed.
pub(crate) fn list() -> anyhow::Result<()> {
    let mut to = std::io::stdout().lock();
    for Suite { package, test, tier, needs, only, .. } in Suites::read()?.suite {
        let tier = format!("{tier:?}").to_lowercase();
        let test = only.map_or(test.clone(), |only| format!("{test} {only}"));
        writeln!(to, "{tier:<7} {package:<23} {test:<17} {}", needs.join(", "))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::wall::{CrateFolder, crates};

    /// The list matches what `cargo test --workspace` leaves out.
    #[test]
    fn the_list_is_what_is_left_out() {
        let listed = Suites::read().unwrap().suite.into_iter();
        let listed: BTreeSet<(String, String)> =
            listed.map(|suite| (suite.package, suite.test)).collect();
        let mut left_out = BTreeSet::new();
        for CrateFolder { manifest, .. } in crates() {
            let tests = manifest.get("test").and_then(toml::Value::as_array);
            for test in tests.into_iter().flatten() {
                fn name(value: &toml::Value) -> String {
                    value["name"].as_str().unwrap().to_owned()
                }
                let (package, target) = (name(&manifest["package"]), name(test));
                if test.get("test").is_some_and(|value| value.as_bool() == Some(false)) {
                    left_out.insert((package, target));
                }
            }
        }
        assert_eq!(listed, left_out);
    }

    /// A suite that names its policies names each that its sources mention: names that are no other
    /// words wherever they are, the others where they are given as a policy.
    #[test]
    fn suites_name_the_policies_that_they_run() {
        let crates = crates();
        let mut checked = 0;
        for suite in Suites::read().unwrap().suite.iter().filter(|suite| !suite.policies.is_empty())
        {
            let package = crates
                .iter()
                .find(|of| of.manifest["package"]["name"].as_str() == Some(&suite.package))
                .unwrap();
            let (mut waiting, mut text) =
                (vec![package.path.join("tests").join(&suite.test)], String::new());
            waiting.push(waiting[0].with_extension("rs"));
            while let Some(path) = waiting.pop() {
                if let Ok(entries) = std::fs::read_dir(&path) {
                    waiting.extend(entries.map(|entry| entry.unwrap().path()));
                } else if let Ok(file) = std::fs::read_to_string(&path) {
                    text += &file;
                }
            }
            assert!(!text.is_empty(), "{}", suite.name());
            for (policy, named) in POLICIES {
                let word = policy.replace('-', "[-_]");
                let pattern = match OWN_WORDS.contains(policy) {
                    true => format!(r"\b{word}\b"),
                    false => format!(r#"["]{word}["]|polic(?:y|ies)[",= ]+(?:[\w-]+,)*{word}\b"#),
                };
                let mentions = regex::Regex::new(&pattern).unwrap().is_match(&text);
                let names = suite.policies.iter().any(|of| of == named);
                assert!(names || !mentions, "{}: policies: {named} is missing", suite.name());
                checked += usize::from(mentions);
            }
        }
        assert!(checked > 50, "{checked}");
    }

    /// The policies, each with its folder's name in `policies`. The default has no word of its own.
    const POLICIES: &[(&str, &str)] = &[
        ("cache-fair", "cache-fair"),
        ("casc", "casc"),
        ("dcat", "dcat"),
        ("dunn", "dunn"),
        ("equal", "equal"),
        ("kpart", "kpart"),
        ("lfoc", "lfoc"),
        ("locpart", "locpart"),
        ("mba-feedback", "mba-feedback"),
        ("parties", "parties"),
        ("static", "fixed"),
        ("stock", "stock"),
        ("ucp", "ucp"),
    ];

    /// Those whose names mean nothing else.
    const OWN_WORDS: &[&str] =
        &["cache-fair", "casc", "dcat", "dunn", "kpart", "lfoc", "locpart", "mba-feedback", "ucp"];

    /// Examples in comments are tests of the crates that say so; elsewhere there are none.
    #[test]
    fn no_example_is_left_out() {
        for CrateFolder { path, manifest, .. } in crates() {
            let library = manifest.get("lib").and_then(|library| library.get("doctest"));
            if library.and_then(toml::Value::as_bool) != Some(false) {
                continue;
            }
            let mut folders = vec![path.join("src")];
            while let Some(folder) = folders.pop() {
                for entry in std::fs::read_dir(&folder).unwrap() {
                    let path = entry.unwrap().path();
                    if path.is_dir() {
                        folders.push(path);
                    } else if path.extension().is_some_and(|extension| extension == "rs") {
                        let text = std::fs::read_to_string(&path).unwrap();
                        let fences = text.lines().filter_map(|line| {
                            let line = line.trim_start();
                            let comment =
                                line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
                            comment.trim_start().strip_prefix("```")
                        });
                        // A fence that opens says `text`; one that closes, nothing.
                        let wrong = fences.step_by(2).any(|opens| opens != "text");
                        assert!(!wrong, "{}: an example that nothing runs", path.display());
                    }
                }
            }
        }
    }
}
