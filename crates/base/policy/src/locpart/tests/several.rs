//! Several services and several batch programs (decision 6).

use super::algorithm::taking;
use super::bench::{Bench, objective};
use super::service::{Noise, Service};
use crate::locpart::Parameters;

/// The times of requests that take 0.7 ms with `needed` ways, and 1.5 ms with fewer.
fn needing(needed: u64) -> impl Iterator<Item = u64> {
    (1..=20).map(move |ways| if ways < needed { 1_500_000 } else { 700_000 })
}

/// The batch program with the most ways gives: the service furthest over its objective takes first.
#[test]
fn the_one_furthest_over_its_objective_takes_first() {
    let mut bench = Bench::new(7, Parameters::default());
    bench.serve(0, objective(99, 2000), taking(3000));
    bench.serve(1, objective(99, 1000), taking(2000));
    bench.start(2, None);
    assert_eq!([0, 1, 2].map(|app| bench.ways(app)), [3, 2, 2]);
    bench.round();
    assert_eq!([0, 1, 2].map(|app| bench.ways(app)), [3, 3, 1]);
}

#[test]
fn the_batch_program_with_most_ways_gives_and_that_with_fewest_gets() {
    let mut bench = Bench::new(20, Parameters { w: 3, ..Parameters::default() });
    bench.serve(0, objective(99, 1000), taking(1500));
    bench.start(1, None);
    bench.start(2, None);
    assert_eq!([0, 1, 2].map(|app| bench.ways(app)), [7, 7, 6]);
    bench.round();
    assert_eq!([0, 1, 2].map(|app| bench.ways(app)), [10, 4, 6]);
    bench.services.insert(0, taking(900));
    bench.rounds(8);
    // Clipped at the floor that the violation left.
    assert_eq!([0, 1, 2].map(|app| bench.ways(app)), [8, 6, 6]);
}

/// Without batch, services give to those that miss their objective, and only to them.
#[test]
fn services_give_to_services_what_they_can_do_without() {
    let mut bench = Bench::new(20, Parameters::default());
    bench.serve(0, objective(99, 1000), Service::new(0, 1_000_000, Noise::None, needing(6)));
    bench.serve(1, objective(99, 1000), Service::new(0, 1_000_000, Noise::None, needing(10)));
    bench.rounds(50);
    assert_eq!((bench.ways(0), bench.ways(1), bench.plans), (10, 10, 2));
    bench.services.insert(1, Service::new(0, 1_000_000, Noise::None, needing(14)));
    bench.rounds(50);
    assert_eq!([0, 1].map(|app| bench.ways(app)), [6, 14]);
}

/// One that misses its objective whatever it has gives back what another turned out to need.
#[test]
fn a_service_that_is_hopeless_does_not_take_the_objective_of_others() {
    let mut bench = Bench::new(20, Parameters::default());
    bench.serve(0, objective(99, 1000), Service::new(0, 1_000_000, Noise::None, needing(8)));
    bench.serve(1, objective(99, 1000), taking(5000));
    bench.start(2, None);
    bench.rounds(200);
    assert_eq!([0, 1, 2].map(|app| bench.ways(app)), [8, 11, 1]);
    assert_eq!([bench.current_class[&0], bench.current_class[&1]], ["held", "unattainable"]);
    bench.services.insert(0, Service::new(0, 1_000_000, Noise::None, needing(10)));
    bench.rounds(20);
    assert_eq!([0, 1, 2].map(|app| bench.ways(app)), [10, 9, 1]);
    let share = bench.thousandths(1000);
    assert!(share <= 510, "{share}");
}

#[test]
fn several_noisy_services_hold_their_objectives_beside_several_batch_programs() {
    for seed in 0..6 {
        let mut bench = Bench::new(20, Parameters::default());
        for app in 0..3 {
            let times = (1..=20).map(|ways| 600_000 + 4_000_000 / (ways + 1));
            let service = Service::new(seed * 3 + app, 3_600_000, Noise::Queue, times);
            bench.serve(u32::try_from(app).unwrap(), objective(95, 16_000), service);
        }
        (3..6).for_each(|app| bench.start(app, None));
        bench.rounds(600);
        let share = bench.thousandths(3000);
        assert!(share <= 10, "{share} of seed {seed}");
        let batch: u32 = (3..6).map(|app| bench.ways(app)).sum();
        assert!(batch >= 3);
    }
}
