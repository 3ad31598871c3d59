//! §2: "make it complete the same amount of work in the same time" as with an equal share of the
//! cache.

use super::bench::{Bench, Does, HEAVY, LIGHT, MS, VICTIM};
use crate::cache_fair::Parameters;

/// The bound on best-effort threads is ours; without it, the published form.
pub(super) const PUBLISHED: Parameters = Parameters {
    extrapolates: true,
    penalty_limit: 0,
    phase_change: 25,
    data_points: 10,
    reconnaissance: 100_000_000,
    calibration: 10_000_000,
    repetition: 1_000_000_000,
    reconnaissance_limit: core::time::Duration::from_secs(10),
    shortest_point: core::time::Duration::from_millis(1),
    least_ideal_cpi: fairways_core::Q32::ONE,
    most_debt: 100,
};

/// Thread 0 and best-effort thread 1 on one CPU; 2 and 3 on the other. The one that `leaves` ends
/// once thread 0 is in its calibration phase. The CPUs' turns are half a quantum apart, so that it
/// meets both.
pub(super) fn pair(parameters: Parameters, leaves: u32) -> Bench {
    let mut bench = Bench::new(2, parameters);
    bench.start(0, 0, false, VICTIM);
    bench.start(1, 0, true, LIGHT);
    bench.run(5 * MS);
    bench.start(2, 1, false, HEAVY);
    bench.start(3, 1, false, LIGHT);
    bench.calibrate(0);
    bench.exit(leaves);
    bench
}

/// Instructions, slices and time run of a thread.
fn so_far(bench: &Bench, app: u32) -> (u128, u64, u64) {
    let one = &bench.threads[&app];
    (one.done.instructions / 1_000_000, one.slices, one.ran)
}

/// The work of a thread in per mille of its work at this CPI, in thousandths, in the same turns.
fn of_fair(before: (u128, u64, u64), after: (u128, u64, u64), fair_cpi: u128) -> u128 {
    let time = u128::from(after.1 - before.1) * 10 * u128::from(MS);
    (after.0 - before.0) * fair_cpi / time
}

/// The time that a thread ran beyond its turns.
fn beyond(before: (u128, u64, u64), after: (u128, u64, u64)) -> i128 {
    i128::from(after.2 - before.2) - i128::from((after.1 - before.1) * 10 * MS)
}

#[test]
fn a_thread_that_is_slower_than_fair_does_its_fair_work_and_best_effort_pays_for_it() {
    for (leaves, actual, hasty) in
        [(3, 4000, false), (2, 2632, false), (3, 4000, true), (2, 2632, true)]
    {
        let mut bench = pair(PUBLISHED, leaves);
        bench.hasty = hasty;
        bench.run(bench.now + 1000 * MS);
        let before = (so_far(&bench, 0), so_far(&bench, 1));
        bench.run(bench.now + 2000 * MS);
        let after = (so_far(&bench, 0), so_far(&bench, 1));
        // (2 / (1 - 0.4)).
        let fair = of_fair(before.0, after.0, 3333);
        assert!((990..=1010).contains(&fair), "{leaves} {fair}");
        // Without the adjustment, by its actual CPI, it would not be.
        let time = u128::from(after.0.1 - before.0.1) * 10 * u128::from(MS);
        let conventional = time * 1000 / actual * 3333 / time;
        assert!(!(990..=1010).contains(&conventional));
        // What it got beyond its turns is what best-effort lost.

        let (got, lost) = (beyond(before.0, after.0), -beyond(before.1, after.1));
        assert_eq!(got > 0, leaves == 3);
        assert!((got - lost).abs() <= 10 * i128::from(MS), "{got} {lost}");
        assert!(got.abs() > 100 * i128::from(MS), "{got}");
    }
}

/// A thread that runs at its fair CPI is not adjusted.
#[test]
fn a_thread_that_is_as_fast_as_fair_has_its_quantum() {
    let mut bench = pair(PUBLISHED, 3);
    bench.at(3);
    assert!(bench.quanta.iter().any(|&(_, app, _)| app == 0));
    assert!(bench.quanta.iter().all(|&(_, app, _)| app <= 1), "{:?}", bench.quanta);
}

/// "Once the thread catches up with its work, its quantum is restored to its initial value."
#[test]
fn a_thread_that_runs_alone_at_last_has_its_usual_quantum() {
    let mut bench = pair(PUBLISHED, 3);
    bench.at(2);
    // Now it is as it would be with a fair share.
    bench.becomes(2, Does { alone: 2000, ..HEAVY });
    bench.at(3);
    let fair = |&&(at, app, time): &&(u64, u32, u64)| {
        app == 0 && at > 2500 * MS && time.abs_diff(10 * MS) > MS / 20
    };
    assert_eq!(bench.quanta.iter().filter(fair).count(), 0);
}

/// Decision 4: "clipped to [Q/2, 2Q]; the rest is carried over, so that nothing is lost".
#[test]
fn decision_4_what_does_not_fit_one_turn_is_made_up_for_in_the_next() {
    let mut bench = pair(PUBLISHED, 3);
    // (1 - 0.4) / (1 - 0.9): six times as long as fair. For a while nothing is enough.
    bench.at(1);
    bench.becomes(2, Does { alone: 7500, ..HEAVY });
    bench.run(bench.now + 60 * MS);
    bench.becomes(2, Does { alone: 2000, ..HEAVY });
    let start = so_far(&bench, 0);
    bench.run(bench.now + 2000 * MS);
    let end = so_far(&bench, 0);
    // It is ahead of fair now, by what it was behind by then.
    assert!(of_fair(start, end, 3333) > 1020, "{}", of_fair(start, end, 3333));
    assert!(bench.quanta.iter().all(|&(.., time)| (5 * MS..=20 * MS).contains(&time)));
}
