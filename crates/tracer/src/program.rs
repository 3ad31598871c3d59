//! The side of the reader: a program that runs, and what its threads tell.

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::fence;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use rustix::thread::futex::{Flags, Timespec, wait, wake};

use crate::guard::END;
use crate::notes::Note;
use crate::producer::Session;
use crate::record::{Record, Told};
use crate::segment::{RING, SLOTS, Slot, state};

/// A program that is traced. Dropped, it is killed, and so is all that came of it.
#[derive(Debug)]
pub struct Program {
    /// The parent of its first process (`guard.rs`).
    guard: Child,
    /// Its first process.
    first: u32,
    session: Session,
    /// Whether it is a process group of its own.
    apart: bool,
    /// What it opens by their names.
    _files: [File; 2],
    /// Of each slot, what was told of its instructions.
    progress: Box<[Progress; SLOTS]>,
    /// The thread that is on the core, and the instructions until it is another's turn.
    thread: usize,
    left: u32,
    /// Whether nothing was there when it was last asked.
    asleep: bool,
    status: Option<ExitStatus>,
    looked: Instant,
    reaped: Instant,
}

/// What was told of a thread's instructions.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    told: u64,
    /// Those among them that the thread has not told itself yet.
    ahead: u64,
}

impl Progress {
    /// What is new of the instructions that a thread tells.
    fn new_of(&mut self, instructions: u32) -> u32 {
        let old = self.ahead.min(u64::from(instructions));
        self.ahead -= old;
        let new = instructions - u32::try_from(old).unwrap_or(0);
        self.told += u64::from(new);
        new
    }
}

/// What came of asking for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// A thread ran.
    Ran,
    /// All threads are in system calls.
    Asleep,
    /// The program has ended, and all is told.
    Ended,
}

/// Instructions after which it is another thread's turn, if one is waiting: about a millisecond.
const TURN: u32 = 2_000_000;

/// Records that are taken at once: a part of the ring, so that the thread goes on meanwhile.
const MOST: u32 = 4096;

/// How long system calls last that are none to speak of.
const SHORT: Duration = Duration::from_micros(100);

/// How long a thread that runs is left alone to tell more: it fills a part of its ring.
const PAUSE: Duration = Duration::from_micros(50);

/// How long a thread may say nothing before it is looked at.
const SILENCE: Duration = Duration::from_millis(1);

/// Instructions of a thread that says nothing that are worth telling.
const FAR: u32 = 1 << 16;

/// How often it is looked whether the program still runs.
const LOOK: Duration = Duration::from_millis(5);

/// How often it is looked whether children still run.
const REAP: Duration = Duration::from_millis(50);

/// How long a program that is told to end has for it.
const GRACE: Duration = Duration::from_secs(2);

impl Program {
    pub(crate) fn new(guard: Child, session: Session, apart: bool, files: [File; 2]) -> Self {
        let (status, looked) = (None, Instant::now());
        let (thread, left) = (0, TURN);
        let progress = Box::new([Progress::default(); SLOTS]);
        let (_files, asleep) = (files, false);
        let reaped = looked;
        let first = session.segment.header.first.load(SeqCst);
        Self {
            guard,
            first,
            session,
            apart,
            _files,
            progress,
            thread,
            left,
            asleep,
            status,
            looked,
            reaped,
        }
    }

    /// The process.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.first
    }

    /// From here on it is traced, if it was started to pass.
    pub fn begin(&mut self) {
        // What it has done before is nobody's business.
        for (slot, progress) in self.session.segment.slots.iter().zip(&mut self.progress[..]) {
            progress.told = slot.instructions.0.load(Relaxed);
        }
        self.session.segment.header.passes.store(0, SeqCst);
    }

    /// Hands over what a thread did next, with the number of its process. Waits while one runs that has told nothing yet, and a moment when
    /// all of them fall asleep; but not while they sleep on.
    pub fn next(&mut self, each: &mut impl FnMut(u32, Told)) -> State {
        let mut waiting: Option<Instant> = None;
        loop {
            let used = self.session.segment.header.used.load(Acquire) as usize;
            if self.reaped.elapsed() > REAP {
                self.reaped = Instant::now();
                self.others_live();
            }
            if self.choose(used) {
                self.asleep = false;
                return self.take(each);
            }
            let since = waiting.get_or_insert_with(Instant::now).elapsed();
            let runs = self.slots(used).any(|slot| slot.state.load(SeqCst) == state::RUNNING);
            let is_asleep = match runs {
                true => since > SILENCE && !self.is_on_cpu(used),
                false => self.asleep || since > SHORT,
            };
            if runs && since > SILENCE && self.tell_for_silent(used, each) {
                return State::Ran;
            }
            if is_asleep {
                self.asleep = true;
                // What was told before it ended is looked for once more.
                return match self.has_ended() && !self.others_live() && !self.choose(used) {
                    true => State::Ended,
                    false => State::Asleep,
                };
            }
            // A thread that runs is not stopped to wake the reader again and again.
            if runs {
                std::thread::sleep(PAUSE);
            } else {
                self.wait(SHORT);
            }
        }
    }

    /// Waits until a thread tells something, or so long.
    pub fn wait(&self, most: Duration) {
        let header = &self.session.segment.header;
        let pulse = header.pulse.load(Acquire);
        header.waits.0.store(1, SeqCst);
        fence(SeqCst);
        let used = header.used.load(Acquire) as usize;
        if !self.slots(used).any(has_more) {
            let nanos = i64::from(most.subsec_nanos());
            let most = Timespec { tv_sec: most.as_secs().cast_signed(), tv_nsec: nanos };
            // Why the wait ended does not matter.
            let _ = wait(&header.pulse, Flags::empty(), pulse, Some(&most));
        }
        header.waits.0.store(0, SeqCst);
    }

    /// Whether it has begun, and all threads are in system calls.
    #[must_use]
    pub fn is_asleep(&self) -> bool {
        let used = self.session.segment.header.used.load(Acquire) as usize;
        used > 0 && !self.slots(used).any(|slot| slot.state.load(SeqCst) == state::RUNNING)
    }

    fn slots(&self, used: usize) -> impl Iterator<Item = &Slot> {
        self.session.segment.slots[..used].iter()
    }

    /// Puts a thread on the core that has something to tell; false if none has.
    fn choose(&mut self, used: usize) -> bool {
        if used == 0 {
            return false;
        }
        let slots = &self.session.segment.slots[..used];
        if self.left > 0 && has_more(&slots[self.thread]) {
            return true;
        }
        for step in 1..=used {
            let thread = (self.thread + step) % used;
            let slot = &slots[thread];
            if has_more(slot) {
                (self.thread, self.left) = (thread, TURN);
                return true;
            }
            if slot.state.load(SeqCst) == state::GONE && !has_more(slot) {
                self.progress[thread] = Progress::default();
                slot.process.store(0, Relaxed);
                slot.state.store(state::FREE, SeqCst);
            }
        }
        false
    }

    /// Takes what the thread on the core has told.
    fn take(&mut self, each: &mut impl FnMut(u32, Told)) -> State {
        let slot = &self.session.segment.slots[self.thread];
        let head = slot.head.0.load(Relaxed);
        let count = slot.tail.0.load(Acquire).wrapping_sub(head).min(MOST);
        let process = slot.process.load(Relaxed);
        let mut ran = 0u32;
        for index in 0..count {
            let place = (head.wrapping_add(index) % RING) as usize;
            let mut told = Record(slot.ring[place].load(Relaxed)).told();
            told.instructions = self.progress[self.thread].new_of(told.instructions);
            ran = ran.saturating_add(told.instructions);
            each(process, told);
        }
        self.left = self.left.saturating_sub(ran);
        slot.head.0.store(head.wrapping_add(count), Release);
        // Either the thread sees the new head before it sleeps, or this sees that it is full.
        fence(SeqCst);
        if slot.is_full.0.load(SeqCst) != 0 {
            slot.is_full.0.store(0, SeqCst);
            let _ = wake(&slot.head.0, Flags::empty(), 1);
        }
        State::Ran
    }

    /// Tells how far a thread came that has not used a line in a while that may miss, if one did.
    fn tell_for_silent(&mut self, used: usize, each: &mut impl FnMut(u32, Told)) -> bool {
        let slots = self.session.segment.slots[..used].iter().zip(&mut self.progress[..]);
        for (slot, progress) in slots.filter(|(slot, _)| slot.state.load(SeqCst) == state::RUNNING)
        {
            let begun = slot.instructions.0.load(Relaxed).saturating_sub(progress.told);
            let instructions = u32::try_from(begun).unwrap_or(u32::MAX);
            if instructions > FAR {
                progress.told += u64::from(instructions);
                progress.ahead += u64::from(instructions);
                let process = slot.process.load(Relaxed);
                each(process, Told { line: None, instructions, references: 0 });
                return true;
            }
        }
        false
    }

    /// Whether a thread that runs is on a CPU, or would be if there were one: not one that waits for another
    /// inside QEMU, nor one that is stopped or dead.
    fn is_on_cpu(&self, used: usize) -> bool {
        let running = self.slots(used).filter(|slot| slot.state.load(SeqCst) == state::RUNNING);
        running.into_iter().any(|slot| {
            let (process, thread) = (slot.process.load(Relaxed), slot.thread.load(Relaxed));
            let stat = std::fs::read(format!("/proc/{process}/task/{thread}/stat"));
            stat.is_ok_and(|stat| state_of(&stat) == Some(b'R'))
        })
    }

    /// Whether processes but the first are traced that have not ended; frees the rings of those that have.
    fn others_live(&self) -> bool {
        let used = self.session.segment.header.used.load(Acquire) as usize;
        let mut live = false;
        for slot in self.slots(used) {
            let (process, state) = (slot.process.load(Relaxed), slot.state.load(SeqCst));
            // 0: it is being claimed.
            if [0, self.first].contains(&process) || [state::FREE, state::GONE].contains(&state) {
                continue;
            }
            if has_ended(process) {
                let gone = slot.state.compare_exchange(state, state::GONE, SeqCst, Relaxed);
                live |= gone.is_err();
            } else {
                live = true;
            }
        }
        live
    }

    /// Whether the program's first process has ended, as of a few milliseconds ago.
    pub fn has_ended(&mut self) -> bool {
        if self.status.is_none() && self.looked.elapsed() > LOOK {
            self.looked = Instant::now();
            self.look();
        }
        self.status.is_some()
    }

    /// The exit code, as a shell has it: 128 and the signal if one killed it.
    #[must_use]
    pub fn exit_code(&self) -> Option<i32> {
        let status = self.status?;
        status.code().or_else(|| status.signal().map(|signal| 128 + signal))
    }

    /// What its processes noted, and how many further notes there were no room for.
    #[must_use]
    pub fn notes(&self) -> (Vec<Note>, u32) {
        let (noted, notes) = self.session.notes();
        let kept = u32::try_from(notes.len()).unwrap_or(u32::MAX);
        (notes, noted.saturating_sub(kept))
    }

    /// Threads that could not be traced, for there were too many.
    #[must_use]
    pub fn untraced_threads(&self) -> u32 {
        self.session.segment.header.without.load(Relaxed)
    }

    /// Lets it go on untraced: what it does from here on is not told.
    pub fn pass(&self) {
        self.session.segment.header.passes.store(1, SeqCst);
        for slot in &self.session.segment.slots {
            let _ = wake(&slot.head.0, Flags::empty(), 1);
        }
    }

    /// Tells it to end, and waits for it: as long as is polite.
    pub fn stop(&mut self) {
        self.pass();
        self.look();
        if self.status.is_none() {
            self.signal(Signal::TERM);
        }
        let since = Instant::now();
        while self.status.is_none() && since.elapsed() < GRACE {
            self.look();
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Whether its first process has ended, as its guard says; or the guard itself, which takes it along.
    fn look(&mut self) {
        if self.status.is_some() {
            return;
        }
        let guard = self.guard.try_wait().ok().flatten();
        self.status = match self.session.segment.header.ended.load(SeqCst) {
            0 => guard,
            ended => Some(ExitStatus::from_raw((ended - 1).cast_signed())),
        };
    }

    fn signal(&self, signal: Signal) {
        // It may have ended by itself. Its guard heeds nothing but its own end.
        let _ = match self.apart {
            true => kill_process_group(Pid::from_child(&self.guard), signal),
            false => Pid::from_raw(self.first.cast_signed())
                .map_or(Ok(()), |process| kill_process(process, signal)),
        };
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.session.segment.header.closed.store(1, SeqCst);
        self.pass();
        if let Ok(None) = self.guard.try_wait() {
            let _ = kill_process(Pid::from_child(&self.guard), END);
        }
        let _ = self.guard.wait();
    }
}

/// Whether a process is no more, or nobody has asked yet how it ended.
fn has_ended(process: u32) -> bool {
    let stat = std::fs::read(format!("/proc/{process}/stat")).unwrap_or_default();
    !matches!(state_of(&stat), Some(state) if state != b'Z' && state != b'X')
}

/// The state that a `stat` of /proc tells: it comes after the name, which is in brackets and may hold
/// anything.
fn state_of(stat: &[u8]) -> Option<u8> {
    let name = stat.iter().rposition(|&byte| byte == b')')?;
    stat.get(name + 2).copied()
}

fn has_more(slot: &Slot) -> bool {
    slot.tail.0.load(Acquire) != slot.head.0.load(Relaxed)
}
