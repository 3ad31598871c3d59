//! Real cgroups of this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use fairways_programs::{Programs, Roots};
use fairways_testing::needs::{Need, has, withheld};

use crate::real::{THREADS, becomes_readable, look_for, start};
use crate::{There, wanted};

/// A cgroup of the test's own, whose tasks go back to the parent on drop.
struct Cgroup(PathBuf);

impl Drop for Cgroup {
    fn drop(&mut self) {
        // A task that was killed leaves its cgroup only when it has been waited for.
        for _ in 0..500 {
            if fs::remove_dir(&self.0).is_ok() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }
}

impl Cgroup {
    /// A new one in the hierarchy that is mounted as `kind` with that option, if any is.
    fn new(kind: &str, option: &str, name: &str) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").expect("mounts");
        let path = mounts
            .lines()
            .find_map(|line| {
                let fields: Vec<&str> = line.split(' ').collect();
                let is = fields[2] == kind
                    && (option.is_empty() || fields[3].split(',').any(|one| one == option));
                is.then(|| PathBuf::from(fields[1]))
            })?
            .join(format!("{name}-{}", std::process::id()));
        fs::create_dir(&path).ok()?;
        Some(Self(path))
    }

    fn selector(&self) -> String {
        format!("cgroup:/{}", self.0.file_name().expect("a name").to_string_lossy())
    }

    fn enter(&self, file: &str, task: i32) {
        fs::write(self.0.join(file), task.to_string()).expect("a task moves");
    }
}

#[test]
fn a_cgroup_of_v2_reports_when_it_is_populated_and_empty() {
    let test = "a_cgroup_of_v2_reports_when_it_is_populated_and_empty";
    if !has(test, &[Need::Root]) {
        return;
    }
    let Some(cgroup) = Cgroup::new("cgroup2", "", "fairways-a") else {
        return withheld(test, "no cgroup can be made in v2's hierarchy");
    };
    let mut programs =
        Programs::new(Roots::default(), vec![wanted("a", &cgroup.selector())]).expect("this host");
    let mut there = There::default();
    assert_eq!(there.look(&mut programs), [""; 0]);
    let mut child = start(Command::new("sleep").arg("60"));
    cgroup.enter("cgroup.procs", child.pid());
    assert!(becomes_readable(&programs));
    assert_eq!(look_for(&mut there, &mut programs), ["+a"]);
    assert_eq!(there.tasks(&mut programs, "a"), [child.pid()]);
    assert!(!programs.cpus(there.0["a"]).expect("its CPUs").is_empty());
    let v1 = fs::read_to_string("/proc/self/mounts").expect("mounts").contains(",perf_event");
    assert_eq!(programs.cgroup(there.0["a"]), (!v1).then_some(cgroup.0.as_path()));
    child.0.kill().expect("it lives");
    child.0.wait().expect("it ends");
    assert!(becomes_readable(&programs));
    assert_eq!(look_for(&mut there, &mut programs), ["-a"]);
}

#[test]
fn a_threaded_cgroup_of_v2_is_listed_by_thread() {
    let test = "a_threaded_cgroup_of_v2_is_listed_by_thread";
    if !has(test, &[Need::Root, Need::Program("python3")]) {
        return;
    }
    let Some(cgroup) = Cgroup::new("cgroup2", "", "fairways-t") else {
        return withheld(test, "no cgroup can be made in v2's hierarchy");
    };
    let inside = Cgroup(cgroup.0.join("threaded"));
    fs::create_dir(&inside.0).expect("a cgroup");
    fs::write(inside.0.join("cgroup.type"), "threaded").expect("a threaded cgroup");
    let mut child = start(Command::new("python3").args(["-c", THREADS]));
    cgroup.enter("cgroup.procs", child.pid());
    let threads = || -> Vec<i32> {
        let entries = fs::read_dir(Path::new("/proc").join(child.pid().to_string()).join("task"))
            .expect("its threads");
        let mut threads: Vec<i32> = entries
            .map(|entry| {
                entry.expect("an entry").file_name().to_string_lossy().parse().expect("a number")
            })
            .collect();
        threads.sort_unstable();
        threads
    };
    let begin = std::time::Instant::now();
    while threads().len() < 4 {
        assert!(begin.elapsed().as_secs() < 20, "its threads do not start");
    }
    let all = threads();
    inside.enter("cgroup.threads", all[3]);
    let of = |selector: String| {
        let mut programs =
            Programs::new(Roots::default(), vec![wanted("a", &selector)]).expect("this host");
        let mut there = There::default();
        assert_eq!(there.look(&mut programs), ["+a"]);
        there.tasks(&mut programs, "a")
    };
    assert_eq!(of(cgroup.selector()), all);
    assert_eq!(of(format!("{}/threaded", cgroup.selector())), [all[3]]);
    child.0.kill().expect("it lives");
    child.0.wait().expect("it ends");
    drop(inside);
}

#[test]
fn a_cgroup_of_v1_is_listed_and_its_last_exit_reported() {
    let test = "a_cgroup_of_v1_is_listed_and_its_last_exit_reported";
    if !has(test, &[Need::Root]) {
        return;
    }
    let Some(cgroup) = Cgroup::new("cgroup", "memory", "fairways-b") else {
        return withheld(test, "no cgroup can be made in v1's memory hierarchy");
    };
    let mut programs =
        Programs::new(Roots::default(), vec![wanted("b", &cgroup.selector())]).expect("this host");
    let mut there = There::default();
    assert_eq!(there.look(&mut programs), [""; 0]);
    let mut children = [(); 2].map(|()| start(Command::new("sleep").arg("60")));
    for child in &children {
        cgroup.enter("tasks", child.pid());
    }
    assert_eq!(there.look(&mut programs), ["+b"], "v1 does not report tasks that move in");
    let mut pids = children.each_ref().map(|child| child.pid());
    pids.sort_unstable();
    assert_eq!(there.tasks(&mut programs, "b"), pids);
    for child in &mut children {
        child.0.kill().expect("it lives");
        child.0.wait().expect("it ends");
    }
    assert!(becomes_readable(&programs));
    assert_eq!(look_for(&mut there, &mut programs), ["-b"]);
}
