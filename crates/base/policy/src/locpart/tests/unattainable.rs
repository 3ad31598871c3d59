//! Objectives that no number of ways meets (decision 6).

use alloc::vec;
use alloc::vec::Vec;

use super::algorithm::taking;
use super::bench::{Bench, objective};
use super::service::{Noise, Service};
use crate::locpart::Parameters;

fn classes(bench: &Bench) -> Vec<&'static str> {
    bench.classes.iter().map(|&(_, class)| class).collect()
}

fn bench(service: Service, micros: u64) -> Bench {
    let mut bench = Bench::new(20, Parameters::default());
    bench.serve(0, objective(99, micros), service);
    bench.start(1, None);
    bench
}

#[test]
fn it_is_announced_once_and_nothing_changes() {
    let mut bench = bench(taking(2000), 1000);
    bench.rounds(2000);
    assert_eq!((bench.ways(0), bench.plans), (19, 11));
    assert_eq!(classes(&bench), ["violated", "unattainable"]);
}

/// A queue that grows without end: no request that came after a change has been answered.
#[test]
fn overload_is_seen_though_what_is_answered_came_long_ago() {
    let times = (1..=20).map(|_| 6_000_000);
    let mut bench = bench(Service::new(1, 3_000_000, Noise::Queue, times), 1000);
    bench.rounds(200);
    assert!(bench.plans <= 12, "{}", bench.plans);
    assert_eq!((bench.ways(0), classes(&bench)), (19, vec!["violated", "unattainable"]));
}

/// A tail that is at times below the objective, with every number of ways.
#[test]
fn noise_does_not_make_it_thrash() {
    for seed in 0..10 {
        let times = (1..=20).map(|_| 1_500_000);
        let service = Service::new(seed, 3_000_000, Noise::Queue, times);
        let share = service.misses(19, 500_000_000, 500, 99, 11_000_000);
        assert!((100..900).contains(&share), "{share}");
        let mut bench = bench(service, 11_000);
        bench.rounds(1000);
        assert!(bench.plans < 40, "{} plans", bench.plans);
        let plans = bench.plans;
        bench.rounds(1000);
        assert!(bench.plans - plans <= 4, "{} plans", bench.plans - plans);
        assert_eq!(bench.ways(0), 19);
    }
}

#[test]
fn it_is_taken_back_after_a_hundred_good_tails() {
    let mut bench = bench(taking(2000), 1000);
    bench.rounds(50);
    bench.services.get_mut(&0).unwrap().times = vec![500_000];
    bench.rounds(99);
    assert_eq!((bench.ways(0), bench.current_class[&0]), (19, "unattainable"));
    bench.rounds(1);
    assert_eq!(bench.current_class[&0], "held");
    bench.rounds(4000);
    assert_eq!(bench.ways(0), 1);
}

#[test]
fn it_is_taken_back_with_another_objective_or_when_a_program_exits() {
    let mut one = bench(taking(2000), 1000);
    one.rounds(50);
    one.wish(0, Some(objective(99, 3000)));
    one.rounds(100);
    assert_eq!((one.ways(0), classes(&one)), (1, vec!["violated", "unattainable", "held"]));
    let mut other = bench(taking(2000), 1000);
    other.start(2, None);
    other.rounds(50);
    assert_eq!((other.ways(0), other.current_class[&0]), (18, "unattainable"));
    other.exit(2);
    other.round();
    assert_eq!((other.ways(0), other.current_class[&0]), (19, "violated"));
}

#[test]
fn the_published_rule_says_it_of_two_periods_in_a_row() {
    let mut bench = Bench::new(4, Parameters::published());
    bench.serve(0, objective(99, 1000), taking(2000));
    bench.start(1, None);
    bench.rounds(3);
    assert_eq!((bench.ways(0), classes(&bench)), (3, vec!["violated", "unattainable"]));
    bench.services.get_mut(&0).unwrap().times = vec![500_000];
    bench.round();
    assert_eq!(bench.current_class[&0], "held");
}

#[test]
fn an_objective_of_nothing_is_missed() {
    let mut bench = bench(taking(0), 0);
    bench.rounds(20);
    assert_eq!(bench.current_class[&0], "held");
    bench.services.get_mut(&0).unwrap().times = vec![1];
    bench.rounds(60);
    assert_eq!(bench.current_class[&0], "unattainable");
}
