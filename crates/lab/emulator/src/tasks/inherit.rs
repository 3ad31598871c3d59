//! Which threads inherit which group.
//!
//! The kernel copies a task's ids when it forks. Here that is found out afterwards, by looking at
//! /proc: a thread that is new since the last look is a child of another thread of its process,
//! otherwise of its parent process. That is the one approximation of this emulator. Between two
//! looks a child is in the default group; a child whose parent ended before the look is taken for
//! another's; and of a process with threads in several groups the first thread counts. Every write
//! of `tasks` is preceded by a look, so that a moved thread is known by then, and stays where it
//! was put. A look for births alone reads only the threads whose ids the kernel has given out since
//! the last look.

use std::collections::HashMap;
use std::io;

use super::process::{NewestId, Origin, origin_of, origins};

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
    newest_id: NewestId,
    /// The id that the kernel had given out last, before the last look; `None`: unknown.
    newest: Option<i32>,
    /// Ids given out before, under which no thread was seen yet: one may still be in its making.
    unseen: Vec<i32>,
}

/// The most ids that are looked up one by one: to read all of /proc is as quick then.
const MOST_BIRTHS: i32 = 128;

/// The most ids without a thread that are looked up again. A thread that is being made is seen
/// after the next few.
const MOST_UNSEEN: usize = 32;

/// The content of /proc, not compared yet: reading it takes a while, and can be done while others
/// change groups.
#[derive(Debug)]
pub(crate) struct Snapshot {
    after: u64,
    newest: Option<i32>,
    threads: Vec<(i32, Origin)>,
}

impl Snapshot {
    /// Reads /proc, after that many [`looks`](Inheritance::looks).
    ///
    /// # Errors
    /// If that fails; nothing is known then.
    pub(crate) fn new(after: u64) -> io::Result<Self> {
        Ok(Self { after, newest: NewestId::default().read(), threads: origins()? })
    }
}

impl Inheritance {
    pub(crate) fn looks(&self) -> u64 {
        self.looks
    }

    /// The process of a thread that was seen at the last look.
    pub(crate) fn process_of(&self, thread: i32) -> Option<i32> {
        self.known.get(&thread).map(|origin| origin.process)
    }

    /// The threads that were seen at the last look, if it found all those born before. Some may
    /// have ended since.
    pub(crate) fn seen(&self) -> Option<Vec<i32>> {
        self.newest.map(|_| self.known.keys().copied().collect())
    }

    /// The changes since the last look. A snapshot that another one has overtaken has none: a
    /// thread that was moved since, and was new to it, would be taken for a child that inherits.
    pub(crate) fn changes_since(&mut self, look: Snapshot) -> Changes {
        if look.after != self.looks {
            return Changes::default();
        }
        self.newest = look.newest;
        self.compare(look.threads)
    }

    /// The threads born since the last look, and those that have ended whose ids they have; `None`
    /// where that takes a look at all of /proc.
    ///
    /// # Errors
    /// If one can't be read; the next look finds it.
    pub(crate) fn births(&mut self) -> io::Result<Option<Changes>> {
        let (Some(before), Some(newest)) = (self.newest, self.newest_id.read()) else {
            return Ok(None);
        };
        // Ids begin again from the lowest at some point.
        if newest < before || newest - before > MOST_BIRTHS {
            self.newest = None;
            return Ok(None);
        }
        let (mut born, mut unseen) = (Vec::new(), Vec::new());
        for id in self.unseen.iter().copied().chain(before + 1..=newest) {
            match origin_of(id)? {
                Some(origin) => born.push((id, origin)),
                None => unseen.push(id),
            }
        }
        self.newest = Some(newest);
        self.unseen = unseen.split_off(unseen.len().saturating_sub(MOST_UNSEEN));
        Ok(Some(self.add(born)))
    }

    fn add(&mut self, born: Vec<(i32, Origin)>) -> Changes {
        self.looks += u64::from(!born.is_empty());
        let mut changes = Changes::default();
        let mut new = Vec::new();
        for (thread, origin) in born {
            let before = self.known.insert(thread, origin);
            if before.is_some_and(|before| before.started != origin.started) {
                changes.exited.push(thread);
            }
            if before.is_none_or(|before| before.started != origin.started) {
                new.push((origin.started, thread, origin.maker(thread)));
            }
        }
        changes.forked = in_order_of_birth(new);
        changes
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
                new.push((origin.started, thread, origin.maker(thread)));
            }
        }
        let forked = in_order_of_birth(new);
        self.known = now;
        if is_first { Changes::default() } else { Changes { exited, forked } }
    }
}

/// Parents and children, from when each child started, its id, and its parent's. Of threads that
/// started in one tick, the lower ids mostly did first.
fn in_order_of_birth(mut new: Vec<(u64, i32, i32)>) -> Vec<(i32, i32)> {
    new.sort_unstable();
    new.into_iter().map(|(_, child, parent)| (parent, child)).collect()
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
        Snapshot { after, newest: None, threads: threads(of) }
    }

    #[test]
    fn threads_born_since_are_added_and_overtake_a_look() {
        let mut seen = Inheritance::default();
        assert_eq!(seen.changes_since(look(0, &[(1, 1, 0, 5), (7, 7, 1, 9)])), Changes::default());
        let slow = look(seen.looks(), &[(1, 1, 0, 5), (7, 7, 1, 9)]);
        // Nobody is born, which overtakes nothing; then two, one under an id that is used again.
        assert_eq!(seen.add(Vec::new()), Changes::default());
        assert_eq!(slow.after, seen.looks());
        let changes = seen.add(threads(&[(7, 7, 1, 20), (9, 7, 1, 21), (1, 1, 0, 5)]));
        assert_eq!((changes.exited, changes.forked), (vec![7], vec![(1, 7), (7, 9)]));
        assert_eq!(seen.changes_since(slow), Changes::default());
    }

    #[test]
    #[allow(clippy::unwrap_used)]
    fn a_thread_born_since_the_last_look_is_found_by_its_id() {
        let mut seen = Inheritance::default();
        seen.changes_since(Snapshot::new(0).unwrap());
        let (send, receive) = std::sync::mpsc::channel::<()>();
        let (born, births) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            born.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
            receive.recv().unwrap_err();
        });
        let id: i32 = births.recv().unwrap();
        let process = std::process::id().cast_signed();
        match seen.births().unwrap() {
            Some(births) => assert!(births.forked.contains(&(process, id)), "{births:?}"),
            // Without the newest id, or after too many births, all are to be listed.
            None => assert_eq!(seen.seen(), None),
        }
        drop(send);
        thread.join().unwrap();
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
