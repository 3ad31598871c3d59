//! A machine on which services answer as fast as their ways allow.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use fairways_core::{
    Action, AppId, Event, Llc, Objective, Partition, PartitionError, PlanId, Policy, Q32, Time,
    Ways, WindowLength, Wish,
};

use super::service::{Service, histogram, is_missed};
use crate::announce::static_text;
use crate::locpart::{Locpart, Parameters};

/// An objective in microseconds.
pub(super) const fn objective(percent: u32, micros: u64) -> Objective {
    Objective { slo: Duration::from_micros(micros), percentile: Q32::from_int(percent) }
}

pub(super) struct Bench {
    pub(super) policy: Locpart,
    pub(super) now: Time,
    period: Duration,
    llc: Llc,
    programs: BTreeMap<u32, Option<Objective>>,
    pub(super) services: BTreeMap<u32, Service>,
    pub(super) partition: Partition,
    pub(super) reason: &'static str,
    /// Plans that were made, and those that were carried out.
    pub(super) plans: u32,
    pub(super) done: u32,
    watched: BTreeMap<u32, Time>,
    alarm: Option<Time>,
    pub(super) current_class: BTreeMap<u32, &'static str>,
    pub(super) classes: Vec<(u32, &'static str)>,
    /// The numbers of each program's class, as they came out.
    pub(super) numbers: BTreeMap<(u32, &'static str), i64>,
    pub(super) refuses: bool,
    /// What the machine makes of a plan, where it does not do what it says; and what is in force.
    pub(super) makes: Option<fn(&Partition) -> Partition>,
    actual: Partition,
    /// By service with 100 requests or more: whether it missed its objective in the last period.
    pub(super) missed: BTreeMap<u32, bool>,
    /// Periods in which any service had that many requests, and those in which its objective was
    /// missed.
    pub(super) windows: u64,
    pub(super) misses: u64,
}

impl Bench {
    pub(super) fn new(ways: u32, parameters: Parameters) -> Self {
        Self::on(Llc::with_ways(Ways::new(ways).unwrap()), parameters)
    }

    pub(super) fn on(llc: Llc, parameters: Parameters) -> Self {
        let mut bench = Self {
            policy: Locpart::new(parameters),
            now: Time::ZERO,
            period: parameters.t_sched,
            llc,
            programs: BTreeMap::new(),
            services: BTreeMap::new(),
            partition: Partition::default(),
            reason: "",
            plans: 0,
            done: 0,
            watched: BTreeMap::new(),
            alarm: None,
            current_class: BTreeMap::new(),
            classes: Vec::new(),
            numbers: BTreeMap::new(),
            refuses: false,
            makes: None,
            actual: Partition::default(),
            missed: BTreeMap::new(),
            windows: 0,
            misses: 0,
        };
        bench.report(&Event::Machine(llc.into()));
        bench
    }

    pub(super) fn machine(&mut self, llc: Llc) {
        self.llc = llc;
        self.report(&Event::Machine(llc.into()));
    }

    pub(super) fn start(&mut self, app: u32, objective: Option<Objective>) {
        self.programs.insert(app, objective);
        let wish = Wish { objective, ..Wish::default() };
        self.report(&Event::Started { app: AppId(app), wish, profile: None });
    }

    pub(super) fn serve(&mut self, app: u32, objective: Objective, service: Service) {
        self.services.insert(app, service);
        self.start(app, Some(objective));
    }

    pub(super) fn wish(&mut self, app: u32, objective: Option<Objective>) {
        self.programs.insert(app, objective);
        let wish = Wish { objective, ..Wish::default() };
        self.report(&Event::Wished { app: AppId(app), wish });
    }

    pub(super) fn exit(&mut self, app: u32) {
        self.programs.remove(&app);
        self.services.remove(&app);
        self.watched.remove(&app);
        self.current_class.remove(&app);
        self.report(&Event::Exited { app: AppId(app) });
    }

    pub(super) fn report(&mut self, event: &Event) {
        let (mut refused, mut applied) = (Vec::new(), None);
        let llc = self.llc;
        self.policy.handle(self.now, event, &mut |action| match action {
            Action::Partition { plan, partition, reason } => {
                partition.check(&llc, self.programs.keys().map(|&app| AppId(app))).unwrap();
                let masks = partition.masks();
                let all = masks.clone().fold(0, |all, mask| all | mask.bits()).count_ones();
                assert_eq!(
                    all,
                    masks.clone().map(|mask| mask.count()).sum::<u32>(),
                    "masks overlap"
                );
                assert!(all == llc.ways.get() || masks.len() == 0, "ways lie idle");
                self.plans += 1;
                if self.refuses {
                    return refused.push(plan);
                }
                assert_ne!(*partition, self.partition, "a plan that changes nothing");
                self.done += 1;
                self.reason = static_text(reason);
                self.partition.clone_from(&partition);
                self.actual =
                    self.makes.map_or_else(|| (*partition).clone(), |makes| makes(&partition));
                applied = Some(plan);
            }
            Action::Watch { app, every: WindowLength::Time(window) } => {
                assert_eq!(window, self.period);
                assert!(self.programs[&app.0].is_some(), "batch is not watched");
                self.watched.insert(app.0, self.now.after(window));
            }
            Action::Wake { at } => self.alarm = Some(at),
            Action::Classified { app, class, .. } => {
                let class = static_text(class);
                assert_ne!(self.current_class.insert(app.0, class), Some(class), "announced twice");
                self.numbers.retain(|&(of, _), _| of != app.0);
                // The class until something is known is announced when the program starts.
                if !["batch", "latency-critical", "crowded"].contains(&class) {
                    self.classes.push((app.0, class));
                }
            }
            Action::Estimated { thread, what, raw, .. } => {
                let before = self.numbers.insert((thread.app.0, static_text(what)), raw);
                assert_ne!(before, Some(raw), "announced twice");
            }
            other => panic!("{other:?}"),
        });
        if let Some(plan) = applied {
            let actual = self.actual.clone();
            self.report(&Event::Applied { plan, actual });
        }
        self.refuse(&refused);
    }

    fn refuse(&mut self, plans: &[PlanId]) {
        let why = PartitionError::TooManyClusters { clusters: 2, clos: 1 };
        plans.iter().for_each(|&plan| self.report(&Event::Refused { plan, why }));
    }

    /// A period passes.
    pub(super) fn round(&mut self) {
        self.now = self.now.after(self.period);
        let now = self.now.nanos();
        let ways: Vec<u32> = self.services.keys().map(|&app| self.had(app)).collect();
        let mut events = Vec::new();
        self.missed.clear();
        for ((&app, service), ways) in self.services.iter_mut().zip(ways) {
            service.run(now, ways);
            let latencies = service.take(now);
            if let Some(objective) = self.programs[&app].filter(|_| latencies.len() >= 100) {
                let percent = objective.percentile.raw() >> 32;
                let slo = u64::try_from(objective.slo.as_nanos()).unwrap();
                let missed = is_missed(&latencies, percent, slo);
                self.missed.insert(app, missed);
                self.windows += 1;
                self.misses += u64::from(missed);
            }
            if let Some(end) = self.watched.get_mut(&app).filter(|end| **end <= self.now) {
                assert_eq!(*end, self.now, "windows end with periods");
                *end = self.now.after(self.period);
                events.push(histogram(app, self.period, &latencies));
            }
        }
        for latencies in events {
            self.report(&Event::Latency(latencies));
        }
        if self.alarm.is_some_and(|at| at <= self.now) {
            assert_eq!(self.alarm, Some(self.now));
            self.alarm = None;
            self.report(&Event::Woke);
        }
    }

    pub(super) fn rounds(&mut self, count: u32) {
        (0..count).for_each(|_| self.round());
    }

    /// The share of the next `rounds` periods in which an objective was missed, in thousandths.
    pub(super) fn thousandths(&mut self, rounds: u32) -> u64 {
        (self.windows, self.misses) = (0, 0);
        self.rounds(rounds);
        self.misses * 1000 / self.windows.max(1)
    }

    /// The ways in force.
    pub(super) fn had(&self, app: u32) -> u32 {
        let mask = self.actual.mask_of(AppId(app));
        mask.map_or(self.llc.ways.get(), |mask| mask.count())
    }

    /// The ways that were planned.
    pub(super) fn ways(&self, app: u32) -> u32 {
        let mask = self.partition.mask_of(AppId(app));
        mask.map_or(self.llc.ways.get(), |mask| mask.count())
    }
}
