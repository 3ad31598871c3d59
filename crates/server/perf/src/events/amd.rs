//! AMD's events: `umask << 8 | event`.
//!
//! The L3's own counters belong to the CCX, which its cores share, and can't count for a task. What
//! can be counted for a task is where its data cache was filled from: a fill from beyond the L2 is
//! a reference to the LLC, one from beyond the CCX a miss. Instruction fetches and the L2's
//! prefetches are not counted.

use fairways_core::Counter;

use super::{RAW, Table};

const INSTRUCTIONS: (Counter, &str, u64) = (Counter::Instructions, "ex_ret_instr", 0x00c0);
const CYCLES: (Counter, &str, u64) = (Counter::Cycles, "ls_not_halted_cyc", 0x0076);
const ACCESSES: (Counter, &str, u64) = (Counter::L1References, "ls_dc_accesses", 0x0040);
const DISPATCHED: (Counter, &str, u64) =
    (Counter::L1References, "ls_dispatch (ld, store, ld_st)", 0x0729);

const NO_L2_STALLS: (Counter, &str) =
    (Counter::StallsL2Miss, "Zen has no event for cycles stalled while an L2 miss is outstanding");
const NO_LLC_STALLS: (Counter, &str) =
    (Counter::StallsLlcMiss, "Zen has no event for cycles stalled while an L3 miss is outstanding");

pub(super) const TABLES: &[Table] = &[
    Table {
        name: "Zen 1",
        source: "x86/amdzen1/{cache,core,memory}.json",
        generic: &[],
        kind: RAW,
        alone: &[],
        events: &[
            INSTRUCTIONS,
            CYCLES,
            ACCESSES,
            (Counter::LlcReferences, "l2_cache_req_stat.ic_dc_miss_in_l2", 0x0964),
        ],
        lost: &[
            (Counter::LlcMisses, "Zen 1 counts L3 misses for a whole CCX only, not for a task"),
            NO_L2_STALLS,
            NO_LLC_STALLS,
            (Counter::StallsStoreBuffer, "Zen 1's list has no event for a full store queue"),
        ],
    },
    Table {
        name: "Zen 2",
        source: "x86/amdzen2/{core,memory,other}.json",
        generic: &[],
        kind: RAW,
        alone: &[],
        events: &[
            INSTRUCTIONS,
            CYCLES,
            ACCESSES,
            // Local cache 0x02 (its own CCX's, or another's on the same die: the event does not
            // separate them), local DRAM 0x08, remote cache 0x10, remote DRAM 0x40.
            (Counter::LlcReferences, "ls_refills_from_sys (all but lcl_l2)", 0x5a43),
            (Counter::LlcMisses, "ls_refills_from_sys (lcl_dram, rmt_cache, rmt_dram)", 0x5843),
            (
                Counter::StallsStoreBuffer,
                "de_dis_dispatch_token_stalls1.store_queue_token_stall",
                0x04ae,
            ),
        ],
        lost: &[NO_L2_STALLS, NO_LLC_STALLS],
    },
    Table {
        name: "Zen 3",
        source: "x86/amdzen3/{core,memory,other}.json",
        generic: &[],
        kind: RAW,
        alone: &[],
        events: &[
            INSTRUCTIONS,
            CYCLES,
            DISPATCHED,
            // Own CCX 0x02, other CCX near 0x04 and far 0x10, DRAM or I/O near 0x08 and far 0x40.
            (Counter::LlcReferences, "ls_any_fills_from_sys (all but local_l2)", 0x5e44),
            (Counter::LlcMisses, "ls_any_fills_from_sys (all beyond the CCX)", 0x5c44),
            (
                Counter::StallsStoreBuffer,
                "de_dis_dispatch_token_stalls1.store_queue_rsrc_stall",
                0x04ae,
            ),
        ],
        lost: &[NO_L2_STALLS, NO_LLC_STALLS],
    },
    Table {
        name: "Zen 4, Zen 5",
        source: "x86/amdzen4/{core,memory,other}.json, x86/amdzen5/{decode,load-store}.json",
        generic: &[],
        kind: RAW,
        alone: &[],
        events: &[
            INSTRUCTIONS,
            CYCLES,
            DISPATCHED,
            // As Zen 3's, and extension memory 0x80. Zen 5's list calls the stall
            // de_dispatch_stall_cycle_dynamic_tokens_part1.store_queue_rsrc_stall.
            (Counter::LlcReferences, "ls_any_fills_from_sys (all but local_l2)", 0xde44),
            (Counter::LlcMisses, "ls_any_fills_from_sys (all beyond the CCX)", 0xdc44),
            (
                Counter::StallsStoreBuffer,
                "de_dis_dispatch_token_stalls1.store_queue_rsrc_stall",
                0x04ae,
            ),
        ],
        lost: &[NO_L2_STALLS, NO_LLC_STALLS],
    },
];

/// The table by family and model, as `x86/mapfile.csv` assigns them.
pub(super) fn for_model(family: u32, model: u32) -> Option<&'static Table> {
    let index = match (family, model) {
        (0x17, 0x00..=0x2f) => 0,
        (0x17, 0x30..=0xff) => 1,
        (0x19, 0x00..=0x0f | 0x20..=0x2f | 0x40..=0x5f) => 2,
        (0x19, _) | (0x1a, 0x00..=0x4f | 0x60..=0x77) => 3,
        _ => return None,
    };
    TABLES.get(index)
}
