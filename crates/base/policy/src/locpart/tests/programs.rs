//! Programs that come and go, and what their owners wish.

use fairways_core::{AppId, Event, Llc, Partition, WayMask, Ways};

use super::algorithm::taking;
use super::bench::{Bench, objective};
use super::service::{Noise, Service};
use crate::locpart::Parameters;

/// A service that needs `needed` ways for 1 ms.
fn needing(needed: u64) -> Service {
    let times = (1..=32).map(|ways| if ways < needed { 1_500_000 } else { 700_000 });
    Service::new(0, 1_000_000, Noise::None, times)
}

fn bench(ways: u32, needed: u64, batch: u32) -> Bench {
    let mut bench = Bench::new(ways, Parameters::default());
    bench.serve(0, objective(99, 1000), needing(needed));
    (1..=batch).for_each(|app| bench.start(app, None));
    bench.rounds(50);
    bench
}

fn ways<const COUNT: usize>(bench: &Bench, apps: [u32; COUNT]) -> [u32; COUNT] {
    apps.map(|app| bench.ways(app))
}

#[test]
fn without_services_ways_are_equal_and_no_timer_runs() {
    let mut bench = Bench::new(20, Parameters::default());
    (0..3).for_each(|app| bench.start(app, None));
    assert_eq!(ways(&bench, [0, 1, 2]), [7, 7, 6]);
    bench.rounds(20);
    bench.exit(0);
    assert_eq!(ways(&bench, [1, 2]), [10, 10]);
    assert_eq!(bench.plans, 4);
    bench.exit(1);
    bench.exit(2);
    assert_eq!(bench.reason, "no program runs");
}

#[test]
fn one_that_starts_later_gets_its_share_of_batch_first() {
    let mut bench = bench(20, 8, 2);
    assert_eq!(ways(&bench, [0, 1, 2]), [8, 6, 6]);
    bench.start(3, None);
    // The equal share is five: what is above that, and then no more than is even.
    assert_eq!(ways(&bench, [0, 1, 2, 3]), [8, 4, 4, 4]);
    bench.serve(4, objective(99, 1000), needing(3));
    assert_eq!(ways(&bench, [0, 1, 2, 3, 4]), [8, 2, 3, 3, 4]);
    bench.start(5, None);
    assert_eq!(ways(&bench, [0, 1, 2, 3, 4, 5]), [8, 2, 2, 2, 4, 2]);
    bench.rounds(20);
    assert_eq!(ways(&bench, [0, 4]), [8, 3]);
}

#[test]
fn the_first_batch_program_gets_what_services_have_above_an_equal_share() {
    let mut bench = bench(20, 8, 0);
    bench.serve(1, objective(99, 1000), needing(4));
    bench.rounds(10);
    assert_eq!(ways(&bench, [0, 1]), [10, 10]);
    bench.start(2, None);
    assert_eq!(ways(&bench, [0, 1, 2]), [7, 7, 6]);
}

#[test]
fn services_give_to_one_that_starts_only_what_is_more_than_their_share() {
    let mut bench = bench(20, 19, 1);
    assert_eq!(ways(&bench, [0, 1]), [19, 1]);
    bench.serve(2, objective(99, 1000), needing(2));
    assert_eq!(ways(&bench, [0, 1, 2]), [13, 1, 6]);
}

#[test]
fn what_one_leaves_goes_to_the_batch_program_with_fewest() {
    let mut bench = bench(20, 4, 3);
    let before = ways(&bench, [0, 1, 2, 3]);
    assert_eq!(before, [4, 5, 6, 5]);
    bench.exit(3);
    assert_eq!(ways(&bench, [0, 1, 2]), [4, 8, 8]);
    bench.exit(1);
    bench.exit(2);
    assert_eq!(bench.ways(0), 20);
}

/// The ways that it has are as good as any others.
#[test]
fn a_wish_that_changes_keeps_ways() {
    let mut bench = bench(20, 8, 1);
    let plans = bench.plans;
    bench.wish(0, Some(objective(90, 2000)));
    bench.wish(0, Some(objective(99, 1000)));
    assert_eq!((bench.ways(0), bench.plans), (8, plans));
    bench.services.insert(1, needing(5));
    bench.wish(1, Some(objective(99, 1000)));
    assert_eq!((bench.ways(1), bench.plans), (12, plans));
    bench.rounds(20);
    assert_eq!(bench.current_class[&1], "held");
    bench.wish(0, None);
    bench.rounds(60);
    assert_eq!(ways(&bench, [0, 1]), [15, 5]);
    bench.wish(1, None);
    assert_eq!(ways(&bench, [0, 1]), [10, 10]);
}

#[test]
fn another_cache_is_learnt_from_scratch() {
    let mut bench = bench(20, 8, 1);
    let plans = bench.plans;
    bench.machine(Llc::with_ways(Ways::new(12).unwrap()));
    assert_eq!(ways(&bench, [0, 1]), [6, 6]);
    bench.rounds(20);
    assert_eq!((ways(&bench, [0, 1]), bench.plans), ([8, 4], plans + 3));
}

/// Four classes of service, for two services and any number of batch programs.
#[test]
fn where_there_is_no_room_batch_shares_and_then_the_last_services() {
    let llc = Llc { clos: 4, ..Llc::with_ways(Ways::new(20).unwrap()) };
    let mut bench = Bench::on(llc, Parameters::default());
    bench.serve(0, objective(99, 1000), needing(6));
    (1..4).for_each(|app| bench.start(app, None));
    bench.serve(4, objective(99, 1000), needing(7));
    assert_eq!((bench.partition.clusters().len(), bench.reason), (3, "the programs have changed"));
    bench.rounds(20);
    assert_eq!(ways(&bench, [0, 4, 1, 2, 3]), [6, 7, 7, 7, 7]);
    bench.serve(5, objective(99, 1000), needing(2));
    assert_eq!(bench.partition.clusters().len(), 4);
    bench.serve(6, objective(99, 1000), needing(2));
    assert!(bench.reason.contains("share"), "{}", bench.reason);
    assert_eq!(bench.partition.mask_of(AppId(6)), bench.partition.mask_of(AppId(1)));
    bench.rounds(20);
    // The first that ends leaves its place to it.
    bench.exit(0);
    assert_ne!(bench.partition.mask_of(AppId(6)), bench.partition.mask_of(AppId(1)));
    bench.rounds(60);
    assert_eq!(ways(&bench, [4, 5, 6]), [7, 2, 2]);
    // Batch programs part again once there is room.
    bench.exit(4);
    bench.exit(5);
    assert_eq!((bench.partition.clusters().len(), bench.ways(6)), (4, 2));
}

#[test]
fn no_program_has_less_than_the_least() {
    for (min_bits, clos) in [(3, 16), (2, 3), (6, 16), (30, 16), (0, 1)] {
        let llc = Llc { min_bits, clos, ..Llc::with_ways(Ways::new(20).unwrap()) };
        for objective_us in [500, 1000, 50_000] {
            let mut bench = Bench::on(llc, Parameters { w: 2, ..Parameters::default() });
            for app in 0..8 {
                if app % 3 == 0 {
                    bench.serve(app, objective(99, objective_us), taking(900));
                } else {
                    bench.start(app, None);
                }
                bench.rounds(3);
            }
            bench.rounds(30);
            (0..8).for_each(|app| {
                bench.exit(app);
                bench.rounds(3);
            });
        }
    }
}

#[test]
fn reports_about_unknown_programs_and_batch_are_ignored() {
    let mut bench = bench(20, 8, 1);
    let plans = bench.plans;
    for app in [1, 77] {
        let late = super::service::histogram(app, core::time::Duration::MAX, &[u64::MAX; 200]);
        bench.report(&Event::Latency(late));
    }
    bench.report(&Event::Woke);
    bench.rounds(10);
    assert_eq!((bench.ways(0), bench.plans), (8, plans));
}

/// A machine that gives the first program two ways more than planned, from the second one's.
fn two_more(planned: &Partition) -> Partition {
    let ways = [0, 1].map(|app| planned.mask_of(AppId(app)).map(WayMask::count));
    let [Some(own), Some(other)] = ways else { return planned.clone() };
    let own = own + other.saturating_sub(1).min(2);
    let mut actual = Partition::default();
    for (app, mask) in [(0, WayMask::span(0, own)), (1, WayMask::span(own, 20 - own))] {
        let cluster = actual.add_cluster(mask);
        actual.place(AppId(app), cluster);
    }
    actual
}

#[test]
fn decision_14_fewer_are_planned_where_the_machine_gives_more() {
    let mut bench = Bench::new(20, Parameters::default());
    bench.makes = Some(two_more);
    bench.serve(0, objective(99, 1000), needing(8));
    bench.start(1, None);
    bench.rounds(80);
    assert_eq!((bench.had(0), bench.ways(0)), (8, 6));
    // It is not tried again and again with fewer, which would be too few.
    assert!(bench.thousandths(100) <= 20, "{}", bench.misses);
}
