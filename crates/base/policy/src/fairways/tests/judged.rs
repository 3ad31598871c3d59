//! Plans that are judged by what happened under them.

use fairways_core::{WayMask, Wish};

use super::learning_bench::{LearningBench, light, streaming};
use crate::fairways::judge::{BETTER, TRIED, UNSEEN};
use crate::fairways::reasons::KEPT_AFTER_SAMPLING;
use crate::fairways::*;
use crate::lfoc::SAMPLING;

/// Gains a little by every way up to six.
fn mild(ways: u64) -> [u64; 3] {
    [1000 + 10 * 6_u64.saturating_sub(ways), 2, 400]
}

/// Whether programs share all ways.
fn is_whole(masks: &[WayMask]) -> bool {
    masks.iter().all(|mask| *mask == masks[0])
}

fn bench() -> LearningBench {
    let mut bench = LearningBench::new(Parameters::default());
    bench.start(0, Wish::default(), streaming);
    bench.start(1, Wish::default(), mild);
    bench
}

/// A plan hinders what it is to help, which no curve shows.
#[test]
fn a_plan_that_is_less_fair_than_no_partitioning_does_not_stay() {
    let mut bench = bench();
    bench.hindrance = |app, masks| if app == 1 && !is_whole(masks) { 108 } else { 100 };
    bench.windows(60);
    bench.periods(1);
    assert_eq!(bench.partition.masks().len(), 2);
    bench.periods_until(TRIED);
    assert_eq!(bench.partition.masks().len(), 1);
    let plans = bench.reasons.len();
    bench.periods(100);
    assert_eq!(bench.partition.masks().len(), 1);
    let after_sampling = [SAMPLING, KEPT_AFTER_SAMPLING];
    assert!(bench.reasons[plans..].iter().all(|reason| after_sampling.contains(reason)));
}

/// It is tried once for the phases that programs are in.
#[test]
fn a_plan_that_is_fairer_than_no_partitioning_stays() {
    let mut bench = bench();
    bench.windows(60);
    bench.periods(1);
    let before = bench.partition.clone();
    bench.periods(10);
    assert_eq!((bench.reason, &bench.partition), (BETTER, &before));
    bench.periods(100);
    assert_eq!(bench.partition, before);
    let tried = bench.reasons.iter().filter(|&&reason| reason == TRIED);
    assert_eq!(tried.count(), 1);
}

/// No trial is worth its time where the plan is much fairer than no partitioning is thought to be.
#[test]
fn no_partitioning_is_not_tried_where_the_plan_is_clearly_fairer() {
    let mut bench = LearningBench::new(Parameters::default());
    bench.start(0, Wish::default(), streaming);
    bench.start(1, Wish::default(), |ways| [1000 + 100 * 8_u64.saturating_sub(ways), 2, 400]);
    bench.windows(60);
    bench.periods(100);
    assert_eq!(bench.partition.masks().len(), 2);
    assert!(!bench.reasons.contains(&TRIED));
}

/// What a program does in another phase says nothing of the plan before.
#[test]
fn a_trial_in_another_phase_shows_nothing() {
    let mut bench = bench();
    bench.windows(60);
    bench.periods_until(TRIED);
    bench.hindrance = |app, _| if app == 1 { 70 } else { 100 };
    bench.periods(1);
    assert!(!bench.policy.judge.is_trial);
    bench.periods(8);
    assert_eq!(bench.partition.masks().len(), 2);
    assert_eq!(bench.policy.judge.doubt(&Parameters::default(), &bench.policy.learners), 0);
}

/// Its windows do not come, so nothing shows what no partitioning does.
#[test]
fn a_trial_ends_where_a_program_sleeps() {
    let mut bench = bench();
    bench.windows(60);
    bench.periods_until(TRIED);
    (0..11).for_each(|_| bench.wake(250));
    assert_eq!(bench.partition.masks().len(), 1);
    bench.wake(250);
    assert_eq!((bench.reason, bench.partition.masks().len()), (UNSEEN, 2));
    bench.periods(100);
    assert!(bench.reasons.iter().filter(|&&reason| reason == TRIED).count() == 1);
}

/// A program that comes while no partitioning is tried ends that.
#[test]
fn a_trial_ends_when_programs_change() {
    let mut bench = bench();
    bench.windows(60);
    bench.periods_until(TRIED);
    bench.start(2, Wish::default(), light);
    bench.windows(60);
    assert!(!bench.policy.judge.is_trial);
    bench.periods(20);
    assert_eq!(bench.partition.masks().len(), 2);
}
