//! The list of suites.

use std::collections::BTreeMap;
use std::io::Write as _;

use anyhow::Context as _;
use clap::ValueEnum;
use serde::Deserialize;

/// `suites.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Suites {
    /// Programs that tests run, by the package that brings each.
    pub(crate) programs: BTreeMap<String, String>,
    /// Packages without a program to look for.
    pub(crate) packages: Vec<String>,
    /// In the order in which they are started: those that take longest come first.
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
    /// Of its tests only those whose names contain this.
    pub(crate) only: Option<String>,
}

/// What keeps a suite out of `cargo test --workspace`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Tier {
    /// It needs root, FUSE, or programs that packages bring
    System,
    /// It boots Linux
    Kernel,
    /// It simulates for long
    Long,
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
    for Suite { package, test, tier, needs, .. } in Suites::read()?.suite {
        let tier = format!("{tier:?}").to_lowercase();
        writeln!(to, "{tier:<7} {package:<20} {test:<15} {}", needs.join(", "))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// What `cargo test --workspace` leaves out is listed, and what is listed is left out.
    #[test]
    fn the_list_is_what_is_left_out() {
        let listed = Suites::read().unwrap().suite.into_iter();
        let listed: BTreeSet<(String, String)> = listed.map(|of| (of.package, of.test)).collect();
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut left_out = BTreeSet::new();
        for folder in std::fs::read_dir(crates).unwrap() {
            let Ok(text) = std::fs::read_to_string(folder.unwrap().path().join("Cargo.toml"))
            else {
                continue;
            };
            let manifest: toml::Table = toml::from_str(&text).unwrap();
            let tests = manifest.get("test").and_then(toml::Value::as_array);
            for test in tests.into_iter().flatten() {
                let is_tested = test.get("test").is_none_or(|of| of.as_bool() == Some(true));
                if !is_tested || test.get("required-features").is_some() {
                    let name = |of: &toml::Value| of["name"].as_str().unwrap().to_owned();
                    left_out.insert((name(&manifest["package"]), name(test)));
                }
            }
        }
        assert_eq!(listed, left_out);
    }

    /// The files that the map of the house names are there.
    #[test]
    fn the_map_names_files_that_are_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let map = std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
        let named = map.split('`').skip(1).step_by(2).filter(|name| name.ends_with(".rs"));
        let named: Vec<&str> = named.collect();
        assert!(named.len() > 10, "{named:?}");
        for name in named {
            assert!(root.join("crates").join(name).is_file(), "{name}");
        }
    }
}
