//! CPU time that is given equals CPU time that is taken.

use alloc::vec::Vec;

use proptest::prelude::*;

use super::bench::{Bench, Does, HEAVY, LIGHT, MS, VICTIM};
use super::bound::worst;
use super::work::{PUBLISHED, pair};
use crate::cache_fair::Parameters;

/// §4.2: "its quantum is increased, and a best-effort thread's quantum is decreased".
#[test]
fn two_that_take_turns_are_always_ordered_the_opposite() {
    for leaves in [2, 3] {
        let mut bench = pair(PUBLISHED, leaves);
        for _ in 0..3000 {
            bench.run(bench.now + MS);
            assert_eq!(bench.orders, 0);
            assert_eq!(bench.policy.exchange.books().1, 0);
        }
        assert!(bench.quanta.len() > 50);
    }
}

/// Decision 7: "no adjustment; say so once".
#[test]
fn decision_7_without_best_effort_threads_nothing_is_adjusted() {
    let mut bench = Bench::new(2, PUBLISHED);
    for (app, does) in [(0, VICTIM), (1, LIGHT), (2, HEAVY), (3, LIGHT)] {
        bench.run(5 * MS * u64::from(app / 2));
        bench.start(app, app as usize / 2, false, does);
    }
    bench.at(4);
    assert!(bench.is_calibrated(0));
    assert_eq!(bench.quanta, []);
    let announced =
        bench.classified.iter().filter(|(.., reason)| reason.contains("no best-effort"));
    assert_eq!((announced.count(), bench.classified.len()), (1, 5));
    // One that comes pays for what is to come, not for what was.
    bench.exit(3);
    bench.run(bench.now + 1000 * MS);
    bench.start(4, 0, true, LIGHT);
    bench.run(bench.now + 400 * MS);
    let more =
        bench.quanta.iter().filter(|&&(_, app, _)| app == 0).map(|&(.., time)| time - 10 * MS);
    let given: u64 = more.sum();
    // 13 turns, 2 ms each, and what a window left undone; not the 100 ms of the second before.
    assert!((15 * MS..=45 * MS).contains(&given), "{given}");
}

#[test]
fn without_a_say_in_scheduling_it_does_nothing() {
    let mut bench = Bench::silent(2, PUBLISHED);
    bench.start(0, 0, false, VICTIM);
    bench.start(1, 0, true, HEAVY);
    bench.at(1);
    assert_eq!((bench.classified.len(), bench.partitions, bench.quanta.len()), (0, 0, 0));
    assert_eq!(bench.policy.points(Bench::thread(0)), None);
}

#[test]
fn classes_are_announced_once() {
    let mut bench = pair(PUBLISHED, 3);
    bench.at(3);
    let mut classified: Vec<_> =
        bench.classified.iter().map(|&(app, class, _)| (app, class)).collect();
    classified.sort_unstable();
    let (fair, best) = ("cache-fair", "best-effort");
    assert_eq!(classified, [(0, fair), (1, best), (2, fair), (3, fair)]);
    assert_eq!(bench.partitions, 0);
}

/// Two victims, on one CPU each, and one thread to pay for both.
#[test]
fn two_that_want_more_share_what_one_can_give() {
    let mut bench = Bench::new(2, PUBLISHED);
    bench.start(0, 0, false, VICTIM);
    bench.start(1, 0, true, HEAVY);
    bench.start(2, 1, false, Does { latency: 160, ..VICTIM });
    bench.start(3, 1, false, HEAVY);
    bench.start(4, 1, false, LIGHT);
    bench.at(5);
    let got = |app: u32| -> i128 {
        -bench.lost.iter().filter(|one| one.1 == app).map(|one| one.2).sum::<i128>()
    };
    let (first, second, payer) = (got(0), got(2), got(1));
    assert!(first != 0 && second != 0 && payer != 0, "{first} {second} {payer}");
    assert!((first + second + payer + got(3) + got(4)).abs() <= 20 * i128::from(MS));
    let least = bench.quanta.iter().filter(|&&(_, app, _)| app == 1).map(|&(.., time)| time).min();
    assert!(least >= Some(5 * MS));
}

/// When a thread ends with a debt, another thread pays it, or the time is not given.
#[test]
fn a_thread_that_ends_leaves_no_debt() {
    let mut owed = 0;
    for (after, who) in (0..40).flat_map(|after| [(after, 0), (after, 1)]) {
        for another in [false, true] {
            let mut bench = pair(PUBLISHED, 3);
            if another {
                bench.start(5, 0, true, LIGHT);
            }
            bench.run(bench.now + 300 * MS + after * MS);
            owed += u32::from(bench.policy.exchange.books().0 != 0);
            // The bench holds the books against what was run, after the exit as after any event.
            bench.exit(who);
            assert_eq!(bench.policy.exchange.books().1, 0);
            bench.run(bench.now + 100 * MS);
            if who == 1 && !another {
                // The time taken from it was given in the next turn; after that, no thread has an
                // order.
                assert_eq!(bench.policy.exchange.books(), (0, 0));
                bench.quanta.clear();
            }
            bench.run(bench.now + 500 * MS);
            assert!(bench.extra.abs() <= 10 * i128::from(MS), "{}", bench.extra);
            assert_eq!(bench.quanta.is_empty(), who == 1 && !another);
        }
    }
    assert!(owed > 40, "{owed}");
}

#[test]
fn a_thread_that_sleeps_is_not_owed_the_time_that_it_slept() {
    let sleeper = Does { sleeps_after: 2 * MS, ..VICTIM };
    let mut bench = Bench::new(2, PUBLISHED);
    bench.start(0, 0, false, sleeper);
    bench.start(1, 0, true, LIGHT);
    bench.run(5 * MS);
    bench.start(2, 1, false, HEAVY);
    bench.start(3, 1, false, LIGHT);
    bench.at(6);
    assert!(bench.is_calibrated(0));
    // It never stays for its quantum: best-effort lost next to nothing, and got next to nothing.
    let penalty = bench.policy.penalty(Bench::thread(1)).unwrap();
    let net = penalty.taken.as_nanos().abs_diff(penalty.given.as_nanos());
    assert!(net <= 20 * u128::from(MS), "{penalty:?}");
}

/// A mix of threads on a machine of so many CPUs.
fn machine(
    cpus: usize,
    tick: u64,
    limit: u32,
    hasty: bool,
    mix: &[(usize, bool, u64, u64)],
) -> Bench {
    let parameters = Parameters { penalty_limit: limit, reconnaissance: 30_000_000, ..PUBLISHED };
    let mut bench = Bench::new(cpus, parameters);
    (bench.tick, bench.hasty) = (tick, hasty);
    for (app, &(cpu, best_effort, alone, harmed)) in (0..).zip(mix) {
        let does = Does { alone, harmed, latency: 80, ..VICTIM };
        bench.start(app, cpu % cpus, best_effort, does);
    }
    bench
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, cases: 60, ..ProptestConfig::default()
    })]

    /// After every event, the bench checks that promises and run time add up to the carry. The
    /// carry is less than the rest of the turns under way, whatever the machine rounds to.
    #[test]
    fn given_and_taken_time_balance(
        cpus in 1usize..4,
        tick in prop::sample::select(alloc::vec![1, MS, 2 * MS, 5 * MS, 10 * MS]),
        limit in prop::sample::select(alloc::vec![0u32, 10]),
        hasty: bool,
        mix in prop::collection::vec((0usize..4, any::<bool>(), 0u64..3000, 0u64..60), 2..9),
    ) {
        let mut bench = machine(cpus, tick, limit, hasty, &mix);
        let threads = mix.len() as i128;
        for _ in 0..30 {
            bench.run(bench.now + 100 * MS);
            let (_, carry) = bench.policy.exchange.books();
            if tick == 1 && !hasty {
                prop_assert_eq!(carry, 0);
            }
            prop_assert!(bench.extra.abs() <= 20 * threads * i128::from(MS), "{}", bench.extra);
        }
        if !mix.iter().any(|one| one.1) {
            prop_assert!(bench.quanta.is_empty());
        }
        // What ticks take beyond an order is not to be foreseen.
        for app in (0..).zip(&mix).filter(|(_, one)| one.1 && limit > 0 && tick == 1).map(|one| one.0) {
            let lost = worst(&bench, app);
            prop_assert!(lost <= 110, "{} lost {} in 1000", app, lost);
        }
    }
}
