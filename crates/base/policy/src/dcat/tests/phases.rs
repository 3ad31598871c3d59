//! Phases (§3.1, §3.3), and those that come back (§3.5).

use fairways_core::AppId;

use super::bench::Bench;
use super::programs::{Does, FITS, HUNGRY, IDLE, SENSITIVE, STREAMING};
use crate::dcat::Parameters;
use crate::dcat::WorkloadClass::{Donor, Keeper, Receiver, Reclaim, Streaming, Unknown};

/// §3.3: "10% used as the threshold in our prototype"; §3.4: "At any time, Reclaim is applied
/// immediately".
#[test]
fn a_phase_that_differs_by_a_tenth_takes_any_program_back_to_its_baseline() {
    let all = [
        (FITS, 6, (Donor, 1)),
        (FITS, 2, (Donor, 2)),
        (STREAMING, 2, (Unknown, 6)),
        (HUNGRY, 3, (Receiver, 7)),
        (SENSITIVE, 6, (Keeper, 6)),
        (STREAMING, 10, (Streaming, 1)),
    ];
    for (does, rounds, is) in all {
        for (more, is_new) in [(112, false), (125, true)] {
            let mut bench = Bench::with(24, &[(4, does)]);
            bench.rounds(rounds);
            assert_eq!(bench.is(0), is);
            let plans = bench.plans;
            bench.becomes(0, Does { l1: 1250 + more, ..does });
            let class = bench.trace(0, 1)[0].0;
            assert_eq!(class == Reclaim, is_new, "{is:?}");
            if is_new {
                assert_eq!((bench.ways(0), bench.plans), (4, plans + 1), "{is:?}");
            }
        }
    }
}

#[test]
fn fewer_references_are_a_change_of_phase_too() {
    let mut bench = Bench::with(20, &[(3, Does { l1: 1375, ..HUNGRY })]);
    bench.rounds(4);
    bench.becomes(0, HUNGRY);
    assert_eq!(bench.trace(0, 1), [(Reclaim, 3)]);
}

#[test]
fn the_threshold_of_a_phase_is_a_parameter() {
    let phase_change_thr = fairways_core::Q32::from_int(20);
    let mut bench = Bench::new(20, Parameters { phase_change_thr, ..Parameters::default() });
    bench.start(0, 3, SENSITIVE);
    bench.rounds(6);
    bench.becomes(0, Does { l1: 1250 + 249, ..SENSITIVE });
    assert_eq!(bench.trace(0, 1), [(Keeper, 6)]);
    bench.becomes(0, Does { l1: 1250 + 250, ..SENSITIVE });
    assert_eq!(bench.trace(0, 1), [(Reclaim, 3)]);
}

/// §3.1: the baseline "has to be determined again at every phase change".
#[test]
fn a_new_phase_has_a_table_of_its_own() {
    let mut bench = Bench::with(20, &[(3, SENSITIVE)]);
    bench.rounds(6);
    assert!(bench.knows(0, 6));
    bench.becomes(0, Does { l1: 2500, ..STREAMING });
    bench.rounds(2);
    assert_eq!([3, 4, 6].map(|ways| bench.knows(0, ways)), [true, false, false]);
    assert_eq!(bench.trace(0, 7)[6], (Streaming, 1));
}

/// A program that has learnt of Table 1, and is idle.
fn knows_table_1(parameters: Parameters) -> Bench {
    let mut bench = Bench::new(12, parameters);
    bench.start(0, 3, SENSITIVE);
    bench.rounds(8);
    assert_eq!(bench.is(0), (Keeper, 6));
    bench.becomes(0, IDLE);
    assert_eq!(bench.trace(0, 1), [(Donor, 1)]);
    bench
}

/// Figure 7(a) at t4, Figure 12; decision 6: "its preferred count in the same change".
#[test]
fn decision_6_a_phase_that_is_known_has_what_it_prefers_at_once() {
    let mut bench = knows_table_1(Parameters::default());
    let plans = bench.plans;
    bench.becomes(0, SENSITIVE);
    assert_eq!(bench.trace(0, 1), [(Keeper, 6)]);
    assert_eq!(bench.plans, plans + 1);
    assert_eq!(bench.trace(0, 5), [(Keeper, 6); 5]);
    assert_eq!(bench.plans, plans + 1);
}

/// Beside a program with `ways` ways.
fn beside(mut bench: Bench, ways: u32) -> Bench {
    bench.start(1, ways, STREAMING);
    bench.lost.insert(1);
    assert_eq!([bench.ways(0), bench.ways(1)], [1, ways]);
    bench.becomes(0, SENSITIVE);
    // Windows of the other are not waited for longer than this.
    bench.rounds(3);
    bench
}

#[test]
fn decision_6_where_the_pool_does_not_suffice_it_has_its_baseline() {
    let bench = beside(knows_table_1(Parameters::default()), 6);
    assert_eq!(bench.is(0), (Keeper, 6));
    let bench = beside(knows_table_1(Parameters::default()), 7);
    assert!(bench.ways(0) >= 3);
    assert_ne!(bench.is(0), (Keeper, 6));
    assert_eq!(bench.ways(1), 7);
}

/// §3.5: the table saves discovery; it does not forbid what is known to help.
#[test]
fn decision_6_it_grows_again_once_the_pool_has_what_it_prefers() {
    let mut bench = beside(knows_table_1(Parameters::default()), 9);
    assert_eq!(bench.ways(0), 3);
    bench.lost.clear();
    bench.becomes(1, IDLE);
    bench.rounds(10);
    assert_eq!(bench.is(0), (Keeper, 6));
}

/// Its L1 references are alike, but with its baseline it does something else.
#[test]
fn a_table_that_its_baseline_does_not_confirm_is_dropped() {
    for (dropped, unit) in [(false, SENSITIVE.ipc), (false, &[1020; 7]), (true, &[1060; 7])] {
        let mut bench = knows_table_1(Parameters::default());
        bench.start(1, 9, FITS);
        bench.lost.insert(1);
        bench.becomes(0, Does { ipc: unit, ..SENSITIVE });
        bench.rounds(5);
        assert_eq!(bench.ways(0), 3);
        let known = [4, 5, 6].map(|ways| bench.policy.normalised_ipc(AppId(0), ways).is_some());
        assert_eq!(known, [!dropped; 3]);
    }
}

/// Decision 10: "oldest forgotten at a limit".
#[test]
fn decision_10_the_phase_that_was_seen_longest_ago_is_forgotten() {
    for (most_phases, then) in [(2, (Reclaim, 3)), (3, (Keeper, 6))] {
        let mut bench = Bench::new(20, Parameters { most_phases, ..Parameters::default() });
        bench.start(0, 3, SENSITIVE);
        bench.rounds(6);
        for l1 in [2500, 5000] {
            bench.becomes(0, Does { l1, ..FITS });
            bench.rounds(6);
        }
        bench.becomes(0, SENSITIVE);
        assert_eq!(bench.trace(0, 1), [then]);
    }
}

/// Decision 10: it is the last visit that counts, not the first.
#[test]
fn decision_10_a_phase_that_came_back_is_not_the_oldest() {
    let mut bench = Bench::new(20, Parameters { most_phases: 2, ..Parameters::default() });
    bench.start(0, 3, SENSITIVE);
    bench.rounds(6);
    for does in [Does { l1: 2500, ..FITS }, SENSITIVE, Does { l1: 5000, ..FITS }] {
        bench.becomes(0, does);
        bench.rounds(6);
    }
    bench.becomes(0, SENSITIVE);
    assert_eq!(bench.trace(0, 1), [(Keeper, 6)]);
}

/// Another cache: what was learnt about ways of the old one is void.
#[test]
fn nothing_is_remembered_of_another_machine() {
    let mut bench = knows_table_1(Parameters::default());
    bench.machine(16);
    bench.becomes(0, SENSITIVE);
    assert_eq!(bench.trace(0, 1), [(Unknown, 4)]);
    assert!(bench.policy.normalised_ipc(AppId(0), 6).is_none());
}
