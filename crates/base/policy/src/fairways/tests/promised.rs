//! Promised ways.

use fairways_core::Wish;

use super::learning_bench::{LearningBench, gains_by_every_way, light, sensitive, streaming};
use crate::fairways::*;

const fn promised(ways: u32) -> Wish {
    Wish { baseline_ways: Some(ways), best_effort: false, objective: None, importance: None }
}

/// Whatever is sampled, and before anything is known.
#[test]
fn a_promised_program_always_has_its_ways_for_itself() {
    let mut bench = LearningBench::new(Parameters::default());
    bench.start(0, promised(3), light);
    assert!(bench.ways(0) >= 3);
    bench.start(1, Wish::default(), sensitive);
    bench.start(2, Wish::default(), streaming);
    let mut has_sampled = false;
    for _ in 0..200 {
        bench.windows(1);
        bench.wake(20);
        has_sampled |= bench.policy.sampling().is_some();
        let own = bench.partition.mask_of(AppId(0)).unwrap();
        assert!(own.count() >= 3, "{:?}", bench.partition);
        let others = [1, 2].map(|app| bench.partition.mask_of(AppId(app)).unwrap());
        assert!(others.iter().all(|other| !other.overlaps(own)), "{:?}", bench.partition);
    }
    assert!(has_sampled && bench.policy.sampling().is_none());
    assert_eq!([0, 1, 2].map(|app| bench.ways(app)), [3, 4, 1]);
}

/// A neighbour without a profile may stream, before it is known and after.
#[test]
fn a_promised_program_with_a_profile_shares_ways_only_if_all_have_profiles() {
    let mut bench = LearningBench::new(Parameters::default());
    bench.start_known(0, promised(3), gains_by_every_way);
    bench.start_known(1, Wish::default(), |_| [1000, 0, 0]);
    let [own, other] = [0, 1].map(|app| bench.partition.mask_of(AppId(app)).unwrap());
    assert!(own.overlaps(other), "{:?}", bench.partition);
    bench.start(2, Wish::default(), streaming);
    for _ in 0..100 {
        let own = bench.partition.mask_of(AppId(0)).unwrap();
        assert!(own.count() >= 3, "{:?}", bench.partition);
        let others = [1, 2].map(|app| bench.partition.mask_of(AppId(app)).unwrap());
        assert!(others.iter().all(|other| !other.overlaps(own)), "{:?}", bench.partition);
        bench.windows(1);
        bench.wake(20);
    }
}

#[test]
fn a_promise_that_is_made_later_is_kept_from_then_on() {
    let mut bench = LearningBench::new(Parameters::default());
    bench.start(0, Wish::default(), light);
    bench.start(1, Wish::default(), sensitive);
    bench.windows(30);
    assert_eq!([0, 1].map(|app| bench.ways(app)), [1, 7]);
    bench.report(&Event::Wished { app: AppId(0), wish: promised(4) });
    assert_eq!([0, 1].map(|app| bench.ways(app)), [4, 4]);
}

/// Its slowdown does not count.
#[test]
fn background_work_makes_room() {
    let best_effort = Wish { best_effort: true, ..Wish::default() };
    for (wish, makes_room) in [(Wish::default(), false), (best_effort, true)] {
        let mut bench = LearningBench::new(Parameters::default());
        bench.start(0, wish, sensitive);
        bench.start(1, Wish::default(), sensitive);
        bench.windows(40);
        bench.wake(250);
        assert_eq!(bench.ways(0) == 1, makes_room, "{:?}", bench.partition);
        assert!(bench.policy.sampling().is_none());
    }
}
