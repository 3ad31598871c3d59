//! Machines that change, and machines that do not report their CPUs.

use core::time::Duration;

use fairways_core::{AppId, Cpus, Event, Llc, Policy, Q32, Time, Ways, Wish};

use super::bench::{Asked, Bench};
use crate::casc::{Casc, Parameters};

fn restless() -> Parameters {
    Parameters { delay: Duration::ZERO, ..Parameters::default() }
}

#[test]
fn without_cpus_it_does_nothing() {
    let mut casc = Casc::new(restless());
    let machine = Event::Machine(Llc::with_ways(Ways::new(12).unwrap()).into());
    fn start(app: u32) -> Event {
        Event::Started { app: AppId(app), wish: Wish::default(), profile: None }
    }
    for event in
        [machine, start(0), start(1), start(2), Event::Woke, Event::Exited { app: AppId(1) }]
    {
        casc.handle(Time::ZERO, &event, &mut |action| panic!("{action:?}"));
    }
}

#[test]
fn on_more_cpus_than_it_can_manage_it_does_nothing() {
    let mut bench = Bench::with(65, &[1, 2, 3], restless());
    assert_eq!(bench.asked(), []);
    bench.set_cpus(64);
    assert!(bench.asked().contains(&Asked::Watch(Duration::from_micros(200))));
}

#[test]
fn when_the_cpus_change_all_is_measured_again_and_no_thread_restricted() {
    let mut bench = Bench::with(2, &[60, 5, 5, 1], restless());
    bench.rows(&[0, 1, 2]);
    assert!(bench.knows(0) && bench.allowed(0).len() == 1);
    bench.asked();
    // Another quantum is no other machine.
    bench.report(&Event::Cpus(Cpus { count: 2, quantum: Duration::from_secs(1) }));
    assert_eq!(bench.asked(), []);
    bench.set_cpus(3);
    assert_eq!(bench.pcmr(0), None);
    assert!((0..4).all(|app| bench.allowed(app) == [0, 1, 2] || app != 0));
    assert_eq!(bench.allowed(0), [0, 1, 2]);
    bench.rows(&[0, 1, 2, 3]);
    assert!((0..4).all(|app| bench.knows(app)));
    bench.set_cpus(1000);
    // A list without an existing CPU stands for every CPU.
    assert_eq!(bench.allowed(0), [0; 0]);
    assert_eq!(bench.casc.max_pcmrs(), []);
}

#[test]
fn another_cache_calls_for_other_pcmrs() {
    let mut bench = Bench::with(2, &[60, 5, 5], restless());
    bench.rows(&[0, 1, 2]);
    bench.asked();
    bench.report(&Event::Machine(Llc::with_ways(Ways::new(12).unwrap()).into()));
    assert!(bench.knows(0));
    bench.report(&Event::Machine(Llc::with_ways(Ways::new(6).unwrap()).into()));
    assert_eq!(bench.pcmr(0), None);
    assert!(bench.asked().contains(&Asked::Raise([0, 1, 2].to_vec())));
}

#[test]
fn one_cpu_never_restricts_anybody() {
    let mut bench = Bench::with(1, &[90, 5], restless());
    bench.rows(&[0, 1]);
    bench.start(100);
    bench.ran(&[2], 5000);
    assert!((0..3).all(|app| bench.knows(app)));
    assert!(!bench.asked().iter().any(|asked| matches!(asked, Asked::Allow(..))));
    assert_eq!(bench.casc.max_pcmrs(), [Q32::from_int(100)]);
    assert!(!bench.casc.assignment().unwrap().is_reached);
}
