//! Which threads inherit which group.
//!
//! The kernel copies a task's ids when it forks. Here that is found out afterwards, by looking at
//! /proc: a thread that is new since the last look is a child of another thread of its process,
//! otherwise of its parent process. That is the one approximation of this emulator. Between two
//! looks a child is in the default group; a child whose parent ended before the look is taken for
//! another's; and of a process with threads in several groups the first thread counts. Every write
//! of `tasks` is preceded by a look, so that a moved thread is known by then, and stays where it
//! was put.

use std::collections::HashMap;
use std::io;

use super::process::{Origin, origins};

/// What changed among threads since the last look.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Threads that have ended.
    pub(crate) exited: Vec<i32>,
    /// Parents and children, elders first.
    pub(crate) forked: Vec<(i32, i32)>,
}

/// The threads at the last look, with when each started: an id that is used again is another
/// thread.
#[derive(Debug, Default)]
pub(crate) struct Inheritance {
    known: HashMap<i32, Origin>,
    /// The number of looks so far.
    looks: u64,
}

/// The content of /proc, not compared yet: reading it takes a while, and can be done while others
/// change groups.
#[derive(Debug)]
pub(crate) struct Snapshot {
    after: u64,
    threads: Vec<(i32, Origin)>,
}

impl Snapshot {
    /// Reads /proc, after that many [`looks`](Inheritance::looks).
    ///
    /// # Errors
    /// If that fails; nothing is known then.
    pub(crate) fn new(after: u64) -> io::Result<Self> {
        Ok(Self { after, threads: origins()? })
    }
}

impl Inheritance {
    pub(crate) fn looks(&self) -> u64 {
        self.looks
    }

    /// The changes since the last look. A snapshot that another one has overtaken has none: a
    /// thread that was moved since, and was new to it, would be taken for a child that inherits.
    pub(crate) fn changes_since(&mut self, look: Snapshot) -> Changes {
        if look.after == self.looks { self.compare(look.threads) } else { Changes::default() }
    }

    fn compare(&mut self, threads: Vec<(i32, Origin)>) -> Changes {
        self.looks += 1;
        let is_first = self.known.is_empty();
        let now: HashMap<i32, Origin> = threads.into_iter().collect();
        let mut exited: Vec<i32> = self
            .known
            .iter()
            .filter_map(|(thread, before)| {
                let still = now.get(thread).is_some_and(|origin| origin.started == before.started);
                (!still).then_some(*thread)
            })
            .collect();
        exited.sort_unstable();
        let mut new: Vec<(u64, i32, i32)> = Vec::new();
        for (&thread, origin) in &now {
            let before = self.known.get(&thread);
            if before.is_none_or(|before| before.started != origin.started) {
                let leads = thread == origin.process;
                let parent = if leads { origin.parent } else { origin.process };
                new.push((origin.started, thread, parent));
            }
        }
        // Of threads that started in one tick, the lower ids mostly did first.
        new.sort_unstable();
        let forked = new.into_iter().map(|(_, child, parent)| (parent, child)).collect();
        self.known = now;
        if is_first { Changes::default() } else { Changes { exited, forked } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(of: &[(i32, i32, i32, u64)]) -> Vec<(i32, Origin)> {
        of.iter()
            .map(|&(thread, process, parent, started)| {
                (thread, Origin { process, parent, started })
            })
            .collect()
    }

    #[test]
    fn children_are_their_parents_and_threads_their_process_s() {
        let mut seen = Inheritance::default();
        assert_eq!(seen.compare(threads(&[(1, 1, 0, 5), (7, 7, 1, 9)])), Changes::default());
        let now = [(1, 1, 0, 5), (7, 7, 1, 9), (8, 7, 1, 12), (9, 9, 7, 11), (10, 10, 9, 11)];
        let changes = seen.compare(threads(&now));
        assert_eq!(changes.forked, [(7, 9), (9, 10), (7, 8)]);
        assert!(changes.exited.is_empty());
        // An id that is used again is another's.
        let changes = seen.compare(threads(&[(1, 1, 0, 5), (7, 7, 1, 20)]));
        assert_eq!((changes.exited, changes.forked), (vec![7, 8, 9, 10], vec![(1, 7)]));
    }

    fn look(after: u64, of: &[(i32, i32, i32, u64)]) -> Snapshot {
        Snapshot { after, threads: threads(of) }
    }

    #[test]
    fn a_snapshot_that_was_overtaken_has_no_changes() {
        let mut seen = Inheritance::default();
        assert_eq!(seen.changes_since(look(0, &[(1, 1, 0, 5)])), Changes::default());
        let slow = look(seen.looks(), &[(1, 1, 0, 5)]);
        let quick = look(seen.looks(), &[(1, 1, 0, 5), (7, 7, 1, 9)]);
        assert_eq!(seen.changes_since(quick).forked, [(1, 7)]);
        assert_eq!(seen.changes_since(slow), Changes::default());
        let next = look(seen.looks(), &[(1, 1, 0, 5), (7, 7, 1, 9)]);
        assert_eq!(seen.changes_since(next), Changes::default());
    }
}
