use std::collections::BTreeSet;

use super::*;
use crate::made::MadeCheckout;

/// What differs between the inputs before and after.
fn changed(made: &mut MadeCheckout, change: impl FnOnce(&mut MadeCheckout)) -> Vec<&'static str> {
    let before = made.inputs();
    change(made);
    let after = made.inputs();
    let parts = [
        ("code", before.code != after.code),
        ("data", before.data != after.data),
        ("tools", before.tools != after.tools),
    ];
    parts.into_iter().filter(|(_, differs)| *differs).map(|(part, _)| part).collect()
}

#[test]
fn touching_an_input_of_any_kind_changes_its_hash() {
    let mut made = MadeCheckout::new();
    for (file, part) in [
        ("crates/base/upper/src/lib.rs", "code"),
        ("crates/base/upper/tests/reads.rs", "code"),
        ("crates/base/upper/tests/common/mod.rs", "code"),
        ("crates/base/middle/src/lib.rs", "code"),
        ("crates/base/policy/src/gamma/mod.rs", "code"),
        ("crates/base/core/src/lib.rs", "code"),
        ("crates/base/core/Cargo.toml", "code"),
        ("rust-toolchain.toml", "code"),
        ("tables/one.csv", "data"),
        ("docs/page.md", "data"),
        ("docs/named.md", "data"),
        ("../shared/golden/a.csv", "data"),
    ] {
        assert_eq!(changed(&mut made, |made| made.touch(file)), [part], "{file}");
    }
    let profile =
        "[workspace]\nmembers = [\"crates/*/*\"]\nresolver = \"3\"\n[profile.dev]\nopt-level = 2\n";
    assert_eq!(changed(&mut made, |made| made.write("Cargo.toml", profile)), ["code"]);
    let file = "crates/base/upper/build.rs";
    assert_eq!(changed(&mut made, |made| made.write(file, "fn main() {}")), ["code"], "a new file");
    assert_eq!(
        changed(&mut made, |made| made.tools.common.push("RUSTFLAGS=-O".to_owned())),
        ["tools"]
    );
    assert_eq!(changed(&mut made, |made| made.tools.running = "Linux 7".to_owned()), ["tools"]);
    let newer = [("tracer".to_owned(), "strace 7".to_owned())];
    assert_eq!(changed(&mut made, |made| made.tools.needs = newer.into()), ["tools"]);
}

#[test]
fn a_program_that_can_no_longer_be_executed_is_another_input() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut made = MadeCheckout::new();
    let found = changed(&mut made, |made| {
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(made.root.join("docs/page.md"), mode).unwrap();
    });
    assert_eq!(found, ["data"]);
}

#[test]
fn what_concerns_other_suites_changes_nothing() {
    let mut made = MadeCheckout::new();
    for file in [
        "crates/base/aside/src/lib.rs",
        "crates/base/upper/tests/other/part.rs",
        "crates/base/upper/benches/speed.rs",
        "crates/base/middle/tests/own.rs",
        "crates/base/core/src/tests.rs",
        "notes/page.md",
    ] {
        assert!(changed(&mut made, |made| made.touch(file)).is_empty(), "{file}");
    }
    let file = "crates/base/middle/src/lib.rs";
    let text = "pub fn f() {}\n\n#[cfg(test)]\nmod tests {\n    // Two.\n}\n";
    assert!(changed(&mut made, |made| made.write(file, text)).is_empty(), "a unit test");
    let text = format!("{text}pub fn g() {{}}\n");
    assert_eq!(changed(&mut made, |made| made.write(file, &text)), ["code"], "after the tests");
}

#[test]
fn a_suite_depends_on_the_policies_that_it_names_and_on_what_they_import() {
    fn code(made: &MadeCheckout, policies: &[&str]) -> String {
        let policies = policies.iter().map(|policy| (*policy).to_owned()).collect();
        made.checkout().inputs(&CheckSubject { policies, ..made.subject() }).unwrap().code
    }
    let made = MadeCheckout::new();
    let all = [&["alpha"][..], &["gamma"], &["alpha", "gamma"], &[]];
    for (file, differs) in [
        ("crates/base/policy/src/alpha/mod.rs", [true, false, true, true]),
        ("crates/base/policy/src/beta/mod.rs", [true, false, true, true]),
        ("crates/base/policy/src/gamma/mod.rs", [false, true, true, true]),
        ("crates/base/policy/src/words.rs", [true; 4]),
    ] {
        let before = all.map(|policies| code(&made, policies));
        made.touch(file);
        let after = all.map(|policies| code(&made, policies));
        let found: Vec<bool> = before.iter().zip(&after).map(|(one, other)| one != other).collect();
        assert_eq!(found, differs, "{file}");
    }
    let unknown = CheckSubject { policies: vec!["delta".to_owned()], ..made.subject() };
    assert!(made.checkout().inputs(&unknown).is_err());
}

#[test]
fn the_command_and_the_needs_are_inputs() {
    let made = MadeCheckout::new();
    let checkout = made.checkout();
    let before = checkout.inputs(&made.subject()).unwrap();
    let other = CheckSubject { command: vec!["fast".to_owned()], ..made.subject() };
    assert_ne!(checkout.inputs(&other).unwrap().tools, before.tools);
    let other = CheckSubject { profile: "release".to_owned(), ..made.subject() };
    assert_ne!(checkout.inputs(&other).unwrap().code, before.code);
    let missing = CheckSubject { data: vec!["docs/none.md".to_owned()], ..made.subject() };
    assert!(checkout.inputs(&missing).unwrap_err().to_string().contains("docs/none.md"));
}

#[test]
fn without_git_the_inputs_are_the_same() {
    let made = MadeCheckout::new();
    let before = made.inputs();
    std::fs::remove_dir_all(made.root.join(".git")).unwrap();
    assert_eq!(made.inputs(), before);
}

#[test]
fn a_module_of_another_folder_is_an_input() {
    let mut made = MadeCheckout::new();
    made.write("crates/base/upper/tests/reads.rs", "#[path = \"other/part.rs\"]\nmod part;\n");
    assert_eq!(
        changed(&mut made, |made| made.touch("crates/base/upper/tests/other/part.rs")),
        ["code"]
    );
}

#[test]
fn a_version_that_is_not_known_never_stays_the_same() {
    let needs = [
        ("nothing".to_owned(), SuiteNeed::default()),
        (
            "x".to_owned(),
            SuiteNeed {
                packages: vec!["no-such-package".to_owned()],
                run: vec!["no-such-program --version".to_owned()],
                ..SuiteNeed::default()
            },
        ),
    ];
    let needs = needs.into();
    let [one, other] = [(); 2].map(|()| ToolVersions::read(Path::new("."), &needs, &[]));
    assert_eq!(one.needs["nothing"], other.needs["nothing"]);
    assert_ne!(one.needs["x"], other.needs["x"]);
}

#[test]
fn a_package_from_outside_counts_with_its_version_and_features() {
    fn metadata(version: &str, features: &str) -> String {
        format!(
            r#"{{"workspace_root": "/w", "workspace_members": ["own"], "packages": [
                {{"id": "own", "name": "own", "manifest_path": "/w/own/Cargo.toml", "targets": []}},
                {{"id": "far {version}", "name": "far", "manifest_path": "/far/Cargo.toml", "targets": []}},
                {{"id": "dev", "name": "dev", "manifest_path": "/dev/Cargo.toml", "targets": []}}],
              "resolve": {{"nodes": [
                {{"id": "own", "features": [], "deps": [
                    {{"pkg": "far {version}", "dep_kinds": [{{"kind": null}}]}},
                    {{"pkg": "dev", "dep_kinds": [{{"kind": "dev"}}]}}]}},
                {{"id": "far {version}", "features": [{features}], "deps": []}},
                {{"id": "dev", "features": [], "deps": []}}]}}}}"#
        )
    }
    fn outside(version: &str, features: &str, is_tested: bool) -> BTreeSet<String> {
        let graph = CrateGraph::from_json(metadata(version, features).as_bytes()).unwrap();
        graph.reached("own", is_tested).unwrap().versions
    }
    let one = outside("1.0.0", "", false);
    assert_eq!(one, BTreeSet::from(["far 1.0.0 ".to_owned(), "own ".to_owned()]));
    assert_ne!(outside("1.0.1", "", false), one);
    assert_ne!(outside("1.0.0", r#""std""#, false), one);
    assert_eq!(outside("1.0.0", "", true).len(), 3, "with what its tests need");
}
