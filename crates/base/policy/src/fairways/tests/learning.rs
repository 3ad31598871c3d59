//! What the policy makes of the windows of programs without a profile.

use core::time::Duration;

use fairways_core::{Llc, Q32, WindowLength, Wish};

use super::learning_bench::{LearningBench, gains_by_every_way, light, sensitive, streaming};
use crate::fairways::judge::BETTER;
use crate::fairways::*;
use crate::lfoc::SAMPLING;

#[test]
fn the_program_with_most_at_stake_is_sampled_and_a_light_one_is_not() {
    let mut bench = LearningBench::new(Parameters::default());
    bench.start(0, Wish::default(), light);
    bench.start(1, Wish::default(), sensitive);
    assert_eq!(bench.partition.clusters().len(), 1);
    bench.windows(9);
    assert_eq!(bench.reasons.iter().filter(|&&reason| reason == SAMPLING).count(), 0);
    bench.windows(1);
    // It was seen with four ways: with one first.
    assert_eq!((bench.reason, bench.policy.sampling()), (SAMPLING, Some(AppId(1))));
    assert_eq!([0, 1].map(|app| bench.ways(app)), [7, 1]);
    bench.windows(4);
    assert_eq!([0, 1].map(|app| bench.ways(app)), [1, 7]);
    bench.windows(5);
    assert_eq!(bench.policy.sampling(), None);
    assert_eq!([0, 1].map(|app| bench.ways(app)), [1, 7]);
    assert_eq!(bench.reasons.iter().filter(|&&reason| reason == SAMPLING).count(), 2);
    // No partitioning is tried, and then nothing changes: no plan.
    bench.periods(10);
    assert_eq!(bench.reason, BETTER);
    let plans = bench.reasons.len();
    (0..40).for_each(|_| {
        bench.windows(3);
        bench.wake(250);
    });
    assert_eq!(bench.reasons.len(), plans);
}

#[test]
fn a_program_whose_windows_do_not_come_is_sampled_again_later() {
    let mut bench = LearningBench::new(Parameters::default());
    bench.start(0, Wish::default(), streaming);
    bench.start(1, Wish::default(), sensitive);
    bench.windows(10);
    assert!(bench.policy.sampling().is_some());
    let first = bench.policy.sampling();
    bench.wake(1001);
    assert_ne!(bench.policy.sampling(), first);
    bench.programs.clone().into_keys().for_each(|_| bench.wake(1001));
    assert_eq!(bench.policy.sampling(), None);
    // The time that sampling may take is used up for long.
    bench.wake(250);
    assert_eq!(bench.policy.sampling(), None);
    (0..200).for_each(|_| {
        if bench.policy.sampling().is_none() {
            bench.wake(250);
        }
    });
    assert!(bench.policy.sampling().is_some());
}

#[test]
fn where_no_second_class_is_free_all_share() {
    let mut bench = LearningBench::new(Parameters::default());
    bench.start(0, Wish::default(), streaming);
    bench.start(1, Wish::default(), sensitive);
    bench.windows(10);
    assert_eq!(bench.reason, SAMPLING);
    bench.refuses = true;
    bench.windows(30);
    assert_eq!(bench.policy.sampling(), None);
    assert_eq!([0, 1].map(|app| bench.ways(app)), [8, 8]);
    bench.refuses = false;
    bench.windows(1);
    (0..300).for_each(|_| {
        bench.windows(1);
        bench.wake(250);
    });
    assert_eq!([0, 1].map(|app| bench.ways(app)), [1, 7]);
}

#[test]
fn a_program_that_exits_while_it_is_sampled_ends_that() {
    let mut bench = LearningBench::new(Parameters::default());
    bench.start(0, Wish::default(), light);
    bench.start(1, Wish::default(), sensitive);
    bench.windows(10);
    assert_eq!(bench.policy.sampling(), Some(AppId(1)));
    bench.programs.remove(&1);
    bench.report(&Event::Exited { app: AppId(1) });
    assert_eq!((bench.policy.sampling(), bench.ways(0)), (None, 8));
}

/// Windows of a millisecond for as long as it sleeps would cost time for nothing.
#[test]
fn the_first_windows_of_a_program_that_never_runs_are_over_too() {
    let mut bench = LearningBench::new(Parameters::default());
    bench.start(0, Wish::default(), light);
    let Parameters { sampling_window, normal_window, .. } = Parameters::default();
    for (windows, every) in [(99, sampling_window), (1, normal_window), (10, normal_window)] {
        (0..windows).for_each(|_| bench.idle(0));
        assert_eq!(bench.watched[&0], WindowLength::Time(every));
    }
}

/// A program with a profile beside two others.
fn known_beside(behaviour: fn(u64) -> [u64; 3]) -> LearningBench {
    let mut bench = LearningBench::new(Parameters::default());
    for (app, behaviour) in (0..).zip([behaviour, sensitive, gains_by_every_way]) {
        bench.start_known(app, Wish::default(), behaviour);
    }
    bench.periods(4);
    bench
}

/// Two windows in a row, of another phase or input than that of its profile.
#[test]
fn a_program_that_its_profile_does_not_describe_is_learned() {
    let [mut bench, other] = [known_beside(light), known_beside(streaming)];
    assert_ne!(bench.partition, other.partition);
    let plans = bench.reasons.len();
    bench.periods(20);
    assert_eq!((bench.reasons.len(), bench.policy.learners.len()), (plans, 0));
    bench.programs.insert(0, streaming);
    bench.windows(1);
    assert_eq!(bench.policy.learners.len(), 0);
    bench.windows(1);
    assert_eq!(bench.policy.learners.len(), 1);
    bench.periods(4);
    assert_eq!(bench.ways(0), other.ways(0));
}

/// It waits for its turn on a CPU, or sleeps.
#[test]
fn windows_in_which_a_program_did_not_run_show_nothing() {
    let mut bench = LearningBench::new(Parameters::default());
    bench.start(0, Wish::default(), light);
    bench.start(1, Wish::default(), sensitive);
    bench.windows(10);
    assert_eq!(bench.policy.sampling(), Some(AppId(1)));
    (0..100).for_each(|_| bench.idle(1));
    assert_eq!(bench.policy.sampling(), Some(AppId(1)));
    assert_eq!([0, 1].map(|app| bench.ways(app)), [7, 1]);
    bench.wake(1001);
    assert_eq!(bench.policy.sampling(), None);
}

/// It fills three sixteenths of a way in a window. 4 windows are not enough; 32 may take as many
/// milliseconds, which is a twentieth of the time after 0.8 s.
#[test]
fn a_program_that_fills_its_ways_slowly_is_sampled_longer_once_there_is_time() {
    let mut bench = LearningBench::new(Parameters { most_windows: 4, ..Parameters::default() });
    bench.growth = Q32::from_raw(3 << 28);
    bench.start(0, Wish::default(), light);
    bench.start(1, Wish::default(), gains_by_every_way);
    bench.windows(10);
    assert_eq!(bench.policy.sampling(), Some(AppId(1)));
    bench.windows(4);
    assert_eq!(bench.policy.sampling(), None);
    for _ in 0..39 {
        bench.wake(20);
        assert_eq!(bench.policy.sampling(), None);
    }
    bench.wake(20);
    assert_eq!(bench.policy.sampling(), Some(AppId(1)));
    bench.windows(20);
    assert_eq!(bench.policy.sampling(), Some(AppId(1)));
    bench.windows(12);
    assert_eq!(bench.policy.sampling(), None);
    (0..100).for_each(|_| bench.wake(250));
    assert_eq!(bench.policy.sampling(), None);
}

/// Its windows are long, but they come.
#[test]
fn long_windows_do_not_end_a_sampling() {
    let sampling_window = Duration::from_millis(400);
    let mut bench = LearningBench::new(Parameters { sampling_window, ..Parameters::default() });
    bench.start(0, Wish::default(), light);
    bench.start(1, Wish::default(), sensitive);
    bench.windows(10);
    for _ in 0..6 {
        assert_eq!(bench.policy.sampling(), Some(AppId(1)));
        bench.wake(400);
        bench.windows(1);
    }
    assert_eq!([0, 1].map(|app| bench.ways(app)), [1, 7]);
    bench.wake(1500);
    assert_eq!(bench.policy.sampling(), Some(AppId(1)));
    bench.wake(101);
    assert_eq!(bench.policy.sampling(), None);
}

#[test]
fn a_program_is_watched_normally_once_another_machine_ends_its_sampling() {
    let mut bench = LearningBench::new(Parameters::default());
    bench.start(0, Wish::default(), light);
    bench.start(1, Wish::default(), sensitive);
    bench.windows(10);
    assert_eq!(bench.policy.sampling(), Some(AppId(1)));
    assert_eq!(bench.watched[&1], WindowLength::Time(Duration::from_millis(1)));
    bench.report(&Event::Machine(Llc { clos: 8, ..bench.llc }.into()));
    assert_eq!(bench.policy.sampling(), None);
    assert_eq!(bench.watched[&1], WindowLength::Time(Duration::from_millis(50)));
}

#[test]
fn a_plan_that_is_kept_does_not_state_the_gain_of_another() {
    let mut bench = LearningBench::new(Parameters::default());
    bench.start(0, Wish::default(), light);
    bench.start(1, Wish::default(), sensitive);
    bench.windows(30);
    let before = bench.partition.clone();
    bench.report(&Event::Machine(Llc { clos: 8, ..bench.llc }.into()));
    assert_eq!(bench.partition, before);
    assert_eq!(bench.reason, "no other plan is worth the lines that move");
}

/// It replaces a sampling partition, whatever lines move. Here windows do not come, so that nothing
/// is known that was not known before.
#[test]
fn a_plan_that_sampling_did_not_change_is_explained_by_its_end() {
    let mut bench = LearningBench::new(Parameters::default());
    bench.start(0, Wish::default(), streaming);
    bench.start(1, Wish::default(), sensitive);
    (0..8).for_each(|_| {
        bench.windows(30);
        bench.wake(250);
    });
    let (before, plans) = (bench.partition.clone(), bench.reasons.len());
    bench.programs.insert(0, |ways| {
        let [cycles, misses, stalls] = sensitive(ways);
        [2 * cycles, misses / 2, stalls]
    });
    bench.windows(2);
    bench.wake(250);
    assert_eq!(bench.policy.sampling(), Some(AppId(0)));
    bench.wake(1001);
    assert_eq!((bench.policy.sampling(), &bench.partition), (None, &before));
    let reasons = [SAMPLING, "sampling has ended: the decision before it stands"];
    assert_eq!(bench.reasons[plans..], reasons);
    // Later plans have reasons of their own.
    bench.report(&Event::Machine(Llc { clos: 8, ..bench.llc }.into()));
    assert_eq!(bench.reason, "no other plan is worth the lines that move");
}

/// They share without loss, so that a clustering gains nothing over none.
#[test]
fn programs_that_need_few_ways_are_not_clustered() {
    let mut bench = LearningBench::new(Parameters::default());
    bench.start(0, Wish::default(), |ways| [1000 + 2 * 2_u64.saturating_sub(ways), 1, 400]);
    bench.start(1, Wish::default(), light);
    bench.windows(30);
    assert_eq!(bench.reason, "clusters would gain next to nothing: no partitioning");
    assert_eq!(bench.partition.masks().len(), 1);
}

/// It needs one way, and streams leave it less than a quarter of one where all share. Curves begin
/// at one way, and there it is as fast as with more.
#[test]
fn a_program_that_is_slow_with_part_of_a_way_gets_a_whole_one() {
    let mut bench =
        LearningBench::new(Parameters { stake_percent: 10_000, ..Parameters::default() });
    (0..3).for_each(|app| bench.start(app, Wish::default(), streaming));
    bench.start(3, Wish::default(), light);
    for quarters in 1..=10 {
        (0..3).for_each(|app| bench.window_of(app, quarters, streaming(1)));
        let is_slow = quarters < 3;
        bench.window_of(3, quarters, if is_slow { [2000, 10, 400] } else { [1000, 2, 100] });
    }
    bench.wake(250);
    assert_eq!(bench.partition.mask_of(AppId(0)), bench.partition.mask_of(AppId(2)));
    let [streams, own] = [0, 3].map(|app| bench.partition.mask_of(AppId(app)).unwrap());
    assert!(!own.overlaps(streams), "{own:?} {streams:?}");
}

/// How the lines of a cluster are divided between its programs is unknown.
#[test]
fn programs_that_share_are_not_observed_where_occupancies_cant_be_read() {
    let mut bench = LearningBench::new(Parameters::default());
    bench.has_occupancies = false;
    bench.start(0, Wish::default(), light);
    bench.start(1, Wish::default(), sensitive);
    bench.windows(20);
    assert!(bench.policy.learners.iter().all(|learner| !learner.is_seen()));
    bench.programs.remove(&0);
    bench.report(&Event::Exited { app: AppId(0) });
    bench.windows(20);
    assert!(bench.policy.learners[0].is_seen());
}
