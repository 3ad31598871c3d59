//! The secondary measurement (§4.2.2.2), and when bucketization is run again (§4.3.1; decision CASC
//! 8).

use alloc::vec::Vec;
use core::time::Duration;

use fairways_core::Q32;

use super::bench::{Asked, Bench, thread};
use crate::casc::{Measurement, Parameters};

fn restless() -> Parameters {
    Parameters { delay: Duration::ZERO, ..Parameters::default() }
}

/// Two CPUs, and three threads with these PCMRs that are known.
fn known(truth: &[i64; 3], parameters: Parameters) -> Bench {
    let mut bench = Bench::with(2, truth, parameters);
    bench.rows(&[0, 1, 2]);
    assert!((0..3).all(|app| bench.knows(app)));
    bench.asked();
    bench
}

#[test]
fn a_new_thread_runs_on_cpu_0_until_it_is_measured() {
    let mut bench = known(&[10, 5, 3], restless());
    bench.start(8);
    assert_eq!(bench.asked(), [Asked::Allow(3, [0].to_vec())]);
    bench.ran(&[3, 0], 1000);
    // Another group weighs in.
    bench.ran(&[2, 3], 999);
    assert_eq!(bench.asked(), []);
    bench.ran(&[3, 1], 1000);
    assert!(bench.knows(3));
    assert_eq!(bench.casc.measured_by(thread(3)), Some(Measurement::Secondary));
    assert_eq!(bench.allowed(3), [0, 1]);
}

#[test]
fn formula_2_goes_by_the_group_that_ran() {
    let mut bench = known(&[10, 5, 3], restless());
    bench.start(0);
    // Alone: n is 1.
    bench.ran_with(&[3], 2000, 7_000_000);
    assert_eq!(bench.pcmr(3), Some(Q32::from_int(7)));
}

#[test]
fn a_thread_is_measured_only_after_its_delay() {
    let mut bench = known(&[10, 5, 3], Parameters::default());
    bench.start(8);
    bench.ran_with(&[0, 3], 300, 90_000_000);
    bench.ran_with(&[0, 3], 300, 90_000_000);
    bench.ran(&[0, 3], 2000);
    assert!(bench.knows(3));
}

#[test]
fn two_unknowns_make_no_equation() {
    let mut bench = known(&[10, 5, 3], restless());
    bench.start(8);
    bench.start(9);
    bench.ran_with(&[3, 4], 5000, 99_000_000);
    assert_eq!((bench.pcmr(3), bench.pcmr(4)), (None, None));
    bench.ran(&[3, 1], 5000);
    bench.ran(&[4, 1], 5000);
    assert!(bench.knows(3) && bench.knows(4));
}

#[test]
fn a_pcmr_larger_than_all_runs_bucketization_again_and_a_smaller_one_does_not() {
    let mut bench = known(&[20, 5, 3], restless());
    let first = bench.casc.assignment().unwrap().clone();
    assert!(first.is_reached && first.projected() <= Q32::from_int(15));
    bench.start(18);
    bench.ran(&[1, 3], 2000);
    assert!(bench.knows(3));
    assert_eq!(bench.casc.assignment(), Some(&first));
    bench.start(28);
    bench.ran(&[1, 4], 2000);
    assert!(bench.knows(4));
    let second = bench.casc.assignment().unwrap();
    assert_ne!(second, &first);
    assert!(!bench.allowed(4).is_empty());
}

#[test]
fn the_largest_of_those_that_are_left_runs_it_again_though_it_has_a_bucket() {
    let mut bench = known(&[25, 5, 3], restless());
    bench.start(4);
    bench.ran(&[1, 3], 2000);
    bench.exit(0);
    let before = bench.casc.assignment().unwrap().clone();
    assert!(before.max_pcmrs.contains(&Q32::from_int(25)));
    assert!(before.projected() <= Q32::from_int(15));
    bench.start(20);
    bench.ran(&[1, 4], 2000);
    assert!(bench.knows(4));
    assert_ne!(bench.casc.assignment(), Some(&before));
    assert!(bench.casc.max_pcmrs().iter().all(|&max| max < Q32::from_int(25)));
}

#[test]
fn an_assignment_that_misses_the_threshold_is_made_again_each_time() {
    // Two of 60 and one of 5 on two CPUs: 15 is not possible, and the threshold is raised until the
    // one of 5 has a CPU, to 15 x 1.25^4 = 36.6.
    let mut bench = known(&[60, 60, 5], restless());
    let threshold = bench.casc.threshold().unwrap();
    assert!(threshold > Q32::from_int(36) && threshold < Q32::from_int(37), "{threshold:?}");
    assert!(bench.casc.assignment().unwrap().is_reached);
    // Not larger than 60, but with this one a CPU can have a MAX_PCMR of 0: as low as it gets.
    bench.start(0);
    bench.ran(&[2, 3], 2000);
    assert!(bench.knows(3));
    assert_eq!(bench.casc.threshold(), Some(Q32::from_int(15)));
    assert!(!bench.casc.assignment().unwrap().is_reached);
    assert_eq!((0..4).map(|app| bench.allowed(app).len()).collect::<Vec<_>>(), [1, 1, 1, 2]);
}

#[test]
fn few_known_among_many_unknown_are_measured_by_the_matrix_again() {
    let mut bench = known(&[10, 5, 3], restless());
    for app in 0..3 {
        bench.exit(app);
    }
    bench.asked();
    for truth in [12, 7, 30] {
        bench.start(truth);
    }
    assert!(bench.asked().contains(&Asked::Raise([3, 4, 5].to_vec())));
    bench.rows(&[3, 4, 5]);
    assert!((3..6).all(|app| bench.knows(app)));
    assert_eq!(bench.casc.measured_by(thread(5)), Some(Measurement::Initial));
}

#[test]
fn cpus_that_an_exit_would_leave_idle_are_opened_again() {
    let mut bench = known(&[60, 5, 5], restless());
    bench.start(58);
    bench.ran(&[1, 3], 2000);
    assert!(bench.knows(3));
    // 60 and 58 share a CPU, 5 and 5 have both.
    assert_eq!([bench.allowed(0).len(), bench.allowed(3).len()], [1, 1]);
    bench.exit(1);
    assert_eq!([bench.allowed(0).len(), bench.allowed(3).len()], [1, 1]);
    bench.exit(2);
    // No other thread is left for the other CPU.
    assert!(bench.allowed(0).len() + bench.allowed(3).len() > 2);
}

#[test]
fn a_thread_that_can_not_be_measured_is_not_kept_on_cpu_0_for_ever() {
    let mut bench = known(&[10, 5, 3], restless());
    bench.start(8);
    // It always runs beside an unknown thread.
    for _ in 0..30 {
        assert_eq!(bench.allowed(3), [0]);
        bench.ran_with(&[3, 77], 1_000_000, 0);
    }
    assert_eq!((bench.pcmr(3), bench.allowed(3).len()), (None, 2));
    bench.ran(&[3, 1], 2000);
    assert!(bench.knows(3));
}
