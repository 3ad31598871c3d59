//! What the kernel or the machine refuses without end: it is tried ever more seldom, the log has a
//! line and then a count, and the exit code says that no plan was ever in force.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use super::common::{Machine, can, eventually, printed};
use super::running::{Daemon, command, configure};

const PROGRAMS: [&str; 2] = ["mlr:500K", "lookbusy"];

/// How long lines and attempts are counted, and the most that there may be: a failure is four lines
/// and a group each, an attempt has two of them, and each different line has a count of its own.
const COUNTED: Duration = Duration::from_secs(5);
const MOST_LINES: usize = 25;
const MOST_ATTEMPTS: u64 = 8;

/// A policy in the shell that watches program 0, and a hundred times a second has `act` of its own,
/// in which `$n` is the number of the next plan.
fn script(act: &str) -> String {
    format!(
        r#"n=0
           while read -r line; do
             case "$line" in
               *describe*) echo '{{"describe":{{"summary":"a test"}}}}';;
               *'"started":{{"app":0'*|*'"woke"'*)
                 at=${{line#*\"at\":}}; at=${{at%%,*}}
                 wake="{{\"wake\":{{\"at\":$((at + 10000000))}}}}"
                 watch='{{"watch":{{"app":0,"every":{{"time":10000000}}}}}}'
                 echo "{{\"actions\":[{act}$watch,$wake]}}"; n=$((n + 1));;
               *) echo '{{"actions":[]}}';;
             esac
           done"#
    )
}

/// The action of a plan for program 0, in a script.
fn partition(mask: &str) -> String {
    format!(
        r#"{{\"partition\":{{\"plan\":$n,\"partition\":[{{\"mask\":\"{mask}\",\"apps\":[0]}}],\"reason\":\"a test\"}}}},"#
    )
}

/// Configures it as the policy for one program. The script is where everybody may read it, for as
/// long as the folder is kept.
fn configured(machine: &Machine, script: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policy.sh");
    fs::write(&path, script).unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    let select = format!("select = \"pid:{}\"", machine.pids[PROGRAMS[0]]);
    configure(machine, &format!("policy = \"exec:sh {}\"", path.display()), &[("reads", &select)]);
    folder
}

fn emulated(machine: &Machine, asked: &[&str]) -> Value {
    let mut command = Command::new(fairways_doors::fairways_lab());
    command.arg("emulated").arg(&machine.root).args(asked).arg("--json");
    serde_json::from_str(&printed(&mut command)).unwrap()
}

/// How often the operations of the armed faults came.
fn met(machine: &Machine) -> u64 {
    let faults = emulated(machine, &["faults"]);
    faults["faults"].as_array().unwrap().iter().map(|fault| fault["met"].as_u64().unwrap()).sum()
}

fn degraded(daemon: &Daemon<'_>) -> String {
    daemon.status()["degraded"].to_string()
}

/// Checks that the log grows by few lines, and the attempts by few.
fn is_quiet(machine: &Machine, daemon: &Daemon<'_>, about: &str) {
    let before = (daemon.said().lines().count(), met(machine));
    std::thread::sleep(COUNTED);
    let lines = daemon.said().lines().count() - before.0;
    assert!(lines <= MOST_LINES, "{about}: {lines} lines in {COUNTED:?}: {}", daemon.said());
    let attempts = met(machine) - before.1;
    assert!(attempts <= MOST_ATTEMPTS, "{about}: {attempts} attempts in {COUNTED:?}");
}

#[test]
fn a_kernel_that_refuses_every_plan_is_asked_ever_more_seldom_and_fills_no_log() {
    if !can(&[]) {
        return;
    }
    for fault in ["write:/fairways.*/schemata=EINVAL", "mkdir:/fairways.*=EIO"] {
        let machine = Machine::with(&PROGRAMS.join(","), &["--fault", fault]);
        let _kept = configured(&machine, &script(&partition("0x3")));
        let daemon = Daemon::start(&machine, command(&machine));
        eventually("it is shown", || degraded(&daemon).contains("no plan is in force, since"));
        // Past the first attempts, which follow each other soon.
        std::thread::sleep(Duration::from_secs(3));
        is_quiet(&machine, &daemon, fault);
        eventually("repetitions are counted", || daemon.said().contains("times more in"));
        // As soon as the kernel takes it, it is in force.
        emulated(&machine, &["clear"]);
        eventually("the plan is in force", || {
            let status = daemon.status();
            status["domains"][0]["refused"].is_null() && status["programs"][0]["ways"] == 2
        });
        eventually("nothing is wrong", || degraded(&daemon) == "[]");
        assert_eq!(daemon.end(Signal::TERM), Some(0), "{fault}");
    }
}

/// What a host can't do for monitoring is tried again likewise, and so are files of events.
#[test]
fn what_is_tried_at_each_look_fills_no_log_either() {
    if !can(&[]) {
        return;
    }
    for (fault, said) in [
        ("mkdir:*/mon_groups/*=EIO", "not monitored"),
        ("open:*/llc_occupancy=EMFILE", "event can't be read"),
    ] {
        let machine = Machine::with(&PROGRAMS.join(","), &["--fault", fault]);
        let _kept = configured(&machine, &script(""));
        let daemon = Daemon::start(&machine, command(&machine));
        eventually("it is logged", || daemon.said().contains(said));
        std::thread::sleep(Duration::from_secs(3));
        let before = daemon.said().lines().count();
        std::thread::sleep(COUNTED);
        let lines = daemon.said().lines().count() - before;
        assert!(lines <= MOST_LINES, "{fault}: {lines} lines in {COUNTED:?}: {}", daemon.said());
        if fault.starts_with("open") {
            let degraded = degraded(&daemon);
            assert!(degraded.contains("llc_occupancy can't be read of "), "{degraded}");
        }
        emulated(&machine, &["clear"]);
        eventually("nothing is wrong", || degraded(&daemon) == "[]");
        // No policy planned anything, and a signal ended it.
        assert_eq!(daemon.end(Signal::TERM), Some(0), "{fault}");
    }
}

/// Plans that are wrong in themselves, as often as a policy sends them.
#[test]
fn a_policy_whose_plans_are_all_wrong_fills_no_log_and_fails() {
    if !can(&[]) {
        return;
    }
    let (beyond, nobody) = (partition("0x1000000"), partition("0x3").replace("[0]", "[]"));
    for plan in [beyond, nobody] {
        let machine = Machine::start(&PROGRAMS.join(","));
        let _kept = configured(&machine, &script(&plan));
        let daemon = Daemon::start(&machine, command(&machine));
        eventually("it is refused", || daemon.said().contains("refused: "));
        std::thread::sleep(Duration::from_secs(1));
        is_quiet(&machine, &daemon, &plan);
        assert_eq!(daemon.end(Signal::TERM), Some(1), "{plan}");
    }
}

#[test]
fn a_run_in_which_no_plan_was_ever_in_force_fails() {
    if !can(&[]) {
        return;
    }
    let refusing = &["--fault", "write:/fairways.*/schemata=EINVAL"][..];
    let (never, once) = (script(""), script(&partition("0x3")));
    for (faults, policy, flags, expected) in [
        (refusing, &once, &[][..], Some("no plan was ever in force: ")),
        (&[], &never, &[], Some("no plan was ever in force: the policy made none")),
        (&[], &once, &[], None),
        // Nothing is carried out there.
        (refusing, &once, &["--dry-run"], None),
        (refusing, &once, &["--observe"], None),
    ] {
        let machine = Machine::with(&PROGRAMS.join(","), faults);
        let _kept = configured(&machine, policy);
        let mut run = command(&machine);
        let run = run.args(["--duration", "2s"]).args(flags).stderr(Stdio::piped());
        let Output { status, stderr, .. } = run.output().unwrap();
        let said = String::from_utf8(stderr).unwrap();
        assert_eq!(status.code(), Some(i32::from(expected.is_some())), "{flags:?}: {said}");
        let last = said.lines().last().unwrap_or_default();
        assert!(last.contains(expected.unwrap_or_default()), "{flags:?}: {said}");
    }
}
