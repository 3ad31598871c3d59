//! DynaWay while things go wrong.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use fairways_core::{Counters, Llc, Partition, PartitionError, Q32, Ways, Wish};

use super::*;
use crate::announce::static_text;
use crate::words;

const fn llc(ways: u32) -> Llc {
    match Ways::new(ways) {
        Some(ways) => Llc::with_ways(ways),
        None => panic!("1 to 32 ways"),
    }
}

/// A machine without time: a test says what happens.
#[derive(Default)]
struct Bench {
    policy: KPart,
    partition: Partition,
    reason: &'static str,
    plan: Option<PlanId>,
    plans: u32,
    watched: BTreeMap<u32, u64>,
    /// The announced class of each program with its reason, and the numbers of its class.
    classes: BTreeMap<u32, (&'static str, &'static str)>,
    numbers: BTreeMap<(u32, &'static str), Q32>,
}

impl Bench {
    fn with(programs: u32) -> Self {
        let mut bench = Self::default();
        bench.report(&Event::Machine(llc(11).into()));
        for app in (0..programs).map(AppId) {
            bench.report(&Event::Started { app, wish: Wish::default(), profile: None });
        }
        bench
    }

    fn report(&mut self, event: &Event) {
        let Self { policy, partition, reason, plan, plans, watched, classes, numbers } = self;
        policy.handle(Time::ZERO, event, &mut |action| match action {
            Action::Partition { plan: made, partition: made_of, reason: why } => {
                partition.clone_from(&made_of);
                (*plan, *reason) = (Some(made), static_text(why));
                *plans += 1;
            }
            Action::Classified { app, class, reason } => {
                classes.insert(app.0, (static_text(class), static_text(reason)));
                numbers.retain(|&(of, _), _| of != app.0);
            }
            Action::Estimated { thread, what, value, .. } => {
                numbers.insert((thread.app.0, static_text(what)), value);
            }
            Action::Watch { app, every: WindowLength::Instructions(window) } => {
                watched.insert(app.0, window);
            }
            _ => {}
        });
    }

    /// The program that is measured, and its ways.
    fn measured(&self) -> Option<(AppId, u32)> {
        let app = self.partition.placements().first()?.app;
        let ways = self.partition.mask_of(app)?.count();
        (self.reason == SAMPLING).then_some((app, ways))
    }

    /// A window of a program that gains by every way.
    fn sampled(&mut self, app: AppId, ways: u32) {
        let counters = Counters {
            instructions: Some(10_000_000),
            cycles: Some(30_000_000 / u64::from(ways + app.0)),
            llc_misses: Some(1_000_000 / u64::from(ways)),
            ..Counters::default()
        };
        let (plan, window) = (self.plan, Duration::ZERO);
        let sample = Sample { plan, ..Sample::new(app, counters, window) };
        self.report(&Event::Sampled(sample));
    }

    /// Lets windows end until no program is measured, except for those that are `silent`.
    fn measure(&mut self, silent: &[u32]) {
        while let Some((app, ways)) = self.measured().filter(|(app, _)| !silent.contains(&app.0)) {
            self.sampled(app, ways);
        }
    }

    fn refuse(&mut self) {
        let why = PartitionError::TooManyClusters { clusters: 2, clos: 1 };
        self.report(&Event::Refused { plan: self.plan.unwrap(), why });
    }

    fn clusters(&self) -> Vec<u32> {
        self.partition.masks().map(|mask| mask.count()).collect()
    }
}

#[test]
fn a_program_without_windows_waits_longer_each_time_and_delays_no_other() {
    let mut bench = Bench::with(4);
    let mut measuring = 0;
    for _ in 0..200 {
        bench.measure(&[0]);
        measuring += u32::from(bench.measured().is_some());
        bench.report(&Event::Woke);
    }
    // Five periods each, after 1, 2, 4, 8, 16 and then always 32.
    assert!((25..60).contains(&measuring), "{measuring} of 200 periods");
    bench.measure(&[0]);
    // The others are clustered; it is in the largest cluster.
    let own = bench.partition.mask_of(AppId(0)).unwrap().count();
    if bench.measured().is_none() {
        assert!(bench.clusters().len() > 1 && Some(&own) == bench.clusters().iter().max());
    }
}

#[test]
fn a_refused_plan_is_made_again_and_meanwhile_there_is_none() {
    let mut bench = Bench::with(2);
    bench.measure(&[]);
    let decided = bench.clusters();
    assert_eq!((decided.len(), bench.measured()), (2, None));
    assert!(!bench.numbers.is_empty());
    bench.refuse();
    assert_eq!(bench.clusters(), [11]);
    // The expectations of the clusters were withdrawn.
    assert!(bench.numbers.is_empty() && bench.classes.values().all(|class| class.0 == "measured"));
    bench.report(&Event::Woke);
    assert_eq!(bench.clusters(), decided);
    assert_eq!((bench.numbers.len(), bench.classes[&0].0), (6, "cluster A"));
    let plans = bench.plans;
    bench.report(&Event::Woke);
    assert_eq!(bench.plans, plans);
}

#[test]
fn a_measurement_whose_plan_is_refused_is_left_at_once() {
    let mut bench = Bench::with(2);
    let (first, _) = bench.measured().unwrap();
    bench.sampled(first, 10);
    bench.refuse();
    // The next one, as long as there is one; then there is no partitioning.
    let (second, ways) = bench.measured().unwrap();
    assert!(second != first && ways == 10);
    bench.refuse();
    assert_eq!((bench.measured(), bench.clusters()), (None, [11].into()));
    bench.report(&Event::Woke);
    assert!(bench.measured().is_some());
}

#[test]
fn another_cache_is_measured_from_scratch() {
    let mut bench = Bench::with(2);
    bench.measure(&[]);
    bench.report(&Event::Machine(llc(20).into()));
    assert_eq!(bench.measured(), Some((AppId(0), 19)));
    bench.measure(&[]);
    assert_eq!(bench.clusters().iter().sum::<u32>(), 20);
    // With fewer classes of service it is the same cache.
    bench.report(&Event::Machine(Llc { clos: 2, ..llc(20) }.into()));
    assert_eq!(bench.measured(), None);
}

#[test]
fn a_measurement_that_cannot_go_on_is_not_watched_any_more() {
    let mut bench = Bench::with(2);
    assert_eq!(bench.watched[&0], 10_000_000);
    bench.report(&Event::Machine(llc(1).into()));
    assert_eq!((bench.watched[&0], bench.measured()), (20_000_000_000, None));
    bench.report(&Event::Machine(llc(11).into()));
    assert_eq!(bench.measured(), Some((AppId(0), 10)));
    // A program that remains alone is not measured.
    bench.report(&Event::Exited { app: AppId(1) });
    assert_eq!((bench.measured(), bench.clusters()), (None, [11].into()));
}

/// What a program is to gain over an equal share, and to lose against the whole cache.
#[test]
fn the_expected_speedups_are_announced() {
    let mut bench = Bench::with(2);
    assert_eq!(bench.classes[&0], ("unmeasured", "not measured yet"));
    bench.measure(&[]);
    let clusters = bench.clusters();
    assert_eq!(clusters.len(), 2);
    for app in [0, 1] {
        let own = bench.partition.mask_of(AppId(app)).unwrap();
        let cluster = bench.partition.masks().position(|mask| mask == own).unwrap();
        assert_eq!(bench.classes[&app].0, ["cluster A", "cluster B"][cluster]);
        assert!(bench.classes[&app].1.starts_with("alone"));
        let number = |what| bench.numbers[&(app, what)];
        assert_eq!(number(words::LOOKAHEAD.text()), Q32::from_int(own.count()));
        // Its IPC is (ways + app) / 3; an equal share is 6 ways of 11, and the whole cache performs
        // like 10 ways.
        let ipc = |ways: u32| u64::from(ways.min(10) + app);
        let close = |value: Q32, exact: Q32| value.raw().abs_diff(exact.raw()) < 1 << 12;
        assert!(close(number(words::SPEEDUP.text()), Q32::ratio(ipc(own.count()), ipc(6))));
        assert!(close(number(words::SLOWDOWN.text()), Q32::ratio(ipc(11), ipc(own.count()))));
    }
}
