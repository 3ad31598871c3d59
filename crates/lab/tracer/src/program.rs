//! The reader's side: a running program, and its threads' records.

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::fence;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use rustix::thread::futex::{Flags, Timespec, wait, wake};

use crate::guard::END;
use crate::larger_l1::LargerL1;
use crate::notes::Note;
use crate::producer::Session;
use crate::record::{Record, TraceEntry};
use crate::segment::{RING, SLOTS, Slot, state};

/// A program that is traced. When this is dropped, the program and all processes that came from it
/// are killed.
#[derive(Debug)]
pub struct TracedProgram {
    /// The parent of its first process (`guard.rs`).
    guard: Child,
    /// Its first process.
    first: u32,
    session: Session,
    /// Whether it is a process group of its own.
    apart: bool,
    /// The files that it opens by their names.
    _files: [File; 2],
    /// For each slot, the instructions that were reported.
    progress: Box<[Progress; SLOTS]>,
    /// The entries for larger L1s, for each of these and each slot.
    larger: Vec<Box<[LargerL1]>>,
    larger_l1s: Vec<(u32, u32)>,
    /// The thread that is on the core, and the instructions until it is another's turn.
    thread: usize,
    left: u32,
    /// Instructions after which a silent thread's progress is reported.
    far: u32,
    /// Whether no thread had records at the last call.
    asleep: bool,
    status: Option<ExitStatus>,
    looked: Instant,
    reaped: Instant,
}

/// The instructions of a thread that were reported.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    reported: u64,
    /// The part of them that the thread has not recorded itself yet.
    ahead: u64,
}

impl Progress {
    /// The new part of the instructions in a thread's record.
    #[inline]
    fn take_new(&mut self, instructions: u32) -> u32 {
        let old = self.ahead.min(u64::from(instructions));
        self.ahead -= old;
        let new = instructions - u32::try_from(old).unwrap_or(0);
        self.reported += u64::from(new);
        new
    }
}

/// The result of asking for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceState {
    /// A thread ran.
    Ran,
    /// All threads are in system calls.
    Asleep,
    /// The program has ended, and everything was reported.
    Ended,
}

/// Instructions after which it is another thread's turn, if one is waiting: about a millisecond.
const TURN: u32 = 2_000_000;

/// The most records taken at once: a part of the ring, so that the thread goes on meanwhile.
const MOST: u32 = 4096;

/// System calls shorter than this are ignored.
const SHORT: Duration = Duration::from_micros(100);

/// How long a running thread is left alone to write more: it fills a part of its ring.
const PAUSE: Duration = Duration::from_micros(50);

/// How long a thread may be silent before it is looked at.
const SILENCE: Duration = Duration::from_millis(1);

/// The instructions of a silent thread that are worth a report. A report comes before accesses that
/// the thread has not shown yet, so runs that are to be alike have none, unless a thread hardly
/// uses memory at all.
const FAR: u32 = 1 << 16;
const FAR_IF_ALIKE: u32 = 1 << 31;

/// How often to check whether the program still runs.
const LOOK: Duration = Duration::from_millis(5);

/// How often to check whether children still run.
const REAP: Duration = Duration::from_millis(50);

/// How long a program that is asked to end may take.
const GRACE: Duration = Duration::from_secs(2);

impl TracedProgram {
    pub(crate) fn new(
        guard: Child,
        session: Session,
        (apart, alike): (bool, bool),
        larger_l1s: Vec<(u32, u32)>,
        files: [File; 2],
    ) -> Self {
        let larger =
            larger_l1s.iter().map(|&l1| (0..SLOTS).map(|_| LargerL1::new(l1)).collect()).collect();
        let far = if alike { FAR_IF_ALIKE } else { FAR };
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
            larger,
            larger_l1s,
            thread,
            left,
            far,
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

    /// Traces it from here on, if it was started to pass.
    pub fn begin(&mut self) {
        // Its earlier accesses do not matter.
        for (slot, progress) in self.session.segment.slots.iter().zip(&mut self.progress[..]) {
            progress.reported = slot.instructions.0.load(Relaxed);
        }
        self.session.segment.header.passes.store(0, SeqCst);
    }

    /// Hands over a thread's next entries, with the number of its process. Waits while a thread
    /// runs that has written nothing yet, and for a moment when all of them fall asleep; but not
    /// while they sleep on.
    pub fn next(&mut self, each: &mut impl FnMut(u32, TraceEntry)) -> TraceState {
        self.next_by_l1(&mut |l1, process, entry| {
            if l1 == 0 {
                each(process, entry);
            }
        })
    }

    /// The same, for each L1: 0 is the smallest one, and the larger ones follow, each with the
    /// entries that it would have in a run of its own.
    pub fn next_by_l1(&mut self, each: &mut impl FnMut(usize, u32, TraceEntry)) -> TraceState {
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
                true => since > SILENCE && !self.is_on_cpu(used, state::RUNNING),
                false => self.asleep || (since > SHORT && !self.is_on_cpu(used, state::ASLEEP)),
            };
            if runs && since > SILENCE && self.report_silent(used, each) {
                return TraceState::Ran;
            }
            if is_asleep && !self.asleep && self.is_ending() {
                std::thread::sleep(PAUSE);
                continue;
            }
            if is_asleep {
                self.asleep = true;
                // Records from just before its end are looked for once more.
                return match self.has_ended() && !self.others_live() && !self.choose(used) {
                    true => TraceState::Ended,
                    false => TraceState::Asleep,
                };
            }
            // A running thread is not stopped to wake the reader again and again.
            if runs {
                std::thread::sleep(PAUSE);
            } else {
                self.wait(SHORT);
            }
        }
    }

    /// Waits until a thread writes a record, or that long.
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

    /// Whether its first thread has begun: before that, QEMU starts.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        let used = self.session.segment.header.used.load(Acquire) as usize;
        self.slots(used).any(|slot| slot.thread.load(Relaxed) != 0)
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

    /// Puts a thread with records on the core; false if none has any.
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
                for (threads, &l1) in self.larger.iter_mut().zip(&self.larger_l1s) {
                    threads[thread] = LargerL1::new(l1);
                }
                slot.process.store(0, Relaxed);
                slot.state.store(state::FREE, SeqCst);
            }
        }
        false
    }

    /// Takes the records of the thread on the core.
    fn take(&mut self, each: &mut impl FnMut(usize, u32, TraceEntry)) -> TraceState {
        let slot = &self.session.segment.slots[self.thread];
        let head = slot.head.0.load(Relaxed);
        let count = slot.tail.0.load(Acquire).wrapping_sub(head).min(MOST);
        let process = slot.process.load(Relaxed);
        let mut ran = 0u32;
        let progress = &mut self.progress[self.thread];
        for index in 0..count {
            let place = (head.wrapping_add(index) % RING) as usize;
            let record = Record(slot.ring[place].load(Relaxed));
            let mut entry = record.decode();
            entry.instructions = progress.take_new(entry.instructions);
            ran = ran.saturating_add(entry.instructions);
            each(0, process, entry);
            for (l1, threads) in (1..).zip(&mut self.larger) {
                let thread = &mut threads[self.thread];
                thread.take(entry, record.continues(), &mut |entry| each(l1, process, entry));
            }
        }
        self.left = self.left.saturating_sub(ran);
        slot.head.0.store(head.wrapping_add(count), Release);
        // Either the thread sees the new head before it sleeps, or this sees that the ring is full.
        fence(SeqCst);
        if slot.is_full.0.load(SeqCst) != 0 {
            slot.is_full.0.store(0, SeqCst);
            let _ = wake(&slot.head.0, Flags::empty(), 1);
        }
        TraceState::Ran
    }

    /// Reports the progress of a thread that has not used a line that may miss for a while, if
    /// there is one.
    fn report_silent(
        &mut self,
        used: usize,
        each: &mut impl FnMut(usize, u32, TraceEntry),
    ) -> bool {
        let slots = self.session.segment.slots[..used].iter().zip(&mut self.progress[..]);
        for (slot, progress) in slots.filter(|(slot, _)| slot.state.load(SeqCst) == state::RUNNING)
        {
            let begun = slot.instructions.0.load(Relaxed).saturating_sub(progress.reported);
            let instructions = u32::try_from(begun).unwrap_or(u32::MAX);
            if instructions > self.far {
                progress.reported += u64::from(instructions);
                progress.ahead += u64::from(instructions);
                let process = slot.process.load(Relaxed);
                for l1 in 0..=self.larger.len() {
                    each(l1, process, TraceEntry { line: None, instructions, references: 0 });
                }
                return true;
            }
        }
        false
    }

    /// Whether its first process has ended, and its guard has not reported that yet.
    fn is_ending(&mut self) -> bool {
        self.look();
        self.status.is_none() && has_ended(self.first)
    }

    /// Whether a thread that is in this state is on a CPU, or would be if one were free: not if it
    /// waits, inside QEMU or in the kernel, nor if it is stopped or dead.
    fn is_on_cpu(&self, used: usize, state: u32) -> bool {
        let mut threads = self.slots(used).filter(|slot| slot.state.load(SeqCst) == state);
        threads.any(|slot| {
            let (process, thread) = (slot.process.load(Relaxed), slot.thread.load(Relaxed));
            let stat = std::fs::read(format!("/proc/{process}/task/{thread}/stat"));
            stat.is_ok_and(|stat| state_of(&stat) == Some(b'R'))
        })
    }

    /// Whether traced processes other than the first are still alive; frees the rings of those that
    /// have ended.
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

    /// The exit code, as a shell reports it: 128 plus the signal if one killed it.
    #[must_use]
    pub fn exit_code(&self) -> Option<i32> {
        let status = self.status?;
        status.code().or_else(|| status.signal().map(|signal| 128 + signal))
    }

    /// The notes of its processes, and the number of further notes for which there was no room.
    #[must_use]
    pub fn notes(&self) -> (Vec<Note>, u32) {
        let (noted, notes) = self.session.notes();
        let kept = u32::try_from(notes.len()).unwrap_or(u32::MAX);
        (notes, noted.saturating_sub(kept))
    }

    /// Whether several threads or processes were traced: the order of their turns then differs from
    /// run to run.
    #[must_use]
    pub fn took_turns(&self) -> bool {
        self.session.segment.header.used.load(Relaxed) > 1
    }

    /// The number of threads that could not be traced, because there were too many.
    #[must_use]
    pub fn untraced_threads(&self) -> u32 {
        self.session.segment.header.untraced.load(Relaxed)
    }

    /// Lets it go on untraced: its accesses from here on are not reported.
    pub fn pass(&self) {
        self.session.segment.header.passes.store(1, SeqCst);
        for slot in &self.session.segment.slots {
            let _ = wake(&slot.head.0, Flags::empty(), 1);
        }
    }

    /// Asks it to end, and waits for that, up to a limit.
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

    /// Whether its first process has ended, as its guard reports; or the guard itself, whose end
    /// ends it.
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
        // It may have ended by itself. Its guard responds only to its own signal.
        let _ = match self.apart {
            true => kill_process_group(Pid::from_child(&self.guard), signal),
            false => Pid::from_raw(self.first.cast_signed())
                .map_or(Ok(()), |process| kill_process(process, signal)),
        };
    }
}

impl Drop for TracedProgram {
    fn drop(&mut self) {
        self.session.segment.header.closed.store(1, SeqCst);
        self.pass();
        if let Ok(None) = self.guard.try_wait() {
            let _ = kill_process(Pid::from_child(&self.guard), END);
        }
        let _ = self.guard.wait();
    }
}

/// Whether a process has ended, even if its parent has not reaped it yet. Its first thread may end
/// long before the others.
fn has_ended(process: u32) -> bool {
    if !is_over(Path::new(&format!("/proc/{process}/stat"))) {
        return false;
    }
    let tasks = std::fs::read_dir(format!("/proc/{process}/task"));
    tasks.into_iter().flatten().flatten().all(|task| is_over(&task.path().join("stat")))
}

/// Whether the process or thread with this `stat` in /proc has ended.
fn is_over(stat: &Path) -> bool {
    let stat = std::fs::read(stat).unwrap_or_default();
    !matches!(state_of(&stat), Some(state) if state != b'Z' && state != b'X')
}

/// The state in a `stat` of /proc: it comes after the name, which is in brackets and may contain
/// anything.
fn state_of(stat: &[u8]) -> Option<u8> {
    let name = stat.iter().rposition(|&byte| byte == b')')?;
    stat.get(name + 2).copied()
}

fn has_more(slot: &Slot) -> bool {
    slot.tail.0.load(Acquire) != slot.head.0.load(Relaxed)
}
