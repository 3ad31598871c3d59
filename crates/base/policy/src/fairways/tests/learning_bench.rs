//! A machine on which programs without a profile are observed.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use fairways_core::{
    Counters, Curve, Llc, Partition, PartitionError, Profile, Q32, Sample, WayMask, Ways,
    WindowLength, Wish,
};

use crate::announce::static_text;
use crate::fairways::*;

/// Cycles for 1000 instructions, and misses and stalls in 1000 cycles, with some ways.
type SizedBehaviour = fn(u64) -> [u64; 3];

/// A machine on which a program occupies its share of its ways as soon as its window ends, if it
/// can grow as much in a window.
pub(super) struct LearningBench {
    pub(super) policy: Fairways,
    pub(super) llc: Llc,
    pub(super) now: Time,
    pub(super) programs: BTreeMap<u32, SizedBehaviour>,
    pub(super) partition: Partition,
    plan: Option<PlanId>,
    pub(super) reason: &'static str,
    /// The reasons of all plans.
    pub(super) reasons: Vec<&'static str>,
    pub(super) refuses: bool,
    pub(super) has_occupancies: bool,
    /// The most that an occupancy grows in a window.
    pub(super) growth: Q32,
    /// What a program's cycles are multiplied by, in percent, by the masks of all programs.
    pub(super) hindrance: fn(app: u32, masks: &[WayMask]) -> u64,
    occupancies: BTreeMap<u32, Q32>,
    /// The windows that were requested last of each program.
    pub(super) watched: BTreeMap<u32, WindowLength>,
}

impl LearningBench {
    pub(super) fn new(parameters: Parameters) -> Self {
        let llc = Llc::with_ways(Ways::new(8).unwrap());
        let mut bench = Self {
            policy: Fairways::new(parameters),
            llc,
            now: Time::ZERO,
            programs: BTreeMap::new(),
            partition: Partition::default(),
            plan: None,
            reason: "",
            reasons: Vec::new(),
            refuses: false,
            has_occupancies: true,
            growth: Q32::from_int(32),
            hindrance: |_, _| 100,
            occupancies: BTreeMap::new(),
            watched: BTreeMap::new(),
        };
        bench.report(&Event::Machine(llc.into()));
        bench
    }

    pub(super) fn report(&mut self, event: &Event) {
        let mut answers = Vec::new();
        let Self { policy, programs, partition, plan, reason, reasons, refuses, watched, .. } =
            self;
        policy.handle(self.now, event, &mut |action| {
            if let Action::Watch { app, every } = action {
                watched.insert(app.0, every);
            }
            let Action::Partition { plan: id, partition: planned, reason: why } = action else {
                return;
            };
            assert_eq!(planned.check(&self.llc, programs.keys().map(|&app| AppId(app))), Ok(()));
            if *refuses && planned.clusters().len() > 1 {
                let why = PartitionError::TooManyClusters { clusters: 2, clos: 1 };
                answers.push(Event::Refused { plan: id, why });
                return;
            }
            (*plan, *partition, *reason) = (Some(id), planned.into_owned(), static_text(why));
            reasons.push(reason);
            answers.push(Event::Applied { plan: id, actual: partition.clone() });
        });
        answers.iter().for_each(|answer| self.report(answer));
    }

    pub(super) fn start(&mut self, app: u32, wish: Wish, behaviour: SizedBehaviour) {
        self.programs.insert(app, behaviour);
        self.report(&Event::Started { app: AppId(app), wish, profile: None });
    }

    /// A program with a profile.
    pub(super) fn start_known(&mut self, app: u32, wish: Wish, behaviour: SizedBehaviour) {
        self.programs.insert(app, behaviour);
        let profile = Some(Arc::new(profile(behaviour, self.llc.ways)));
        self.report(&Event::Started { app: AppId(app), wish, profile });
    }

    pub(super) fn ways(&self, app: u32) -> u32 {
        self.partition.mask_of(AppId(app)).map_or(0, WayMask::count)
    }

    /// Ends a window of each program.
    pub(super) fn windows(&mut self, count: u32) {
        for _ in 0..count {
            self.now = self.now.after(Duration::from_millis(1));
            for (app, behaviour) in self.programs.clone() {
                let mask = self.partition.mask_of(AppId(app)).unwrap_or_default();
                let sharing = self.partition.placements().iter();
                let sharing = sharing.filter(|at| self.partition.mask_of(at.app) == Some(mask));
                let ways = u64::from(mask.count()) / sharing.count().max(1) as u64;
                let held = self.occupancies.entry(app).or_default();
                let most = Q32::from_raw(held.raw() + self.growth.raw());
                *held = Q32::from_int(u32::try_from(ways).unwrap()).min(most);
                let occupancy = *held;
                let mut rates = behaviour((occupancy.raw() >> 32).max(1));
                let masks: Vec<WayMask> = self
                    .programs
                    .keys()
                    .filter_map(|&app| self.partition.mask_of(AppId(app)))
                    .collect();
                rates[0] = rates[0] * (self.hindrance)(app, &masks) / 100;
                let counters = counters(rates);
                let length = match self.watched.get(&app) {
                    Some(&WindowLength::Time(length)) => length,
                    _ => Duration::from_millis(1),
                };
                self.report(&Event::Sampled(Sample {
                    occupancy: self.has_occupancies.then_some(occupancy),
                    plan: self.plan,
                    ..Sample::new(AppId(app), counters, length)
                }));
            }
        }
    }

    /// Ends a window in which a program occupied so many quarters of a way.
    pub(super) fn window_of(&mut self, app: u32, quarters: u64, behaviour: [u64; 3]) {
        self.report(&Event::Sampled(Sample {
            occupancy: Some(Q32::from_raw(quarters << 30)),
            plan: self.plan,
            ..Sample::new(AppId(app), counters(behaviour), Duration::from_millis(1))
        }));
    }

    /// Ends a window in which a program did not run.
    pub(super) fn idle(&mut self, app: u32) {
        let counters = Counters {
            instructions: Some(0),
            cycles: Some(0),
            llc_misses: Some(0),
            ..Counters::default()
        };
        self.report(&Event::Sampled(Sample {
            occupancy: Some(Q32::ONE),
            plan: self.plan,
            ..Sample::new(AppId(app), counters, Duration::from_millis(1))
        }));
    }

    /// Lets decision periods of normal operation pass.
    pub(super) fn periods(&mut self, count: u32) {
        for _ in 0..count {
            for _ in 0..5 {
                self.now = self.now.after(Duration::from_millis(49));
                self.windows(1);
            }
            self.report(&Event::Woke);
        }
    }

    /// The same until a plan has this reason.
    pub(super) fn periods_until(&mut self, reason: &str) {
        for _ in 0..20 {
            if self.reason == reason {
                return;
            }
            self.periods(1);
        }
        panic!("{:?}", self.reasons);
    }

    /// Lets the alarm ring after this time.
    pub(super) fn wake(&mut self, millis: u64) {
        self.now = self.now.after(Duration::from_millis(millis));
        self.report(&Event::Woke);
    }
}

/// The counters of a window: cycles for 1000 instructions, misses and stalls in 1000 cycles.
fn counters([cycles, misses, stalls]: [u64; 3]) -> Counters {
    Counters {
        instructions: Some(1_000_000),
        cycles: Some(cycles * 1000),
        llc_misses: Some(misses * cycles),
        stalls_l2_miss: Some(cycles * stalls),
        ..Counters::default()
    }
}

fn profile(behaviour: SizedBehaviour, ways: Ways) -> Profile {
    let llcmpkc = Curve::from_fn(ways, |ways| Q32::ratio(behaviour(ways.into())[1], 1));
    let llcmpki = Curve::from_fn(ways, |ways| {
        let [cycles, misses, _] = behaviour(ways.into());
        Q32::ratio(cycles * misses, 1000)
    });
    Profile {
        ipc: Curve::from_fn(ways, |ways| Q32::ratio(1000, behaviour(ways.into())[0])),
        llcmpki,
        llcmpkc,
        bandwidth_mbps: llcmpkc,
        stalls_l2_miss: llcmpkc,
    }
}

/// Gains by every way up to six.
pub(super) fn sensitive(ways: u64) -> [u64; 3] {
    let few = 6_u64.saturating_sub(ways);
    [1000 + 150 * few, 2 + 3 * few, 400]
}

pub(super) fn gains_by_every_way(ways: u64) -> [u64; 3] {
    sensitive(ways.saturating_sub(2))
}

pub(super) fn streaming(_: u64) -> [u64; 3] {
    [1000, 30, 400]
}

pub(super) fn light(_: u64) -> [u64; 3] {
    [500, 2, 2]
}
