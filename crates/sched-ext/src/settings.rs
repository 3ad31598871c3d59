//! What is set before loading, and what is told.

use std::os::fd::OwnedFd;
use std::time::Duration;

use crate::contract::COUNTERS;

/// How to schedule.
#[derive(Debug)]
pub struct Settings {
    /// How long a turn is when nobody ordered otherwise. 10 ms by default: the clock tick of the system that CASC and cache-fair
    /// were built in (CASC §4), and several ticks of Linux, at which slices end. 1 s at most.
    pub quantum: Duration,
    /// How long the kernel lets a thread that could run wait before it throws the scheduler out. 5 s by default, 30 s at most.
    pub stall: Duration,
    /// What CPUs count: read on the CPU when a turn begins and ends.
    pub counters: Vec<CpuCounter>,
    /// Bytes of records that wait for their reader, a power of two of at least 4096; 1 MiB by default, 9000 records.
    pub room: u32,
    /// Threads for which there is room, 300 bytes each; 16384 by default. Those that find none run where their owner lets them.
    pub threads: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            quantum: Duration::from_millis(10),
            stall: Duration::from_secs(5),
            counters: Vec::new(),
            room: 1 << 20,
            threads: 16384,
        }
    }
}

/// A counter of a CPU: what perf_event_open(2) gave for all threads on that CPU (`pid` -1).
#[derive(Debug)]
pub struct CpuCounter {
    /// The CPU.
    pub cpu: u32,
    /// Its place in [`Turn::counters`].
    pub slot: usize,
    /// The event. It may be closed once the scheduler is loaded, which keeps it.
    pub event: OwnedFd,
}

/// What ended since it was last asked; of a CPU in the order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Times on CPUs.
    pub turns: Vec<Turn>,
    /// Turns in the policy's sense.
    pub given: Vec<Given>,
    /// Records for which there was no room since the scheduler was loaded.
    pub lost: u64,
}

/// What a CPU did between two switches. A time of which nothing is told was too short, or was lost.
///
/// CPUs that ran at the same time can't be read at the same moment, a CPU being read only by itself: what each of several threads did
/// in a time in which they ran together is to be had from their turns, in proportion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The CPU.
    pub cpu: u32,
    /// Who ran.
    pub who: Who,
    /// Which thread, as the kernel's first name space of processes numbers it; 0 if idle.
    pub thread: i32,
    /// From when to when, in nanoseconds of `CLOCK_MONOTONIC`.
    pub span: (u64, u64),
    /// What the CPU counted meanwhile, by slot. A counter that could not be read, or that counted for a part of the time only, is
    /// missing.
    pub counters: [Option<u64>; COUNTERS],
    /// Whether the same goes on: it was looked at while it lasted.
    pub goes_on: bool,
}

/// Who ran on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Nobody.
    Idle,
    /// A thread that was not taken in.
    Other,
    /// One that was, under this key.
    Thread(u32),
}

/// A thread's turn that is over: it had the time that was ordered, or gave it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    /// The thread's key.
    pub key: u32,
    /// The thread, as in [`Turn::thread`].
    pub thread: i32,
    /// The CPU on which it was last.
    pub cpu: u32,
    /// How long it was to be.
    pub ordered: Duration,
    /// How long it was, in CPU time.
    pub ran: Duration,
    /// When it was over, in nanoseconds of `CLOCK_MONOTONIC`.
    pub at: u64,
}
