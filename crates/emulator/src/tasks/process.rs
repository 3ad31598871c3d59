//! What /proc says of threads (proc(5)).

use std::fs;

use fairways_resctrl::rules::Owner;

/// Whose a thread is; `None` if there is none. `/proc/TID` opens for any thread, though only processes are listed.
pub(crate) fn owner(thread: i32) -> Option<Owner> {
    if thread <= 0 {
        return None;
    }
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    // Real, effective, saved.
    let mut ids = line.split_whitespace().map(str::parse);
    let (uid, suid) = (ids.next()?.ok()?, ids.nth(1)?.ok()?);
    Some(Owner { uid, suid })
}

/// The ids of a directory's entries that are numbers.
fn numbers(path: &str) -> impl Iterator<Item = i32> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Every thread of the system that this process sees, in ascending order of processes.
pub(crate) fn all_threads() -> Vec<i32> {
    let mut processes: Vec<i32> = numbers("/proc").collect();
    processes.sort_unstable();
    let mut threads = Vec::with_capacity(processes.len());
    for process in processes {
        let mut own: Vec<i32> = numbers(&format!("/proc/{process}/task")).collect();
        own.sort_unstable();
        threads.extend(own);
    }
    threads
}

/// A thread's process, its parent and when it started, in ticks since boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) process: i32,
    pub(super) parent: i32,
    pub(super) started: u64,
}

/// Every thread with its origin.
pub(super) fn origins() -> Vec<(i32, Origin)> {
    let mut found = Vec::new();
    for process in numbers("/proc") {
        for thread in numbers(&format!("/proc/{process}/task")) {
            let path = format!("/proc/{process}/task/{thread}/stat");
            let Some(origin) =
                fs::read_to_string(path).ok().and_then(|stat| origin(process, &stat))
            else {
                continue;
            };
            found.push((thread, origin));
        }
    }
    found
}

fn origin(process: i32, stat: &str) -> Option<Origin> {
    // The name, in parentheses, may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let started = fields.nth(17)?.parse().ok()?;
    Some(Origin { process, parent, started })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_there_and_knows_its_parent() {
        let this = std::process::id().cast_signed();
        assert_eq!(owner(this).unwrap().uid, rustix::process::getuid().as_raw());
        assert_eq!((owner(0), owner(-1), owner(i32::MAX)), (None, None, None));
        assert!(all_threads().contains(&this));
        let own = origins().into_iter().find(|(thread, _)| *thread == this).unwrap().1;
        let parent = rustix::process::getppid().unwrap().as_raw_nonzero().get();
        assert_eq!((own.process, own.parent), (this, parent));
        assert!(own.started > 0);
    }

    #[test]
    fn a_name_may_hold_anything() {
        let stat = "7 (a) b (c) S 3 1 1 0 -1 1 2 3 4 5 6 7 8 9 20 0 1 0 4711 9 9";
        assert_eq!(origin(7, stat), Some(Origin { process: 7, parent: 3, started: 4711 }));
        assert_eq!(origin(7, "7 (a) S"), None);
    }
}
