//! A policy that is added is a folder and lines of one file.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::Command;

const FOLDER: &str = r#"//! `dummy`: what a test adds.

use fairways_core::{Action, Event, Policy, Time};

use crate::parameter::parameters;
use crate::table::{Descriptor, make};

parameters! {
    /// Its parameters.
    pub struct Parameters {
        /// Ways that it would move.
        step: u32 = 2, "ways", "ours", least 1;
    }
}

/// `dummy`, in the table of policies.
pub(crate) const POLICY: Descriptor =
    Descriptor::new::<Parameters>("dummy", "nothing at all", &|given| {
        make(Parameters::default(), Dummy, given)
    });

/// The policy.
#[derive(Debug)]
pub struct Dummy(pub Parameters);

impl Policy for Dummy {
    fn name(&self) -> &'static str {
        "dummy"
    }

    fn handle(&mut self, _: Time, _: &Event, _: &mut dyn FnMut(Action<'_>)) {}
}
"#;

const USE: &str = r#"fn main() {
    let policy = fairways_policy::descriptor("dummy").unwrap();
    let set = policy.parameter("step").unwrap();
    let made = policy.make(&[(set.name, set.read("3").unwrap())]);
    println!("{} {:?} {:?}", made.policy.name(), made.parameters, set.read("0"));
    assert!(fairways_policy::NAMES.contains(&"dummy"));
}
"#;

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, &to).unwrap();
        }
    }
}

#[test]
fn a_policy_is_a_folder_and_lines_of_one_file() {
    let policy = Path::new(env!("CARGO_MANIFEST_DIR"));
    let there = tempfile::tempdir().unwrap();
    for name in ["core", "policy"] {
        let (from, to) = (policy.parent().unwrap().join(name), there.path().join(name));
        copy(&from.join("src"), &to.join("src"));
        let needs = if name == "core" { "" } else { "fairways-core = { path = \"../core\" }\n" };
        let manifest = format!(
            "[package]\nname = \"fairways-{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
             [features]\nserde = []\n[dependencies]\n{needs}"
        );
        fs::write(to.join("Cargo.toml"), manifest).unwrap();
    }
    let user = there.path().join("user");
    fs::create_dir_all(user.join("src")).unwrap();
    let manifest = "[package]\nname = \"user\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n\
                    [dependencies]\nfairways-policy = { path = \"../policy\" }\n";
    fs::write(user.join("Cargo.toml"), manifest).unwrap();
    fs::write(user.join("src/main.rs"), USE).unwrap();

    // All that is touched.
    let source = there.path().join("policy/src");
    fs::create_dir(source.join("dummy")).unwrap();
    fs::write(source.join("dummy/mod.rs"), FOLDER).unwrap();
    let table = fs::read_to_string(source.join("lib.rs")).unwrap();
    let table = table.replacen("pub mod dunn;", "pub mod dummy;\npub mod dunn;", 1);
    let table = table.replacen("    dunn::POLICY,", "    dummy::POLICY,\n    dunn::POLICY,", 1);
    fs::write(source.join("lib.rs"), table).unwrap();

    let run = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--offline"])
        .current_dir(&user)
        .env("CARGO_TARGET_DIR", there.path().join("target"))
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    let output = String::from_utf8(run.stdout).unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let expected = "dummy [(\"step\", Count(3))] Err(\"a whole number, at least 1\")\n";
    assert_eq!(output, expected);
}
