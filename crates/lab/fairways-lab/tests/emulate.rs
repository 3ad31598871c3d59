//! `fairways-lab emulate` as a user runs it, from its start to each kind of end.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fairways_testing::needs::{Need, has, skip};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Whether this system lets tests mount; prints the reason where it does not, and panics where it
/// must.
fn can_mount() -> bool {
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    has(&test, &[Need::Fuse, Need::Root])
}

fn this() -> PathBuf {
    assert_cmd::cargo::cargo_bin("fairways-lab")
}

/// An emulator in a process of its own, in lockstep.
struct Running {
    child: Child,
    report: Value,
    dir: PathBuf,
    folder: tempfile::TempDir,
}

const SMALL: &str = "chip:xeon-d:cores=4:sets=1024";

fn command(dir: &Path) -> Command {
    let mut command = Command::new(this());
    command.args(["emulate", "--json", "--clock", "lockstep", "--machine", SMALL]);
    command.args(["--programs", "mlr:500K,lookbusy"]).arg(dir);
    command
}

fn start() -> Running {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("resctrl");
    fs::create_dir(&dir).unwrap();
    start_on(folder, dir, command)
}

fn start_on(
    folder: tempfile::TempDir,
    dir: PathBuf,
    command: impl Fn(&Path) -> Command,
) -> Running {
    let mut child = command(&dir).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let report = serde_json::from_str(&line).unwrap_or_else(|why| {
        let mut said = String::new();
        let _ = io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said);
        panic!("{why}: {line:?} {said:?}")
    });
    Running { child, report, dir, folder }
}

impl Running {
    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn placeholders(&self) -> Vec<i64> {
        let programs = self.report["programs"].as_array().unwrap();
        programs.iter().map(|program| program["pid"].as_i64().unwrap()).collect()
    }

    fn socket(&self) -> PathBuf {
        self.report["socket"].as_str().unwrap().into()
    }

    /// Checks that everything is as it was before.
    fn check_gone(&self) {
        eventually("the mount stays", || !is_mounted(&self.dir));
        assert_eq!(fs::read_dir(&self.dir).unwrap().count(), 0);
        eventually("the socket stays", || !self.socket().exists());
        for pid in self.placeholders() {
            eventually("a placeholder stays", || !runs(pid));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = rustix::mount::unmount(&self.dir, rustix::mount::UnmountFlags::DETACH);
    }
}

fn is_mounted(dir: &Path) -> bool {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    table.lines().any(|line| line.contains(&format!(" {} ", dir.display())))
}

/// Whether a process runs; one that has ended and is not yet waited for does not.
fn runs(pid: i64) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.starts_with(" Z"))
}

fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(300), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn asked(dir: &Path, args: &[&str]) -> Value {
    let output =
        Command::new(this()).arg("emulated").arg(dir).args(args).arg("--json").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{args:?}: {said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The line that a command prints when it refuses.
fn refused(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.lines().count() == 1 && said.starts_with("fairways-lab: "), "{said}");
    said
}

#[test]
fn signals_end_it_and_leave_nothing() {
    if !can_mount() {
        return;
    }
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut of = start();
        assert!(is_mounted(&of.dir) && of.placeholders().into_iter().all(runs));
        // Another process is in the middle of an operation.
        let held = fs::File::open(of.dir.join("schemata")).unwrap();
        kill_process(of.pid(), signal).unwrap();
        assert_eq!(of.child.wait().unwrap().code(), Some(130));
        of.check_gone();
        drop(held);
    }
}

#[test]
fn a_guardian_unmounts_after_it_was_killed() {
    if !can_mount() {
        return;
    }
    let mut of = start();
    kill_process(of.pid(), Signal::KILL).unwrap();
    of.child.wait().unwrap();
    of.check_gone();
}

/// resctrl is bound elsewhere and unmounted where it was: the emulator or the guardian unmounts the
/// rest.
#[test]
fn a_mount_that_was_moved_is_found() {
    if !can_mount() {
        return;
    }
    for signal in [Signal::INT, Signal::KILL] {
        let mut of = start();
        let other = of.folder.path().join("other");
        fs::create_dir(&other).unwrap();
        rustix::mount::mount_bind(&of.dir, &other).unwrap();
        rustix::mount::unmount(&of.dir, rustix::mount::UnmountFlags::DETACH).unwrap();
        assert!(other.join("schemata").exists());
        kill_process(of.pid(), signal).unwrap();
        of.child.wait().unwrap();
        eventually("it stays where it was moved", || !is_mounted(&other));
        of.check_gone();
    }
}

#[test]
fn what_others_mounted_over_it_stays() {
    if !can_mount() {
        return;
    }
    let mut of = start();
    let over = tempfile::tempdir().unwrap();
    fs::write(over.path().join("theirs"), "").unwrap();
    rustix::mount::mount_bind(over.path(), &of.dir).unwrap();
    kill_process(of.pid(), Signal::INT).unwrap();
    let mut said = String::new();
    io::Read::read_to_string(&mut of.child.stderr.take().unwrap(), &mut said).unwrap();
    let code = of.child.wait().unwrap().code();
    let stays = of.dir.join("theirs").exists();
    let detach = rustix::mount::UnmountFlags::DETACH;
    rustix::mount::unmount(&of.dir, detach).unwrap();
    rustix::mount::unmount(&of.dir, detach).unwrap();
    assert!(stays, "theirs was unmounted");
    assert!(said.contains("something else is mounted over it"), "{said}");
    assert_eq!((said.lines().count(), code), (1, Some(1)), "{said}");
}

/// Faults are for clients: the emulator's own operations at its start do not meet them.
#[test]
fn faults_do_not_meet_the_start() {
    if !can_mount() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("resctrl");
    fs::create_dir(&dir).unwrap();
    let began = Instant::now();
    let mut of = start_on(folder, dir, |dir| {
        let mut command = command(dir);
        command.args(["--fault", "open:*=slow:600s", "--fault", "any:*=EIO@1"]);
        command
    });
    assert!(began.elapsed() < Duration::from_secs(20));
    for fault in asked(&of.dir, &["faults"])["faults"].as_array().unwrap() {
        assert_eq!(fault["met"], 0, "{fault}");
    }
    kill_process(of.pid(), Signal::TERM).unwrap();
    of.child.wait().unwrap();
    of.check_gone();
}

/// The processes that guard a directory.
fn guardians(dir: &Path) -> Vec<Pid> {
    let guardians = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let pid: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
        let is_it = line.contains("\0guardian\0") && line.contains(dir.to_str()?);
        is_it.then(|| Pid::from_raw(pid).unwrap())
    });
    guardians.collect()
}

#[test]
fn a_stopped_guardian_keeps_no_process_waiting() {
    if !can_mount() {
        return;
    }
    let mut of = start();
    let guardian = guardians(&of.dir)[0];
    kill_process(guardian, Signal::STOP).unwrap();
    let began = Instant::now();
    kill_process(of.pid(), Signal::INT).unwrap();
    eventually("it waits for its guardian", || of.child.try_wait().unwrap().is_some());
    assert!(began.elapsed() < Duration::from_secs(10));
    of.check_gone();
    assert_eq!(guardians(&of.dir), []);
}

#[test]
fn what_others_unmount_ends() {
    if !can_mount() {
        return;
    }
    let mut of = start();
    rustix::mount::unmount(&of.dir, rustix::mount::UnmountFlags::empty()).unwrap();
    assert_eq!(of.child.wait().unwrap().code(), Some(0));
    of.check_gone();
}

#[test]
fn a_placeholder_has_the_program_s_name() {
    if !can_mount() {
        return;
    }
    let of = start();
    let pid = of.placeholders()[0];
    let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap();
    assert_eq!(read("comm"), "mlr:500K\n");
    assert!(read("cmdline").starts_with("mlr:500K\0"));
    fs::create_dir(of.dir.join("web")).unwrap();
    fs::write(of.dir.join("web/tasks"), pid.to_string()).unwrap();
    let programs = &asked(&of.dir, &["programs"])["programs"];
    assert_eq!((&programs[0]["closid"], &programs[1]["closid"]), (&1.into(), &0.into()));
    kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
    eventually("it runs on", || {
        asked(&of.dir, &["programs"])["programs"][0]["running"] == Value::Bool(false)
    });
}

#[test]
fn the_other_verb_asks_for_all_there_is() {
    if !can_mount() {
        return;
    }
    let of = start();
    let status = &asked(&of.dir, &["status"])["status"];
    assert_eq!((&status["clock"], &status["now_ns"]), (&"lockstep".into(), &0.into()));
    let status = &asked(&of.dir, &["advance", "3ms"])["status"];
    assert_eq!(status["now_ns"], 3_000_000);
    let counters = &asked(&of.socket(), &["counters", "lookbusy"])["counters"];
    assert!(counters[0]["counters"]["instructions"].as_u64().unwrap() > 1_000_000);
    let faults = &asked(&of.dir, &["fault", "write:*/schemata=EBUSY"])["faults"];
    assert_eq!(faults[0]["fault"], "write:*/schemata=EBUSY");
    let why = fs::write(of.dir.join("schemata"), "L3:0=f\n").unwrap_err();
    assert_eq!(why.raw_os_error(), Some(16));
    assert_eq!(asked(&of.dir, &["faults"])["faults"][0]["met"], 1);
    assert_eq!(asked(&of.dir, &["clear"])["faults"].as_array().unwrap().len(), 0);
    asked(&of.dir, &["cpu", "1", "off"]);
    assert_eq!(fs::read_to_string(of.dir.join("cpus_list")).unwrap(), "0,2-3\n");
    let table = Command::new(this()).arg("emulated").arg(&of.dir).arg("programs").output().unwrap();
    assert!(String::from_utf8(table.stdout).unwrap().contains("mlr:500K"));
    for (args, said) in [
        (&["advance", "soon"][..], "expected a time such as 500ms"),
        (&["fault", "chew:x=EBUSY"], "expected an operation among"),
        (&["clear", "77"], "no fault 77"),
        (&["counters", "nonesuch"], "one of the programs mlr:500K, lookbusy"),
        (&["cpu", "99", "on"], "expected a CPU from 0 to 3"),
    ] {
        let line = refused(Command::new(this()).arg("emulated").arg(&of.dir).args(args));
        assert!(line.contains(said), "{args:?}: {line}");
    }
}

#[test]
fn a_second_one_has_no_room() {
    if !can_mount() {
        return;
    }
    let of = start();
    let said = refused(&mut command(&of.dir));
    assert!(said.contains("fuse.resctrl is mounted there already"), "{said}");
    assert!(of.dir.join("schemata").exists());
}

#[test]
fn a_stale_mount_is_named_and_taken_away_if_asked() {
    if !can_mount() {
        return;
    }
    let mut of = start();
    // Both are killed, so that neither can unmount it.
    let guardians = guardians(&of.dir);
    assert_eq!(guardians.len(), 1);
    let guardian = guardians[0];
    kill_process(guardian, Signal::KILL).unwrap();
    kill_process(of.pid(), Signal::KILL).unwrap();
    of.child.wait().unwrap();
    let why = fs::metadata(&of.dir).unwrap_err();
    assert_eq!(why.raw_os_error(), Some(107), "{why}");
    let said = refused(&mut command(&of.dir));
    let remedy = format!("`umount {}`", of.dir.display());
    assert!(said.contains(&remedy) && said.contains("--replace"), "{said}");
    let link = of.folder.path().join("link");
    std::os::unix::fs::symlink("resctrl", &link).unwrap();
    let said = refused(&mut command(&link));
    assert!(said.contains(&remedy), "{said}");
    let (folder, dir) = (tempfile::tempdir().unwrap(), of.dir.clone());
    let replaced = start_on(folder, dir, |dir| {
        let mut command = command(dir);
        command.arg("--replace");
        command
    });
    assert!(replaced.dir.join("schemata").exists());
    drop(replaced);
}

#[test]
fn one_user_runs_both_sides_without_root() {
    if !can_mount() {
        return;
    }
    let test = "one_user_runs_both_sides_without_root";
    if !has(test, &[Need::Program("fusermount3")]) {
        return;
    }
    if fs::metadata("/dev/fuse").unwrap().permissions().mode() & 0o006 != 0o006 {
        return skip(test, "/dev/fuse is not open to other users");
    }
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("resctrl");
    fs::create_dir(&dir).unwrap();
    for path in [folder.path(), &dir] {
        std::os::unix::fs::chown(path, Some(65_534), Some(65_534)).unwrap();
    }
    let binary = folder.path().join("fairways");
    // `cp` runs in another process: a process that another test starts from this one meanwhile
    // would have the file open for writing.
    assert!(Command::new("cp").arg(this()).arg(&binary).status().unwrap().success());
    let mut of = start_on(folder, dir, |dir| {
        let mut command = Command::new(&binary);
        command.args(["emulate", "--json", "--clock", "lockstep", "--machine", SMALL]);
        command.args(["--programs", "mlr:500K,lookbusy"]).arg(dir).uid(65_534).gid(65_534);
        command
    });
    let pid = of.placeholders()[0];
    let script = format!(
        "cd {} && mkdir web && echo {pid} > web/tasks && cat web/tasks && echo 'L3:0=f' > web/schemata",
        of.dir.display()
    );
    let output =
        Command::new("/bin/sh").args(["-c", &script]).uid(65_534).gid(65_534).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), pid.to_string());
    // After SIGKILL, too.
    kill_process(of.pid(), Signal::KILL).unwrap();
    of.child.wait().unwrap();
    of.check_gone();
    assert!(of.folder.path().exists());
}

#[test]
fn bad_input_is_reported_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("resctrl");
    fs::create_dir(&dir).unwrap();
    let (inside, long) = (dir.join("x.sock"), folder.path().join("x".repeat(200)));
    let refused = |args: &[&str]| {
        let programs = ["--programs", "lookbusy"];
        refused(Command::new(this()).arg("emulate").args(args).args(programs).arg(&dir))
    };
    for (args, said) in [
        (&["--machine", "model"][..], "expected chip: and a preset"),
        (&["--machine", "chip:nonesuch"], "expected one of xeon-d"),
        (&["--machine", SMALL, "--platform", "vax"], "possible values: lab, haswell"),
        (&["--machine", SMALL, "--kernel", "2.6"], "possible values: 6.1"),
        (&["--machine", SMALL, "--pace", "0"], "--pace: expected a number"),
        (&["--machine", SMALL, "--fault", "x"], "--fault: fault \"x\": expected"),
        (&["--machine", SMALL, "--instructions", "0"], "--instructions: expected"),
        (&["--machine", SMALL, "--clos", "0"], "--clos: expected"),
        (&["--machine", SMALL, "--platform", "zen", "--min-bits", "99"], "--min-bits: expected"),
        (&["--machine", SMALL, "--socket", inside.to_str().unwrap()], "outside the directory"),
        (&["--machine", SMALL, "--socket", long.to_str().unwrap()], "choose another with --socket"),
        (&["--machine", SMALL, "-o", "nonesuch"], "mount options \"nonesuch\""),
    ] {
        let line = refused(args);
        assert!(line.contains(said), "{args:?}: {line}");
    }
    let line = refused_dir(&folder.path().join("none"));
    assert!(line.contains("No such file or directory"), "{line}");
    fs::write(dir.join("file"), "").unwrap();
    assert!(refused_dir(&dir).contains("expected an empty directory"));
    assert!(refused_dir(&dir.join("file")).contains("expected a directory"));
    let line = self::refused(Command::new(this()).arg("emulated").arg(&dir).arg("status"));
    assert!(line.contains("no emulator listens there"), "{line}");
}

fn refused_dir(dir: &Path) -> String {
    refused(&mut command(dir))
}
