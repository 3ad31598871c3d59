//! Re-measurement: of phases (§4.2.1; decision CASC 14), and of each thread in its turn (§5.3.4).

use alloc::vec::Vec;
use core::time::Duration;

use fairways_core::Q32;

use super::bench::{Asked, Bench};
use crate::casc::Parameters;

fn known(parameters: Parameters) -> Bench {
    let parameters = Parameters { delay: Duration::ZERO, ..parameters };
    let mut bench = Bench::with(2, &[20, 10, 6], parameters);
    bench.rows(&[0, 1, 2]);
    assert!((0..3).all(|app| bench.knows(app)));
    bench.asked();
    bench
}

/// Runs every pair in turn until a PCMR is unknown; the app with that PCMR.
fn until_unknown(bench: &mut Bench, rounds: u32) -> Option<u32> {
    for _ in 0..rounds {
        for pair in [[0, 1], [1, 2], [0, 2]] {
            bench.ran(&pair, 2000);
            if let Some(app) = (0..3).find(|&app| bench.pcmr(app).is_none()) {
                return Some(app);
            }
        }
    }
    None
}

#[test]
fn the_thread_whose_phase_changed_is_measured_again() {
    for (changed, truth) in [(0, 90), (1, 60), (2, 50)] {
        let mut bench = known(Parameters::following_phases());
        bench.truth[changed as usize] = truth;
        assert_eq!(until_unknown(&mut bench, 100), Some(changed));
        assert_eq!(bench.allowed(changed), [0]);
        let peer = (changed + 1) % 3;
        bench.ran(&[changed, peer], 2000);
        assert!((0..3).all(|app| bench.knows(app)));
        // Now the predictions are right.
        assert_eq!(until_unknown(&mut bench, 100), None);
    }
}

#[test]
fn one_at_a_time_is_measured_again() {
    let mut bench = known(Parameters::following_phases());
    bench.start(4);
    bench.ran(&[3, 1], 2000);
    assert!(bench.knows(3));
    // Which of the two changed is unknown.
    bench.truth[0] = 90;
    while bench.pcmr(0).is_some() {
        bench.ran(&[0, 1], 2000);
    }
    bench.ran(&[2, 3], 2000);
    assert!((1..4).all(|app| bench.knows(app)));
}

#[test]
fn within_the_margin_no_thread_is_measured_again() {
    let mut bench = known(Parameters::following_phases());
    // 15 becomes 22, 8 stays, 13 becomes 20: 50 % off is not exceeded.
    bench.truth[0] = 32;
    bench.truth[1] = 13;
    assert_eq!(until_unknown(&mut bench, 100), None);
    // Off, but not 25 times on end.
    let mut bench = known(Parameters::following_phases());
    for _ in 0..10 {
        bench.truth[0] = 90;
        assert_eq!(until_unknown(&mut bench, 10), None);
        bench.truth[0] = 20;
        assert_eq!(until_unknown(&mut bench, 1), None);
    }
}

#[test]
fn fewer_threads_than_could_run_show_nothing_of_phases() {
    let mut bench = known(Parameters::following_phases());
    for _ in 0..200 {
        bench.ran_with(&[0], 2000, 0);
    }
    assert!((0..3).all(|app| bench.knows(app)));
}

#[test]
fn the_paper_does_not_look_for_phases() {
    let mut bench = known(Parameters::default());
    bench.truth[0] = 100;
    assert_eq!(until_unknown(&mut bench, 200), None);
}

#[test]
fn each_in_its_turn_every_250_ms() {
    let every = Duration::from_millis(250);
    // §5.3.4: a threshold of 100, so that no thread is restricted.
    let parameters = Parameters {
        remeasure_every: every,
        threshold: Q32::from_int(100),
        ..Parameters::default()
    };
    let mut bench = known(parameters);
    bench.start(30);
    bench.ran(&[3, 0], 2000);
    assert!((0..4).all(|app| bench.allowed(app) == [0, 1]));
    let first = bench.now;
    for turn in [0, 1, 2, 3, 0] {
        bench.wake_after(every);
        let unknown: Vec<u32> = (0..4).filter(|&app| bench.pcmr(app).is_none()).collect();
        assert_eq!(unknown, [turn]);
        assert_eq!(bench.allowed(turn), [0]);
        assert_eq!(bench.casc.assignment().unwrap().steps, 0);
        bench.ran(&[turn, (turn + 1) % 4], 2000);
        assert!(bench.knows(turn));
        assert_eq!(bench.allowed(turn), [0, 1]);
    }
    let wakes = bench.asked().into_iter().filter(|asked| matches!(asked, Asked::Wake(_))).count();
    assert_eq!(wakes, 5, "since {first}");
}

#[test]
fn a_turn_is_passed_over_while_too_few_are_known() {
    let every = Duration::from_millis(250);
    let mut bench = known(Parameters { remeasure_every: every, ..Parameters::default() });
    for _ in 0..9 {
        bench.wake_after(every);
    }
    // On 2 CPUs one peer is needed, and one stays.
    let known = (0..3).filter(|&app| bench.pcmr(app).is_some()).count();
    assert_eq!(known, 1);
    assert!(bench.casc.taking_part().next().is_none());
}
