//! A machine without time, on which a test decides which window ends next.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use fairways_core::{
    Action, AppId, Counters, Curve, Event, Llc, Partition, PartitionError, PlanId, Policy, Profile,
    Q32, Sample, Time, WayMask, Ways, WindowLength, Wish,
};

use crate::announce::static_text;
use crate::lfoc::{Class, Lfoc, Parameters, SAMPLING};

pub(super) const LLC: Llc =
    Llc { ways: Ways::new(11).unwrap(), min_bits: 1, contiguous: true, clos: 16 };

/// How a program behaves with a number of ways.
#[derive(Clone, Copy, Debug)]
pub(super) struct Does {
    /// Instructions in 1000 cycles.
    pub(super) ipc: u64,
    /// LLC misses in 1000 cycles.
    pub(super) llcmpkc: u64,
    /// Cycles of 1000 that wait for memory.
    pub(super) stalls: u64,
}

pub(super) type Behaviour = fn(u32) -> Does;

/// Misses much, and gains nothing.
pub(super) fn streaming(_: u32) -> Does {
    Does { ipc: 1000, llcmpkc: 30, stalls: 100 }
}

/// Misses hardly.
pub(super) fn light(_: u32) -> Does {
    Does { ipc: 1500, llcmpkc: 1, stalls: 20 }
}

/// Gains by every way up to six, the critical size.
pub(super) fn sensitive(ways: u32) -> Does {
    let few = u64::from(6_u32.saturating_sub(ways));
    Does { ipc: 1000 - 100 * few, llcmpkc: 4 + 5 * few, stalls: 300 + 50 * few }
}

#[derive(Default)]
pub(super) struct Bench {
    pub(super) policy: Lfoc,
    pub(super) now: Time,
    pub(super) partition: Partition,
    pub(super) plans: u32,
    /// The plan in force, and why.
    plan: Option<PlanId>,
    pub(super) reason: &'static str,
    /// Instructions of the windows asked for, by program.
    pub(super) watched: BTreeMap<u32, u64>,
    pub(super) alarm: Option<Time>,
    /// The announced class of each program with its reason, and the numbers of its class.
    pub(super) classes: BTreeMap<u32, (&'static str, &'static str)>,
    pub(super) numbers: BTreeMap<(u32, &'static str), Q32>,
    programs: BTreeMap<u32, Behaviour>,
    /// The threads of a program that run at a time, where that is counted.
    threads: BTreeMap<u32, u64>,
    llc: Option<Llc>,
    /// Whether plans of two clusters are refused.
    pub(super) refuses: bool,
    /// What the machine makes of a plan, where it does not do what it says.
    pub(super) makes: Option<fn(&Partition) -> Partition>,
}

impl Bench {
    pub(super) fn new(parameters: Parameters, llc: Llc) -> Self {
        let mut bench = Self { policy: Lfoc::new(parameters), ..Self::default() };
        bench.machine(llc);
        bench
    }

    /// Programs 0, 1, ... with the paper's parameters.
    pub(super) fn with(programs: &[Behaviour]) -> Self {
        let mut bench = Self::new(Parameters::default(), LLC);
        for (app, &does) in (0..).zip(programs) {
            bench.start(app, does);
        }
        bench
    }

    pub(super) fn machine(&mut self, llc: Llc) {
        self.llc = Some(llc);
        self.report(&Event::Machine(llc.into()));
    }

    pub(super) fn start(&mut self, app: u32, does: Behaviour) {
        self.programs.insert(app, does);
        let wish = Wish::default();
        self.report(&Event::Started { app: AppId(app), wish, profile: None });
    }

    /// The same, of which all is known.
    pub(super) fn start_known(&mut self, app: u32, does: Behaviour) {
        self.programs.insert(app, does);
        let ipc = Curve::from_fn(LLC.ways, |ways| Q32::ratio(does(ways).ipc, 1000));
        let llcmpkc = Curve::from_fn(LLC.ways, |ways| Q32::ratio(does(ways).llcmpkc, 1));
        let llcmpki =
            Curve::from_fn(LLC.ways, |ways| Q32::ratio(1000 * does(ways).llcmpkc, does(ways).ipc));
        let profile =
            Profile { ipc, llcmpki, llcmpkc, bandwidth_mbps: llcmpkc, stalls_l2_miss: llcmpkc };
        let (wish, profile) = (Wish::default(), Some(Arc::new(profile)));
        self.report(&Event::Started { app: AppId(app), wish, profile });
    }

    pub(super) fn becomes(&mut self, app: u32, does: Behaviour) {
        self.programs.insert(app, does);
    }

    pub(super) fn runs_threads(&mut self, app: u32, threads: u64) {
        self.threads.insert(app, threads);
    }

    pub(super) fn exit(&mut self, app: u32) {
        self.programs.remove(&app);
        self.classes.remove(&app);
        self.numbers.retain(|&(of, _), _| of != app);
        self.report(&Event::Exited { app: AppId(app) });
    }

    pub(super) fn report(&mut self, event: &Event) {
        let Self { policy, partition, plans, plan, reason, watched, alarm, llc, .. } = self;
        let Self { classes, numbers, .. } = self;
        let (mut refused, mut applied) = (Vec::new(), Vec::new());
        policy.handle(self.now, event, &mut |action| match action {
            Action::Partition { plan: id, partition: new, reason: why } => {
                let running = self.programs.keys().map(|&app| AppId(app));
                new.check(&llc.unwrap(), running).unwrap();
                if self.refuses && new.clusters().len() > 1 {
                    refused.push(id);
                } else {
                    *plans += 1;
                    (*plan, *reason) = (Some(id), static_text(why));
                    *partition = self.makes.map_or_else(|| (*new).clone(), |makes| makes(&new));
                    applied.push(id);
                }
            }
            Action::Watch { app, every: WindowLength::Instructions(count) } => {
                watched.insert(app.0, count);
            }
            Action::Wake { at } => *alarm = Some(at),
            Action::WatchTogether { .. }
            | Action::Allow { .. }
            | Action::Priority { .. }
            | Action::Quantum { .. } => panic!("LFOC schedules no threads"),
            Action::Watch { .. } => panic!("LFOC counts instructions (§5.2)"),
            Action::Classified { app, class, reason } => {
                let (class, reason) = (static_text(class), static_text(reason));
                let before = classes.insert(app.0, (class, reason));
                let void = numbers.keys().any(|&(of, _)| of == app.0);
                assert!(before != Some((class, reason)) || void, "announced twice");
                numbers.retain(|&(of, _), _| of != app.0);
            }
            Action::Estimated { thread, what, value, .. } => {
                let before = numbers.insert((thread.app.0, static_text(what)), value);
                assert_ne!(before, Some(value), "announced twice");
            }
        });
        let why = PartitionError::TooManyClusters { clusters: 2, clos: 1 };
        for plan in applied {
            let actual = self.partition.clone();
            self.report(&Event::Applied { plan, actual });
        }
        for plan in refused {
            self.report(&Event::Refused { plan, why });
        }
    }

    /// What a window of the program shows that ends now.
    pub(super) fn sample(&self, app: u32) -> Sample {
        let ways = self.ways(app);
        let does = self.programs[&app](ways);
        let instructions = self.watched[&app];
        let cycles = instructions * 1000 / does.ipc;
        let threads = self.threads.get(&app).copied();
        let micros = cycles / 2000 / threads.unwrap_or(1);
        let counters = Counters {
            instructions: Some(instructions),
            cycles: Some(cycles),
            llc_misses: Some(cycles * does.llcmpkc / 1000),
            stalls_l2_miss: Some(cycles * does.stalls / 1000),
            cpu_nanos: threads.map(|threads| threads * 1000 * micros),
            ..Counters::default()
        };
        let (window, occupancy) = (Duration::from_micros(micros), Some(Q32::from_int(ways)));
        Sample { occupancy, plan: self.plan, ..Sample::new(AppId(app), counters, window) }
    }

    /// A window of the program ends.
    pub(super) fn window(&mut self, app: u32) {
        let sample = self.sample(app);
        self.report(&Event::Sampled(sample));
    }

    pub(super) fn windows(&mut self, app: u32, count: u32) {
        (0..count).for_each(|_| self.window(app));
    }

    /// The same, and none of them leads to sampling mode.
    pub(super) fn quiet(&mut self, app: u32, count: u32) {
        for _ in 0..count {
            self.window(app);
            assert_eq!(self.sampled(), None);
        }
    }

    /// The alarm rings.
    pub(super) fn wake(&mut self) {
        self.now = self.alarm.take().expect("an alarm is set");
        self.report(&Event::Woke);
    }

    /// Windows of sampled programs end until no program is sampled.
    pub(super) fn sample_all(&mut self) {
        for _ in 0..1000 {
            let Some(AppId(app)) = self.policy.sampling() else { return };
            self.window(app);
        }
        panic!("sampling mode does not end");
    }

    /// All programs have warmed up and were sampled.
    pub(super) fn settled(programs: &[Behaviour]) -> Self {
        let mut bench = Self::with(programs);
        for app in (0..).take(programs.len()) {
            bench.windows(app, 3);
            bench.sample_all();
        }
        bench
    }

    pub(super) fn mask(&self, app: u32) -> WayMask {
        self.partition.mask_of(AppId(app)).unwrap()
    }

    pub(super) fn ways(&self, app: u32) -> u32 {
        self.mask(app).count()
    }

    pub(super) fn class(&self, app: u32) -> Option<Class> {
        self.policy.class(AppId(app))
    }

    pub(super) fn sampled(&self) -> Option<u32> {
        assert_eq!(self.policy.sampling().is_some(), self.reason == SAMPLING);
        self.policy.sampling().map(|app| app.0)
    }
}
