//! A machine on which programs perform by a table over their ways.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::time::Duration;

use fairways_core::{
    Action, AppId, Counters, Event, Llc, Partition, PartitionError, PlanId, Policy, Q32, Sample,
    Time, Ways, WindowLength, Wish,
};

use super::programs::{Does, Table};
use crate::announce::static_text;
use crate::dcat::{Dcat, Parameters, WorkloadClass};

/// The value of a table with `ways` ways.
fn at(table: Table, ways: usize) -> u64 {
    table[ways.min(table.len()) - 1]
}

const SECOND: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Bench {
    pub(super) policy: Dcat,
    now: Time,
    llc: Option<Llc>,
    programs: BTreeMap<u32, Does>,
    pub(super) partition: Partition,
    /// Plans that were made, and those of them that were carried out.
    pub(super) plans: u32,
    pub(super) done: u32,
    plan: Option<PlanId>,
    pub(super) reason: &'static str,
    /// When the window of a program ends, and how long it is.
    watched: BTreeMap<u32, (Time, Duration)>,
    alarm: Option<Time>,
    pub(super) classes: BTreeMap<u32, (&'static str, &'static str)>,
    /// The numbers of each program's class.
    pub(super) numbers: BTreeMap<(u32, &'static str), Q32>,
    /// Programs whose windows do not arrive.
    pub(super) lost: BTreeSet<u32>,
    pub(super) refuses: bool,
    /// What the machine makes of a plan, where it does not do what it says.
    pub(super) makes: Option<fn(&Partition) -> Partition>,
}

impl Bench {
    pub(super) fn new(ways: u32, parameters: Parameters) -> Self {
        Self::on(Llc::with_ways(Ways::new(ways).unwrap()), parameters)
    }

    pub(super) fn on(llc: Llc, parameters: Parameters) -> Self {
        let mut bench = Self { policy: Dcat::new(parameters), llc: Some(llc), ..Self::default() };
        bench.report(&Event::Machine(llc.into()));
        bench
    }

    /// It becomes a machine with `ways` ways.
    pub(super) fn machine(&mut self, ways: u32) {
        let llc = Llc::with_ways(Ways::new(ways).unwrap());
        self.llc = Some(llc);
        self.report(&Event::Machine(llc.into()));
    }

    /// Programs 0, 1, ... with these promised ways.
    pub(super) fn with(ways: u32, programs: &[(u32, Does)]) -> Self {
        let mut bench = Self::new(ways, Parameters::default());
        for (app, &(baseline, does)) in (0..).zip(programs) {
            bench.start(app, baseline, does);
        }
        bench
    }

    pub(super) fn start(&mut self, app: u32, baseline_ways: impl Into<Option<u32>>, does: Does) {
        self.programs.insert(app, does);
        let wish = Wish { baseline_ways: baseline_ways.into(), ..Wish::default() };
        self.report(&Event::Started { app: AppId(app), wish, profile: None });
    }

    pub(super) fn becomes(&mut self, app: u32, does: Does) {
        self.programs.insert(app, does);
    }

    pub(super) fn exit(&mut self, app: u32) {
        self.programs.remove(&app);
        self.watched.remove(&app);
        self.classes.remove(&app);
        self.report(&Event::Exited { app: AppId(app) });
    }

    fn report(&mut self, event: &Event) {
        let (mut refused, mut applied) = (Vec::new(), Vec::new());
        let llc = self.llc.unwrap();
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
                self.plans += 1;
                if self.refuses {
                    return refused.push(plan);
                }
                self.done += 1;
                (self.plan, self.reason) = (Some(plan), static_text(reason));
                self.partition =
                    self.makes.map_or_else(|| (*partition).clone(), |makes| makes(&partition));
                applied.push(plan);
            }
            Action::Watch { app, every: WindowLength::Time(window) } => {
                self.watched.insert(app.0, (self.now.after(window), window));
            }
            Action::Watch { .. } => panic!("rounds are of time (§4)"),
            Action::WatchTogether { .. }
            | Action::Allow { .. }
            | Action::Priority { .. }
            | Action::Quantum { .. } => panic!("dCat schedules no threads"),
            Action::Estimated { thread, what, value, .. } => {
                let before = self.numbers.insert((thread.app.0, static_text(what)), value);
                assert_ne!(before, Some(value), "announced twice");
            }
            Action::Wake { at } => self.alarm = Some(at),
            Action::Classified { app, class, reason } => {
                let (class, reason) = (static_text(class), static_text(reason));
                let before = self.classes.insert(app.0, (class, reason));
                let void = self.numbers.keys().any(|&(of, _)| of == app.0);
                assert!(before != Some((class, reason)) || void, "announced twice");
                self.numbers.retain(|&(of, _), _| of != app.0);
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

    fn sample(&self, app: u32, window: Duration) -> Sample {
        let does = self.programs[&app];
        let ways = self.ways(app) as usize;

        let mhz = if does.idle { 1 } else { 2000 };
        let cycles = u64::try_from(window.as_micros()).unwrap() * mhz;
        let instructions = cycles * at(does.ipc, ways) / 1000;
        let references = instructions * does.llc / 1000;
        let counters = (does.shows)(Counters {
            instructions: Some(instructions),
            cycles: Some(cycles),
            l1_references: Some(instructions * does.l1 / 1000),
            llc_references: Some(references),
            llc_misses: Some(references * at(does.misses, ways) / 1000),
            ..Counters::default()
        });
        let plan = self.plan;
        Sample { plan, ..Sample::new(AppId(app), counters, window) }
    }

    /// Whether IPC with this number of ways is known relative to the baseline.
    pub(super) fn knows(&self, app: u32, ways: u32) -> bool {
        self.policy.normalised_ipc(AppId(app), ways).is_some()
    }

    /// A second passes. Windows that end at the same time are measured before any decision, and
    /// reported before the alarm.
    pub(super) fn round(&mut self) {
        let end = self.now.after(SECOND);
        loop {
            let ends = self.watched.values().map(|&(at, _)| at);
            let next = ends.chain(self.alarm).min().filter(|&at| at <= end);
            let Some(next) = next else { break };
            self.now = next;
            let mut samples = Vec::new();
            for (&app, &(at, window)) in &self.watched {
                if at <= next {
                    samples.push((self.sample(app, window), next.after(window)));
                }
            }
            for (sample, next) in samples {
                self.watched.get_mut(&sample.app.0).unwrap().0 = next;
                if !self.lost.contains(&sample.app.0) {
                    self.report(&Event::Sampled(sample));
                }
            }
            if self.alarm.is_some_and(|at| at <= next) {
                self.alarm = None;
                self.report(&Event::Woke);
            }
        }
        self.now = end;
        let class = |app: u32| self.policy.class(AppId(app)).map(WorkloadClass::name);
        self.classes.retain(|&app, _| class(app).is_some());
        // The next decision announces what a refusal undid.
        let all = |(&app, announced): (&u32, &(&str, &str))| class(app) == Some(announced.0);
        assert!(self.refuses || self.classes.iter().all(all));
    }

    pub(super) fn rounds(&mut self, count: u32) {
        (0..count).for_each(|_| self.round());
    }

    /// A program's class and ways after each of these rounds.
    pub(super) fn trace(&mut self, app: u32, rounds: usize) -> Vec<(WorkloadClass, u32)> {
        let mut trace = Vec::new();
        trace.resize_with(rounds, || {
            self.round();
            self.is(app)
        });
        trace
    }

    pub(super) fn is(&self, app: u32) -> (WorkloadClass, u32) {
        (self.policy.class(AppId(app)).unwrap(), self.ways(app))
    }

    /// All of them, before a plan with it was carried out.
    pub(super) fn ways(&self, app: u32) -> u32 {
        let mask = self.partition.mask_of(AppId(app));
        mask.map_or(self.llc.unwrap().ways.get(), |mask| mask.count())
    }
}
