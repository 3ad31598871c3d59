//! Real processes of this machine: by the kernel's reports where it sends them, and by looks alone.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::AsFd as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fairways_programs::{Programs, Roots, Wanted};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tempfile::TempDir;

use crate::{There, each, wanted};

/// A child that is killed when this is dropped.
pub(crate) struct Killed(pub(crate) Child);

impl Killed {
    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.0.id()).expect("a process number")
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn start(command: &mut Command) -> Killed {
    let [input, output, errors] = [(); 3].map(|()| Stdio::null());
    Killed(command.stdin(input).stdout(output).stderr(errors).spawn().expect("a child"))
}

/// The proc filesystem under another path, where only looks work.
fn by_looking(directory: &TempDir) -> Roots {
    let proc = directory.path().join("proc");
    if !proc.exists() {
        symlink("/proc", &proc).expect("a link");
    }
    Roots { proc, ..Roots::default() }
}

/// A program under a name that no other has.
fn named(directory: &TempDir, name: &str, program: &str) -> PathBuf {
    let path = directory.path().join(name);
    symlink(fairways_testing::needs::find(program).expect(program), &path).expect("a link");
    path
}

/// Waits until the attention is readable. Returns whether it was in time.
pub(crate) fn becomes_readable(programs: &Programs) -> bool {
    let attention = programs.attention();
    let limit = Timespec { tv_sec: 60, tv_nsec: 0 };
    poll(&mut [PollFd::from_borrowed_fd(attention[0].as_fd(), PollFlags::IN)], Some(&limit))
        .expect("poll")
        > 0
}

/// Looks until something changed, or for a minute.
pub(crate) fn look_for(there: &mut There, programs: &mut Programs) -> Vec<String> {
    let begin = Instant::now();
    loop {
        let changes = there.look(programs);
        if !changes.is_empty() || begin.elapsed() > Duration::from_secs(300) {
            return changes;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The children of `parent`, as the kernel has them now.
fn children(parent: i32) -> BTreeSet<i32> {
    let list = format!("/proc/{parent}/task/{parent}/children");
    let text = fs::read_to_string(list).expect("a kernel with CONFIG_PROC_CHILDREN");
    text.split_whitespace().map(|pid| pid.parse().expect("a number")).collect()
}

#[test]
fn a_process_comes_forks_is_outlived_and_goes() {
    for looking in [true, false] {
        let directory = tempfile::tempdir().expect("a directory");
        let roots = if looking { by_looking(&directory) } else { Roots::default() };
        let name = format!("fw{}", std::process::id());
        let shell = named(&directory, &name, "sh");
        let wanted = vec![wanted("web", &format!("process:{name}"))];
        let mut programs = Programs::new(roots, wanted).expect("this host");
        let mut there = There::default();
        assert_eq!(there.look(&mut programs), [""; 0]);
        let script = "sleep 60 & echo $! > child; wait";
        let mut parent =
            start(Command::new(&shell).args(["-c", script]).current_dir(directory.path()));
        assert_eq!(look_for(&mut there, &mut programs), ["+web"]);
        let file = directory.path().join("child");
        let child: i32 = loop {
            let text = fs::read_to_string(&file).unwrap_or_default();
            if let Ok(child) = text.trim().parse() {
                break child;
            }
        };
        let mut both = vec![parent.pid(), child];
        both.sort_unstable();
        assert_eq!(there.tasks(&mut programs, "web"), both, "by looking: {looking}");
        assert!(!programs.cpus(there.0["web"]).expect("its CPUs").is_empty());
        parent.0.kill().expect("it lives");
        parent.0.wait().expect("it ends");
        assert_eq!(there.look(&mut programs), [""; 0]);
        assert_eq!(there.tasks(&mut programs, "web"), [child], "it outlives its parent");
        let of_child = rustix::process::Pid::from_raw(child).expect("a number");
        rustix::process::kill_process(of_child, rustix::process::Signal::KILL).expect("it lives");
        assert_eq!(look_for(&mut there, &mut programs), ["-web"]);
    }
}

#[test]
fn an_exit_is_reported_at_once() {
    let mut child = start(Command::new("sleep").arg("60"));
    let selector = format!("pid:{}", child.pid());
    let mut programs =
        Programs::new(Roots::default(), vec![wanted("a", &selector)]).expect("this host");
    let mut there = There::default();
    assert_eq!(there.look(&mut programs), ["+a"]);
    assert_eq!(there.tasks(&mut programs, "a"), [child.pid()]);
    child.0.kill().expect("it lives");
    // Not waited for: its zombie does not count as the program any more.
    let begin = Instant::now();
    while there.look(&mut programs) != ["-a"] {
        assert!(begin.elapsed() < Duration::from_secs(300), "it is not reported");
        assert!(becomes_readable(&programs), "nothing is reported");
    }
}

#[test]
fn threads_are_its_tasks() {
    if !fairways_testing::needs::has(
        "threads_are_its_tasks",
        &[fairways_testing::needs::Need::Program("python3")],
    ) {
        return;
    }
    let mut child = start(Command::new("python3").args(["-c", THREADS]));
    let selector = format!("pid:{}", child.pid());
    let mut programs =
        Programs::new(Roots::default(), vec![wanted("a", &selector)]).expect("this host");
    let mut there = There::default();
    there.look(&mut programs);
    let begin = Instant::now();
    while there.tasks(&mut programs, "a").len() < 4 {
        assert!(begin.elapsed() < Duration::from_secs(300), "its threads are not found");
    }
    let tasks = there.tasks(&mut programs, "a");
    assert!(tasks.contains(&child.pid()) && tasks.is_sorted());
    child.0.kill().expect("it lives");
}

pub(crate) const THREADS: &str = "
import threading, time
for _ in range(3): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
time.sleep(60)";

fn kill(pid: &i32) {
    let pid = rustix::process::Pid::from_raw(*pid).expect("a number");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it lives");
}

/// A program that forks all the time is listed until a pass finds nothing new: then nothing is
/// missing.
fn storm(roots: Roots, directory: &Path) {
    let script = "i=0; while [ $i -lt 200 ]; do sleep 600 & i=$((i+1)); done; echo > done; wait";
    let shell = start(Command::new("sh").args(["-c", script]).current_dir(directory));
    let selector = format!("pid:{}", shell.pid());
    let mut programs = Programs::new(roots, vec![wanted("storm", &selector)]).expect("this host");
    let mut there = There::default();
    there.look(&mut programs);
    let mut seen = BTreeSet::new();
    let mut passes = 0;
    let done = directory.join("done");
    loop {
        let ended = done.exists();
        let before = seen.len();
        seen.extend(there.tasks(&mut programs, "storm"));
        passes += 1;
        if ended && seen.len() == before {
            break;
        }
    }
    let all = children(shell.pid());
    assert_eq!(all.len(), 200);
    let missing: Vec<_> = all.difference(&seen).collect();
    assert!(missing.is_empty(), "after {passes} passes: {missing:?}");
    assert_eq!(there.tasks(&mut programs, "storm").len(), 201);
    kill(&shell.pid());
    all.iter().for_each(kill);
    assert_eq!(look_for(&mut there, &mut programs), ["-storm"]);
}

#[test]
fn what_forks_all_the_time_is_found_within_a_pass() {
    for looking in [true, false] {
        let directory = tempfile::tempdir().expect("a directory");
        let roots = if looking { by_looking(&directory) } else { Roots::default() };
        storm(roots, directory.path());
    }
}

#[test]
fn the_connector_reports_processes_whose_parents_came_and_went_meanwhile() {
    let test = "the_connector_reports_processes_whose_parents_came_and_went_meanwhile";
    if !fairways_testing::needs::has(test, &[fairways_testing::needs::Need::Root]) {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let name = format!("fx{}", std::process::id());
    let shell = named(&directory, &name, "sh");
    let wanted: Vec<Wanted> = vec![each("daemon", &format!("process:{name}"))];
    let mut programs = Programs::new(Roots::default(), wanted).expect("this host");
    let mut there = There::default();
    assert_eq!(there.look(&mut programs), [""; 0]);
    if !programs.has_process_events() {
        fairways_testing::needs::withheld(test, "the kernel refuses the proc connector");
        return;
    }
    // When the shell has ended, so has the child between: the process that it forked is only init's
    // child.
    let script = "while [ ! -e go ]; do sleep 0.01; done; (sleep 60 & echo $! > child)";
    let mut parent = start(Command::new(&shell).args(["-c", script]).current_dir(directory.path()));
    assert!(becomes_readable(&programs));
    assert_eq!(look_for(&mut there, &mut programs), ["+daemon.1"]);
    fs::write(directory.path().join("go"), "").expect("a file");
    parent.0.wait().expect("it ends");
    let child = fs::read_to_string(directory.path().join("child")).expect("its number");
    let child: i32 = child.trim().parse().expect("a number");
    assert_eq!(there.look(&mut programs), [""; 0]);
    assert_eq!(there.tasks(&mut programs, "daemon.1"), [child]);
    let of_child = rustix::process::Pid::from_raw(child).expect("a number");
    rustix::process::kill_process(of_child, rustix::process::Signal::KILL).expect("it lives");
    assert_eq!(look_for(&mut there, &mut programs), ["-daemon.1"]);
}
