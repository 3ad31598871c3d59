//! Settings before loading, and the records of a scheduler.

use std::os::fd::OwnedFd;
use std::time::Duration;

use crate::contract::{COUNTERS, MAX_SETS};

/// How to schedule.
#[derive(Debug)]
pub struct Settings {
    /// The length of a turn for which nothing else was ordered. 10 ms by default: the clock tick of
    /// the system that CASC and cache-fair were built in (CASC §4), and several ticks of Linux, at
    /// which slices end. 1 s at most.
    pub quantum: Duration,
    /// How long the kernel lets a runnable thread wait before it ends the scheduler. 5 s by
    /// default, 30 s at most.
    pub stall: Duration,
    /// The CPUs' counters, which are read on the CPU when a turn begins and ends.
    pub counters: Vec<CpuCounter>,
    /// Bytes of records that may wait for their reader, a power of two of at least 4096; 1 MiB by
    /// default, 9000 records.
    pub room: u32,
    /// The number of threads there is room for, 300 bytes each; 16384 by default. Threads beyond
    /// that are counted ([`Records::threads_without_room`]), and run where their owner lets them.
    pub threads: u32,
    /// The number of sets of CPUs for which threads have a queue; 64 by default, and at most. A
    /// thread whose set has none waits for one of its CPUs.
    pub sets: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            quantum: Duration::from_millis(10),
            stall: Duration::from_secs(5),
            counters: Vec::new(),
            room: 1 << 20,
            threads: 16384,
            sets: MAX_SETS,
        }
    }
}

/// A counter of a CPU: an event from perf_event_open(2) for all threads on that CPU (`pid` -1).
#[derive(Debug)]
pub struct CpuCounter {
    /// The CPU.
    pub cpu: u32,
    /// Its place in [`Turn::counters`].
    pub slot: usize,
    /// The event. It may be closed once the scheduler is loaded, which keeps it.
    pub event: OwnedFd,
}

/// The turns that have ended since the last call; for each CPU in order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Records {
    /// Times on CPUs.
    pub turns: Vec<Turn>,
    /// Turns in the policy's sense.
    pub finished: Vec<FinishedTurn>,
    /// The number of records for which there was no room since the scheduler was loaded.
    pub lost: u64,
    /// How often there was no room for a thread since the scheduler was loaded: one that was added,
    /// came under the scheduler, or was started by a thread that is under it.
    pub threads_without_room: u64,
}

/// A CPU's record between two switches. A time without a record was too short, or the record was
/// lost.
///
/// CPUs can't be read at the same moment, because a CPU can only be read by itself: when several
/// threads ran together, each one's counts in that time are computed from their turns, in
/// proportion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The CPU.
    pub cpu: u32,
    /// What ran.
    pub occupant: Occupant,
    /// The thread, as numbered in the kernel's initial PID namespace; 0 if idle.
    pub thread: i32,
    /// Its beginning and end, in nanoseconds of `CLOCK_MONOTONIC`.
    pub span: (u64, u64),
    /// The CPU's counts meanwhile, by slot. A counter that could not be read, or that counted for
    /// only a part of the time, is missing.
    pub counters: [Option<u64>; COUNTERS],
    /// Whether the occupant stays on: the turn was read while it lasted.
    pub goes_on: bool,
}

/// What ran on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occupant {
    /// No thread.
    Idle,
    /// A thread that was not added.
    Other,
    /// A thread that was added under this key.
    Thread(u32),
}

/// A thread's turn that is over: the thread used the time that was ordered, or gave it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinishedTurn {
    /// The thread's key.
    pub key: u32,
    /// The thread, as in [`Turn::thread`].
    pub thread: i32,
    /// The CPU on which it was last.
    pub cpu: u32,
    /// The ordered length.
    pub ordered: Duration,
    /// Its actual length, in CPU time.
    pub ran: Duration,
    /// When it was over, in nanoseconds of `CLOCK_MONOTONIC`.
    pub at: u64,
}
