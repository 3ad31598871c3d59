//! Programs that spin, and what the kernel reports about their threads.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Command, Stdio};

/// The environment variable that makes a process of this test spin, on that number of threads.
const SPINS: &str = "FAIRWAYS_TEST_SPINS";

/// `SCHED_EXT` of sched(7), as the kernel writes it.
pub(crate) const SCHED_EXT: &str = "7";

/// A program whose threads spin until it is dropped.
pub(crate) struct Spinning(Child);

impl Spinning {
    /// On one thread.
    pub(crate) fn one() -> Self {
        let mut command = Command::new("sh");
        Self(command.args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn().unwrap())
    }

    /// On several threads, beside some that wait.
    pub(crate) fn several(threads: usize) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "threads::spins_when_asked"]).env(SPINS, threads.to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Self(command.spawn().unwrap())
    }

    pub(crate) fn id(&self) -> i32 {
        i32::try_from(self.0.id()).unwrap()
    }
}

impl Drop for Spinning {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn spins_when_asked() {
    let Ok(threads) = std::env::var(SPINS) else { return };
    // QEMU ends an emulated CPU's turn at each `pause`, which takes it a thousand times as long as
    // another instruction: threads pause, so that CPUs take turns, but seldom.
    let spin = || {
        loop {
            (0..2000).for_each(|round: u32| _ = std::hint::black_box(round));
            std::hint::spin_loop();
        }
    };
    let threads: Vec<_> =
        (0..threads.parse().unwrap()).map(|_: usize| std::thread::spawn(spin)).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// The settings of a thread that are changed and put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    /// `Cpus_allowed_list`.
    pub(crate) cpus: Vec<u32>,
    /// Of proc_pid_stat(5): the nice value and the policy.
    pub(crate) nice: String,
    pub(crate) policy: String,
}

/// The threads of a process.
pub(crate) fn facts(pid: i32) -> BTreeMap<i32, Facts> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let numbers = tasks.map(|task| task.unwrap().file_name().to_str().unwrap().parse().unwrap());
    let of = |task: i32| {
        let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/task/{task}/{file}"));
        let (status, stat) = (read("status").unwrap(), read("stat").unwrap());
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        // The text after the command, which ends at the last parenthesis, begins with the third
        // field.
        let field = |number: usize| {
            let rest = stat.rsplit_once(") ").unwrap().1;
            rest.split(' ').nth(number - 3).unwrap().to_owned()
        };
        (task, Facts { cpus: listed(list.unwrap()), nice: field(19), policy: field(41) })
    };
    numbers.map(of).collect()
}

/// The nice value of a process's first thread.
pub(crate) fn nice(pid: i32) -> i32 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1.split(' ').nth(16).unwrap().parse().unwrap()
}

/// Whether a process's first thread is under a scheduler that was loaded into the kernel.
pub(crate) fn is_under_ext(pid: i32) -> bool {
    let text = fs::read_to_string(format!("/proc/{pid}/sched")).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("ext.enabled"));
    line.is_some_and(|line| line.ends_with('1'))
}

/// The CPU that a process's first thread is on, or was on last.
pub(crate) fn processor(pid: i32) -> u32 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1.split(' ').nth(39 - 3).unwrap().parse().unwrap()
}

/// How long a process has been on CPUs, in nanoseconds (`schedstat`).
pub(crate) fn cpu_time(pid: i32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// A list of CPUs: `0-1,3`.
pub(crate) fn listed(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        first.parse::<u32>().unwrap()..=last.parse().unwrap()
    };
    text.trim().split(',').flat_map(range).collect()
}

/// The CPUs that share the first one's L3 cache, as the daemon numbers them; all CPUs if sysfs
/// describes no such cache.
pub(crate) fn cpus() -> Vec<u32> {
    let read = |file: &str| fs::read_to_string(format!("/sys/devices/system/cpu/{file}"));
    let online = listed(&read("online").unwrap());
    let shared = read(&format!("cpu{}/cache/index3/shared_cpu_list", online[0]));
    shared.map_or(online, |shared| listed(&shared))
}
