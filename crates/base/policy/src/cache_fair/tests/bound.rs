//! Decision 6: "at most 10 % of entitled time over a sliding second; with it off the paper's form
//! runs".

use super::bench::{Bench, HEAVY, LIGHT, MS, VICTIM};
use super::work::PUBLISHED;
use crate::cache_fair::Parameters;

/// The largest per mille of its entitled time that a thread lost in any second of whole slices.
pub(super) fn worst(bench: &Bench, app: u32) -> i128 {
    let slices: alloc::vec::Vec<(u64, i128)> =
        bench.lost.iter().filter(|one| one.1 == app).map(|one| (one.0, one.2)).collect();
    let mut worst = 0;
    for &(end, _) in slices.iter().filter(|one| one.0 >= 1000 * MS) {
        let second = || slices.iter().filter(|one| one.0 <= end && one.0 + 1000 * MS > end);
        let entitled = i128::try_from(second().count()).unwrap() * 10 * i128::from(MS);
        worst = worst.max(second().map(|one| one.1).sum::<i128>() * 1000 / entitled);
    }
    worst
}

fn victims(limit: u32) -> Bench {
    let mut bench = Bench::new(2, Parameters { penalty_limit: limit, ..PUBLISHED });
    bench.start(0, 0, false, VICTIM);
    bench.start(1, 0, true, LIGHT);
    bench.run(5 * MS);
    bench.start(2, 1, false, HEAVY);
    bench.start(3, 1, false, LIGHT);
    bench.calibrate(0);
    bench.exit(3);
    bench.run(bench.now + 4000 * MS);
    bench
}

#[test]
fn decision_6_no_second_costs_a_best_effort_thread_more_than_a_tenth() {
    let bench = victims(10);
    let lost = worst(&bench, 1);
    // All of it is used: a victim wants a fifth.
    assert!((90..=102).contains(&lost), "{lost}");
    let announced = bench.classified.iter().filter(|(.., reason)| reason.contains("no more"));
    assert_eq!(announced.count(), 1);
    let penalty = bench.policy.penalty(Bench::thread(1)).unwrap();
    assert!(penalty.share() > (1 << 32) / 20 && penalty.share() < (1 << 32) / 9);
    assert!((45..=52).contains(&worst(&victims(5), 1)));
}

#[test]
fn without_the_bound_the_published_form_runs() {
    let bench = victims(0);
    let lost = worst(&bench, 1);
    assert!((190..=230).contains(&lost), "{lost}");
    assert!(!bench.classified.iter().any(|(.., reason)| reason.contains("no more")));
}

/// Decision 5: the one that has lost least, on the same CPU before others.
#[test]
fn decision_5_those_on_the_same_cpu_pay_alike() {
    let mut bench = Bench::new(2, PUBLISHED);
    bench.start(0, 0, false, VICTIM);
    for app in [1, 2, 3] {
        bench.start(app, 0, true, LIGHT);
    }
    bench.run(5 * MS);
    bench.start(4, 1, false, HEAVY);
    bench.start(5, 1, true, HEAVY);
    bench.start(6, 1, false, LIGHT);
    bench.calibrate(0);
    bench.exit(6);
    bench.run(bench.now + 6000 * MS);
    let share = |app| bench.policy.penalty(Bench::thread(app)).unwrap().share() >> 22;
    let near = [1, 2, 3].map(share);
    assert!(near.iter().all(|&one| one > 20), "{near:?}");
    assert!(near.iter().max().unwrap() - near.iter().min().unwrap() <= 10, "{near:?}");
    assert_eq!(share(5), 0);
    assert_eq!(bench.policy.penalty(Bench::thread(0)), None);
}
