//! The wall between the two products: tests of which crate may import which.
//!
//! `crates/base` imports itself; `crates/server` and `crates/lab` import base and themselves; only
//! tests import `crates/proof`. Tests of a server's crate may import the lab, whose emulator is
//! their resctrl.

use std::fs;
use std::path::{Path, PathBuf};

/// A crate, and where it stands.
pub(crate) struct CrateFolder {
    /// The folder around its own: base, server, lab or proof.
    pub(crate) group: String,
    /// The name of its folder.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) manifest: toml::Table,
}

/// All crates of the workspace.
pub(crate) fn crates() -> Vec<CrateFolder> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut crates = Vec::new();
    for group in fs::read_dir(root).unwrap() {
        let group = group.unwrap();
        for folder in fs::read_dir(group.path()).unwrap() {
            let folder = folder.unwrap();
            let manifest = fs::read_to_string(folder.path().join("Cargo.toml")).unwrap();
            crates.push(CrateFolder {
                group: group.file_name().into_string().unwrap(),
                name: folder.file_name().into_string().unwrap(),
                path: folder.path(),
                manifest: toml::from_str(&manifest).unwrap(),
            });
        }
    }
    crates
}

/// The crates of the workspace that a crate imports, and whether only its tests do.
fn imports(manifest: &toml::Table) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let targets = targets.into_iter().flat_map(toml::Table::values).filter_map(|of| of.as_table());
    for table in targets.chain([manifest]) {
        for (kind, is_of_tests) in
            [("dependencies", false), ("build-dependencies", false), ("dev-dependencies", true)]
        {
            let names = table.get(kind).and_then(toml::Value::as_table);
            for (name, of) in names.into_iter().flatten() {
                // Under another name, or its own.
                let package = of.get("package").and_then(toml::Value::as_str).unwrap_or(name);
                if package.starts_with("fairways") {
                    found.push((package.to_owned(), is_of_tests));
                }
            }
        }
    }
    found
}

/// Whether a crate of one group may import one of another.
fn may_import(from: &str, to: &str, is_of_tests: bool) -> bool {
    match (from, to) {
        ("proof", _) | (_, "base") => true,
        (_, "proof") => is_of_tests,
        ("server", "lab") => is_of_tests,
        _ => from == to,
    }
}

#[test]
fn no_arrow_passes_the_wall() {
    let crates = crates();
    let mut crossings = Vec::new();
    for of in &crates {
        let own = of.manifest["package"]["name"].as_str().unwrap();
        for (name, is_of_tests) in imports(&of.manifest) {
            let is_it = |of: &&CrateFolder| of.manifest["package"]["name"].as_str() == Some(&*name);
            let other = crates.iter().find(is_it).unwrap_or_else(|| panic!("{own}: {name}"));
            if !may_import(&of.group, &other.group, is_of_tests) {
                crossings.push((own.to_owned(), name));
            }
        }
    }
    assert_eq!(crossings, []);
}

#[test]
fn a_feature_a_target_and_another_name_are_no_way_through_the_wall() {
    let manifest = "[dependencies]\nfairways-core = { optional = true }\n\
                    [target.'cfg(unix)'.dependencies]\nfairways-chip = {}\n\
                    [build-dependencies]\nmodel = { package = \"fairways-model\" }\n\
                    [dev-dependencies]\nfairways-testing = {}\nserde = {}\n";
    let mut found = imports(&toml::from_str(manifest).unwrap());
    found.sort();
    let expected = [("chip", false), ("core", false), ("model", false), ("testing", true)];
    assert_eq!(found, expected.map(|(name, of_tests)| (format!("fairways-{name}"), of_tests)));
    for (from, to, in_code, in_tests) in [
        ("base", "base", true, true),
        ("base", "server", false, false),
        ("base", "lab", false, false),
        ("server", "lab", false, true),
        ("server", "proof", false, true),
        ("lab", "server", false, false),
        ("lab", "proof", false, true),
        ("proof", "lab", true, true),
    ] {
        assert_eq!([false, true].map(|tests| may_import(from, to, tests)), [in_code, in_tests]);
    }
}

fn architecture() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap()
}

/// Checks that the files, folders and functions in ARCHITECTURE.md exist.
#[test]
fn the_architecture_names_what_is_there() {
    let (root, crates) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.."), crates());
    let text = architecture();
    let named: Vec<&str> = text.split('`').collect();
    let mut count = 0;
    for (at, name) in named.iter().enumerate().skip(1).step_by(2) {
        if !name.contains('/') || name.contains(' ') {
            continue;
        }
        count += 1;
        // A path begins at the root, or with a crate.
        let of = crates.iter().find(|of| name.split('/').next() == Some(&of.name));
        let path =
            of.map_or_else(|| root.join(name), |of| of.path.join(&name[of.name.len() + 1..]));
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
    let picture = text.split("```text").nth(3).unwrap().split("```").next().unwrap();
    fn place(name: &str, picture: &str) -> Option<usize> {
        picture.lines().position(|line| line.split(' ').next() == Some(name))
    }
    for CrateFolder { manifest, .. } in crates() {
        fn short(name: &str) -> String {
            name.strip_prefix("fairways-").unwrap_or(name).to_owned()
        }
        let name = short(manifest["package"]["name"].as_str().unwrap());
        let own = place(&name, picture).unwrap_or_else(|| panic!("{name} does not stand there"));
        let imports = manifest.get("dependencies").and_then(toml::Value::as_table);
        for import in imports.into_iter().flat_map(toml::Table::keys) {
            if let Some(import) = import.strip_prefix("fairways-") {
                assert!(Some(own) < place(import, picture), "{name} imports {import}");
            }
        }
    }
}
