//! Verbs know no flags: tests find the modules and the crates that know clap or its structs.
//!
//! In the crates of the doors, `args` has clap's structs, and turns them into the plain values that
//! a verb takes; the crate's root chooses the verb. The crates below it take settings.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::import_cycles::CrateCode;
use super::wall::{CrateFolder, crates};

/// The crates with flags of their own, and the one that describes them.
const WITH_CLAP: [&str; 5] = ["fairways", "fairways-lab", "kernel-lab", "verbs", "xtask"];

/// The modules, other than `args` and the root, that name clap or something of `args`.
fn modules_with_flags(src: &Path) -> BTreeSet<String> {
    let code = CrateCode::read(src);
    let mut found = BTreeSet::new();
    for (module, paths) in code.modules() {
        if module.first().is_none_or(|first| first == "args") {
            continue;
        }
        for path in paths {
            let is_of_clap = path.split("::").next() == Some("clap");
            let source = code.module_of(path, module).unwrap_or_default();
            if is_of_clap || source.first().is_some_and(|first| first == "args") {
                found.insert(module.join("::"));
            }
        }
    }
    found
}

#[test]
fn modules_of_verbs_take_plain_values() {
    for door in ["server/fairways", "lab/fairways-lab"] {
        let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(door).join("src");
        assert_eq!(modules_with_flags(&src), BTreeSet::new(), "{door}");
    }
}

#[test]
fn crates_of_verbs_have_no_flags() {
    let mut found = BTreeSet::new();
    for CrateFolder { name, manifest, .. } in crates() {
        let imports = manifest.get("dependencies").and_then(toml::Value::as_table);
        if imports.is_some_and(|imports| imports.contains_key("clap")) {
            found.insert(name);
        }
    }
    assert_eq!(found, WITH_CLAP.map(str::to_owned).into());
}

#[test]
fn a_verb_that_knows_flags_is_found() {
    let folder = tempfile::tempdir().unwrap();
    for (file, text) in [
        ("lib.rs", "mod args; mod run; mod paper; mod world; use args::Run;"),
        ("args/mod.rs", "mod run; pub(crate) use run::Run;"),
        ("args/run.rs", "use crate::run::go;\n#[derive(clap::Args)]\npub(crate) struct Run;"),
        ("paper.rs", "#[derive(clap::ValueEnum)]\nenum Name { All }"),
        ("run/mod.rs", "mod settings; // use clap;"),
        ("run/settings.rs", "use crate::{args::Run, world};"),
        ("world.rs", "#[cfg(test)]\nmod tests { use crate::args::Run; }"),
    ] {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let expected = ["paper", "run::settings"].map(str::to_owned);
    assert_eq!(modules_with_flags(folder.path()), expected.into());
}
