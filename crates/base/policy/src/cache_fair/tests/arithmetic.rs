//! The equations, by hand.

use alloc::vec::Vec;

use fairways_core::{AppId, CoRun, Counters, Q32, ThreadCounters, ThreadId};
use proptest::prelude::*;

use crate::cache_fair::recon::Fit;
use crate::cache_fair::{
    DataPoint, MOST_STALLS, equation_1, equation_2, fair_cpi, fair_miss_rate, ideal_cpi,
    memory_stalls, observed_range,
};
use crate::regression::Line;

/// Misses per million cycles.
fn rate(misses: u64) -> Q32 {
    Q32::ratio(misses, 1_000_000)
}

fn points(of: &[(u64, u64)]) -> Vec<DataPoint> {
    let point = |&(others, own)| DataPoint {
        own: rate(own),
        others: rate(others),
        group: others,
        memory_stalls: None,
        store_buffer_stalls: None,
    };
    of.iter().map(point).collect()
}

fn close(a: Q32, b: Q32, most: u64) {
    assert!(a.raw().abs_diff(b.raw()) <= most, "{a:?} {b:?}");
}

/// "FairMissRate(T) = a * n * FairMissRate(T) + b".
#[test]
fn equation_2_by_hand() {
    // own = others / 2 + 1000.
    let two = points(&[(1000, 1500), (3000, 2500)]);
    close(fair_miss_rate(&two, 1).unwrap(), rate(2000), 4);
    // With no co-runner, what it does alone.
    close(fair_miss_rate(&two, 0).unwrap(), rate(1000), 4);
    // own = others / 10 + 700: with three, 700 / (1 - 0.3).
    let of_four = points(&[(1000, 800), (3000, 1000), (6000, 1300)]);
    close(fair_miss_rate(&of_four, 3).unwrap(), rate(1000), 8);
    let line = equation_1(&of_four).unwrap();
    assert!((line.slope() - (1i64 << 32) / 10).abs() < 1 << 16);
}

/// Decision 2: "fewer than two distinct points, or a n at or above 1, or a negative result".
#[test]
fn decision_2_there_may_be_no_fair_miss_rate() {
    assert_eq!(fair_miss_rate(&[], 1), None);
    assert_eq!(fair_miss_rate(&points(&[(5, 7)]), 1), None);
    assert_eq!(fair_miss_rate(&points(&[(5, 7), (5, 8), (5, 9)]), 1), None);
    let half = Line::new(1 << 31, 100);
    assert_eq!([0, 1, 2, 3].map(|n| equation_2(&half, n)), [Some(100), Some(200), None, None]);
    assert_eq!(equation_2(&Line::new(1 << 31, -100), 1), Some(-200));
    assert_eq!(fair_miss_rate(&points(&[(1000, 100), (2000, 800)]), 1), None);
    // What falls with others' misses is no failure: 3000 / (1 + 1).
    close(fair_miss_rate(&points(&[(1000, 2000), (2000, 1000)]), 1).unwrap(), rate(1500), 4);
}

#[test]
fn fair_cpi_by_hand() {
    fn tenths(n: u64) -> Q32 {
        Q32::ratio(n, 10)
    }
    let ideal = ideal_cpi(Q32::from_int(4), tenths(5), Q32::ONE);
    assert_eq!(ideal, Q32::from_int(2));
    close(fair_cpi(ideal, tenths(4)), Q32::ratio(10, 3), 8);
    // At its actual stalls, the fair CPI is the actual one.
    assert_eq!(fair_cpi(ideal, tenths(5)), Q32::from_int(4));
    // Decision 9: no core that issues one instruction a cycle has a CPI below 1, and none a CPI
    // above its own.
    assert_eq!(ideal_cpi(Q32::from_int(4), tenths(9), Q32::ONE), Q32::ONE);
    assert_eq!(ideal_cpi(tenths(6), tenths(5), Q32::ONE), tenths(6));
    assert_eq!(ideal_cpi(tenths(6), tenths(5), Q32::default()), tenths(3));
    // No thread stalls always.
    assert_eq!(fair_cpi(Q32::ONE, Q32::from_int(7)), fair_cpi(Q32::ONE, MOST_STALLS));
    close(fair_cpi(Q32::ONE, Q32::from_int(7)), Q32::from_int(100), 1 << 20);
}

/// §3.2: the ideal CPI is that "when there are no L2 cache misses": each miss then takes the time
/// of a hit, not none.
#[test]
fn the_ideal_cpi_is_the_one_of_hits_however_often_the_thread_misses() {
    // 1000 instructions of 1.5 cycles, and 50 references of 20 cycles if they hit and 120 if they
    // miss.
    fn window(misses: u64) -> Counters {
        Counters {
            instructions: Some(1000),
            cycles: Some(1500 + 20 * (50 - misses) + 120 * misses),
            llc_references: Some(50),
            llc_misses: Some(misses),
            stalls_l2_miss: Some(20 * (50 - misses) + 120 * misses),
            stalls_llc_miss: Some(120 * misses),
            ..Counters::default()
        }
    }
    fn ideal(counters: &Counters) -> Q32 {
        let cpi = Q32::ratio(counters.cycles.unwrap(), 1000);
        ideal_cpi(cpi, memory_stalls(counters).unwrap(), Q32::ONE)
    }
    for misses in [0, 1, 10, 40, 49] {
        close(ideal(&window(misses)), Q32::ratio(25, 10), 64);
    }
    // If the time of a hit is unknown, all of a miss counts: nothing hit, or it is not counted.
    close(ideal(&window(50)), Q32::ratio(15, 10), 64);
    let unknown = Counters { stalls_l2_miss: None, ..window(10) };
    close(ideal(&unknown), Q32::ratio(23, 10), 64);
    assert_eq!(memory_stalls(&Counters { stalls_llc_miss: None, ..window(10) }), None);
}

fn ran(number: u32, cycles: u64, llc_misses: Option<u64>) -> ThreadCounters {
    let counters = Counters { cycles: Some(cycles), llc_misses, ..Counters::default() };
    ThreadCounters { thread: ThreadId::first_of(AppId(number)), counters }
}

/// §4.1: "we record the miss rate of T and the overall miss rate of its co-runners".
#[test]
fn a_point_is_a_thread_against_all_its_co_runners() {
    let thread = ThreadId::first_of(AppId(0));
    let threads = Vec::from([ran(0, 1000, Some(7)), ran(1, 1000, Some(3)), ran(2, 500, Some(4))]);
    let group = Counters { llc_misses: Some(16), ..Counters::default() };
    let mut together = CoRun { threads, group, window: core::time::Duration::ZERO };
    let point = DataPoint::from_group(&together, thread).unwrap();
    // 3 + 8 of those that are listed, and 2 of others, a thousand cycles.
    assert_eq!(point.own, Q32::ratio(7, 1000));
    close(point.others, Q32::ratio(13, 1000), 4);
    together.group.llc_misses = None;
    close(DataPoint::from_group(&together, thread).unwrap().others, Q32::ratio(11, 1000), 4);
    // What cannot be counted is not zero.
    together.threads[2] = ran(2, 500, None);
    assert_eq!(DataPoint::from_group(&together, thread), None);
    together.threads[2] = ran(2, 0, Some(4));
    assert_eq!(DataPoint::from_group(&together, thread), None);
    together.threads.truncate(1);
    assert_eq!(DataPoint::from_group(&together, thread).unwrap().others, Q32::default());
    assert_eq!(DataPoint::from_group(&together, ThreadId::first_of(AppId(1))), None);
}

/// Decision 15: a line holds where the points are.
#[test]
fn decision_15_a_fair_miss_rate_lies_within_what_was_observed() {
    fn beside(group: u64, others: u64, own: u64) -> DataPoint {
        DataPoint {
            own: rate(own),
            others: rate(others),
            group,
            memory_stalls: Some(Q32::ratio(own * 100, 1_000_000)),
            store_buffer_stalls: None,
        }
    }
    // own = others / 2 + 1000: 2000 beside its like, and 1500 at most was observed.
    let light = [beside(1, 600, 1400), beside(1, 400, 1100), beside(2, 1000, 1500)].into();
    let fit = |points, extrapolates| Fit::through(points, 1, extrapolates).unwrap().rate;
    assert_eq!(observed_range(&light), Some((rate(1250), rate(1500))));
    assert!(fit(&light, true) > rate(1600));
    assert_eq!(fit(&light, false), rate(1500));
    let heavy = [beside(1, 3000, 2500), beside(2, 4000, 3000)].into();
    close(fit(&heavy, true), rate(2000), 4);
    assert_eq!(fit(&heavy, false), rate(2500));
    // Beside one group only, the fair rate is the observed one.
    let same = [beside(1, 1000, 1500), beside(1, 3000, 2500)].into();
    assert_eq!(fit(&same, false), rate(2000));
    // Between those that were observed both are the same.
    let around = [beside(1, 1000, 1500), beside(2, 3000, 2500)].into();
    assert_eq!(fit(&around, false), fit(&around, true));
}

/// The order in which a group's threads are listed does not matter.
#[test]
fn a_group_is_its_threads() {
    let thread = ThreadId::first_of(AppId(0));
    let point = |numbers: [u32; 3]| {
        let threads = numbers.map(|number| ran(number, 1000, Some(1))).into();
        let together =
            CoRun { threads, group: Counters::default(), window: core::time::Duration::ZERO };
        DataPoint::from_group(&together, thread).unwrap().group
    };
    assert_eq!(point([0, 1, 2]), point([2, 0, 1]));
    assert_ne!(point([0, 1, 2]), point([0, 1, 3]));
    assert_ne!(point([0, 1, 2]), point([0, 3, 2]));
}

/// If a thread's own rate never differs, it is the fair one, with the mean of its stalls.
#[test]
fn a_thread_that_is_never_harmed_is_always_fair() {
    fn same(others: u64, stalls: u64) -> DataPoint {
        DataPoint {
            own: rate(400),
            others: rate(others),
            group: others,
            memory_stalls: Some(Q32::ratio(stalls, 100)),
            store_buffer_stalls: None,
        }
    }
    let fit = Fit::through(&[same(1000, 3), same(2000, 5)].into(), 1, true).unwrap();
    assert_eq!((fit.rate, fit.store_buffer_stalls), (rate(400), None));
    close(fit.memory_stalls, Q32::ratio(4, 100), 2);
    // Otherwise they are on a line: of 100 cycles a miss.
    fn on_line(own: u64, others: u64) -> DataPoint {
        DataPoint {
            own: rate(own),
            others: rate(others),
            group: others,
            memory_stalls: Some(Q32::ratio(own * 100, 1_000_000)),
            store_buffer_stalls: Some(Q32::ratio(own * 50, 1_000_000)),
        }
    }
    let fit = Fit::through(&[on_line(1500, 1000), on_line(2500, 3000)].into(), 1, true).unwrap();
    close(fit.memory_stalls, Q32::ratio(20, 100), 1000);
    close(fit.store_buffer_stalls.unwrap(), Q32::ratio(10, 100), 1000);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Points on a line give its fixed point, whatever they are.
    #[test]
    fn a_fair_rate_is_where_all_miss_alike(
        percent in 0u64..30, alone in 1u64..5000, n in 0u32..4,
        others in prop::collection::btree_set(0u64..20_000, 2..20),
    ) {
        let of: Vec<(u64, u64)> =
            others.iter().map(|&others| (others * 100, percent * others + alone)).collect();
        // A point is off by 2^-32 at most. A line through close points is off by that times how far
        // away it is read, and a share of 29 % for each of three others leaves an eighth to divide
        // by.
        let (first, last) = (others.first().unwrap(), others.last().unwrap());
        let reach = last / (last - first);
        let fair = fair_miss_rate(&points(&of), n).unwrap();
        let exact = Q32::ratio(alone * 100, (100 - percent * u64::from(n)) * 1_000_000);
        prop_assert!(fair.raw().abs_diff(exact.raw()) <= 64.max(16 * reach) + exact.raw() / 10_000, "{fair:?} {exact:?}");
    }

    /// CPI is fair exactly where stalls are, and falls as fair stalls do.
    #[test]
    fn a_fair_cpi_is_between(cpi in 1u64 << 32..20u64 << 32, stalls in 0u64..1 << 32, fair in 0u64..1 << 32) {
        let of = |fair| fair_cpi(
            ideal_cpi(Q32::from_raw(cpi), Q32::from_raw(stalls), Q32::default()),
            Q32::from_raw(fair),
        );
        let same = of(stalls).raw();
        prop_assert!(same.abs_diff(cpi) <= 256 + cpi / 100_000_000, "{same} {cpi}");
        prop_assert_eq!(of(fair) >= of(stalls), fair >= stalls || of(fair) == of(stalls));
    }
}
