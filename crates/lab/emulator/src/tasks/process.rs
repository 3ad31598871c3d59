//! Threads, as /proc describes them (proc(5)).

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use fairways_linux::stat::Stat;
use fairways_linux::status;
use fairways_resctrl_rules::rules::Owner;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// The owner of a thread; `None` if there is none. `/proc/TID` opens for any thread, though only
/// processes are listed.
///
/// # Errors
/// If that can't be read, for lack of file descriptors, say.
pub(crate) fn owner(thread: i32) -> io::Result<Option<Owner>> {
    if thread <= 0 {
        return Ok(None);
    }
    let status = if_there(fs::read(format!("/proc/{thread}/status")))?;
    Ok(status.and_then(|status| {
        let users = status::users(&String::from_utf8_lossy(&status))?;
        Some(Owner { uid: users.real, suid: users.saved })
    }))
}

/// The result of reading a thread, or nothing where it ended meanwhile; any other error says
/// nothing about the thread.
pub(super) fn if_there<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(why) => match Errno::from_io_error(&why) {
            Some(Errno::NOENT | Errno::SRCH) => Ok(None),
            _ => Err(why),
        },
    }
}

/// The ids of a directory's entries that are numbers, in ascending order; none where the directory
/// is gone.
fn numbers(path: &str) -> io::Result<Vec<i32>> {
    let mut found = if_there(fairways_linux::numbers(Path::new(path)))?.unwrap_or_default();
    found.sort_unstable();
    Ok(found)
}

/// Every thread of the system that this process sees, in ascending order of processes.
///
/// # Errors
/// If they can't all be listed.
pub(crate) fn all_threads() -> io::Result<Vec<i32>> {
    let mut threads = Vec::new();
    for process in numbers("/proc")? {
        threads.extend(numbers(&format!("/proc/{process}/task"))?);
    }
    Ok(threads)
}

/// A thread's process, its parent and when it started, in ticks since boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) process: i32,
    pub(super) parent: i32,
    pub(super) started: u64,
}

impl Origin {
    /// The thread that has made this one, `thread`: another one of its process, or its parent.
    pub(super) fn maker(&self, thread: i32) -> i32 {
        if thread == self.process { self.parent } else { self.process }
    }
}

/// The id that was given out last in this namespace (Documentation/admin-guide/sysctl/kernel.rst,
/// `ns_last_pid`, which takes `CONFIG_CHECKPOINT_RESTORE`).
#[derive(Debug)]
pub(super) struct NewestId(Option<File>);

impl Default for NewestId {
    fn default() -> Self {
        Self(File::open("/proc/sys/kernel/ns_last_pid").ok())
    }
}

impl NewestId {
    /// `None` where the kernel does not show it.
    pub(super) fn read(&self) -> Option<i32> {
        let mut text = [0; 16];
        let length = self.0.as_ref()?.read_at(&mut text, 0).ok()?;
        std::str::from_utf8(&text[..length]).ok()?.trim().parse().ok()
    }
}

/// Whether there is a thread of this id: no signal is sent (kill(2)). A tenth of the time that
/// opening a file of /proc takes.
fn exists(thread: i32) -> io::Result<bool> {
    let Some(id) = Some(thread).filter(|&id| id > 0).and_then(Pid::from_raw) else {
        return Ok(false);
    };
    match test_kill_process(id) {
        // It may be another user's.
        Ok(()) | Err(Errno::PERM) => Ok(true),
        Err(Errno::SRCH) => Ok(false),
        Err(why) => Err(why.into()),
    }
}

/// A thread's origin; `None` if there is none.
///
/// # Errors
/// If that can't be read.
pub(super) fn origin_of(thread: i32) -> io::Result<Option<Origin>> {
    if !exists(thread)? {
        return Ok(None);
    }
    let Some(status) = if_there(fs::read(format!("/proc/{thread}/status")))? else {
        return Ok(None);
    };
    let Some((process, _)) = status::family(&String::from_utf8_lossy(&status)) else {
        return Ok(None);
    };
    let stat = if_there(fs::read(format!("/proc/{thread}/stat")))?.unwrap_or_default();
    Ok(origin(process, &String::from_utf8_lossy(&stat)))
}

/// The existing ones of some threads, in the order of [`all_threads`]; `process` is the process of
/// a thread, if it is known.
///
/// # Errors
/// If one can't be read.
pub(crate) fn in_order(
    threads: &[i32],
    process: impl Fn(i32) -> Option<i32>,
) -> io::Result<Vec<i32>> {
    let mut found = Vec::new();
    for &thread in threads {
        let process = match process(thread) {
            Some(process) => exists(thread)?.then_some(process),
            None => origin_of(thread)?.map(|origin| origin.process),
        };
        found.extend(process.map(|process| (process, thread)));
    }
    found.sort_unstable();
    Ok(found.into_iter().map(|(_, thread)| thread).collect())
}

/// Every thread with its origin.
///
/// # Errors
/// If they can't all be read: a missing one has not ended then.
pub(super) fn origins() -> io::Result<Vec<(i32, Origin)>> {
    let mut found = Vec::new();
    for process in numbers("/proc")? {
        for thread in numbers(&format!("/proc/{process}/task"))? {
            let path = format!("/proc/{process}/task/{thread}/stat");
            // Names are bytes.
            let stat = if_there(fs::read(path))?.unwrap_or_default();
            let origin = origin(process, &String::from_utf8_lossy(&stat));
            found.extend(origin.map(|origin| (thread, origin)));
        }
    }
    Ok(found)
}

fn origin(process: i32, stat: &str) -> Option<Origin> {
    let stat = Stat::parse(stat)?;
    Some(Origin { process, parent: stat.parent()?, started: stat.started()? })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_there_and_knows_its_parent() {
        let this = std::process::id().cast_signed();
        assert_eq!(owner(this).unwrap().unwrap().uid, rustix::process::getuid().as_raw());
        for none in [0, -1, i32::MAX] {
            assert_eq!(owner(none).unwrap(), None);
        }
        assert!(all_threads().unwrap().contains(&this));
        let own = origins().unwrap().into_iter().find(|(thread, _)| *thread == this).unwrap().1;
        let parent = rustix::process::getppid().unwrap().as_raw_nonzero().get();
        assert_eq!((own.process, own.parent), (this, parent));
        assert!(own.started > 0);
    }

    #[test]
    fn threads_that_there_are_are_listed_by_process() {
        let this = std::process::id().cast_signed();
        let asked = [i32::MAX, this, 1, 0, -1];
        assert_eq!(in_order(&asked, |_| None).unwrap(), [1, this]);
        // As if both were of processes with other ids.
        fn known(thread: i32) -> Option<i32> {
            Some(if thread == 1 { 9 } else { 8 })
        }
        assert_eq!(in_order(&asked, known).unwrap(), [this, 1]);
    }

    #[test]
    fn a_thread_that_cannot_be_read_is_not_gone() {
        let gone = if_there::<()>(Err(Errno::SRCH.into()));
        assert!(matches!(gone, Ok(None)));
        let unknown = if_there::<()>(Err(Errno::MFILE.into()));
        assert!(unknown.is_err());
    }

    #[test]
    fn a_name_may_hold_anything() {
        let stat = "7 (a) b (c) S 3 1 1 0 -1 1 2 3 4 5 6 7 8 9 20 0 1 0 4711 9 9";
        assert_eq!(origin(7, stat), Some(Origin { process: 7, parent: 3, started: 4711 }));
        assert_eq!(origin(7, "7 (a) S"), None);
    }
}
