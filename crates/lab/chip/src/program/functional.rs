//! Workloads on private L2s, without time: how tests measure workloads.
//!
//! The caches are those of an UltraSPARC T1 with lines of 64 bytes: 16 KB of instructions and 8 KB
//! of data of 4 ways; the data cache passes every store on and brings no line in for it. The L2
//! brings in lines for all accesses. The line used longest ago makes room, and line numbers give
//! the sets.

use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;

use super::access::{Access, AccessKind, Generate};
use super::workload::{Workload, WorkloadSource};

/// A cache, its lines by sets, in each the line used last first.
struct FunctionalCache {
    lines: Vec<u32>,
    ways: usize,
}

const NONE: u32 = u32::MAX;

impl FunctionalCache {
    fn of_kb(kb: u32, ways: usize) -> Self {
        Self { lines: vec![NONE; kb as usize * 16], ways }
    }

    /// Uses a line; returns whether it was present. If not, brings it in if `brings_in`.
    fn hits(&mut self, line: u32, brings_in: bool) -> bool {
        let sets = self.lines.len() / self.ways;
        debug_assert!(sets.is_power_of_two());
        let first = (line as usize & (sets - 1)) * self.ways;
        let set = &mut self.lines[first..first + self.ways];
        let place = set.iter().position(|&here| here == line);
        if let Some(to) = place.or(brings_in.then_some(self.ways - 1)) {
            set.copy_within(0..to, 1);
            set[0] = line;
        }
        place.is_some()
    }
}

/// Counts of a program.
#[derive(Clone, Debug, Default)]
pub(super) struct FunctionalCounts {
    pub(super) instructions: u64,
    pub(super) loads: u64,
    pub(super) stores: u64,
    pub(super) fetches: u64,
    /// Loads, stores and fetches that reached the L2, and the fetches among them.
    pub(super) l2: u64,
    pub(super) l2_fetches: u64,
    /// L2 misses, for each L2.
    pub(super) missed: Vec<u64>,
}

impl FunctionalCounts {
    fn new(l2s: usize) -> Self {
        Self { missed: vec![0; l2s], ..Self::default() }
    }

    /// The cycles of a program with this CPI on one L2, at the latencies of the T1.
    fn cycles(&self, cpi: f64) -> f64 {
        // Cycles from the L1 to the L2, and to memory.
        const LATENCY: [f64; 2] = [23.0, 110.0];
        let loads = (self.l2 - self.stores) as f64;
        // Stores wait in a buffer.
        let missed = self.missed[0] as f64 * loads / (self.l2 as f64).max(1.0);
        self.instructions as f64 * cpi + loads * LATENCY[0] + missed * (LATENCY[1] - LATENCY[0])
    }

    /// L2 misses per 1000 instructions, for one L2.
    pub(super) fn mpki(&self, l2: usize) -> f64 {
        self.missed[l2] as f64 * 1000.0 / self.instructions as f64
    }

    /// The share of L2 references that missed, in %, for one L2.
    pub(super) fn ratio(&self, l2: usize) -> f64 {
        self.missed[l2] as f64 * 100.0 / self.l2 as f64
    }
}

/// The ways of an L2 of this size: 12 as CASC's, 8 as Cache-fair's, or 16.
pub(super) fn ways(kb: u32) -> usize {
    match kb {
        _ if kb.is_multiple_of(3) => 12,
        0..1024 => 8,
        _ => 16,
    }
}

/// A program with its private caches.
struct FunctionalCore {
    source: WorkloadSource,
    random: Pcg64Mcg,
    data: FunctionalCache,
    code: FunctionalCache,
    accesses: Vec<Access>,
    counts: FunctionalCounts,
}

impl FunctionalCore {
    fn new(workload: &Workload, seed: u64, l2s: usize) -> Self {
        Self {
            source: workload.source(),
            random: Pcg64Mcg::seed_from_u64(seed),
            data: FunctionalCache::of_kb(8, 4),
            code: FunctionalCache::of_kb(16, 4),
            accesses: Vec::new(),
            counts: FunctionalCounts::new(l2s),
        }
    }

    /// Runs a batch of accesses; `miss` returns whether an access to an L2 misses.
    fn step(&mut self, mut miss: impl FnMut(usize, u32) -> bool) {
        self.accesses.clear();
        let _ = self.source.generate(&mut self.random, &mut self.accesses);
        let counts = &mut self.counts;
        for access in &self.accesses {
            counts.instructions += u64::from(access.instructions);
            let references = u64::from(access.references);
            let passed_on = match access.kind {
                AccessKind::Fetch => {
                    counts.fetches += 1;
                    !self.code.hits(access.line, true)
                }
                AccessKind::Store => {
                    counts.stores += references;
                    let _ = self.data.hits(access.line, false);
                    true
                }
                _ => {
                    counts.loads += references;
                    !self.data.hits(access.line, true)
                }
            };
            if passed_on {
                counts.l2 += 1;
                counts.l2_fetches += u64::from(access.kind == AccessKind::Fetch);
                for (l2, missed) in counts.missed.iter_mut().enumerate() {
                    *missed += u64::from(miss(l2, access.line));
                }
            }
        }
    }
}

/// Runs a program for `warm` instructions and then for `counted` instructions that count, with L2s
/// of these KB side by side.
pub(super) fn alone(workload: &Workload, kbs: &[u32], warm: u64, counted: u64) -> FunctionalCounts {
    let mut l2s: Vec<FunctionalCache> =
        kbs.iter().map(|&kb| FunctionalCache::of_kb(kb, ways(kb))).collect();
    let mut core = FunctionalCore::new(workload, 1, kbs.len());
    for instructions in [warm, counted] {
        core.counts = FunctionalCounts::new(kbs.len());
        while core.counts.instructions < instructions {
            core.step(|l2, line| !l2s[l2].hits(line, true));
        }
    }
    core.counts
}

/// Runs two programs (workloads with their CPI) side by side on a shared L2 of `kb` KB, at the
/// latencies of the T1. Returns the counts of the first.
pub(super) fn beside(
    programs: [(&Workload, f64); 2],
    kb: u32,
    warm: u64,
    counted: u64,
) -> FunctionalCounts {
    // The second program's lines differ, in the same sets.
    const OTHER: u32 = 1 << 28;
    let mut l2 = FunctionalCache::of_kb(kb, ways(kb));
    let mut cores =
        [(0, 1), (1, 2)].map(|(core, seed)| FunctionalCore::new(programs[core].0, seed, 1));
    for instructions in [warm, counted] {
        cores.iter_mut().for_each(|core| core.counts = FunctionalCounts::new(1));
        while cores[0].counts.instructions < instructions {
            let clocks = [0, 1].map(|core| cores[core].counts.cycles(programs[core].1));
            let next = usize::from(clocks[1] < clocks[0]);
            let other = if next == 0 { 0 } else { OTHER };
            cores[next].step(|_, line| !l2.hits(line | other, true));
        }
    }
    let [first, _] = cores;
    first.counts
}
