//! The account of cycles.
//!
//! A program's instructions take `base_cpi` cycles each while everything hits the L1. Each access
//! that misses the L1 adds:
//!
//! | where it hits | cycles |
//! |---|---|
//! | L2 | `latency.l2` / `overlap` |
//! | last-level cache | `latency.llc` / `overlap` |
//! | memory | (`latency.memory` + the wait for the bus) / `overlap` |
//!
//! A limit of memory bandwidth ([`Throttle`](crate::Throttle)) adds its wait, over `overlap`: to
//! every access beyond the private caches if it spaces those, or to each from memory if it caps
//! lines.
//!
//! `overlap` is the number of misses that the program has under way at the same time, by itself or
//! by prefetching. Stores cost the same as loads. Through a store buffer
//! ([`StorePath::Through`](crate::StorePath)) each store takes as long as a load, stores end one
//! after the other, and the program waits only for an entry. Fetches of instructions cost the same
//! as loads. A line that is written back uses the bus, but no program waits for it. Cycles of
//! waiting after an L2 miss (for the last-level cache and for memory) are also counted as stalls,
//! as in `CYCLE_ACTIVITY.STALLS_L2_MISS`; the cycles among them that wait for memory are also
//! counted separately.
//!
//! Hardware threads of a core take turns at its pipeline, which begins an instruction a cycle: the
//! thread that has been ready for longest goes first, with its instructions up to its next access,
//! at most 16. An instruction holds the pipeline for a cycle; the rest of its `base_cpi` is the
//! thread's own. Cycles of waiting for the pipeline count as cycles of the thread. A thread that
//! has its core to itself is exempt: its `base_cpi` may be below 1.
//!
//! Time is kept in ticks, 1024 to a cycle.

use fairways_core::Counters;

use crate::geometry::LINE;
use crate::geometry::{MOST_BANKS, MissLatency};

/// Ticks of a cycle.
pub(crate) const TICKS: u64 = 1024;

/// Counts of a program since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Instructions.
    pub instructions: u64,
    /// Ticks, 1024 to a cycle.
    pub ticks: u64,
    /// Loads and stores.
    pub l1_references: u64,
    /// Loads and stores that missed the L1; stores that go through it do not miss.
    pub l1_misses: u64,
    /// References to the last-level cache.
    pub llc_references: u64,
    /// Misses of the last-level cache.
    pub llc_misses: u64,
    /// Ticks of waiting after L2 misses.
    pub stall_ticks: u64,
    /// The part of `stall_ticks` that waited for memory.
    pub memory_ticks: u64,
    /// Ticks of waiting for room in the store buffer.
    pub store_ticks: u64,
    /// The ticks of waiting for a limit of memory bandwidth, among `stall_ticks` or `store_ticks`.
    /// What a program would move without its limit: `lines` in the other ticks.
    pub throttled_ticks: u64,
    /// Ticks in which a real program slept: in a system call, as far as the chip could see.
    pub asleep_ticks: u64,
    /// Lines moved over the bus.
    pub lines: u64,
    /// References to the last-level cache, by bank.
    pub banks: [u64; MOST_BANKS as usize],
}

impl Account {
    pub(crate) fn add(&mut self, other: &Self) {
        self.instructions += other.instructions;
        self.ticks += other.ticks;
        self.l1_references += other.l1_references;
        self.l1_misses += other.l1_misses;
        self.llc_references += other.llc_references;
        self.llc_misses += other.llc_misses;
        self.stall_ticks += other.stall_ticks;
        self.memory_ticks += other.memory_ticks;
        self.store_ticks += other.store_ticks;
        self.throttled_ticks += other.throttled_ticks;
        self.asleep_ticks += other.asleep_ticks;
        self.lines += other.lines;
        for (bank, other) in self.banks.iter_mut().zip(other.banks) {
            *bank += other;
        }
    }

    /// The counts since `from`.
    #[must_use]
    pub fn minus(&self, from: &Self) -> Self {
        Self {
            instructions: self.instructions - from.instructions,
            ticks: self.ticks - from.ticks,
            l1_references: self.l1_references - from.l1_references,
            l1_misses: self.l1_misses - from.l1_misses,
            llc_references: self.llc_references - from.llc_references,
            llc_misses: self.llc_misses - from.llc_misses,
            stall_ticks: self.stall_ticks - from.stall_ticks,
            memory_ticks: self.memory_ticks - from.memory_ticks,
            store_ticks: self.store_ticks - from.store_ticks,
            throttled_ticks: self.throttled_ticks - from.throttled_ticks,
            asleep_ticks: self.asleep_ticks - from.asleep_ticks,
            lines: self.lines - from.lines,
            banks: core::array::from_fn(|bank| self.banks[bank] - from.banks[bank]),
        }
    }

    /// Cycles that the program ran.
    #[must_use]
    pub fn cycles(&self) -> f64 {
        self.ticks as f64 / TICKS as f64
    }

    /// Cycles in which a real program slept.
    #[must_use]
    pub fn asleep_cycles(&self) -> f64 {
        self.asleep_ticks as f64 / TICKS as f64
    }

    /// Cycles of waiting after L2 misses.
    #[must_use]
    pub fn stall_cycles(&self) -> f64 {
        self.stall_ticks as f64 / TICKS as f64
    }

    /// The counters since `from`, each multiplied by `times`.
    pub(crate) fn since(&self, from: &Self, times: u64) -> Counters {
        let counts = self.minus(from);
        Counters {
            instructions: Some(counts.instructions * times),
            cycles: Some(whole_cycles(self.ticks, from.ticks) * times),
            l1_references: Some(counts.l1_references * times),
            llc_references: Some(counts.llc_references * times),
            llc_misses: Some(counts.llc_misses * times),
            stalls_l2_miss: Some(whole_cycles(self.stall_ticks, from.stall_ticks) * times),
            stalls_llc_miss: Some(whole_cycles(self.memory_ticks, from.memory_ticks) * times),
            stalls_store_buffer: Some(whole_cycles(self.store_ticks, from.store_ticks) * times),
            memory_bytes: Some(counts.lines * LINE * times),
            cpu_nanos: None,
        }
    }
}

/// The difference of two whole counters of cycles, so that reports add up.
fn whole_cycles(ticks: u64, before: u64) -> u64 {
    ticks / TICKS - before / TICKS
}

/// No core has more misses under way at once.
pub(crate) const MOST_OVERLAP: f64 = 64.0;

/// The costs of a program's instructions and accesses, in ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) instruction: u64,
    pub(crate) l2: u64,
    pub(crate) llc: u64,
    pub(crate) memory: u64,
    /// Misses under way at once, in 1024ths.
    pub(crate) overlap: u64,
    /// The last wait that was divided by the overlap, and the result: within a turn most waits are
    /// the same.
    divided: (u64, u64),
}

impl Cost {
    /// The costs while nothing runs.
    pub(crate) const NONE: Self =
        Self { instruction: 0, l2: 0, llc: 0, memory: 0, overlap: TICKS, divided: (0, 0) };

    /// The costs for a program's CPI while everything hits the L1, and its misses under way.
    pub(crate) fn new(base_cpi: f64, overlap: f64, latency: MissLatency) -> Self {
        let overlap = overlap.clamp(1.0, MOST_OVERLAP);
        Self {
            instruction: ticks(base_cpi).max(1),
            l2: ticks(f64::from(latency.l2) / overlap),
            llc: ticks(f64::from(latency.llc) / overlap),
            memory: ticks(f64::from(latency.memory) / overlap),
            overlap: ticks(overlap),
            divided: (0, 0),
        }
    }

    /// The part of a wait of this many ticks for which the program stalls.
    pub(crate) fn overlapped(&mut self, wait: u64) -> u64 {
        if wait == 0 {
            return 0;
        }
        if wait != self.divided.0 {
            self.divided = (wait, wait * TICKS / self.overlap);
        }
        self.divided.1
    }
}

/// Cycles in ticks.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "cycles are not negative; the cast saturates"
)]
pub(crate) fn ticks(cycles: f64) -> u64 {
    (cycles * TICKS as f64).round() as u64
}
