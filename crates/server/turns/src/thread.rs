//! A thread as the kernel has it: what is read from it, and what is set.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use fairways_core::CpuSet;
use fairways_linux::cgroup::Membership;
use fairways_linux::topology::{MOST_CPUS, cpus};
use fairways_linux::{stat, status};
use rustix::io::Errno;
use rustix::process::{Pid, getpriority_process, setpriority_process};
use rustix::thread::{sched_getaffinity, sched_setaffinity};

use super::policy;

/// What is read from a thread's `/proc/TID/stat` (proc_pid_stat(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    /// Field 3.
    pub(super) state: char,
    /// Field 19.
    pub(super) nice: i32,
    /// When it started, field 22. Together with the number, this identifies the thread.
    pub(super) started: u64,
    /// The CPU that it is on, or was last; field 39.
    pub(super) cpu: u32,
    /// `SCHED_*`, field 41.
    pub(super) policy: u32,
}

impl Stat {
    /// `None` if the thread does not exist.
    pub(super) fn read(proc: &Path, thread: i32) -> Option<Self> {
        Self::parse(&stat::text(proc, thread)?)
    }

    fn parse(text: &str) -> Option<Self> {
        let stat = stat::Stat::parse(text)?;
        Some(Self {
            state: stat.state()?,
            nice: stat.field(19)?,
            started: stat.started()?,
            cpu: stat.field(39)?,
            policy: stat.field(41)?,
        })
    }
}

/// Whether the thread exists; no file is opened for this.
pub(super) fn exists(thread: i32) -> bool {
    getpriority_process(Pid::from_raw(thread)) != Err(Errno::SRCH)
}

/// What system calls return about a thread at little cost.
pub(super) struct Brief {
    /// The CPUs on line that it may run on.
    pub(super) cpus: CpuSet,
    pub(super) nice: i32,
    /// `SCHED_*`.
    pub(super) policy: u32,
}

impl Brief {
    /// # Errors
    /// The kernel's; `EINVAL` if it has more CPUs than fit in the C library's set.
    pub(super) fn of(thread: i32) -> io::Result<Self> {
        let pid = Pid::from_raw(thread);
        let set = sched_getaffinity(pid)?;
        let has = |cpu: &u32| usize::try_from(*cpu).is_ok_and(|cpu| set.is_set(cpu));
        let most = u32::try_from(rustix::thread::CpuSet::MAX_CPU).unwrap_or(MOST_CPUS);
        let policy = policy::get(thread)? & !libc::SCHED_RESET_ON_FORK;
        Ok(Self {
            cpus: (0..most).filter(has).collect(),
            nice: getpriority_process(pid)?,
            policy: u32::try_from(policy).unwrap_or(u32::MAX),
        })
    }
}

/// A thread's process, and the parent of that process, by number.
pub(super) fn family(proc: &Path, thread: i32) -> Option<(i32, i32)> {
    status::family(&status::text(proc, thread)?)
}

/// The CPUs that a thread may run on, including those that are off line.
pub(super) fn affinity(proc: &Path, thread: i32) -> Option<CpuSet> {
    status::cpus(&status::text(proc, thread)?)
}

/// The CPUs of a thread that only its cpuset restricts: those of the cpuset, or all CPUs without
/// one. `None` if that can't be read.
///
/// Since Linux 6.2 the kernel remembers the CPUs that sched_setaffinity(2) requested. So a thread
/// that was never restricted is put back by allowing every CPU; it follows its cpuset as before.
pub(super) fn unrestricted(proc: &Path, sysfs: &Path, thread: i32) -> Option<CpuSet> {
    let text = fs::read_to_string(proc.join(format!("{thread}/cgroup"))).ok()?;
    let root = sysfs.join("fs/cgroup");
    let mut places = Vec::new();
    for line in text.lines() {
        let group = Membership::parse(line)?;
        let path = group.path.trim_start_matches('/');
        if group.is_unified() {
            places.extend([(root.clone(), path), (root.join("unified"), path)]);
        } else if group.controllers().any(|name| name == "cpuset") {
            places.push((root.join("cpuset"), path));
        }
    }
    // The nearest group above with a cpuset's files; the hierarchy's root may have none.
    for (root, path) in places {
        let above = Path::new(path).ancestors();
        for name in ["cpuset.cpus.effective", "cpuset.effective_cpus"] {
            let mut texts = above.map(|path| fs::read_to_string(root.join(path).join(name)));
            if let Some(Ok(text)) = texts.find(Result::is_ok) {
                return CpuSet::parse_list(text.trim(), MOST_CPUS).ok();
            }
        }
    }
    cpus(sysfs, "possible")
}

/// Nanoseconds that a thread has been on CPUs, from its open `/proc/TID/schedstat`: up to the last
/// clock tick while it runs. `None` if it has ended, even if another thread has its number by now:
/// the open file stays that of the first.
pub(super) fn time(schedstat: &File) -> Option<u64> {
    use std::os::unix::fs::FileExt as _;
    let mut bytes = [0; 96];
    let read = schedstat.read_at(&mut bytes, 0).ok()?;
    std::str::from_utf8(&bytes[..read]).ok()?.split_ascii_whitespace().next()?.parse().ok()
}

/// Lets a thread run on these CPUs only, or, with `None`, on all CPUs of its cpuset.
///
/// # Errors
/// sched_setaffinity(2)'s. If the thread has ended, this is `false`, and no error.
pub(super) fn set_affinity(thread: i32, cpus: Option<&CpuSet>) -> io::Result<bool> {
    let mut set = rustix::thread::CpuSet::new();
    for cpu in 0..rustix::thread::CpuSet::MAX_CPU {
        if cpus.is_none_or(|cpus| u32::try_from(cpu).is_ok_and(|cpu| cpus.contains(cpu))) {
            set.set(cpu);
        }
    }
    lives(sched_setaffinity(Pid::from_raw(thread), &set))
}

/// Sets a thread's nice value: on Linux, setpriority(2) of a "process" sets that of the thread with
/// this number.
///
/// # Errors
/// setpriority(2)'s. If the thread has ended, this is `false`, and no error.
pub(super) fn set_nice(thread: i32, nice: i32) -> io::Result<bool> {
    lives(setpriority_process(Pid::from_raw(thread), nice))
}

fn lives(done: rustix::io::Result<()>) -> io::Result<bool> {
    match done {
        Ok(()) => Ok(true),
        Err(Errno::SRCH) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_counted_from_the_name_on() {
        let rest: Vec<String> = (4..=52).map(|field| field.to_string()).collect();
        let stat = Stat::parse(&format!("77 (a) R 1 (b c) S {}\n", rest.join(" ")));
        assert_eq!(stat, Some(Stat { state: 'S', nice: 19, started: 22, cpu: 39, policy: 41 }));
        assert_eq!(Stat::parse("77 (a) S 1 2"), None);
    }

    #[test]
    fn the_calling_thread_is_as_it_says_itself() {
        let (proc, sysfs) = (Path::new("/proc"), Path::new("/sys"));
        let thread = rustix::thread::gettid().as_raw_nonzero().get();
        let stat = Stat::read(proc, thread).unwrap();
        assert_eq!(stat.nice, rustix::process::getpriority_process(None).unwrap());
        assert_eq!(family(proc, thread).unwrap().0.unsigned_abs(), std::process::id());
        let online = cpus(sysfs, "online").unwrap();
        assert!(online.contains(stat.cpu), "{stat:?}");
        let affinity = affinity(proc, thread).unwrap();
        let brief = Brief::of(thread).unwrap();
        assert_eq!((brief.nice, brief.policy), (stat.nice, stat.policy));
        assert_eq!(brief.cpus, affinity.intersection(&online));
        assert!(
            affinity.intersection(&online).is_subset(&unrestricted(proc, sysfs, thread).unwrap())
        );
        let file = File::open(format!("/proc/{thread}/schedstat")).unwrap();
        let before = time(&file).unwrap();
        let began = std::time::Instant::now();
        while began.elapsed().as_millis() < 20 {}
        assert!(time(&file).unwrap() > before);
    }
}
