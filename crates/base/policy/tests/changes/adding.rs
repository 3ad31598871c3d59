//! A policy that is added is a folder and lines of one file.

use std::fs;

use super::copied::CopiedWorkspace;

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
    let made = policy.make(&[(&set.name, set.read("3").unwrap())]);
    println!("{} {:?} {:?}", made.policy.name(), made.parameters, set.read("0"));
    assert!(fairways_policy::NAMES.contains(&"dummy"));
}
"#;

#[test]
fn a_policy_is_a_folder_and_lines_of_one_file() {
    let copied = CopiedWorkspace::new();
    let user = copied.path("crates/base/user");
    fs::create_dir_all(user.join("src")).unwrap();
    let manifest = "[package]\nname = \"user\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
                    [dependencies]\nfairways-policy = { path = \"../policy\" }\n";
    fs::write(user.join("Cargo.toml"), manifest).unwrap();
    fs::write(user.join("src/main.rs"), USE).unwrap();

    // All that is touched.
    let folder = copied.path("crates/base/policy/src/dummy");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("mod.rs"), FOLDER).unwrap();
    let table = "crates/base/policy/src/lib.rs";
    copied.replace(table, "pub mod dunn;", "pub mod dummy;\npub mod dunn;");
    copied.replace(table, "    dunn::POLICY,", "    dummy::POLICY,\n    dunn::POLICY,");

    let run = copied.cargo(&["run", "--quiet", "-p", "user"]);
    let output = String::from_utf8(run.stdout).unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let expected = "dummy [(\"step\", Count(3))] Err(\"a whole number, at least 1\")\n";
    assert_eq!(output, expected);
}
