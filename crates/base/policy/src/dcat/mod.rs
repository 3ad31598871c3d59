//! `dcat`: no program performs worse than with its promised ways, and spare ways go to the programs
//! that gain from them (Xu, Rajamani, Ferreira, Felter, Rubio and Li, EuroSys 2018).
//!
//! In a cloud, tenants share a last-level cache without knowing it. A static partition protects
//! each tenant, but wastes the ways of those that do not need theirs. dCat promises each workload a
//! *baseline*: the performance with the ways that it paid for, and not the ways themselves. A
//! workload that performs as well with fewer ways lends the others out; it gets them back at once
//! when it needs them.
//!
//! Every workload has ways of its own. In rounds of a second ([`Parameters::period`]) dCat takes
//! the five steps of Figure 4:
//!
//! 1. **Get baseline**: IPC with the promised ways, in this phase (`phase.rs`).
//! 2. **Collect statistics**: one window of each workload in a round.
//! 3. **Detect phase change**: L1 references per instruction, which do not depend on the ways
//!    (`detector.rs`).
//! 4. **Categorize**: the states of Figure 6 (`categorize.rs`, `workload.rs`). A *Donor* needs
//!    fewer ways than it has. An *Unknown* misses, and gets ways one by one to see if they help: it
//!    becomes a *Receiver* if they do, and *Streaming* if not. A *Keeper* has what it needs.
//!    *Reclaim* takes a workload back to its baseline.
//! 5. **Allocate**: baselines that are claimed first, then spare ways (`allocate.rs`; for the
//!    largest total performance `performance.rs`), in masks that move little (`../layout.rs`).
//!
//! The promised ways are [`fairways_core::Wish::baseline_ways`]; programs without a promise have an
//! even share of the rest as their baseline (`admission.rs`).
//!
//! docs/decisions.md settles what the paper leaves open; docs/policies/dcat.md describes what dCat
//! guarantees, and when.

mod admission;
mod allocate;
mod categorize;
mod detector;
mod parameters;
mod performance;
mod phase;
mod workload;

#[cfg(test)]
mod tests;

use alloc::vec::Vec;
use core::time::Duration;

use fairways_core::{
    Action, AppId, Counter, Counters, Event, PlanId, Policy, Q32, Sample, Time, WindowLength,
};

use crate::announce::{Announcer, raw, raw_ways};
use crate::layout::{Layout, WantedSpan};
use crate::running::{Change, RunningPrograms};
use crate::table::{Descriptor, KnowledgeSource, OwnerRequest, PolicyNeed, make};
use crate::words;
use workload::Workload;

pub use parameters::{Parameters, SpareWaysGoal};
pub use workload::WorkloadClass;

/// The reasons of plans.
const CHANGED: &str =
    "the programs have changed: baselines first, spare ways to programs that gain from them";
const SHOWN: &str = "baselines first, spare ways to programs that gain from them";
const UNMET: &str = "baselines first; more ways are claimed than exist, and some programs wait";

/// `dcat`, in the table of policies.
pub(crate) const POLICY: Descriptor = Descriptor {
    paper: "Xu, Rajamani, Ferreira, Felter, Rubio and Li, dCat, EuroSys 2018",
    knows: KnowledgeSource::OtherWays,
    honours: &[OwnerRequest::Baselines],
    counters: &[
        Counter::Instructions,
        Counter::Cycles,
        Counter::L1References,
        Counter::LlcReferences,
        Counter::LlcMisses,
    ],
    needs: &[
        PolicyNeed::Counter(Counter::Instructions),
        PolicyNeed::Counter(Counter::Cycles),
        PolicyNeed::Counter(Counter::LlcReferences),
        PolicyNeed::Counter(Counter::LlcMisses),
    ],
    ..Descriptor::new::<Parameters>(
        "dcat",
        "each program's promised ways, and spare ways to those that gain from them",
        &|settings| make(Parameters::default(), Dcat::new, settings),
    )
};

/// The `dcat` policy.
#[derive(Clone, Debug, Default)]
pub struct Dcat {
    parameters: Parameters,
    running: RunningPrograms,
    /// The programs that have ways of their own.
    workloads: Vec<Workload>,
    /// The programs that find no room, and share the least cluster.
    others: Vec<AppId>,
    /// Why promises can't be kept, if they can't.
    warning: Option<&'static str>,
    /// When the round began; `None` while no program has ways of its own.
    began: Option<Time>,
    layout: Layout,
    /// The last plan, unless it was refused.
    last: Option<PlanId>,
}

impl Dcat {
    /// The policy with these parameters; [`Parameters::default`] is what was published.
    #[must_use]
    pub fn new(parameters: Parameters) -> Self {
        Self { parameters, ..Self::default() }
    }

    /// The class of a workload; `None` if it has no ways of its own.
    #[must_use]
    pub fn class(&self, app: AppId) -> Option<WorkloadClass> {
        self.workloads.iter().find(|workload| workload.app == app).map(|workload| workload.class)
    }

    /// The IPC of a workload with `ways` ways over that with its baseline, in its current phase
    /// (Table 1); `None` if one of them was not seen.
    #[must_use]
    pub fn normalised_ipc(&self, app: AppId, ways: u32) -> Option<Q32> {
        self.workloads.iter().find(|workload| workload.app == app)?.normalised(ways)
    }

    /// Handles a change of the programs or of the machine: settles again which programs have ways
    /// of their own, and their baselines.
    fn follow(&mut self, at: Time, change: Change, act: &mut dyn FnMut(Action<'_>)) {
        if change == Change::Machine {
            // What was learnt is about another cache.
            self.workloads.clear();
        }
        let Some(llc) = self.running.llc() else { return };
        for workload in &mut self.workloads {
            workload.phases.retry();
        }
        self.warning = admission::admit(
            &llc,
            self.running.programs(),
            self.parameters.refuse_overcommitment,
            &mut self.workloads,
            &mut self.others,
        );
        let total = self.own_ways();
        allocate::meet_claims(&mut self.workloads, total, &self.parameters);
        self.announce(act);
        self.plan(self.warning.unwrap_or(CHANGED), act);
        if self.began.is_none_or(|began| began == at) {
            self.begin(at, act);
        } else {
            self.decide_if_due(at, act);
        }
    }

    /// The ways for the programs that have ways of their own.
    fn own_ways(&self) -> u32 {
        self.running.llc().map_or(0, |llc| {
            llc.ways.get() - if self.others.is_empty() { 0 } else { llc.min_ways() }
        })
    }

    fn sampled(&mut self, at: Time, sample: &Sample, act: &mut dyn FnMut(Action<'_>)) {
        let workload = self.workloads.iter_mut().find(|workload| workload.app == sample.app);
        if let Some(workload) = workload.filter(|workload| workload.is_awaited) {
            workload.is_awaited = false;
            workload.since = Some(at);
            workload.window = Some((sample.counters, sample.window));
            self.decide_if_due(at, act);
        }
    }

    /// Decides once every window of the round has ended.
    fn decide_if_due(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        let due = self.began.is_some_and(|began| began < at);
        if due && !self.workloads.iter().any(|workload| workload.is_awaited) {
            self.decide(at, act);
        }
    }

    fn decide(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        for workload in &mut self.workloads {
            workload.is_measured = false;
            if let Some((counters, window)) = workload.window.take() {
                let idle = is_idle(&counters, window, self.parameters.idle_mhz);
                workload.observe(&counters, idle, &self.parameters);
            }
            workload.pay();
        }
        let total = self.own_ways();
        allocate::allocate(&mut self.workloads, total, &self.parameters);
        self.announce(act);
        if self.last.is_none()
            || self.workloads.iter().any(|workload| workload.ways != workload.planned)
        {
            let kept = self.workloads.iter().all(|workload| workload.ways >= workload.claim);
            self.plan(if kept { SHOWN } else { UNMET }, act);
        }
        self.begin(at, act);
    }

    /// Begins a round, with a window of every workload from now on. A window that is late goes on.
    fn begin(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        let Parameters { period, .. } = self.parameters;
        self.began = (!self.workloads.is_empty()).then_some(at);
        for workload in self.workloads.iter_mut().filter(|workload| !workload.is_awaited) {
            if workload.since != Some(at) {
                act(Action::Watch { app: workload.app, every: WindowLength::Time(period) });
                workload.since = Some(at);
            }
            (workload.is_awaited, workload.is_steady) = (true, true);
        }
        if self.began.is_some() {
            act(Action::Wake { at: at.after(period.saturating_add(period / 2)) });
        }
    }

    fn plan(&mut self, reason: &'static str, act: &mut dyn FnMut(Action<'_>)) {
        let spare = allocate::spare(&self.workloads, self.own_ways());
        let Self { workloads, others, layout, .. } = self;
        for workload in workloads.iter_mut() {
            if workload.is_awaited && workload.ways != workload.planned {
                workload.is_steady = false;
            }
            (workload.before, workload.planned) = (workload.planned, workload.ways);
        }
        self.last = self.running.plan(act, |llc, _, partition, _| {
            let each = workloads.iter().map(|workload| WantedSpan {
                occupant: Some(workload.app),
                ways: workload.ways,
                is_light: workload.has_the_least(),
            });
            let mut wanted: Vec<WantedSpan> = each.collect();
            if !others.is_empty() {
                // They may use the spare ways.
                let ways = llc.min_ways() + spare;
                wanted.push(WantedSpan { occupant: None, ways, is_light: spare == 0 });
            }
            layout.arrange(llc.ways.get(), &wanted);
            for workload in &wanted {
                let cluster = partition.add_cluster(layout.mask(workload.occupant));
                match workload.occupant {
                    Some(app) => partition.place(app, cluster),
                    None => others.iter().for_each(|&app| partition.place(app, cluster)),
                }
            }
            reason
        });
    }

    /// Handles the report of what the machine made of the last plan: the workloads have these ways
    /// now.
    fn applied(&mut self, at: Time) {
        for workload in &mut self.workloads {
            workload.set_actual(at, self.running.deviating_ways(workload.app));
        }
    }

    /// Handles a refusal: the machine did not carry out the last plan, and all is as it was before.
    fn refused(&mut self) {
        self.last = None;
        for workload in &mut self.workloads {
            workload.undo();
        }
    }

    /// Announces the class of each program, and its numbers.
    fn announce(&mut self, act: &mut dyn FnMut(Action<'_>)) {
        let Self { parameters, running, workloads, others, .. } = self;
        let mut announcer = running.announcer(act);
        for workload in workloads {
            workload.announce(parameters.ipc_imp_thr, &mut announcer);
        }
        for &app in others.iter() {
            announcer.announce_class(app, "crowded", admission::TOO_MANY);
        }
    }
}

impl Workload {
    /// Announces the class and the numbers. IPC changes with every window, so it is announced only
    /// when the class, the baseline or the ways change.
    fn announce(&self, thr: Q32, announcer: &mut Announcer<'_>) {
        let app = self.app;
        let (baseline, own) = (raw_ways(self.baseline), raw_ways(self.ways));
        let is_news = announcer.announce_class(app, self.class.name(), self.reason)
            || announcer.last_number(app, words::BASELINE) != baseline
            || announcer.last_number(app, words::WAYS) != own;
        let ipc = self.normalised(self.ways_in_force()).and_then(raw);
        let ipc =
            if is_news { ipc } else { ipc.and(announcer.last_number(app, words::NORMALIZED_IPC)) };
        let has_preference = matches!(self.class, WorkloadClass::Receiver | WorkloadClass::Keeper);
        let preferred = self.preferred(thr).filter(|_| has_preference).and_then(raw_ways);
        let what = [words::BASELINE, words::WAYS, words::NORMALIZED_IPC, words::PREFERRED];
        announcer.announce_numbers(app, what, [baseline, own, ipc, preferred]);
    }
}

/// Whether a workload hardly ran in a window.
fn is_idle(counters: &Counters, window: Duration, idle_mhz: u32) -> bool {
    let least = window.as_micros().saturating_mul(u128::from(idle_mhz));
    counters.instructions == Some(0)
        || counters.cycles.is_some_and(|cycles| u128::from(cycles) < least)
}

impl Policy for Dcat {
    fn name(&self) -> &'static str {
        "dcat"
    }

    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        if let Some(change) = self.running.update_promises(event) {
            self.follow(at, change, act);
        }
        match event {
            Event::Sampled(sample) => self.sampled(at, sample, act),
            Event::Woke if self.began.is_some_and(|began| began < at) => self.decide(at, act),
            Event::Applied { plan, .. } if self.last == Some(*plan) => self.applied(at),
            Event::Refused { plan, .. } if self.last == Some(*plan) => self.refused(),
            _ => {}
        }
    }
}
