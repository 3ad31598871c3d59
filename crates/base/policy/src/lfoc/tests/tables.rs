//! What sampling makes of what it measured.

use alloc::vec::Vec;

use fairways_core::Llc;

use super::bench::{Behaviour, Bench, Does, LLC, light, sensitive};
use crate::lfoc::Parameters;
use crate::lfoc::sampling::Sampled;

/// What was found of program 0, beside the others.
fn found(llc: Llc, programs: &[Behaviour]) -> Sampled {
    let mut bench = Bench::new(Parameters::default(), llc);
    for (app, &does) in (0..).zip(programs) {
        bench.start(app, does);
    }
    bench.windows(0, 3);
    bench.sample_all();
    Sampled::clone(bench.policy.learners.0[0].sampled.as_ref().unwrap())
}

/// Instructions in 1000 cycles at each way count, to within the rounding of counters.
fn has_ipc(found: &Sampled, expected: [u64; 11]) {
    let ipc: Vec<u64> = found.ipc.values().iter().map(|ipc| (1000 * ipc.raw()) >> 32).collect();
    assert!(ipc.iter().zip(expected).all(|(ipc, expected)| ipc.abs_diff(expected) <= 1), "{ipc:?}");
}

/// Gains by every way.
fn greedy(ways: u32) -> Does {
    Does { ipc: 100 * u64::from(ways), llcmpkc: 20, stalls: 500 }
}

/// Decision 12: the last size that others leave stands for the whole cache.
#[test]
fn decision_12_a_sweep_ends_one_least_mask_short_of_the_cache_beside_others() {
    let greedy_beside = found(LLC, &[greedy, light]);
    has_ipc(&greedy_beside, [100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1000]);
    let alone = found(LLC, &[greedy]);
    has_ipc(&alone, [100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1100]);
}

/// Decision 12: "LFOC uses the last IPC sample gathered to approximate the performance with higher
/// way counts" (§4.2).
#[test]
fn decision_12_an_early_stop_extends_the_last_ipc() {
    // It would fall again, but misses little from the third way on.
    fn stops(ways: u32) -> Does {
        match ways {
            1 | 2 => Does { ipc: 300 * u64::from(ways), llcmpkc: 20, stalls: 500 },
            3 => Does { ipc: 1000, llcmpkc: 1, stalls: 10 },
            _ => Does { ipc: 200, llcmpkc: 1, stalls: 10 },
        }
    }
    let found = found(LLC, &[stops, light]);
    has_ipc(&found, [300, 600, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000]);
    assert_eq!(found.critical_ways, 3);
}

/// §4.2: "the amount of cache space where the slowdown falls below 5%".
#[test]
fn the_critical_size_is_where_slowdown_falls_below_5_percent() {
    assert_eq!(found(LLC, &[sensitive, light]).critical_ways, 6);
}

/// Decision 14: the whole cache, where no less will do.
#[test]
fn decision_14_the_critical_size_may_be_the_whole_cache() {
    assert_eq!(found(LLC, &[greedy]).critical_ways, 11);
}

/// Between the sizes that could be measured, the smaller one; the last is the whole cache.
#[test]
fn with_wide_masks_the_table_holds_what_was_measured() {
    let wide = Llc { min_bits: 2, ..LLC };
    let alone = found(wide, &[greedy]);
    has_ipc(&alone, [200, 200, 200, 400, 400, 600, 600, 800, 800, 1000, 1100]);
    let beside = found(wide, &[greedy, light]);
    has_ipc(&beside, [200, 200, 200, 400, 400, 600, 600, 800, 900, 900, 900]);
}
