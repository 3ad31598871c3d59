//! Plans that `fairways export` wrote, applied by the tools for which they are.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use fairways_testing::needs::Need;

use crate::emulated::Emulated;
use crate::goresctrl::{rdt, run};

const MASKS: [&str; 2] = ["ffffc", "3"];
const PROGRAMS: [&str; 2] = ["mlr:8M", "mload:60M"];

/// The export of a plan with a cluster for each program.
fn export(flags: &[&str]) -> String {
    let [first, second] = MASKS;
    let plan = serde_json::json!({
        "schema": 1,
        "ways": 20,
        "mixes": [{
            "mix": "both",
            "apps": PROGRAMS,
            "policies": [{
                "policy": "lfoc",
                "reason": "as it is",
                "partition": [
                    {"apps": [0], "mask": format!("0x{first}"), "ways": 18},
                    {"apps": [1], "mask": format!("0x{second}"), "ways": 2},
                ],
            }],
        }],
    });
    export_of(&plan, flags)
}

/// The export of a plan that a command printed.
pub(crate) fn export_of(plan: &serde_json::Value, flags: &[&str]) -> String {
    let mut process = Command::new(fairways_doors::fairways())
        .arg("export")
        .args(flags)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    process.stdin.take().unwrap().write_all(plan.to_string().as_bytes()).unwrap();
    let output = process.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// The L3 masks of groups.
fn masks(emulated: &Emulated, groups: [&str; 2]) -> [String; 2] {
    groups.map(|group| {
        let schemata = emulated.read(Path::new(group).join("schemata"));
        let line = schemata.lines().find_map(|line| line.trim().strip_prefix("L3:0="));
        line.unwrap_or_else(|| panic!("{group}: {schemata}")).to_owned()
    })
}

/// Whether each group has its program's process.
fn assert_moved(emulated: &Emulated, groups: [&str; 2]) {
    for (group, program) in groups.into_iter().zip(PROGRAMS) {
        let (tasks, pid) = (emulated.read(Path::new(group).join("tasks")), emulated.pid(program));
        assert!(tasks.lines().any(|task| task == pid.to_string()), "{group}: {tasks:?}");
    }
}

/// The script, changed to look for programs only among those of one emulator: other tests run
/// programs of the same names.
fn among(emulated: &Emulated, script: &str) -> String {
    let any = "$(pgrep -x";
    assert!(script.contains(any), "{script}");
    script.replace(any, &format!("$(pgrep -P {} -x", emulated.process()))
}

const CLUSTERS: [&str; 2] = ["cluster-0", "cluster-1"];

#[test]
fn a_shell_applies_an_exported_plan() {
    let needs = [Need::Fuse, Need::Root, Need::Program("pgrep")];
    if !fairways_testing::needs::has("a shell", &needs) {
        return;
    }
    for domain in ["0", "all"] {
        let emulated = Emulated::start(&PROGRAMS.join(","));
        let script = export(&["--format", "schemata", "--domain", domain]);
        let script = among(&emulated, &script);
        let output = Command::new("timeout")
            .args(["60", "sh", "-c", &script])
            .env("RESCTRL", emulated.root())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(masks(&emulated, CLUSTERS), MASKS);
        assert_moved(&emulated, CLUSTERS);
    }
}

#[test]
fn pqos_applies_an_exported_plan() {
    let needs = [
        Need::Fuse,
        Need::Root,
        Need::Program("pqos"),
        Need::Program("unshare"),
        Need::Program("pgrep"),
    ];
    if !fairways_testing::needs::has("pqos on an exported plan", &needs) {
        return;
    }
    let emulated = Emulated::start(&PROGRAMS.join(","));
    let script = export(&["--format", "pqos", "--first-cos", "2"]);
    let script = among(&emulated, &script);
    let output = emulated.run(60, &["sh", "-c", &script]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(masks(&emulated, ["COS2", "COS3"]), MASKS);
    assert_moved(&emulated, ["COS2", "COS3"]);
}

#[test]
fn goresctrl_applies_an_exported_plan() {
    let needs = [Need::Fuse, Need::Root, Need::Program("go")];
    if !fairways_testing::needs::has("goresctrl on an exported plan", &needs) {
        return;
    }
    let rdt = rdt("exported");
    for domain in ["0", "all"] {
        let emulated = Emulated::start(&PROGRAMS.join(","));
        let mount = format!("resctrl {} resctrl rw,relatime 0 0\n", emulated.root().display());
        std::fs::write(rdt.with_file_name("mounts"), mount).unwrap();
        let file = rdt.with_file_name("plan.yaml");
        std::fs::write(&file, export(&["--format", "goresctrl", "--domain", domain])).unwrap();
        let configured = run(&rdt, &["configure", "-config-file", file.to_str().unwrap()]);
        assert!(configured.contains("Done!"), "{configured}");
        assert_eq!(masks(&emulated, CLUSTERS), MASKS, "--domain {domain}");
    }
}
