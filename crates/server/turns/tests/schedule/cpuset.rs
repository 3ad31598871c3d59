//! Threads whose cpuset is changed meanwhile.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use fairways_core::{AppId, CpuSet};
use fairways_testing::needs::{Need, has as meets, withheld};
use fairways_turns::{Scheduler as _, TurnReport};

use crate::common::{has, is_clean, open, own, settings, turn};

/// A cpuset of the test's own, and a process in it.
struct Cpuset {
    folder: PathBuf,
    child: Child,
}

impl Cpuset {
    /// Makes one with these CPUs; `None` where cpusets do not exist, or none can be made.
    fn new(cpus: &str) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let hierarchy = |line: &str| {
            let fields: Vec<&str> = line.split(' ').collect();
            let root = PathBuf::from(fields[1]);
            let controllers = root.join("cgroup.subtree_control");
            let has = |text: String| text.split_whitespace().any(|name| name == "cpuset");
            let is = match fields[2] {
                "cgroup" => fields[3].split(',').any(|option| option == "cpuset"),
                "cgroup2" => fs::read_to_string(controllers).is_ok_and(has),
                _ => false,
            };
            is.then_some(root)
        };
        let root = mounts.lines().find_map(hierarchy)?;
        let folder = root.join(format!("fairways-test-{}", std::process::id()));
        fs::create_dir(&folder).ok()?;
        let child = Command::new("sleep").arg("1000").spawn().unwrap();
        let cpuset = Self { folder, child };
        let mems = fs::read_to_string(root.join("cpuset.mems"))
            .or_else(|_| fs::read_to_string(root.join("cpuset.mems.effective")))
            .ok()?;
        fs::write(cpuset.folder.join("cpuset.mems"), mems.trim()).ok()?;
        cpuset.set(cpus)?;
        fs::write(cpuset.folder.join("cgroup.procs"), cpuset.id().to_string()).ok()?;
        Some(cpuset)
    }

    fn id(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    fn set(&self, cpus: &str) -> Option<()> {
        fs::write(self.folder.join("cpuset.cpus"), cpus).ok()
    }

    /// Waits until its process has these CPUs.
    fn has(&self, cpus: &str) -> bool {
        let began = Instant::now();
        while has(self.id()).cpus != cpus {
            if began.elapsed() > Duration::from_secs(5) {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }
}

impl Drop for Cpuset {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for _ in 0..500 {
            if fs::remove_dir(&self.folder).is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

#[test]
fn what_the_kernel_remembers_of_ours_goes_when_a_cpuset_changes() {
    let test = "what_the_kernel_remembers_of_ours_goes_when_a_cpuset_changes";
    let cpus = own();
    if !meets(test, &[Need::Root]) {
        return;
    }
    let [first, second, ..] = cpus.as_slice() else {
        withheld(test, "it takes two CPUs");
        return;
    };
    let both = CpuSet::from_iter([*first, *second]).to_list();
    let (first, second) = (first.to_string(), second.to_string());
    for looks in [false, true] {
        let (folder, settings) = settings();
        let Some(cpuset) = Cpuset::new(&both) else {
            withheld(test, "there are no cpusets, or none can be made");
            return;
        };
        assert!(cpuset.has(&both));
        let mut affinity = open(&settings);
        affinity.begin(AppId(1), cpuset.id()).unwrap();
        affinity.allow(AppId(1), &crate::common::set(&second)).unwrap();
        affinity.settle().unwrap();
        assert!(cpuset.has(&second));
        // The cpuset has none of the wanted CPUs now.
        cpuset.set(&first).unwrap();
        assert!(cpuset.has(&first));
        let began = Instant::now();
        while looks && began.elapsed() < Duration::from_secs(1) {
            turn(&mut affinity, &mut TurnReport::default());
        }
        let restored = affinity.close();
        assert_eq!((restored.left, restored.failed), (vec![], vec![]));
        assert!(cpuset.has(&first));
        cpuset.set(&both).unwrap();
        assert!(cpuset.has(&both), "it is not confined to what was ours");
        assert!(is_clean(folder.path()));
    }
}
