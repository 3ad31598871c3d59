//! The kernel's generic events, for a processor without a table.

use fairways_core::Counter;

use perf_event_open_sys::bindings::{
    PERF_COUNT_HW_CACHE_L1D, PERF_COUNT_HW_CACHE_LL, PERF_COUNT_HW_CACHE_OP_READ,
    PERF_COUNT_HW_CACHE_RESULT_ACCESS, PERF_COUNT_HW_CACHE_RESULT_MISS, PERF_COUNT_HW_CPU_CYCLES,
    PERF_COUNT_HW_INSTRUCTIONS, PERF_TYPE_HARDWARE, PERF_TYPE_HW_CACHE,
};

use super::{Encoding, Event, ProcessorEvents};

/// `perf_event_open(2)`: `cache | operation << 8 | result << 16`, of reads.
const fn cache(cache: u32, result: u32) -> u64 {
    (cache | PERF_COUNT_HW_CACHE_OP_READ << 8 | result << 16) as u64
}

const fn event(field: Counter, name: &'static str, kind: u32, config: u64) -> Event {
    Event { field, name, encoding: Encoding { kind, config } }
}

pub(super) fn events() -> ProcessorEvents {
    let why = "the kernel has no generic event for it, and this processor has no table";
    ProcessorEvents {
        name: "generic events",
        source: "perf_event_open(2)",
        events: vec![
            event(
                Counter::Instructions,
                "PERF_COUNT_HW_INSTRUCTIONS",
                PERF_TYPE_HARDWARE,
                PERF_COUNT_HW_INSTRUCTIONS.into(),
            ),
            event(
                Counter::Cycles,
                "PERF_COUNT_HW_CPU_CYCLES",
                PERF_TYPE_HARDWARE,
                PERF_COUNT_HW_CPU_CYCLES.into(),
            ),
            event(
                Counter::L1References,
                "L1-dcache-loads",
                PERF_TYPE_HW_CACHE,
                cache(PERF_COUNT_HW_CACHE_L1D, PERF_COUNT_HW_CACHE_RESULT_ACCESS),
            ),
            event(
                Counter::LlcReferences,
                "LLC-loads",
                PERF_TYPE_HW_CACHE,
                cache(PERF_COUNT_HW_CACHE_LL, PERF_COUNT_HW_CACHE_RESULT_ACCESS),
            ),
            event(
                Counter::LlcMisses,
                "LLC-load-misses",
                PERF_TYPE_HW_CACHE,
                cache(PERF_COUNT_HW_CACHE_LL, PERF_COUNT_HW_CACHE_RESULT_MISS),
            ),
        ],
        alone: Vec::new(),
        lost: [Counter::StallsL2Miss, Counter::StallsLlcMiss, Counter::StallsStoreBuffer]
            .map(|field| (field, why.to_owned()))
            .to_vec(),
    }
}
