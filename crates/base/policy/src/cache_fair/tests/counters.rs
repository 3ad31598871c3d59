//! What cannot be counted is not zero.

use fairways_core::Counters;

use super::bench::{Bench, Does, HEAVY, LIGHT, MS, VICTIM};
use super::work::PUBLISHED;

type Shows = fn(Counters) -> Counters;

const NO_CYCLES: Shows = |counters| Counters { cycles: None, ..counters };
const NO_INSTRUCTIONS: Shows = |counters| Counters { instructions: None, ..counters };
const NO_MISSES: Shows = |counters| Counters { llc_misses: None, ..counters };
const NO_STALLS: Shows = |counters| Counters { stalls_llc_miss: None, ..counters };
const NO_STORES: Shows = |counters| Counters { stalls_store_buffer: None, ..counters };

fn four(shows: Shows) -> Bench {
    let mut bench = Bench::new(2, PUBLISHED);
    bench.start(0, 0, false, Does { shows, ..VICTIM });
    bench.start(1, 0, true, LIGHT);
    bench.run(5 * MS);
    bench.start(2, 1, false, HEAVY);
    bench.start(3, 1, false, LIGHT);
    bench
}

#[test]
fn a_thread_that_cannot_be_measured_is_not_adjusted() {
    for shows in [NO_CYCLES, NO_INSTRUCTIONS, NO_MISSES, NO_STALLS] {
        let mut bench = four(shows);
        bench.at(12);
        assert!(bench.is_calibrated(0));
        assert_eq!(bench.policy.fair_cpi(Bench::thread(0)), None);
        assert!(bench.quanta.is_empty());
    }
}

/// Where stalls for the store buffer are not counted, they are a part of the ideal CPI.
#[test]
fn without_store_buffer_stalls_those_for_memory_count() {
    let mut bench = four(NO_STORES);
    bench.calibrate(0);
    bench.exit(3);
    bench.run(bench.now + 500 * MS);
    // 4 (1 - 0.375) / (1 - 0.3) = 3.571.
    let cpi = (bench.policy.fair_cpi(Bench::thread(0)).unwrap().raw() * 1000) >> 32;
    assert!((3560..=3580).contains(&cpi), "{cpi}");
}

#[test]
fn a_thread_that_cannot_be_measured_for_a_while_is_adjusted_again_after_it() {
    for shows in [NO_CYCLES, NO_INSTRUCTIONS, NO_STALLS, NO_STORES] {
        let mut bench = four(VICTIM.shows);
        bench.calibrate(0);
        bench.exit(3);
        bench.run(bench.now + 500 * MS);
        bench.becomes(0, Does { shows, ..VICTIM });
        bench.run(bench.now + 200 * MS);
        bench.quanta.clear();
        bench.run(bench.now + 200 * MS);
        assert!(bench.quanta.is_empty(), "{:?}", bench.quanta);
        bench.becomes(0, VICTIM);
        bench.run(bench.now + 300 * MS);
        let more = bench.quanta.iter().filter(|one| one.1 == 0).map(|one| one.2 - 10 * MS);
        // 15 turns, 2 ms each, and the rest of a window; not the 40 ms while nothing was known.
        let given: u64 = more.sum();
        assert!((20 * MS..=45 * MS).contains(&given), "{given}");
    }
}
