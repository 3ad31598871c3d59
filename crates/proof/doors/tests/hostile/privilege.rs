//! The permissions of a daemon: only what its configuration needs (SECURITY.md has the table).

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::common::{Machine, Sleeper, can, eventually, this};
use super::running::{Daemon, command, configure};

/// Returns these lines of the status of every thread of a process (proc_pid_status(5)).
fn of_threads(pid: u64, keys: &[&str]) -> BTreeSet<String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let statuses = tasks.map(|task| fs::read_to_string(task.unwrap().path().join("status")));
    let mut found = BTreeSet::new();
    for status in statuses {
        // A thread that served a client may have ended meanwhile.
        let Ok(status) = status else { continue };
        let lines = status.lines().filter(|line| keys.iter().any(|key| line.starts_with(key)));
        found.extend(lines.map(|line| line.replace('\t', "")));
    }
    found
}

fn bits(names: &[Value]) -> u64 {
    let number = |name: &Value| match name.as_str().unwrap() {
        "CAP_DAC_OVERRIDE" => 1,
        "CAP_NET_ADMIN" => 12,
        other => panic!("{other} is not needed"),
    };
    names.iter().map(|name| 1 << number(name)).sum()
}

#[test]
fn every_thread_has_given_up_what_is_not_needed() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::start("mlr:500K");
    let select = format!("select = \"pid:{}\"", machine.pids["mlr:500K"]);
    configure(&machine, "policy = \"equal\"", &[("reads", &select)]);
    let daemon = Daemon::start(&machine, command(&machine));
    eventually("it is managed", || daemon.programs() == ["reads"]);
    let status = daemon.status();
    let pid = status["pid"].as_u64().unwrap();
    let held = bits(status["sandbox"]["capabilities"].as_array().unwrap());
    // The kernel's resctrl root has no write permission, and the emulator's neither.
    assert_eq!(held & 0b10, 0b10, "{status}");
    let expected = [format!("CapEff:{held:016x}"), format!("CapPrm:{held:016x}")];
    let expected: BTreeSet<String> =
        expected.into_iter().chain(["NoNewPrivs:1".to_owned(), "Seccomp:2".to_owned()]).collect();
    assert_eq!(of_threads(pid, &["CapEff:", "CapPrm:", "NoNewPrivs:", "Seccomp:"]), expected);
    assert_eq!(status["sandbox"]["system_calls"], "limited by seccomp");
    drop(daemon);

    // The operator may switch it off, and `status` shows that.
    configure(&machine, "policy = \"equal\"\nsandbox = false", &[("reads", &select)]);
    let daemon = Daemon::start(&machine, command(&machine));
    let status = daemon.status();
    assert_eq!(status["sandbox"]["files"], json!("off: sandbox = false"));
    let pid = status["pid"].as_u64().unwrap();
    assert_eq!(of_threads(pid, &["Seccomp:"]), BTreeSet::from(["Seccomp:0".to_owned()]));
}

/// Runs `fairways run` with these flags, by root with these capabilities and no others, for two
/// seconds: its exit code, and its messages.
fn with_capabilities(
    machine: &Machine,
    capabilities: &str,
    flags: &[&str],
) -> (Option<i32>, String) {
    let output = Command::new("setpriv")
        .args(["--inh-caps=-all", &format!("--bounding-set=-all{capabilities}")])
        .arg(this())
        .args(["run", "--duration", "2s"])
        .args(flags)
        .args(machine.places("run"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Each feature works with the capabilities of its row in SECURITY.md, and without one of them the
/// message names what is missing.
#[test]
fn each_feature_takes_the_capabilities_of_its_row() {
    if !can(&["setpriv"]) {
        return;
    }
    let machine = Machine::start("mlr:500K,lookbusy");
    let program = format!("reads=pid:{}", machine.pids["mlr:500K"]);
    let ways = ["--policy", "equal", "--counters", "none", "--program", &program];
    let is_managed = |said: &str| said.contains("program moved");

    // Giving out ways: CAP_DAC_OVERRIDE, because of the kernel's mode of resctrl's root, or none
    // where its owner may write there.
    let (code, said) = with_capabilities(&machine, "", &ways);
    assert!(said.contains("EACCES") && !is_managed(&said), "{code:?} {said}");
    let (code, said) = with_capabilities(&machine, ",+dac_override", &ways);
    assert!(code == Some(0) && is_managed(&said), "{code:?} {said}");
    for folder in ["resctrl", "resctrl/mon_groups"] {
        let path = machine.at(folder);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode | 0o200)).unwrap();
    }
    let (code, said) = with_capabilities(&machine, "", &ways);
    assert!(code == Some(0) && is_managed(&said), "{code:?} {said}");

    // Scheduling: CAP_SYS_NICE and CAP_PERFMON.
    let sleeper = Sleeper::start();
    let program = format!("sleeps=pid:{}", sleeper.id());
    let turns = ["--policy", "casc", "--counters", "profiles", "--program", &program];
    let (code, said) = with_capabilities(&machine, ",+perfmon", &turns);
    assert!(code != Some(0) && said.contains("expected root, or CAP_SYS_NICE"), "{code:?} {said}");
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap();
    if paranoid.trim().parse::<i32>().unwrap() > 0 {
        let (code, said) = with_capabilities(&machine, ",+sys_nice", &turns);
        assert!(code != Some(0) && said.contains("CAP_PERFMON"), "{code:?} {said}");
    }
    let (code, said) = with_capabilities(&machine, ",+sys_nice,+perfmon", &turns);
    assert!(code == Some(0) && said.contains("threads take turns"), "{code:?} {said}");

    // A policy that is a program: CAP_SETUID and CAP_SETGID.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policy.sh");
    let script = r#"while read -r line; do
        case "$line" in
            *describe*) echo '{"describe":{"summary":"a test"}}';;
            *'"started"'*) echo '{"actions":[{"partition":{"plan":0,"partition":[{"mask":"0x1","apps":[0]}],"reason":"a test"}}]}';;
            *) echo '{"actions":[]}';;
        esac
    done"#;
    fs::write(&path, script).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let policy = format!("exec:sh {}", path.display());
    let ways = ["--policy", &policy, "--counters", "none", "--program", ways[5]];
    for capabilities in ["", ",+setuid", ",+setgid"] {
        let (code, said) = with_capabilities(&machine, capabilities, &ways);
        assert!(code != Some(0) && said.contains("can't become nobody"), "{code:?} {said}");
    }
    let (code, said) = with_capabilities(&machine, ",+setuid,+setgid,+kill", &ways);
    assert!(code == Some(0) && is_managed(&said), "{code:?} {said}");
}
