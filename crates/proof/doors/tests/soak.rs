//! A long run beside a restless host: programs come and go, another manager works, and faults
//! occur. It takes half a minute, or `FAIRWAYS_SOAK` seconds; with `FAIRWAYS_SOAK_CSV=FILE` the
//! measurements are written to that file.

#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
#[path = "daemon/common.rs"]
mod common;
#[allow(dead_code)]
#[path = "daemon/running.rs"]
mod running;

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use common::{Machine, can, eventually};
use running::{Daemon, command, configure};

/// The most programs at a time.
const PROGRAMS: usize = 6;

/// How often the daemon is measured, while no managed program exists: all memory is then its own.
const MEASURED: Duration = Duration::from_secs(10);

/// The resources of a process.
#[derive(Clone, Copy, Debug)]
struct Held {
    second: u64,
    resident_kb: u64,
    descriptors: usize,
    threads: usize,
    groups: usize,
}

impl Held {
    /// The least within a second: a descriptor of a process that has just ended is soon closed.
    fn least(machine: &Machine, pid: u64, began: Instant) -> Self {
        let looks = (0..10).map(|_| {
            sleep(Duration::from_millis(100));
            Self::of(machine, pid, began)
        });
        looks.min_by_key(|held| (held.groups, held.threads, held.descriptors)).unwrap()
    }

    fn of(machine: &Machine, pid: u64, began: Instant) -> Self {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let listed = |path: String| fs::read_dir(path).unwrap().count();
        let classes = fs::read_dir(&machine.root).unwrap().flatten();
        let ours = |name: &std::ffi::OsStr| name.to_str().unwrap().starts_with("fairways.");
        Self {
            second: began.elapsed().as_secs(),
            resident_kb: line.trim().strip_suffix(" kB").unwrap().parse().unwrap(),
            descriptors: listed(format!("/proc/{pid}/fd")),
            threads: listed(format!("/proc/{pid}/task")),
            groups: classes.filter(|entry| ours(&entry.file_name())).count(),
        }
    }
}

/// Another manager's work in resctrl, one step a second.
struct Neighbor<'a> {
    machine: &'a Machine,
    steps: usize,
}

impl Neighbor<'_> {
    fn emulated(&self, words: &[&str]) {
        let mut command = Command::new(fairways_doors::fairways_lab());
        command.arg("emulated").arg(&self.machine.root).args(words).stdout(Stdio::null());
        assert!(command.status().unwrap().success(), "{words:?}");
    }

    /// Another manager makes a class, limits it, and removes it; some operations of resctrl fail
    /// now and then.
    fn step(&mut self) {
        let theirs = self.machine.root.join("theirs");
        match self.steps % 8 {
            // Monitoring ids that were just released are not free yet: it tries again later.
            0 => match fs::create_dir(&theirs).err().map(|why| why.kind()) {
                None => {}
                Some(why) => return assert_eq!(why, io::ErrorKind::ResourceBusy),
            },
            1 => self.machine.write("theirs/schemata", "L3:0=3\n"),
            2 => self.emulated(&["fault", "write:*/schemata=EBUSY@2"]),
            3 => self.emulated(&["fault", "write:*/tasks=EIO@3"]),
            4 => self.emulated(&["clear"]),
            5 => match fs::create_dir(theirs.join("mon_groups/pod")).err().map(|why| why.kind()) {
                None => {}
                Some(why) => return assert_eq!(why, io::ErrorKind::ResourceBusy),
            },
            6 => fs::remove_dir(theirs.join("mon_groups/pod")).unwrap(),
            _ => fs::remove_dir(&theirs).unwrap(),
        }
        self.steps += 1;
    }
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn memory_descriptors_and_groups_stay_as_they_are() {
    if !can(&[]) {
        return;
    }
    let seconds = std::env::var("FAIRWAYS_SOAK").map_or(30, |text| text.parse().unwrap());
    let machine = Machine::by_clock("paced", "mlr:500K", &[]);
    // As on a chip with a larger cache: this one is so small that by the kernel's rule no
    // monitoring id could be used again.
    machine.write("info/L3_MON/max_threshold_occupancy", "65536\n");
    // A name that no other process of this machine has.
    let name = format!("soak{}", std::process::id());
    let program = machine.at(&name);
    fs::copy(fairways_testing::needs::find("sleep").unwrap(), &program).unwrap();
    let select = format!("select = \"process:{name}\"\neach = true");
    configure(&machine, "policy = \"equal\"", &[("comes", &select)]);
    let daemon = Daemon::start(&machine, command(&machine));
    let pid = daemon.status()["pid"].as_u64().unwrap();

    let began = Instant::now();
    let mut neighbor = Neighbor { machine: &machine, steps: 0 };
    let (mut programs, mut measured, mut came) = (Vec::new(), Vec::new(), 0_u64);
    let mut next = MEASURED;
    while began.elapsed() < Duration::from_secs(seconds) {
        let start = || Command::new(&program).arg("3600").stdin(Stdio::null()).spawn().unwrap();
        programs.push(start());
        came += 1;
        if programs.len() > PROGRAMS {
            end(programs.remove(0));
        }
        neighbor.step();
        if began.elapsed() >= next {
            next += MEASURED;
            eventually("a program is managed", || !daemon.programs().is_empty());
            programs.drain(..).for_each(end);
            eventually("no program is managed", || daemon.programs().is_empty());
            measured.push(Held::least(&machine, pid, began));
        }
        sleep(Duration::from_secs(1));
    }
    programs.drain(..).for_each(end);
    while !neighbor.steps.is_multiple_of(8) {
        neighbor.step();
        sleep(Duration::from_secs(1));
    }
    eventually("no program is managed", || daemon.programs().is_empty());
    measured.push(Held::least(&machine, pid, began));

    let mut rows = "second,resident_kb,descriptors,threads,groups\n".to_owned();
    for held in &measured {
        let Held { second, resident_kb, descriptors, threads, groups } = held;
        writeln!(rows, "{second},{resident_kb},{descriptors},{threads},{groups}").unwrap();
    }
    if let Some(file) = std::env::var_os("FAIRWAYS_SOAK_CSV") {
        fs::write(file, &rows).unwrap();
    }
    assert!(came * 3 > seconds, "{came} programs came in {seconds} s");
    assert!(!daemon.said().contains("Out of RMIDs"), "ids come back");
    // As after the first sixth: after ten minutes of an hour.
    let early = measured[measured.len() / 6];
    let last = measured[measured.len() - 1];
    assert_eq!(
        (last.descriptors, last.threads, last.groups),
        (early.descriptors, early.threads, early.groups),
        "{rows}"
    );
    // Half a megabyte: pages that the allocator takes now and then.
    assert!(last.resident_kb <= early.resident_kb + 512, "{rows}");
    assert_eq!(daemon.end(Signal::TERM), Some(0));
    assert_eq!(
        fs::read_dir(&machine.root)
            .unwrap()
            .flatten()
            .filter(|entry| { entry.file_name().to_str().unwrap().starts_with("fairways.") })
            .count(),
        0
    );
}
