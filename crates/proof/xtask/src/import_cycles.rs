//! Import cycles between modules of a crate: a test finds them and compares with
//! `import-cycles.toml`, which has a reason for each.
//!
//! Modules are compared with the modules beside them: a file in a folder that uses a file in
//! another folder makes the first folder import the second. Names that a module exports for another
//! one count as the other one's.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use regex::Regex;
use serde::Deserialize;

use super::wall::{CrateFolder, crates};

/// The content of `import-cycles.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownCycles {
    cycle: Vec<KnownCycle>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownCycle {
    #[serde(rename = "crate")]
    of: String,
    modules: BTreeSet<String>,
    reason: String,
}

/// A module's path in its crate; empty for the crate's root.
pub(crate) type ModulePath = Vec<String>;

/// The modules of a crate, without their tests, and the paths that each names.
pub(crate) struct CrateCode(BTreeMap<ModulePath, NamedPaths>);

struct NamedPaths {
    /// Those of its `use`.
    used: Vec<String>,
    all: BTreeSet<String>,
}

impl CrateCode {
    pub(crate) fn read(src: &Path) -> Self {
        let comment = Regex::new(r"//[^\n]*").unwrap();
        let tests = Regex::new(r"(?s)#\[cfg\(test\)\]\s*mod \w+ \{.*").unwrap();
        let item = Regex::new(r"\buse ([^;]+);").unwrap();
        let path_in_code = Regex::new(r"\b[a-z_]\w*(?:::\w+)+").unwrap();
        let (mut modules, mut folders) = (BTreeMap::new(), vec![src.to_owned()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.file_stem().is_some_and(|stem| stem == "tests") {
                    continue;
                }
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let name = path.strip_prefix(src).unwrap().with_extension("");
                    let mut name: ModulePath =
                        name.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
                    name.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
                    let text = fs::read_to_string(path).unwrap();
                    let text = comment.replace_all(&text, "");
                    let text = tests.replace(&text, "");
                    let used: Vec<String> =
                        item.captures_iter(&text).flat_map(|item| expanded(&item[1])).collect();
                    let named = path_in_code.find_iter(&text).map(|path| path.as_str().to_owned());
                    let all = used.iter().cloned().chain(named).collect();
                    modules.insert(name, NamedPaths { used, all });
                }
            }
        }
        Self(modules)
    }

    /// The module in which the item at a path is, as seen from a module; `None` if it is of another
    /// crate.
    pub(crate) fn module_of(&self, path: &str, from: &ModulePath) -> Option<ModulePath> {
        let mut parts = path.split("::").map(str::trim).peekable();
        let mut module = from.clone();
        match parts.peek().copied()? {
            "crate" => {
                module.clear();
                parts.next();
            }
            "self" | "super" => {
                while let Some(part) = parts.next_if(|part| ["self", "super"].contains(part)) {
                    if part == "super" {
                        module.pop();
                    }
                }
            }
            first => {
                module.push(first.to_owned());
                self.0.get(&module)?;
                parts.next();
            }
        }
        for part in parts {
            module.push(part.to_owned());
            if self.0.contains_key(&module) {
                continue;
            }
            module.pop();
            // An item of this module, or of one that this module has it from.
            let source = self.0.get(&module)?.used.iter().find(|used| {
                let is_itself = module == *from && *used == path;
                used.rsplit("::").next().is_some_and(|name| name == part)
                    && *used != part
                    && !is_itself
            });
            return source.and_then(|path| self.module_of(path, &module)).or(Some(module));
        }
        Some(module)
    }

    /// Each module, with the paths that it names.
    pub(crate) fn modules(&self) -> impl Iterator<Item = (&ModulePath, &BTreeSet<String>)> {
        self.0.iter().map(|(module, paths)| (module, &paths.all))
    }

    /// The modules that each module imports, of those beside it.
    fn imports(&self) -> BTreeMap<ModulePath, BTreeSet<ModulePath>> {
        let mut imports: BTreeMap<ModulePath, BTreeSet<ModulePath>> = BTreeMap::new();
        for (module, NamedPaths { all, .. }) in &self.0 {
            for other in all.iter().filter_map(|path| self.module_of(path, module)) {
                let shared = module.iter().zip(&other).take_while(|(one, two)| one == two).count();
                if shared < module.len() && shared < other.len() {
                    let own = imports.entry(module[..=shared].to_vec()).or_default();
                    own.insert(other[..=shared].to_vec());
                }
            }
        }
        imports
    }

    /// The cycles, as sets of modules.
    fn cycles(&self) -> BTreeSet<BTreeSet<String>> {
        let imports = self.imports();
        let reached: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> =
            imports.keys().map(|module| (module, reachable(module, &imports))).collect();
        let mut cycles = BTreeSet::new();
        for (module, others) in &reached {
            let back = others
                .iter()
                .filter(|other| reached.get(**other).is_some_and(|others| others.contains(module)));
            cycles.insert(back.map(|other| other.join("::")).collect::<BTreeSet<String>>());
        }
        cycles.remove(&BTreeSet::new());
        cycles
    }
}

/// The modules that a module imports, by way of others too.
fn reachable<'a>(
    module: &ModulePath,
    imports: &'a BTreeMap<ModulePath, BTreeSet<ModulePath>>,
) -> BTreeSet<&'a ModulePath> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![module]);
    while let Some(module) = open.pop() {
        for other in imports.get(module).into_iter().flatten() {
            if reached.insert(other) {
                open.push(other);
            }
        }
    }
    reached
}

/// The paths of a `use`, each for itself: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn expanded(path: &str) -> Vec<String> {
    let Some((before, list)) = path.trim().split_once('{') else {
        return vec![path.split(" as ").next().unwrap_or_default().trim().to_owned()];
    };
    let list = list.trim_end().strip_suffix('}').unwrap_or(list);
    let mut depth = 0;
    let parts = list.split(|letter| {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        letter == ',' && depth == 0
    });
    let parts = parts.filter(|part| !part.trim().is_empty()).flat_map(expanded);
    parts.map(|part| format!("{}{part}", before.trim())).collect()
}

#[test]
fn every_cycle_has_a_reason() {
    let known: KnownCycles = toml::from_str(include_str!("../import-cycles.toml")).unwrap();
    assert!(known.cycle.iter().all(|cycle| !cycle.reason.is_empty()));
    let known: BTreeSet<(String, BTreeSet<String>)> =
        known.cycle.into_iter().map(|cycle| (cycle.of, cycle.modules)).collect();
    let mut found = BTreeSet::new();
    for CrateFolder { name, path, .. } in crates() {
        let cycles = CrateCode::read(&path.join("src")).cycles();
        found.extend(cycles.into_iter().map(|cycle| (name.clone(), cycle)));
    }
    assert_eq!(found, known);
}

/// The folders of resctrl's client import only those that its page names before them, and files
/// beside the folders import none of them.
#[test]
fn the_client_of_resctrl_has_its_folders_in_order() {
    fn place(name: &str, order: &[String]) -> Option<usize> {
        order.iter().position(|folder| folder == name)
    }
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../server/resctrl-client/src");
    let page = fs::read_to_string(src.join("lib.rs")).unwrap();
    let line = Regex::new(r"(?m)^//! \d\. `(\w+)`: ").unwrap();
    let order: Vec<String> = line.captures_iter(&page).map(|line| line[1].to_owned()).collect();
    let entries = fs::read_dir(&src).unwrap().map(|entry| entry.unwrap());
    let folders: BTreeSet<String> = entries
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    assert_eq!(folders, order.iter().cloned().collect());
    for (module, others) in CrateCode::read(&src).imports() {
        for other in others.iter().filter(|other| other.len() == 1) {
            let is_before = place(&other[0], &order) <= place(&module[0], &order);
            assert!(is_before, "{} imports {}", module[0], other[0]);
        }
    }
}

#[test]
fn a_circle_is_found_through_exports_and_folders() {
    let folder = tempfile::tempdir().unwrap();
    for (file, text) in [
        ("lib.rs", "mod a; mod b; mod c; pub use b::inner::Thing;"),
        ("a.rs", "use crate::{Thing, c::Other};"),
        ("b/mod.rs", "pub(crate) mod inner; // use crate::c;"),
        ("b/inner.rs", "fn f() { crate::a::g() }"),
        // A path that names itself, as in a macro.
        (
            "c.rs",
            "macro_rules! m { () => { use crate::c::Other; } }\n#[cfg(test)]\nmod tests { use crate::a::g; }",
        ),
    ] {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let found = CrateCode::read(folder.path()).cycles();
    assert_eq!(found, BTreeSet::from([BTreeSet::from(["a".to_owned(), "b".to_owned()])]));
}
