//! Arm's events: numbers of the architecture's common events (Arm ARM, D13.12;
//! `arm64/common-and-microarch.json`).
//!
//! `LL_CACHE_RD` counts reads only, and counts those beyond the core only where firmware states
//! that such a cache exists (`CPUECTLR_EL1.EXTLLC`, Neoverse N1 TRM).

use fairways_core::Counter;

use super::{RAW, Table};

const INSTRUCTIONS: (Counter, &str, u64) = (Counter::Instructions, "INST_RETIRED", 0x08);
const CYCLES: (Counter, &str, u64) = (Counter::Cycles, "CPU_CYCLES", 0x11);
const L1: (Counter, &str, u64) = (Counter::L1References, "L1D_CACHE", 0x04);
const REFERENCES: (Counter, &str, u64) = (Counter::LlcReferences, "LL_CACHE_RD", 0x36);
const MISSES: (Counter, &str, u64) = (Counter::LlcMisses, "LL_CACHE_MISS_RD", 0x37);
// The last cache within the core's clock domain is Neoverse's L2: these are stalls while a demand
// miss of it is outstanding.
const L2_STALLS: (Counter, &str, u64) = (Counter::StallsL2Miss, "STALL_BACKEND_MEM", 0x4005);

const NO_LLC_STALLS: (Counter, &str) = (
    Counter::StallsLlcMiss,
    "the core does not know whether a miss of its L2 misses the LLC as well",
);
const NO_STORE_BUFFER: (Counter, &str) =
    (Counter::StallsStoreBuffer, "the core has no event for a full store buffer");

pub(super) const TABLES: &[Table] = &[
    Table {
        name: "Neoverse N1",
        source: "arm64/arm/neoverse-n1/",
        generic: &[],
        kind: RAW,
        alone: &[],
        events: &[INSTRUCTIONS, CYCLES, L1, REFERENCES, MISSES],
        lost: &[
            (Counter::StallsL2Miss, "N1 counts stalls of its back end whatever their cause"),
            NO_LLC_STALLS,
            NO_STORE_BUFFER,
        ],
    },
    Table {
        name: "Neoverse V1, N2, V2",
        source: "arm64/arm/neoverse-v1/, arm64/arm/neoverse-n2-v2/",
        generic: &[],
        kind: RAW,
        alone: &[],
        events: &[INSTRUCTIONS, CYCLES, L1, REFERENCES, MISSES, L2_STALLS],
        lost: &[NO_LLC_STALLS, NO_STORE_BUFFER],
    },
    Table {
        name: "Neoverse V3",
        // Its list has no LL_CACHE_RD: the kernel's generic events are the same, where the core
        // reports to have them.
        source: "arm64/arm/neoverse-v3/{l1d_cache,stall}.json",
        generic: &[Counter::LlcReferences, Counter::LlcMisses],
        kind: RAW,
        alone: &[],
        events: &[INSTRUCTIONS, CYCLES, L1, L2_STALLS],
        lost: &[NO_LLC_STALLS, NO_STORE_BUFFER],
    },
];

/// The table by implementer and part, as numbered in the kernel's
/// `arch/arm64/include/asm/cputype.h`.
pub(super) fn for_part(implementer: u32, part: u32) -> Option<&'static Table> {
    let index = match (implementer, part) {
        (0x41, 0xd0c) => 0,
        (0x41, 0xd40 | 0xd49 | 0xd4f) => 1,
        (0x41, 0xd84) => 2,
        _ => return None,
    };
    TABLES.get(index)
}
