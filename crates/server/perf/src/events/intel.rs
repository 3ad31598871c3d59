//! Intel's events: `umask << 8 | event`, and the counter mask in bits 24 to 31 (SDM volume 3,
//! 20.2.1; the kernel's `/sys/bus/event_source/devices/cpu/format`).

use fairways_core::Counter;

use super::{RAW, Table};

const INSTRUCTIONS: (Counter, &str, u64) = (Counter::Instructions, "INST_RETIRED.ANY_P", 0x00c0);
const CYCLES: (Counter, &str, u64) = (Counter::Cycles, "CPU_CLK_UNHALTED.THREAD_P", 0x003c);
const LOADS: (Counter, &str, u64) = (Counter::L1References, "MEM_UOPS_RETIRED.ALL_LOADS", 0x81d0);
const LOADS_AND_STORES: (Counter, &str, u64) =
    (Counter::L1References, "MEM_INST_RETIRED.ANY", 0x83d0);
const REFERENCES: (Counter, &str, u64) =
    (Counter::LlcReferences, "LONGEST_LAT_CACHE.REFERENCE", 0x4f2e);
const MISSES: (Counter, &str, u64) = (Counter::LlcMisses, "LONGEST_LAT_CACHE.MISS", 0x412e);
const L2_STALLS: (Counter, &str, u64) =
    (Counter::StallsL2Miss, "CYCLE_ACTIVITY.STALLS_L2_MISS", 0x0500_05a3);
const LLC_STALLS: (Counter, &str, u64) =
    (Counter::StallsLlcMiss, "CYCLE_ACTIVITY.STALLS_L3_MISS", 0x0600_06a3);
const STORE_BUFFER: (Counter, &str, u64) =
    (Counter::StallsStoreBuffer, "RESOURCE_STALLS.SB", 0x08a2);

const NO_LLC_STALLS: (Counter, &str) =
    (Counter::StallsLlcMiss, "before Skylake, stalls are separated by misses of L1 and L2 only");

const GOLDEN_COVE: &[(Counter, &str, u64)] = &[
    INSTRUCTIONS,
    CYCLES,
    LOADS_AND_STORES,
    REFERENCES,
    MISSES,
    (Counter::StallsL2Miss, "MEMORY_ACTIVITY.STALLS_L2_MISS", 0x0500_0547),
    (Counter::StallsLlcMiss, "MEMORY_ACTIVITY.STALLS_L3_MISS", 0x0900_0947),
    STORE_BUFFER,
];

const SKYLAKE: &[(Counter, &str, u64)] = &[
    INSTRUCTIONS,
    CYCLES,
    LOADS_AND_STORES,
    REFERENCES,
    MISSES,
    L2_STALLS,
    LLC_STALLS,
    STORE_BUFFER,
];

pub(super) const TABLES: &[Table] = &[
    Table {
        name: "Haswell",
        source: "x86/haswellx/{cache,pipeline}.json",
        generic: &[],
        kind: RAW,
        // Where hyper-threads are on, the kernel lets a thread use half of the general counters
        // while 0xd0 is on one (erratum HSD29; `exclusive_present` of arch/x86/events/core.c).
        alone: &[Counter::L1References],
        events: &[
            INSTRUCTIONS,
            CYCLES,
            LOADS,
            REFERENCES,
            MISSES,
            (Counter::StallsL2Miss, "CYCLE_ACTIVITY.STALLS_L2_PENDING", 0x0500_05a3),
            STORE_BUFFER,
        ],
        lost: &[NO_LLC_STALLS],
    },
    Table {
        name: "Broadwell",
        source: "x86/broadwellx/{cache,pipeline}.json",
        generic: &[],
        kind: RAW,
        alone: &[],
        events: &[INSTRUCTIONS, CYCLES, LOADS, REFERENCES, MISSES, L2_STALLS, STORE_BUFFER],
        lost: &[NO_LLC_STALLS],
    },
    Table {
        name: "Skylake, Cascade Lake",
        source: "x86/{skylakex,cascadelakex}/{cache,memory,pipeline}.json",
        generic: &[],
        kind: RAW,
        alone: &[],
        events: SKYLAKE,
        lost: &[],
    },
    Table {
        name: "Ice Lake, Rocket Lake, Tiger Lake",
        source: "x86/{icelakex,rocketlake,tigerlake}/{cache,memory,pipeline}.json",
        generic: &[],
        kind: RAW,
        alone: &[],
        events: SKYLAKE,
        lost: &[],
    },
    Table {
        name: "Sapphire Rapids, Emerald Rapids",
        source: "x86/{sapphirerapids,emeraldrapids}/{cache,memory,pipeline}.json",
        generic: &[],
        kind: RAW,
        alone: &[],
        events: GOLDEN_COVE,
        lost: &[],
    },
    Table {
        name: "Granite Rapids",
        source: "x86/graniterapids/{cache,memory,pipeline}.json",
        generic: &[],
        kind: RAW,
        alone: &[],
        events: GOLDEN_COVE,
        lost: &[],
    },
    Table {
        name: "Sierra Forest",
        source: "x86/sierraforest/{cache,pipeline}.json",
        generic: &[],
        kind: RAW,
        alone: &[],
        events: &[
            INSTRUCTIONS,
            CYCLES,
            LOADS,
            REFERENCES,
            MISSES,
            (Counter::StallsStoreBuffer, "MEM_SCHEDULER_BLOCK.ST_BUF", 0x0104),
        ],
        lost: &[
            (
                Counter::StallsL2Miss,
                "its cores separate stalls by where a load was served (MEM_BOUND_STALLS_LOAD), not while a miss is outstanding",
            ),
            (
                Counter::StallsLlcMiss,
                "its cores separate stalls by where a load was served (MEM_BOUND_STALLS_LOAD), not while a miss is outstanding",
            ),
        ],
    },
];

/// The table by family and model (the kernel's `arch/x86/include/asm/intel-family.h`).
pub(super) fn for_model(family: u32, model: u32) -> Option<&'static Table> {
    let index = match (family, model) {
        (6, 0x3c | 0x3f | 0x45 | 0x46) => 0,
        (6, 0x3d | 0x47 | 0x4f | 0x56) => 1,
        (6, 0x4e | 0x55 | 0x5e | 0x8e | 0x9e | 0xa5 | 0xa6) => 2,
        (6, 0x6a | 0x6c | 0x7d | 0x7e | 0x8c | 0x8d | 0x9d | 0xa7) => 3,
        (6, 0x8f | 0xcf) => 4,
        (6, 0xad | 0xae) => 5,
        (6, 0xaf) => 6,
        _ => return None,
    };
    TABLES.get(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_of_outstanding_misses_counts_cycles_in_which_all_its_conditions_hold() {
        let stalls = TABLES
            .iter()
            .flat_map(|table| table.events)
            .filter(|&&(_, _, config)| matches!(config & 0xff, 0xa3 | 0x47));
        let mut seen = 0;
        for &(_, name, config) in stalls {
            // Intel's lists of CYCLE_ACTIVITY and MEMORY_ACTIVITY: CounterMask is UMask.
            assert_eq!(config >> 24, config >> 8 & 0xff, "{name}");
            seen += 1;
        }
        assert_eq!(seen, 2 + 4 * 2);
    }
}
