//! CPUs that go off line, in a virtual machine: this program boots a kernel, with itself in it.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use fairways_core::AppId;
use fairways_kernel_lab::{Guest, Kernel, required};
use fairways_turns::{Affinity, Scheduler as _, TurnReport};
use rustix::process::Pid;

use crate::common::{Crew, has, is_clean, open, own, settings, spin, turn};

/// The tests that run in the guest, which has four CPUs, and cpusets of cgroup v2.
const CHECKS: [&str; 3] = [
    "lab::cpus_that_go_and_come_back",
    "cpuset::what_the_kernel_remembers_of_ours_goes_when_a_cpuset_changes",
    "kin::what_was_inherited_is_not_the_owners",
];

#[test]
fn cpus_go_and_come_back_in_a_real_kernel() {
    let test = "cpus_go_and_come_back_in_a_real_kernel";
    let Some(lab) = required(test, Kernel::Sid) else { return };
    let folder = tempfile::tempdir().unwrap();
    let checks = CHECKS.join(" ");
    let job = format!(
        "echo +cpuset > /sys/fs/cgroup/cgroup.subtree_control\n\
         /schedule --exact --include-ignored --nocapture --test-threads 1 {checks} 2>&1"
    );
    let guest = Guest::new()
        .file(stripped(folder.path()), "/schedule")
        .job(job)
        .seconds(1200)
        .echo(|line| drop(writeln!(std::io::stderr(), "{line}")), false);
    let outcome = guest.run(&lab).unwrap();
    let _ = writeln!(std::io::stderr(), "{test}: the guest took {} s", outcome.duration.as_secs());
    assert_eq!(outcome.code, 0, "{}", outcome.console.join("\n"));
    let shows = |what: &str| outcome.console.iter().any(|line| line.contains(what));
    assert!(shows(&format!("{} passed", CHECKS.len())) && !shows("SKIPPED"));
}

/// This program without debug information: the guest unpacks it into memory.
fn stripped(folder: &Path) -> PathBuf {
    let whole = std::env::current_exe().unwrap();
    let stripped = folder.join("schedule");
    let mut strip = Command::new("strip");
    match strip.arg("--strip-debug").arg(&whole).arg("-o").arg(&stripped).status() {
        Ok(status) if status.success() => stripped,
        _ => whole,
    }
}

fn go(cpu: u32, online: bool) {
    let file = format!("/sys/devices/system/cpu/cpu{cpu}/online");
    fs::write(file, if online { "1" } else { "0" }).unwrap();
}

/// Runs the daemon's loop until the ended turns meet a condition; `false` if they do not within 20
/// s.
fn until(affinity: &mut Affinity, mut is_met: impl FnMut(&TurnReport) -> bool) -> bool {
    let began = Instant::now();
    let mut ended = TurnReport::default();
    while !is_met(&ended) {
        if began.elapsed() > Duration::from_secs(300) {
            return false;
        }
        turn(affinity, &mut ended);
    }
    true
}

/// Runs the daemon's loop until a turn on this CPU is reported; `false` if none is within 20 s.
fn until_reported(affinity: &mut Affinity, cpu: u32) -> bool {
    until(affinity, |ended| ended.turns.iter().any(|turn| turn.cpu == cpu))
}

#[test]
#[ignore = "for the guest: it takes a CPU off line"]
fn cpus_that_go_and_come_back() {
    let cpus = own();
    let [.., other, last] = cpus.as_slice() else { panic!("it takes two CPUs: {cpus:?}") };
    let (folder, settings) = settings();
    let crew = Crew::start(3, |_| {
        spin(Duration::from_millis(1));
        std::thread::sleep(Duration::from_millis(2));
    });
    let [pinned, moved, free] = crew.ids[..] else { unreachable!() };
    let mut only = rustix::thread::CpuSet::new();
    only.set(*last as usize);
    rustix::thread::sched_setaffinity(Pid::from_raw(pinned), &only).unwrap();
    let before = [moved, free].map(has);
    let mut affinity = open(&settings);
    crew.apps().for_each(|(app, id)| affinity.begin(app, id).unwrap());
    affinity.watch(None).unwrap();
    affinity.allow(AppId(2), &[*last].into_iter().collect()).unwrap();
    affinity.settle().unwrap();
    assert_eq!(has(moved).cpus, last.to_string());
    assert!(until_reported(&mut affinity, *last));

    go(*last, false);
    // The thread that its owner pinned stays where the kernel put it; the other has all that its
    // owner lets it use.
    let fallback = has(pinned);
    assert!(until(&mut affinity, |_| has(moved) == before[0]), "{:?}", has(moved));
    assert!(until_reported(&mut affinity, *other), "the others are reported");
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(1) {
        turn(&mut affinity, &mut TurnReport::default());
        assert_eq!(has(pinned), fallback);
    }
    // From now on it may run where the kernel put it, as it would without us; a request within that
    // is carried out.
    affinity.allow(AppId(1), &[*other].into_iter().collect()).unwrap();
    affinity.settle().unwrap();
    assert_eq!(has(pinned).cpus, other.to_string());

    go(*last, true);
    assert!(until(&mut affinity, |_| has(moved).cpus == last.to_string()), "wanted still");
    assert!(until_reported(&mut affinity, *last), "and reported again");

    // It goes, and is back before the next check.
    go(*last, false);
    go(*last, true);
    assert!(until_reported(&mut affinity, *last), "and reported again, though as many are on line");
    assert!(until(&mut affinity, |_| has(moved).cpus == last.to_string()), "{:?}", has(moved));
    let restored = affinity.close();
    assert_eq!(restored.failed, []);
    assert_eq!(([moved, free].map(has), has(pinned)), (before, fallback));
    assert!(is_clean(folder.path()));
}
