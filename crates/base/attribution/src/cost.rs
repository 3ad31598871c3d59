//! What a hit and a miss cost a program, and how much the wait for the bus adds to a miss.

use fairways_core::{Counters, Q32};

use crate::sizes::times;

/// The load-to-use latencies of an idle machine, in core cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLatency {
    /// From the last-level cache.
    pub llc: u32,
    /// From memory.
    pub memory: u32,
}

impl MemoryLatency {
    /// Used where the latencies are not known: memory takes four times as long as the cache, as on
    /// the servers that the chip's presets model (170/42 to 219/47 cycles).
    const USUAL: Self = Self { llc: 1, memory: 4 };
}

/// What an access costs a program, in cycles times 2^32. Accesses in parallel share cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AccessCost {
    /// A hit of the last-level cache.
    pub(crate) hit: u64,
    /// A miss, as measured.
    pub(crate) miss: u64,
    /// A miss on an idle bus, at most `miss`.
    pub(crate) idle: u64,
    /// Whether `idle` was computed from the latencies.
    pub(crate) is_known: bool,
}

/// With fewer hits per 1000 references, stalls do not show what a hit costs.
const HITS: u64 = 20;

/// Nor with fewer cycles of waiting for hits.
const HIT_CYCLES: u64 = 1000;

impl AccessCost {
    /// The costs over some windows, or `None` without misses or counts of stalls. `least` is the
    /// lowest cost of a miss ever seen.
    ///
    /// If a hit costs `h` cycles, a miss on an idle bus costs `h` times the ratio of the memory's
    /// latency to the cache's, provided that as many misses as hits are under way at once.
    pub(crate) fn new(
        counters: &Counters,
        latency: Option<MemoryLatency>,
        least: u64,
    ) -> Option<Self> {
        let misses = counters.llc_misses.filter(|&misses| misses > 0)?;
        let references = counters.llc_references?.max(misses);
        let (stalls, hits) = (counters.stalls_l2_miss?, references - misses);
        let MemoryLatency { llc, memory } = latency.unwrap_or(MemoryLatency::USUAL);
        let (llc, memory) = (u64::from(llc.max(1)), u64::from(memory.max(1)));
        let Some(waits) = counters.stalls_llc_miss else {
            // The latencies divide the stalls between hits and misses.
            let all = misses.saturating_mul(memory).saturating_add(hits.saturating_mul(llc));
            let by_cycle = Q32::ratio(stalls, all).raw();
            let [hit, miss] = [llc, memory].map(|cycles| by_cycle.saturating_mul(cycles));
            return Some(Self { hit, miss, idle: miss, is_known: false });
        };
        let miss = Q32::ratio(waits, misses).raw();
        let hit_cycles = stalls.saturating_sub(waits);
        if hits < references / 1000 * HITS || hit_cycles < HIT_CYCLES {
            let idle = least.min(miss);
            return Some(Self {
                hit: times(idle, Q32::ratio(llc, memory).raw()),
                miss,
                idle,
                is_known: false,
            });
        }
        let hit = Q32::ratio(hit_cycles, hits).raw().min(miss);
        if latency.is_none() {
            return Some(Self { hit, miss, idle: least.clamp(hit, miss), is_known: false });
        }
        let idle = times(hit, Q32::ratio(memory, llc).raw()).min(miss);
        Some(Self { hit, miss, idle, is_known: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(hits: u64, misses: u64, hit_cycles: u64, waits: Option<u64>) -> Counters {
        Counters {
            llc_references: Some(hits + misses),
            llc_misses: Some(misses),
            stalls_l2_miss: Some(hit_cycles + waits.unwrap_or(0)),
            stalls_llc_miss: waits,
            ..Counters::default()
        }
    }

    fn cycles(counters: Counters, latency: Option<MemoryLatency>, least: u64) -> [u64; 3] {
        let cost = AccessCost::new(&counters, latency, least << 32).expect("misses");
        [cost.hit, cost.miss, cost.idle].map(|cost| (cost + (1 << 31)) >> 32)
    }

    const IDLE: Option<MemoryLatency> = Some(MemoryLatency { llc: 50, memory: 200 });

    #[test]
    fn what_exceeds_the_quotient_of_the_latencies_is_the_wait_for_the_bus() {
        // Two hits at once: 25 cycles each. A miss on an idle bus would take 100.
        let counted = counters(1000, 1000, 25_000, Some(150_000));
        assert_eq!(cycles(counted, IDLE, 120), [25, 150, 100]);
        // Without latencies, the lowest cost ever seen is used.
        assert_eq!(cycles(counted, None, 120), [25, 150, 120]);
    }

    #[test]
    fn without_hits_the_lowest_cost_ever_seen_is_the_idle_one() {
        assert_eq!(cycles(counters(1, 1000, 25, Some(150_000)), IDLE, 120), [30, 150, 120]);
    }

    #[test]
    fn stalls_of_both_kinds_are_parted_by_the_latencies() {
        let counted = counters(1000, 500, 150_000, None);
        assert_eq!(cycles(counted, IDLE, 1), [50, 200, 200]);
        assert_eq!(AccessCost::new(&counters(1, 0, 5, None), IDLE, 1), None);
        let missing = Counters { stalls_l2_miss: None, ..counted };
        assert_eq!(AccessCost::new(&missing, IDLE, 1), None);
    }
}
