//! Promises and baselines (decision 9, §6).

use alloc::vec::Vec;

use fairways_core::{AppId, Llc, Ways};

use super::bench::Bench;
use super::programs::{Does, FITS, HUNGRY, IDLE, QUIET, SENSITIVE};
use crate::dcat::Parameters;

fn all(bench: &Bench, apps: u32) -> Vec<u32> {
    (0..apps).map(|app| bench.ways(app)).collect()
}

#[test]
fn decision_9_more_promises_than_ways_are_admitted_with_a_warning() {
    let mut bench = Bench::with(10, &[(4, IDLE), (4, SENSITIVE)]);
    assert!(!bench.reason.contains("promised"), "{}", bench.reason);
    bench.start(2, 4, SENSITIVE);
    assert!(bench.reason.contains("more ways are promised than exist"), "{}", bench.reason);
    // While not all of them are claimed, they are kept.
    bench.rounds(4);
    let ways = all(&bench, 3);
    assert!(ways[0] == 1 && ways[1] >= 4 && ways[2] >= 4, "{ways:?}");
    // When they are, every program still has some ways.
    bench.becomes(0, SENSITIVE);
    bench.rounds(4);
    assert!(all(&bench, 3).iter().all(|&ways| ways >= 2), "{:?}", all(&bench, 3));
    bench.exit(2);
    assert!(!bench.reason.contains("promised"), "{}", bench.reason);
}

/// Figure 15 promises three ways each to seven workloads, of 20.
#[test]
fn decision_9_figure_15_fits_but_for_one_way() {
    let bench = Bench::with(20, &[(3, SENSITIVE); 7]);
    let mut ways = all(&bench, 7);
    ways.sort_unstable();
    assert_eq!(ways, [2, 3, 3, 3, 3, 3, 3]);
}

#[test]
fn decision_9_promises_that_do_not_fit_are_refused_on_request() {
    let parameters = Parameters { refuse_overcommitment: true, ..Parameters::default() };
    let mut bench = Bench::new(10, parameters);
    for app in 0..3 {
        bench.start(app, 4, Does { misses: &[100], ..HUNGRY });
    }
    assert!(bench.reason.contains("the last promises are refused"), "{}", bench.reason);
    assert_eq!(all(&bench, 3), [4, 4, 1]);
    for _ in 0..6 {
        bench.round();
        let ways = all(&bench, 3);
        assert!(ways[0] >= 4 && ways[1] >= 4 && ways[2] >= 1, "{ways:?}");
    }
    // Once there is room, it has what it was promised.
    bench.exit(1);
    assert!(bench.ways(2) >= 4);
    assert!(!bench.reason.contains("promised"), "{}", bench.reason);
}

#[test]
fn those_that_were_promised_nothing_have_an_even_share_of_the_rest() {
    let mut bench = Bench::new(12, Parameters::default());
    bench.start(0, 4, SENSITIVE);
    bench.start(1, None, SENSITIVE);
    assert_eq!(all(&bench, 2), [4, 8]);
    bench.start(2, None, SENSITIVE);
    assert_eq!(all(&bench, 3), [4, 4, 4]);
    bench.start(3, 2, SENSITIVE);
    assert_eq!(all(&bench, 4), [4, 3, 3, 2]);
    bench.exit(0);
    assert_eq!(bench.ways(3), 2);
    assert_eq!([bench.ways(1), bench.ways(2)], [5, 5]);
}

/// A promise is of at least a way, and of no more than there are.
#[test]
fn promises_are_held_to_what_a_cache_has() {
    let bench = Bench::with(8, &[(0, SENSITIVE)]);
    assert_eq!(bench.ways(0), 1);
    let bench = Bench::with(8, &[(100, SENSITIVE)]);
    assert_eq!(bench.ways(0), 8);
}

fn few_classes(clos: u32, ways: u32) -> Bench {
    let llc = Llc { clos, ..Llc::with_ways(Ways::new(ways).unwrap()) };
    Bench::on(llc, Parameters::default())
}

/// §6: "at most 16 classes of service".
#[test]
fn more_programs_than_classes_of_service_share_a_cluster() {
    let mut bench = few_classes(3, 10);
    for app in 0..3 {
        bench.start(app, None, SENSITIVE);
    }
    assert!((0..3).all(|app| bench.policy.class(AppId(app)).is_some()));
    // Those with a promise come first, whenever they started.
    bench.start(3, 4, SENSITIVE);
    bench.start(4, 2, SENSITIVE);
    assert!(bench.reason.contains("more programs than classes of service"), "{}", bench.reason);
    bench.rounds(8);
    let own = |bench: &Bench, app| bench.policy.class(AppId(app)).is_some();
    assert_eq!([0, 1, 2, 3, 4].map(|app| own(&bench, app)), [false, false, false, true, true]);
    let mask = |app| bench.partition.mask_of(AppId(app)).unwrap();
    assert!(mask(0) == mask(1) && mask(1) == mask(2) && mask(0).count() == 1);
    assert!(mask(3).count() >= 4 && mask(4).count() >= 2);
    // When there is room again, every program has ways of its own.
    bench.exit(0);
    bench.exit(4);
    assert!([1, 2, 3].iter().all(|&app| own(&bench, app)));
    bench.rounds(3);
    assert!(bench.ways(3) >= 4);
}

#[test]
fn more_programs_than_ways_share_a_cluster() {
    let mut bench = few_classes(16, 4);
    for app in 0..6 {
        bench.start(app, None, FITS);
    }
    bench.rounds(4);
    assert_eq!((0..6).filter(|&app| bench.policy.class(AppId(app)).is_some()).count(), 3);
    assert_eq!(all(&bench, 6), [1; 6]);
}

#[test]
fn on_a_machine_with_one_class_of_service_all_programs_share_it() {
    let mut bench = few_classes(1, 8);
    bench.start(0, 2, SENSITIVE);
    bench.rounds(3);
    bench.start(1, 2, QUIET);
    bench.rounds(3);
    assert_eq!(bench.partition.clusters().len(), 1);
    bench.exit(0);
    bench.rounds(3);
    bench.exit(1);
    bench.rounds(3);
}

/// Programs that share have the spare ways, until another program claims them.
#[test]
fn a_program_that_shares_has_what_is_spare() {
    let llc = Llc { clos: 3, ..Llc::with_ways(Ways::new(12).unwrap()) };
    let mut bench = Bench::on(llc, Parameters::default());
    for app in 0..4 {
        bench.start(app, (app < 2).then_some(3), IDLE);
    }
    bench.rounds(2);
    assert_eq!([0, 1, 2, 3].map(|app| bench.ways(app)), [1, 1, 10, 10]);
    bench.becomes(0, FITS);
    bench.round();
    assert_eq!([0, 1, 2, 3].map(|app| bench.ways(app)), [3, 1, 8, 8]);
}
