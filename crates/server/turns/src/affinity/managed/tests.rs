use std::fs;

use super::*;
use crate::affinity::LOOK;

fn set(list: &str) -> CpuSet {
    CpuSet::parse_list(list, 64).unwrap()
}

fn managed(cpus: &str, nice: i32) -> Managed {
    Managed {
        thread: 7,
        started: 100,
        known: true,
        time: File::open("/dev/null").unwrap(),
        owners: Owners { cpus: set(cpus), all: false, nice },
        cpus: set(cpus),
        is_ours: false,
        is_remembered: false,
        nice,
        resets: false,
        weighs: true,
        wanted: None,
        raised: false,
        turns: Turns::new(10, 0, 0),
        cpus_retry: Retry::default(),
        nice_retry: Retry::default(),
    }
}

/// What /proc shows of thread 7, and sysfs of its cpuset.
struct FakeHost(tempfile::TempDir);

impl FakeHost {
    fn new() -> Self {
        let host = Self(tempfile::tempdir().unwrap());
        host.write("proc/7/cgroup", "3:cpuset:/job\n");
        host
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn thread(&self, cpus: &str, nice: i32, started: u64, policy: u32) {
        self.write("proc/7/status", &format!("Name:\ta\nCpus_allowed_list:\t{cpus}\n"));
        // proc_pid_stat(5), fields 3 to 41, of which 19, 22 and 41 count.
        let field = |number: u32| match number {
            19 => nice.to_string(),
            22 => started.to_string(),
            41 => policy.to_string(),
            _ => "0".to_owned(),
        };
        let rest: Vec<String> = (4..=41).map(field).collect();
        self.write("proc/7/stat", &format!("7 (a) S {}\n", rest.join(" ")));
    }

    fn cpuset(&self, cpus: &str) {
        self.write("sys/fs/cgroup/cpuset/job/cpuset.effective_cpus", cpus);
    }

    fn look(&self, managed: &mut Managed, online: &str) -> bool {
        let (proc, sysfs) = (self.0.path().join("proc"), self.0.path().join("sys"));
        managed.look(&proc, &sysfs, &set(online))
    }
}

/// The CPUs that are due.
fn due(managed: &Managed, online: &str) -> Option<String> {
    managed.due(&set(online), 10, 0).0.map(|cpus| cpus.to_list())
}

#[test]
fn the_owners_cpus_are_the_frame() {
    let mut managed = managed("0-3", 2);
    let due = |managed: &mut Managed, wanted: &str| {
        managed.wanted = Some(set(wanted));
        managed.cpus_due(&set("0-2,4")).to_list()
    };
    assert_eq!(managed.cpus_due(&set("0-2")).to_list(), "0-3");
    assert_eq!(due(&mut managed, "1,4-5"), "1");
    assert_eq!(due(&mut managed, "4"), "0-3", "none of its owner's");
    assert_eq!(due(&mut managed, "3"), "0-3", "none on line");
    assert_eq!(due(&mut managed, "2-3"), "2-3");
    assert_eq!(managed.nice_due(10), 2);
    managed.order(20);
    assert_eq!(managed.nice_due(10), -1);
    managed.raised = true;
    assert_eq!(managed.nice_due(10), -20);
    managed.weighs = false;
    assert_eq!(managed.nice_due(10), 2);
}

#[test]
fn one_whose_cpus_are_all_off_line_is_left_where_the_kernel_put_it() {
    let host = FakeHost::new();
    host.cpuset("0-3");
    // Pinned by its owner, and never touched.
    let mut pinned = managed("1", 0);
    host.thread("0,2-3", 0, 100, 0);
    assert!(host.look(&mut pinned, "0,2-3"));
    assert_eq!(due(&pinned, "0,2-3"), None);
    pinned.wanted = Some(set("1"));
    assert_eq!(due(&pinned, "0,2-3"), None);
    // One that may use two, and was limited to one: its owner's are as before.
    let mut moved = managed("0-1", 0);
    (moved.cpus, moved.is_ours, moved.wanted) = (set("1"), true, Some(set("1")));
    assert!(host.look(&mut moved, "0,2-3"));
    assert_eq!((moved.owners.cpus.to_list(), moved.is_ours), ("0-1".to_owned(), false));
    assert_eq!(due(&moved, "0,2-3").as_deref(), Some("0-1"));
    // Neither of the owner's is on line: the kernel chose, and its choice is not the owner's.
    let mut lost = managed("0-1", 0);
    (lost.cpus, lost.is_ours, lost.wanted) = (set("1"), true, Some(set("1")));
    host.thread("2-3", 0, 100, 0);
    assert!(host.look(&mut lost, "2-3"));
    assert_eq!((lost.owners.cpus.to_list(), due(&lost, "2-3")), ("0-1".to_owned(), None));
    assert_eq!(due(&lost, "1-3").as_deref(), Some("1"), "as soon as it is back");
}

#[test]
fn what_the_kernel_remembers_of_ours_is_taken_from_it() {
    let host = FakeHost::new();
    let ours = || {
        let mut managed = managed("0-3", 0);
        (managed.owners.all, managed.cpus, managed.is_ours) = (true, set("1"), true);
        managed.wanted = Some(set("1"));
        managed
    };
    // Its cpuset has other CPUs now, none of which is ours.
    host.cpuset("2-3");
    host.thread("2-3", 0, 100, 0);
    let mut moved = ours();
    assert!(host.look(&mut moved, "0-3"));
    assert_eq!((moved.owners.cpus.to_list(), moved.owners.all), ("2-3".to_owned(), true));
    assert_eq!(due(&moved, "0-3").as_deref(), Some("2-3"), "all of it, by which ours is forgotten");
    moved.is_remembered = false;
    assert_eq!(due(&moved, "0-3"), None);
    // Its owner has chosen some of it.
    host.thread("3", 0, 100, 0);
    let mut chosen = ours();
    assert!(host.look(&mut chosen, "0-3"));
    assert_eq!((chosen.owners.all, due(&chosen, "0-3")), (false, None));
}

#[test]
fn another_thread_of_its_number_is_not_taken_for_it() {
    let host = FakeHost::new();
    host.thread("2", 5, 101, 0);
    let mut managed = managed("0-3", 0);
    assert!(!host.look(&mut managed, "0-3"));
    assert_eq!((managed.cpus.to_list(), managed.nice), ("0-3".to_owned(), 0));
}

#[test]
fn one_without_weight_has_turns_as_usual() {
    let host = FakeHost::new();
    let mut managed = managed("0-3", 0);
    managed.order(40);
    assert_eq!(managed.turns.ordered(), 40);
    // `SCHED_FIFO`, meanwhile.
    host.thread("0-3", 0, 100, 1);
    assert!(host.look(&mut managed, "0-3"));
    assert_eq!(managed.turns.ordered(), 10);
    managed.order(40);
    assert_eq!((managed.turns.ordered(), managed.nice_due(10)), (10, 0));
    // And a thread to which the kernel has refused a nice value.
    (managed.weighs, managed.raised) = (true, true);
    managed.nice_retry.refused(0);
    managed.order(40);
    assert_eq!((managed.turns.ordered(), managed.due(&set("0-3"), 10, 0).1), (10, None));
    assert_eq!(managed.due(&set("0-3"), 10, LOOK).1, Some(-20), "it is tried again");
}
