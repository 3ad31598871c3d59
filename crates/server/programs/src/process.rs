//! Processes, as `/proc` describes them.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use fairways_core::CpuSet;
use fairways_linux::mounts::{self, Mount};
use fairways_linux::{affinity, is_gone, numbers, stat, status};

/// `PF_KTHREAD` of the kernel's include/linux/sched.h.
const KERNEL_THREAD: u32 = 0x0020_0000;

/// The fields that are used of `/proc/PID/stat` (`proc_pid_stat(5)`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProcessStat {
    pub(super) pid: i32,
    pub(super) comm: String,
    pub(super) state: char,
    pub(super) parent: i32,
    pub(super) flags: u32,
    /// Its CPU time so far, in the kernel and outside, in clock ticks.
    pub(super) ticks: u64,
    pub(super) threads: u32,
    /// In clock ticks since boot; with the number, it distinguishes a process from a later one with
    /// the same number.
    pub(super) start: u64,
}

impl ProcessStat {
    /// Parses the file; `None` if it has another form.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let stat = stat::Stat::parse(text)?;
        let (user, system): (u64, u64) = (stat.field(14)?, stat.field(15)?);
        Some(Self {
            pid: stat.pid,
            comm: stat.comm.to_owned(),
            state: stat.state()?,
            parent: stat.parent()?,
            flags: stat.field(9)?,
            ticks: user.saturating_add(system),
            threads: stat.field(20)?,
            start: stat.started()?,
        })
    }

    pub(super) const fn is_kernel_thread(&self) -> bool {
        self.flags & KERNEL_THREAD != 0
    }

    /// Whether no thread of it runs any more: it only waits for its parent to reap it.
    pub(super) const fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X') && self.threads <= 1
    }
}

/// The proc filesystem.
#[derive(Debug)]
pub(super) struct Proc {
    root: PathBuf,
    /// Whether its numbers are valid in this process's system calls.
    pub(super) own: bool,
}

impl Proc {
    pub(super) fn new(root: PathBuf) -> Self {
        let own = root == Path::new("/proc");
        Self { root, own }
    }

    /// The numbers of all processes, ascending.
    pub(super) fn pids(&self) -> io::Result<Vec<i32>> {
        let mut pids = numbers(&self.root)?;
        pids.sort_unstable();
        Ok(pids)
    }

    /// The state of a process or thread; `None` if none exists that this user may see.
    pub(super) fn stat(&self, pid: i32) -> io::Result<Option<ProcessStat>> {
        let path = self.root.join(pid.to_string()).join("stat");
        // The kernel returns all of it at once, in less than this.
        let mut bytes = [0; 1024];
        match File::open(&path).and_then(|mut file| file.read(&mut bytes)) {
            Ok(read) => {
                let text = String::from_utf8_lossy(&bytes[..read]);
                ProcessStat::parse(&text)
                    .ok_or_else(|| {
                        io::Error::other(format!(
                            "{}: not as proc_pid_stat(5) has it",
                            path.display()
                        ))
                    })
                    .map(Some)
            }
            Err(error) => unseen(&path, &error),
        }
    }

    /// The file name in a process's first argument; `None` if it has none, as a kernel thread.
    pub(super) fn first_argument(&self, pid: i32) -> io::Result<Option<String>> {
        let path = self.root.join(pid.to_string()).join("cmdline");
        let mut bytes = [0; 4096];
        let read = match File::open(&path).and_then(|mut file| file.read(&mut bytes)) {
            Ok(read) => read,
            Err(error) => return unseen(&path, &error),
        };
        let first = bytes[..read].split(|&byte| byte == 0).next();
        Ok(first.filter(|first| !first.is_empty()).map(|first| {
            let text = String::from_utf8_lossy(first);
            text.rsplit('/').next().unwrap_or(&text).to_owned()
        }))
    }

    /// Whether a process belongs to that user alone: by the real, the effective and the saved
    /// number. For a set-uid program, the effective one is not the user that started and named it.
    /// No, if it is gone or this user may not see it.
    pub(super) fn belongs_to(&self, pid: i32, user: u32) -> io::Result<bool> {
        let text = self.text(pid, "status")?;
        let of = text.and_then(|text| status::users(&text));
        Ok(of.is_some_and(|of| [of.real, of.effective, of.saved] == [user; 3]))
    }

    /// The text of a file of a process; `None` if that is gone, or this user may not see it.
    fn text(&self, pid: i32, file: &str) -> io::Result<Option<String>> {
        let path = self.root.join(pid.to_string()).join(file);
        match std::fs::read(&path) {
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Err(error) => unseen(&path, &error),
        }
    }

    /// Adds the threads of a process, none if it is gone.
    pub(super) fn threads(&self, pid: i32, threads: &mut Vec<i32>) -> io::Result<()> {
        let path = self.root.join(pid.to_string()).join("task");
        match numbers(&path) {
            Ok(found) => threads.extend(found),
            Err(error) if is_gone(&error) => {}
            Err(error) => return Err(in_file(&path, &error)),
        }
        Ok(())
    }

    /// A value that changes with the number of a process's threads: the links of its `task`, one
    /// for each and two (`proc_task_getattr` in the kernel's fs/proc/base.c). `None` if it is gone.
    #[allow(clippy::useless_conversion, reason = "32 bits where the processor is an Arm")]
    pub(super) fn count_threads(&self, pid: i32) -> Option<u64> {
        let path = self.root.join(format!("{pid}/task"));
        rustix::fs::stat(&path).ok().map(|about| u64::from(about.st_nlink))
    }

    /// `/proc/PID/cgroup`; `None` if the process is gone, or this user may not see it.
    pub(super) fn cgroups(&self, pid: i32) -> io::Result<Option<String>> {
        self.text(pid, "cgroup")
    }

    /// The CPUs that a thread may use; `None` if it is gone.
    pub(super) fn allowed(&self, thread: i32) -> Option<CpuSet> {
        match self.own {
            true => affinity::of_thread(&self.root, thread),
            false => status::cpus(&status::text(&self.root, thread)?),
        }
    }

    /// The number that was last given to a process or thread (`/proc/loadavg`); unchanged, none was
    /// made since.
    pub(super) fn last_pid(&self) -> Option<i32> {
        let text = std::fs::read_to_string(self.root.join("loadavg")).ok()?;
        text.split_ascii_whitespace().nth(4)?.parse().ok()
    }

    /// The mounts that this process sees.
    pub(super) fn mounts(&self) -> io::Result<Vec<Mount>> {
        mounts::all(&self.root).map_err(|error| in_file(&self.root.join("self/mountinfo"), &error))
    }
}

/// No answer where a process is gone, is another user's and proc is mounted with hidepid, or has a
/// cgroup whose path is longer than the kernel writes, which any user may make. Any other error is
/// no answer either, but says nothing about the process: out of descriptors, say.
fn unseen<T>(path: &Path, error: &io::Error) -> io::Result<Option<T>> {
    match is_gone(error) || is_too_long(error) || error.kind() == io::ErrorKind::PermissionDenied {
        true => Ok(None),
        false => Err(in_file(path, error)),
    }
}

/// Whether a path is longer than the kernel takes or writes.
pub(super) fn is_too_long(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NAMETOOLONG.raw_os_error())
}

/// The same error, naming the file.
pub(super) fn in_file(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_may_hold_anything() {
        let text = "77 (a) R 1 (b c) S 12 77 77 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 98765 1 2\n";
        let stat = ProcessStat::parse(text).expect("as the kernel writes it");
        assert_eq!((stat.pid, stat.comm.as_str(), stat.state), (77, "a) R 1 (b c", 'S'));
        assert_eq!((stat.parent, stat.threads, stat.start), (12, 3, 98765));
        assert_eq!(stat.ticks, 5 + 6);
        assert!(!stat.is_kernel_thread() && !stat.has_ended());
        let thread = "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0";
        assert!(ProcessStat::parse(thread).expect("as the kernel writes it").is_kernel_thread());
    }

    #[test]
    fn this_process_is_as_proc_says() {
        let proc = Proc::new(PathBuf::from("/proc"));
        let pid = i32::try_from(std::process::id()).expect("a process number");
        let stat = proc.stat(pid).expect("readable").expect("it lives");
        assert_eq!(stat.pid, pid);
        assert!(stat.threads >= 1 && !stat.is_kernel_thread());
        let mut threads = Vec::new();
        proc.threads(pid, &mut threads).expect("readable");
        assert!(threads.contains(&pid));
        assert!(!proc.allowed(pid).expect("it lives").is_empty());
        assert_eq!(proc.stat(i32::MAX).expect("no error"), None);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".*", comm in ".{0,15}", start: u64) {
            let _ = ProcessStat::parse(&text);
            let line = format!("5 ({comm}) S 1 5 5 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 {start} 1 2");
            let stat = ProcessStat::parse(&line);
            proptest::prop_assert_eq!(stat.map(|stat| (stat.comm, stat.start)), Some((comm, start)));
        }
    }
}
