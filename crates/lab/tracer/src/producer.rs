//! The program's side: each thread writes its accesses.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU64, fence};
use std::time::Duration;

use rustix::process::{Pid, Signal, geteuid, getpid, getuid, kill_process, test_kill_process};
use rustix::thread::futex::{Flags, Timespec, wait, wake};
use rustix::thread::gettid;

use crate::last_lines::{LastLines, MissReport};
use crate::record::{MOST_INSTRUCTIONS, MOST_REFERENCES, Record};
use crate::segment::{RING, SLOTS, Segment, Slot, state};

/// Records that are shown to the reader together.
const BATCH: u32 = 1024;

/// How long a thread waits for room before it checks whether there is still a reader.
const WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// How long, and how often, a thread waits for a ring where all are in use: a second at most.
const TURNOVER: Duration = Duration::from_millis(1);
const TRIES: u32 = 1000;

/// A session that a program takes part in.
#[derive(Clone, Debug)]
pub struct Session {
    pub(crate) segment: Arc<Segment>,
    /// The path it was opened by.
    path: Arc<str>,
}

/// A thread's state for writing its accesses.
///
/// References that hit any L1 like the smallest to simulate are left out, and counted
/// (`last_lines.rs`).
#[derive(Debug)]
pub struct Producer {
    session: Session,
    slot: usize,
    /// The same as the slot's.
    ring: *const AtomicU64,
    all: *const AtomicU64,
    /// The next record to write, and where to stop and look.
    cursor: u32,
    stop: u32,
    /// The first record that the reader does not know of.
    shown: u32,
    /// The part of the slot's instructions that was reported.
    reported: u64,
    hits: u64,
    /// The instruction that accessed memory last, and the slot's instructions then.
    last_access: (usize, u64),
    lines: LastLines,
    begun: bool,
}

// SAFETY: the ring is part of the session, which this owns.
unsafe impl Send for Producer {}

impl Session {
    pub(crate) fn new(segment: Segment, path: &str) -> Self {
        Self { segment: Arc::new(segment), path: path.into() }
    }

    /// Takes part in the session of a file.
    ///
    /// # Errors
    /// If it can't be opened, or is another file.
    pub fn open(path: &str) -> std::io::Result<Self> {
        let file = File::options().read(true).write(true).open(path)?;
        let segment = Segment::open(&file)?;
        segment
            .map(|segment| Self::new(segment, path))
            .ok_or_else(|| std::io::Error::other("expected a session of the same version"))
    }

    /// Whether children and executed programs are traced, too.
    #[must_use]
    pub fn follows(&self) -> bool {
        self.segment.header.follow.load(Relaxed) != 0 && !self.is_over()
    }

    /// A process begins to take part: a program that executed another one has left its rings
    /// behind.
    pub fn begin_process(&self) {
        for slot in &self.segment.slots {
            if slot.process.load(Relaxed) == this_process()
                && slot.state.load(SeqCst) != state::FREE
            {
                slot.state.store(state::GONE, SeqCst);
            }
        }
    }

    /// Whether a program that this process executes can open the session again, by its name: not
    /// one of another user, even if this process could.
    #[must_use]
    pub fn is_in_reach(&self) -> bool {
        use std::os::unix::fs::MetadataExt;
        let user = std::fs::metadata(&*self.path).map(|file| file.uid());
        user.is_ok_and(|user| user == geteuid().as_raw() && user == getuid().as_raw())
    }

    fn wake_reader(&self) {
        let header = &self.segment.header;
        // Either the reader sees the stores before, or this sees that the reader waits.
        fence(SeqCst);
        if header.waits.0.load(Relaxed) != 0 {
            header.pulse.fetch_add(1, Release);
            let _ = wake(&header.pulse, Flags::empty(), 1);
        }
    }

    /// Ends this process if the reader was killed, which has closed nothing then.
    fn end_with_the_reader(&self) {
        let header = &self.segment.header;
        if header.closed.load(Relaxed) == 0
            && let Some(reader) = Pid::from_raw(header.reader.load(Relaxed).cast_signed())
            && test_kill_process(reader) == Err(rustix::io::Errno::SRCH)
        {
            let _ = kill_process(getpid(), Signal::KILL);
        }
    }

    fn is_over(&self) -> bool {
        self.segment.header.closed.load(Acquire) != 0
    }

    /// A ring for a thread of this process, which has not begun; `None` if none is free.
    #[must_use]
    pub fn thread(&self) -> Option<Producer> {
        let slot = self.claim()?;
        Some(Producer::new(self.clone(), slot))
    }

    fn claim(&self) -> Option<usize> {
        let header = &self.segment.header;
        let free = || {
            self.segment.slots.iter().position(|slot| {
                let change = (state::FREE, state::ASLEEP);
                slot.state.load(Relaxed) == state::FREE
                    && slot.state.compare_exchange(change.0, change.1, SeqCst, Relaxed).is_ok()
            })
        };
        // Ended threads free their rings once the reader has read them.
        let tries = 0..if self.is_over() { 0 } else { TRIES };
        let claimed = free().or_else(|| {
            tries
                .inspect(|_| {
                    self.wake_reader();
                    std::thread::sleep(TURNOVER);
                })
                .find_map(|_| free())
        });
        let Some(slot) = claimed else {
            header.untraced.fetch_add(1, Relaxed);
            return None;
        };
        let here = &self.segment.slots[slot];
        here.process.store(this_process(), Relaxed);
        here.thread.store(0, Relaxed);
        here.instructions.0.store(0, Relaxed);
        here.is_full.0.store(0, Relaxed);
        header.used.fetch_max(u32::try_from(slot + 1).unwrap_or(u32::MAX), SeqCst);
        Some(slot)
    }
}

pub(crate) fn this_process() -> u32 {
    getpid().as_raw_nonzero().get().cast_unsigned()
}

impl Producer {
    fn new(session: Session, slot: usize) -> Self {
        let here = &session.segment.slots[slot];
        let (cursor, ring) = (here.tail.0.load(Relaxed), here.ring.as_ptr());
        let all: *const AtomicU64 = &here.instructions.0;
        let header = &session.segment.header;
        let l1 = (header.l1_sets.load(Relaxed), header.l1_ways.load(Relaxed));
        Self {
            session,
            slot,
            ring,
            all,
            cursor,
            stop: cursor.wrapping_add(1),
            shown: cursor,
            reported: 0,
            hits: 0,
            last_access: (0, 0),
            lines: LastLines::new(l1),
            begun: false,
        }
    }

    /// The counter of the instructions that this thread begins.
    fn instructions(&self) -> &AtomicU64 {
        // SAFETY: the slot's, which is part of the session that this owns.
        unsafe { &*self.all }
    }

    fn slot(&self) -> &Slot {
        &self.session.segment.slots[self.slot]
    }

    /// The thread runs a block with that many instructions.
    #[inline]
    pub fn run(&mut self, instructions: u64) {
        let all = self.instructions();
        all.store(all.load(Relaxed) + instructions, Relaxed);
    }

    /// Whether the thread's use of a line only needs counting; it is counted, then. Otherwise,
    /// [`Producer::touch`] must follow.
    #[inline]
    pub fn counts(&mut self, line: u64, store: bool) -> bool {
        let is_last = self.lines.repeats(line, store);
        self.hits = self.hits.wrapping_add(u64::from(is_last));
        is_last
    }

    /// The thread uses a line.
    pub fn touch(&mut self, line: u64, store: bool) {
        if self.counts(line, store) {
            return;
        }
        self.hits = self.hits.wrapping_add(1);
        match self.lines.touch(line, store) {
            MissReport::Nothing => return,
            MissReport::Line => {}
            MissReport::LineAfter(before) => self.push_access(before, false),
        }
        self.push_access(line, store);
    }

    /// The thread uses a further line, as a part of the reference before.
    #[inline]
    pub fn touch_also(&mut self, line: u64, store: bool) {
        self.hits = self.hits.wrapping_sub(1);
        self.touch(line, store);
    }

    /// The thread uses a line by an instruction that QEMU may report in parts.
    #[inline]
    pub fn touch_by(&mut self, instruction: usize, line: u64, store: bool) {
        // No instruction runs twice in a block.
        let access = (instruction, self.instructions().load(Relaxed));
        if access == self.last_access {
            self.touch_also(line, store);
        } else {
            self.last_access = access;
            self.touch(line, store);
        }
    }

    #[inline(always)]
    fn push_access(&mut self, line: u64, store: bool) {
        let all = self.instructions().load(Relaxed);
        if all.saturating_sub(self.reported) > u64::from(MOST_INSTRUCTIONS)
            || self.hits > u64::from(MOST_REFERENCES)
        {
            self.push_gap(true);
        }
        #[allow(clippy::cast_possible_truncation, reason = "as was checked")]
        let (instructions, references) =
            (all.saturating_sub(self.reported) as u32, self.hits as u32);
        self.push(Record::access(line, store, instructions, references));
        (self.reported, self.hits) = (all, 0);
    }

    /// At least one gap: a larger L1 may have something to report where this one has not.
    /// `continues`: an access without counts follows, as a further gap may.
    #[cold]
    fn push_gap(&mut self, continues: bool) {
        const MOST: u64 = i32::MAX as u64;
        let all = self.instructions().load(Relaxed);
        loop {
            let instructions = all.saturating_sub(self.reported).min(MOST);
            let references = self.hits.min(MOST);
            self.reported += instructions;
            self.hits -= references;
            let is_last = self.reported >= all && self.hits == 0;
            let (instructions, references) = (to_u32(instructions), to_u32(references));
            self.push(Record::gap(instructions, references, continues || !is_last));
            if is_last {
                return;
            }
        }
    }

    #[inline]
    fn push(&mut self, record: Record) {
        // SAFETY: within the ring, whose length matches its mask.
        unsafe { (*self.ring.add((self.cursor % RING) as usize)).store(record.0, Relaxed) };
        self.cursor = self.cursor.wrapping_add(1);
        if self.cursor == self.stop {
            self.show();
        }
    }

    /// Shows the written records to the reader, and waits until there is room for more.
    #[cold]
    fn show(&mut self) {
        if !self.begun {
            self.begun = true;
            let thread = gettid().as_raw_nonzero().get().cast_unsigned();
            self.slot().thread.store(thread, Relaxed);
            self.slot().state.store(state::RUNNING, SeqCst);
        }
        if self.session.segment.header.passes.load(Relaxed) != 0 {
            self.cursor = self.shown;
        } else {
            self.publish();
            self.wait_for_room();
        }
        self.stop = self.cursor.wrapping_add(BATCH);
    }

    fn publish(&mut self) {
        self.shown = self.cursor;
        self.slot().tail.0.store(self.cursor, Release);
        self.session.wake_reader();
    }

    fn wait_for_room(&mut self) {
        loop {
            let slot = self.slot();
            let head = slot.head.0.load(Acquire);
            if self.cursor.wrapping_sub(head) <= RING - 2 * BATCH {
                return;
            }
            slot.is_full.0.store(1, SeqCst);
            let header = &self.session.segment.header;
            if header.closed.load(Acquire) != 0 || header.passes.load(Relaxed) != 0 {
                // The reader wants no more of the ring; it is overwritten.
                return;
            }
            // Only a change of `head` ends the wait early; the reason for any other end does not
            // matter.
            let _ = wait(&slot.head.0, Flags::empty(), head, Some(&WAIT));
            self.session.end_with_the_reader();
        }
    }

    /// The thread enters a system call: its records are shown, and the reader does not wait for it.
    pub fn sleep(&mut self) {
        self.push_gap(false);
        self.show();
        self.slot().state.store(state::ASLEEP, SeqCst);
        self.session.wake_reader();
    }

    /// The thread returns from a system call.
    pub fn wake(&mut self) {
        self.session.end_with_the_reader();
        self.slot().state.store(state::RUNNING, SeqCst);
    }

    /// The thread ends.
    pub fn end(mut self) {
        self.sleep();
        self.slot().state.store(state::GONE, SeqCst);
        self.session.wake_reader();
    }
}

const _: () = assert!(SLOTS <= u32::MAX as usize && RING.is_power_of_two());

fn to_u32(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(0)
}
