//! The list of suites.

use std::collections::BTreeMap;
use std::io::Write as _;

use anyhow::Context as _;
use clap::ValueEnum;
use serde::Deserialize;

/// The content of `suites.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Suites {
    /// The package of each program that tests run.
    pub(crate) programs: BTreeMap<String, String>,
    /// Packages without a program to look for.
    pub(crate) packages: Vec<String>,
    /// The suites in the order in which they start: the longest ones first.
    pub(crate) suite: Vec<Suite>,
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
    /// The feature that it is built with.
    pub(crate) feature: Option<String>,
    /// Whether it runs alone, because it times real programs.
    #[serde(default)]
    pub(crate) alone: bool,
    /// Only tests whose names contain this are run.
    pub(crate) only: Option<String>,
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

impl Suites {
    /// # Errors
    /// If the list is not of this form.
    pub(crate) fn read() -> anyhow::Result<Self> {
        toml::from_str(include_str!("../suites.toml")).context("crates/xtask/suites.toml")
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
    use std::path::{Path, PathBuf};

    use super::*;

    /// The list matches what `cargo test --workspace` leaves out.
    #[test]
    fn the_list_is_what_is_left_out() {
        let listed = Suites::read().unwrap().suite.into_iter();
        let listed: BTreeSet<(String, String, bool)> =
            listed.map(|suite| (suite.package, suite.test, suite.feature.is_some())).collect();
        let mut left_out = BTreeSet::new();
        for (folder, manifest) in manifests() {
            let tests = manifest.get("test").and_then(toml::Value::as_array);
            for test in tests.into_iter().flatten() {
                fn name(value: &toml::Value) -> String {
                    value["name"].as_str().unwrap().to_owned()
                }
                let (package, target) = (name(&manifest["package"]), name(test));
                if test.get("test").is_some_and(|value| value.as_bool() == Some(false)) {
                    // If some of its tests need a feature, it runs with it as well.
                    let main = folder.join("tests").join(&target).join("main.rs");
                    let main = std::fs::read_to_string(main).unwrap_or_default();
                    if main.contains("#[cfg(feature = ") {
                        left_out.insert((package.clone(), target.clone(), true));
                    }
                    left_out.insert((package, target, false));
                } else if test.get("required-features").is_some() {
                    left_out.insert((package, target, true));
                }
            }
        }
        assert_eq!(listed, left_out);
    }

    /// The folder and the manifest of each crate.
    fn manifests() -> Vec<(PathBuf, toml::Table)> {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let folders = std::fs::read_dir(crates).unwrap().map(|folder| folder.unwrap().path());
        folders
            .filter_map(|folder: PathBuf| {
                let text = std::fs::read_to_string(folder.join("Cargo.toml")).ok()?;
                Some((folder, toml::from_str(&text).unwrap()))
            })
            .collect()
    }

    fn architecture() -> String {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap()
    }

    /// Checks that the files, folders and functions in ARCHITECTURE.md exist.
    #[test]
    fn the_architecture_names_what_is_there() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let text = architecture();
        let named: Vec<&str> = text.split('`').collect();
        let mut count = 0;
        for (at, name) in named.iter().enumerate().skip(1).step_by(2) {
            if !name.contains('/') || name.contains(' ') {
                continue;
            }
            count += 1;
            let path = crates.join(name.strip_prefix("crates/").unwrap_or(name));
            assert!(path.exists(), "{name}");
            if named.get(at + 1).is_some_and(|between| *between == " (") {
                let function = format!("fn {}", named[at + 2]);
                assert!(std::fs::read_to_string(path).unwrap().contains(&function), "{function}");
            }
        }
        assert!(count > 20, "{count}");
    }

    /// Checks that a crate imports only crates below it in ARCHITECTURE.md, which lists every
    /// crate.
    #[test]
    fn imports_run_downward() {
        let text = architecture();
        let picture = text.split("```text").nth(2).unwrap().split("```").next().unwrap();
        fn place(name: &str, picture: &str) -> Option<usize> {
            picture.lines().position(|line| line.split(' ').next() == Some(name))
        }
        for (_, manifest) in manifests() {
            fn short(name: &str) -> String {
                name.strip_prefix("fairways-").unwrap_or(name).to_owned()
            }
            let name = short(manifest["package"]["name"].as_str().unwrap());
            let own =
                place(&name, picture).unwrap_or_else(|| panic!("{name} does not stand there"));
            let imports = manifest.get("dependencies").and_then(toml::Value::as_table);
            for import in imports.into_iter().flat_map(toml::Table::keys) {
                if let Some(import) = import.strip_prefix("fairways-") {
                    assert!(Some(own) < place(import, picture), "{name} imports {import}");
                }
            }
        }
    }
}
