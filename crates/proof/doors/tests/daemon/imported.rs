//! `fairways config import`: what other managers are configured to do becomes a configuration.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::common::{Machine, can, this};

fn import(sources: &[&str], input: &str) -> Output {
    let mut command = Command::new(this());
    command.args(["config", "import", "--ways", "12", "--cache-size", "12M"]).args(sources);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that refuses its flags reads nothing.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// What `config check` says of a text.
fn check(text: &[u8]) -> Output {
    fairways_testing::needs::keep_to_owner();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fairways.toml");
    fs::write(&file, text).unwrap();
    Command::new(this()).args(["config", "check"]).arg(&file).output().unwrap()
}

const GORESCTRL: &str = "partitions:\n  a: {l3Allocation: \"0xf00\", classes: {guaranteed: }}\n  b: {l3Allocation: \"0xff\", classes: {besteffort: }}\n";
const KOORDLET: &str = "clusterStrategy:\n  lsClass: {resctrlQOS: {enable: true}}\n  beClass: {resctrlQOS: {enable: true, catRangeEndPercent: 25}}\n";
const RUBIK: &str = r#"{"dynCache": {"l3Percent": {"low": 20, "mid": 30, "high": 50}}}"#;
const LIBVIRT: &str = "<domain type='kvm'><name>web</name><vcpu>2</vcpu><cputune><cachetune vcpus='0-1'><cache id='0' level='3' type='both' size='3' unit='MiB'/></cachetune></cputune></domain>";

#[test]
fn what_other_managers_are_configured_to_do_is_accepted_by_config_check() {
    for (text, expected) in [
        (GORESCTRL, "policy = \"static\""),
        (GORESCTRL, "baseline_ways = 4"),
        (KOORDLET, "baseline_ways = 9"),
        (KOORDLET, "best_effort = true"),
        (RUBIK, "# best_effort = true"),
        (LIBVIRT, "baseline_ways = 3"),
    ] {
        let Output { status, stdout, stderr } = import(&["-"], text);
        assert_eq!(status.code(), Some(0), "{}", String::from_utf8_lossy(&stderr));
        let shown = String::from_utf8(stdout).unwrap();
        assert!(shown.contains(expected), "{expected} in {shown}");
        let checked = check(shown.as_bytes());
        assert_eq!(
            (checked.status.code(), &checked.stdout[..]),
            (Some(0), &b"ok\n"[..]),
            "{shown}"
        );
    }
}

#[test]
fn what_is_no_configuration_of_another_manager_is_refused_in_one_line() {
    let nested = "[".repeat(50_000);
    for (sources, input, expected) in [
        (&["-"][..], "hello", "-: expected one of these: goresctrl's YAML"),
        (&["-"], &nested, "-:1: expected "),
        (&["-"], "partitions: 3", "-:1: partitions: expected keys with values, found \"3\""),
        (&["-"], "<network/>", "-:1: expected a libvirt <domain>"),
        (&["-", "--from", "rubik"], GORESCTRL, "-: expected rubik's config.json"),
        (&["/"], "", "/: expected a folder where resctrl is mounted, found a folder"),
        (&["/dev/zero"], "", "/dev/zero: expected a file"),
        (&["/nonesuch.yaml"], "", "/nonesuch.yaml: can't read it"),
        (&["-", "-o", "/dev/null"], GORESCTRL, "--output: expected a name that is free"),
    ] {
        let Output { status, stdout, stderr } = import(sources, input);
        let said = String::from_utf8(stderr).unwrap();
        assert_eq!((status.code(), said.lines().count()), (Some(2), 1), "{sources:?}: {said}");
        assert!(said.starts_with("fairways: ") && said.contains(expected), "{sources:?}: {said}");
        assert!(stdout.is_empty());
    }
}

/// Another manager's groups are read, and stay as they are.
#[test]
fn groups_of_another_manager_become_programs_and_stay() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::start("mlr:500K,mload:60M");
    for (name, pid) in ["COS1", "COS2"].iter().zip(machine.pids.values()) {
        let group = machine.root.join(name);
        fs::create_dir(&group).unwrap();
        fs::write(group.join("tasks"), format!("{pid}\n")).unwrap();
    }
    let before = state(&machine.root);
    let file = machine.at("imported.toml");
    let words = [machine.root.to_str().unwrap(), "-o", file.to_str().unwrap()];
    let Output { status, stdout, stderr } = import(&words, "");
    assert_eq!(status.code(), Some(0), "{}", String::from_utf8_lossy(&stderr));
    assert!(String::from_utf8(stdout).unwrap().starts_with("wrote "));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("\n[[program]]\n"), "{text}");
    let checked = check(text.as_bytes());
    assert_eq!((checked.status.code(), &checked.stdout[..]), (Some(0), &b"ok\n"[..]), "{text}");
    assert_eq!(state(&machine.root), before);
    assert_eq!(import(&words, "").status.code(), Some(2), "the file is there");
}

/// The masks and tasks of the groups.
fn state(root: &Path) -> Vec<String> {
    let files = ["COS1/schemata", "COS1/tasks", "COS2/schemata", "COS2/tasks"];
    files.map(|file| fs::read_to_string(root.join(file)).unwrap()).into()
}
