//! Figure 6: programs that miss.

use fairways_core::Q32;

use super::bench::Bench;
use super::programs::{Does, FITS, HUNGRY, IDLE, SENSITIVE, STREAMING};
use crate::dcat::Parameters;
use crate::dcat::WorkloadClass::{Donor, Keeper, Receiver, Reclaim, Streaming, Unknown};
use crate::words;

#[test]
fn a_program_that_misses_is_unknown_and_then_a_receiver_if_it_gains() {
    let mut bench = Bench::with(20, &[(3, HUNGRY)]);
    let trace = bench.trace(0, 4);
    assert_eq!(trace, [(Unknown, 4), (Receiver, 5), (Receiver, 6), (Receiver, 7)]);
}

/// §5.1: the gain is 5 % at least; small steps add up while it is Unknown.
#[test]
fn a_program_that_gains_less_than_the_threshold_stays_unknown() {
    let does = Does { ipc: &[2000, 2400, 2500, 2600, 2625, 2900], ..STREAMING };
    let mut bench = Bench::with(20, &[(3, does)]);
    assert_eq!(bench.trace(0, 3), [(Unknown, 4), (Unknown, 5), (Receiver, 6)]);
}

/// Decision 24: where a cache keeps a part of a stream, 2.5 % a way add up like a reader's.
#[test]
fn decision_24_a_stream_that_gains_by_each_way_is_a_receiver() {
    let kept = Does { ipc: &[950, 975, 1000, 1025, 1050, 1075, 1100, 1125, 1150], ..STREAMING };
    let mut bench = Bench::with(20, &[(3, kept)]);
    let trace = [(Unknown, 4), (Unknown, 5), (Receiver, 6), (Keeper, 5), (Keeper, 5)];
    assert_eq!(bench.trace(0, 5), trace);
}

/// §3.4: "3 times the predefined cache size"; Figure 13: from 9 ways to 1.
#[test]
fn decision_3_a_program_that_gains_nothing_up_to_three_times_its_baseline_streams() {
    let mut bench = Bench::with(20, &[(3, STREAMING)]);
    let trace = bench.trace(0, 10);
    let grown = [4, 5, 6, 7, 8, 9].map(|ways| (Unknown, ways));
    assert_eq!((&trace[..6], &trace[6..]), (&grown[..], &[(Streaming, 1); 4][..]));
    let parameters = Parameters { streaming_thr: 2, ..Parameters::default() };
    let mut bench = Bench::new(20, parameters);
    bench.start(0, 3, STREAMING);
    let last = [(Unknown, 6), (Streaming, 1)];
    assert_eq!(bench.trace(0, 4)[2..], last);
}

/// §3.4: "If all the available cache size is used"; Figure 15: 8 ways of 9.
#[test]
fn decision_3_a_program_that_gains_nothing_from_all_spare_ways_streams() {
    let mut bench = Bench::with(8, &[(3, STREAMING), (1, FITS)]);
    let grown = [(Unknown, 4), (Unknown, 5), (Unknown, 6), (Unknown, 7), (Streaming, 1)];
    assert_eq!(bench.trace(0, 5), grown);
}

#[test]
fn decision_3_a_program_that_never_had_more_than_its_baseline_is_not_judged() {
    let mut bench = Bench::with(6, &[(3, STREAMING), (3, STREAMING)]);
    assert_eq!(bench.trace(0, 10), [(Unknown, 3); 10]);
    assert_eq!(bench.is(1), (Unknown, 3));
}

/// Decision 5: "smallest entry within ipc_imp_thr of the best; surplus ways go back".
#[test]
fn decision_5_a_receiver_that_gains_no_more_keeps_what_it_prefers() {
    let mut bench = Bench::with(20, &[(3, SENSITIVE)]);
    let grown = [(Unknown, 4), (Receiver, 5), (Receiver, 6), (Receiver, 7), (Keeper, 6)];
    assert_eq!(bench.trace(0, 5), grown);
    // 6 % of the baseline's IPC are 4.6 % of what it has: decision 18.
    let late = Does { ipc: &[800, 900, 1000, 1300, 1360, 1360], ..SENSITIVE };
    let mut bench = Bench::with(20, &[(3, late)]);
    let grown = [(Unknown, 4), (Receiver, 5), (Receiver, 6), (Keeper, 5)];
    assert_eq!(bench.trace(0, 4), grown);
}

/// Decision 19.
#[test]
fn decision_19_a_receiver_goes_on_while_it_gains_though_it_hardly_misses() {
    let does = Does { misses: &[100, 100, 100, 50, 29], ..HUNGRY };
    let mut bench = Bench::with(20, &[(3, does)]);
    let grown = [(Unknown, 4), (Receiver, 5), (Receiver, 6), (Receiver, 7)];
    assert_eq!(bench.trace(0, 4), grown);
    let parameters = Parameters { receiver_stops_on_misses: true, ..Parameters::default() };
    let mut bench = Bench::new(20, parameters);
    bench.start(0, 3, does);
    assert_eq!(bench.trace(0, 4), [(Unknown, 4), (Receiver, 5), (Keeper, 5), (Keeper, 5)]);
}

/// Its misses have gone, and it gained nothing: what it has more is of no use.
#[test]
fn a_program_that_was_unknown_and_hardly_misses_any_more_keeps_its_baseline() {
    let does = Does { misses: &[100, 100, 100, 50, 10], ..FITS };
    let mut bench = Bench::with(20, &[(3, does)]);
    assert_eq!(bench.trace(0, 3), [(Unknown, 4), (Unknown, 5), (Keeper, 3)]);
}

/// Decision 4.
#[test]
fn decision_4_a_keeper_is_not_tried_again_while_nothing_changes() {
    let mut bench = Bench::with(20, &[(3, SENSITIVE), (1, FITS)]);
    bench.rounds(5);
    let plans = bench.plans;
    assert_eq!(bench.trace(0, 20), [(Keeper, 6); 20]);
    assert_eq!(bench.plans, plans);
}

/// Decision 4: "until ... the pool's owner set ... changes".
#[test]
fn decision_4_a_keeper_is_tried_again_when_another_starts_or_exits() {
    let tried = |change: fn(&mut Bench)| {
        let mut bench = Bench::with(20, &[(3, SENSITIVE), (1, FITS)]);
        bench.rounds(8);
        assert_eq!(bench.is(0), (Keeper, 6));
        change(&mut bench);
        bench.trace(0, 4).iter().any(|&(class, ways)| class != Keeper && ways > 6)
    };
    assert_eq!([tried(|bench| bench.start(2, 1, FITS)), tried(|bench| bench.exit(1))], [true; 2]);
}

/// Decision 4: "or its baseline changes". Those that were promised nothing have an even share.
#[test]
fn decision_4_a_keeper_is_tried_again_from_another_baseline() {
    let mut bench = Bench::new(20, Parameters::default());
    bench.start(0, None, SENSITIVE);
    for app in 1..5 {
        bench.start(app, None, FITS);
    }
    // A baseline of 4: one way of Table 1's is in it.
    bench.rounds(12);
    assert_eq!(bench.is(0), (Keeper, 6));
    bench.start(5, None, FITS);
    let trace = bench.trace(0, 8);
    assert!(trace.contains(&(Receiver, 7)), "{trace:?}");
}

/// Known to stream: no need to find out again (§3.5, Table 1's reuse).
#[test]
fn a_program_that_streams_and_was_idle_streams_again_as_soon_as_it_has_its_baseline() {
    let mut bench = Bench::with(20, &[(3, STREAMING)]);
    bench.rounds(8);
    bench.becomes(0, IDLE);
    assert_eq!(bench.trace(0, 1), [(Donor, 1)]);
    bench.becomes(0, STREAMING);
    bench.round();
    assert_eq!(bench.trace(0, 3), [(Streaming, 1); 3]);
}

/// Its guarantee is to lose no more than 5 %: what streams by its misses may yet reuse some lines.
#[test]
fn a_streaming_one_that_loses_has_its_baseline_back_and_is_not_called_so_again() {
    let does = Does { ipc: &[900, 990, 1000], ..STREAMING };
    let mut bench = Bench::with(20, &[(3, does)]);
    bench.rounds(7);
    assert_eq!(bench.is(0), (Streaming, 1));
    let trace = bench.trace(0, 30);
    assert_eq!(trace[0], (Reclaim, 3));
    assert!(trace.iter().all(|&(class, ways)| class != Streaming && ways >= 3), "{trace:?}");
    assert_eq!(trace[29], (Keeper, 3));
    // In another phase it may be.
    bench.becomes(0, Does { l1: 2500, ..STREAMING });
    bench.rounds(9);
    assert_eq!(bench.is(0), (Streaming, 1));
    // And one that loses no more than it may stays.
    let mut bench = Bench::with(20, &[(3, Does { ipc: &[965, 990, 1000], ..STREAMING })]);
    bench.rounds(7);
    assert_eq!(bench.trace(0, 5), [(Streaming, 1); 5]);
}

/// Decision 11: "an odd last way goes to the Unknown one", though it had more of them already.
#[test]
fn decision_11_unknown_ones_come_before_receivers() {
    let mut bench = Bench::with(13, &[(5, STREAMING)]);
    bench.rounds(2);
    bench.start(1, 3, HUNGRY);
    bench.round();
    assert_eq!([bench.is(0), bench.is(1)], [(Unknown, 8), (Unknown, 4)]);
    bench.round();
    assert_eq!([bench.is(0), bench.is(1)], [(Unknown, 9), (Receiver, 4)]);
}

#[test]
fn thresholds_are_parameters() {
    let parameters = Parameters {
        ipc_imp_thr: Q32::from_int(20),
        llc_miss_rate_thr: Q32::from_int(11),
        ..Parameters::default()
    };
    let mut bench = Bench::new(20, parameters);
    bench.start(0, 3, SENSITIVE);
    assert_eq!(bench.trace(0, 1), [(Donor, 2)]);
    bench.start(1, 3, Does { misses: &[200], ..SENSITIVE });
    assert_eq!(bench.trace(1, 3), [(Unknown, 4), (Unknown, 5), (Receiver, 6)]);
}

/// §3.5: evenly, also to one that came when everything was taken.
#[test]
fn a_program_that_comes_later_gets_as_much() {
    let mut bench = Bench::with(16, &[(3, HUNGRY)]);
    bench.rounds(20);
    assert_eq!(bench.ways(0), 14);
    bench.start(1, 3, HUNGRY);
    bench.rounds(9);
    let plans = bench.plans;
    assert_eq!([bench.ways(0), bench.ways(1)], [8, 8]);
    bench.rounds(5);
    assert_eq!(bench.plans, plans);
}

/// One that was taken to stream for want of spare ways is tried again when there are more of them.
#[test]
fn what_streams_for_want_of_ways_is_tried_with_more() {
    // Nothing below six ways brings anything.
    let does = Does { ipc: &[990, 1000, 1000, 1000, 1000, 1200, 1400, 1400], ..STREAMING };
    let mut bench = Bench::with(13, &[(3, does), (8, HUNGRY)]);
    bench.rounds(8);
    assert_eq!(bench.is(0), (Streaming, 1));
    assert!(!bench.numbers.contains_key(&(0, words::PREFERRED.text())));
    bench.exit(1);
    bench.rounds(12);
    let (class, ways) = bench.is(0);
    assert!(class == Keeper && ways >= 7, "{class:?} {ways}");
}

/// Table 1: what was promised, what it has, and what that is worth.
#[test]
fn the_worth_of_its_ways_is_announced_with_every_change() {
    let mut bench = Bench::with(20, &[(3, SENSITIVE)]);
    let number = |bench: &Bench, what| bench.numbers.get(&(0, what)).copied();
    assert_eq!(number(&bench, words::BASELINE.text()), Some(Q32::from_int(3)));
    assert_eq!(number(&bench, words::NORMALIZED_IPC.text()), None);
    bench.rounds(3);
    // It was seen with 3, 4 and 5 ways, and is to have 6.
    assert_eq!(
        (bench.is(0), number(&bench, words::WAYS.text())),
        ((Receiver, 6), Some(Q32::from_int(6)))
    );
    let worth = |bench: &Bench, ipc| {
        let ipc_now = number(bench, words::NORMALIZED_IPC.text()).unwrap();
        assert!(ipc_now.raw().abs_diff(Q32::ratio(ipc, 1000).raw()) < 1 << 12, "{ipc_now:?}");
    };
    worth(&bench, 1260);
    assert_eq!(number(&bench, words::PREFERRED.text()), Some(Q32::from_int(5)));
    // The seventh way has brought nothing.
    bench.rounds(2);
    assert_eq!(bench.is(0), (Keeper, 6));
    worth(&bench, 1320);
    assert_eq!(number(&bench, words::PREFERRED.text()), Some(Q32::from_int(6)));
    // On another cache nothing is known of it any more.
    bench.machine(12);
    assert_eq!(number(&bench, words::WAYS.text()), Some(Q32::from_int(3)));
    assert_eq!(number(&bench, words::NORMALIZED_IPC.text()), None);
    assert_eq!(number(&bench, words::PREFERRED.text()), None);
}
