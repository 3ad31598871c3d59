//! `dcat`: never less than the ways that were paid for, and spare ways to whom they help (Xu,
//! Rajamani, Ferreira, Felter, Rubio and Li, EuroSys 2018).
//!
//! Every workload owns ways of its own. In rounds of a second ([`Parameters::period`]) dCat takes the
//! five steps of Figure 4:
//!
//! 1. **Get baseline**: IPC with the ways that the workload was promised, in this phase (`phase.rs`).
//! 2. **Collect statistics**: a window of each workload a round.
//! 3. **Detect phase change**: L1 references per instruction (`detector.rs`).
//! 4. **Categorize**: the states of Figure 6 (`categorize.rs`, `workload.rs`).
//! 5. **Allocate**: claims to a baseline first, then spare ways (`allocate.rs`; for the largest total
//!    performance `performance.rs`), in masks that move little (`../layout.rs`).
//!
//! What was promised is [`fairways_core::Wish::baseline_ways`]; those that were promised nothing are as
//! good as promised an even share of the rest (`admission.rs`).
//!
//! What the paper leaves open is settled in docs/decisions.md; what dCat guarantees, and when, is told in
//! docs/policies/dcat.md.

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
    Action, AppId, Counters, Event, PlanId, Policy, Q32, Sample, Time, WindowLength,
};

use crate::layout::{Layout, Wanted};
use crate::running::{Change, Running};
use crate::table::{Descriptor, Knows, Request, make};
use crate::telling::{Teller, raw, ways};
use crate::words;
use workload::Workload;

pub use parameters::{Objective, Parameters};
pub use workload::Class;

/// Why there is a plan at the end of a round.
const CHANGED: &str = "the programs have changed: baselines first, spare ways to whom they help";
const SHOWN: &str = "baselines first, spare ways to whom they help";
const UNMET: &str = "baselines first; more is claimed of them than there are ways, and some wait";

/// `dcat`, in the table of policies.
pub(crate) const POLICY: Descriptor = Descriptor {
    paper: "Xu, Rajamani, Ferreira, Felter, Rubio and Li, dCat, EuroSys 2018",
    knows: Knows::OtherWays,
    honours: &[Request::Baselines],
    ..Descriptor::new::<Parameters>(
        "dcat",
        "the ways that each was promised, and spare ones to whom they help",
        |given| make(Parameters::default(), Dcat::new, given),
    )
};

/// The `dcat` policy.
#[derive(Clone, Debug, Default)]
pub struct Dcat {
    parameters: Parameters,
    running: Running,
    /// Those that own ways.
    workloads: Vec<Workload>,
    /// Those that find no room, and share the least there is.
    others: Vec<AppId>,
    /// What is wrong with what was promised.
    warning: Option<&'static str>,
    /// When the round began; `None` while nobody owns ways.
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

    /// What a workload is held to be; `None` if it has no ways of its own.
    #[must_use]
    pub fn class(&self, app: AppId) -> Option<Class> {
        self.workloads.iter().find(|one| one.app == app).map(|one| one.class)
    }

    /// The IPC of a workload with so many ways over that with its baseline, in the phase that it is in
    /// (Table 1); `None` if one of them was not seen.
    #[must_use]
    pub fn normalised_ipc(&self, app: AppId, ways: u32) -> Option<Q32> {
        self.workloads.iter().find(|one| one.app == app)?.normalised(ways)
    }

    /// Programs or the machine have changed: who has a right to what is settled anew.
    fn follow(&mut self, at: Time, change: Change, act: &mut dyn FnMut(Action<'_>)) {
        if change == Change::Machine {
            // What was learnt is of another cache.
            self.workloads.clear();
        }
        let Some(llc) = self.running.llc() else { return };
        for one in &mut self.workloads {
            one.phases.retry();
        }
        self.warning = admission::admit(
            &llc,
            self.running.programs(),
            self.parameters.refuse_overcommitment,
            &mut self.workloads,
            &mut self.others,
        );
        let total = self.own_ways();
        allocate::claims(&mut self.workloads, total, &self.parameters);
        self.tell(act);
        self.plan(self.warning.unwrap_or(CHANGED), act);
        if self.began.is_none_or(|began| began == at) {
            self.begin(at, act);
        } else {
            self.decide_if_due(at, act);
        }
    }

    /// The ways of those that have some of their own.
    fn own_ways(&self) -> u32 {
        self.running.llc().map_or(0, |llc| {
            llc.ways.get() - if self.others.is_empty() { 0 } else { llc.min_ways() }
        })
    }

    fn sampled(&mut self, at: Time, sample: &Sample, act: &mut dyn FnMut(Action<'_>)) {
        let one = self.workloads.iter_mut().find(|one| one.app == sample.app);
        if let Some(one) = one.filter(|one| one.awaited) {
            one.awaited = false;
            one.since = Some(at);
            one.counted = Some((sample.counters, sample.window));
            self.decide_if_due(at, act);
        }
    }

    /// Decides once every window of the round has ended.
    fn decide_if_due(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        let due = self.began.is_some_and(|began| began < at);
        if due && !self.workloads.iter().any(|one| one.awaited) {
            self.decide(at, act);
        }
    }

    fn decide(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        for one in &mut self.workloads {
            one.measured = false;
            if let Some((counters, window)) = one.counted.take() {
                let idle = is_idle(&counters, window, self.parameters.idle_mhz);
                one.observe(&counters, idle, &self.parameters);
            }
            one.pay();
        }
        let total = self.own_ways();
        allocate::allocate(&mut self.workloads, total, &self.parameters);
        self.tell(act);
        if self.last.is_none() || self.workloads.iter().any(|one| one.ways != one.planned) {
            let kept = self.workloads.iter().all(|one| one.ways >= one.claim);
            self.plan(if kept { SHOWN } else { UNMET }, act);
        }
        self.begin(at, act);
    }

    /// Begins a round: a window of every workload, from now on. One whose window is late goes on with
    /// it.
    fn begin(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        let Parameters { period, .. } = self.parameters;
        self.began = (!self.workloads.is_empty()).then_some(at);
        for one in self.workloads.iter_mut().filter(|one| !one.awaited) {
            if one.since != Some(at) {
                act(Action::Watch { app: one.app, every: WindowLength::Time(period) });
                one.since = Some(at);
            }
            (one.awaited, one.steady) = (true, true);
        }
        if self.began.is_some() {
            act(Action::Wake { at: at.after(period.saturating_add(period / 2)) });
        }
    }

    fn plan(&mut self, reason: &'static str, act: &mut dyn FnMut(Action<'_>)) {
        let spare = allocate::spare(&self.workloads, self.own_ways());
        let Self { workloads, others, layout, .. } = self;
        for one in workloads.iter_mut() {
            if one.awaited && one.ways != one.planned {
                one.steady = false;
            }
            (one.before, one.planned) = (one.planned, one.ways);
        }
        self.last = self.running.plan(act, |llc, _, partition, _| {
            let each = workloads.iter().map(|one| Wanted {
                owner: Some(one.app),
                ways: one.ways,
                light: one.has_the_least(),
            });
            let mut wanted: Vec<Wanted> = each.collect();
            if !others.is_empty() {
                // What nobody owns now is theirs to use.
                let ways = llc.min_ways() + spare;
                wanted.push(Wanted { owner: None, ways, light: spare == 0 });
            }
            layout.arrange(llc.ways.get(), &wanted);
            for one in &wanted {
                let cluster = partition.add_cluster(layout.mask(one.owner));
                match one.owner {
                    Some(app) => partition.place(app, cluster),
                    None => others.iter().for_each(|&app| partition.place(app, cluster)),
                }
            }
            reason
        });
    }

    /// What the last plan has come to is told: workloads have these ways now.
    fn applied(&mut self, at: Time) {
        for one in &mut self.workloads {
            one.has(at, self.running.other_ways(one.app));
        }
    }

    /// The machine did not do what the last plan says: all is as it was before.
    fn refused(&mut self) {
        self.last = None;
        for one in &mut self.workloads {
            one.undo();
        }
    }

    /// Tells what each program is held to be, and by which numbers.
    fn tell(&mut self, act: &mut dyn FnMut(Action<'_>)) {
        let Self { parameters, running, workloads, others, .. } = self;
        let mut teller = running.teller(act);
        for one in workloads {
            one.tell(parameters.ipc_imp_thr, &mut teller);
        }
        for &app in others.iter() {
            teller.class(app, "crowded", admission::TOO_MANY);
        }
    }
}

impl Workload {
    /// IPC changes with every window: it is told where the class, the baseline or the ways are others.
    fn tell(&self, thr: Q32, teller: &mut Teller<'_>) {
        let app = self.app;
        let (baseline, own) = (ways(self.baseline), ways(self.ways));
        let news = teller.class(app, self.class.name(), self.why)
            || teller.told(app, words::BASELINE) != baseline
            || teller.told(app, words::WAYS) != own;
        let ipc = self.normalised(self.in_force()).and_then(raw);
        let ipc = if news { ipc } else { ipc.and(teller.told(app, words::NORMALIZED_IPC)) };
        let marked = matches!(self.class, Class::Receiver | Class::Keeper);
        let preferred = self.preferred(thr).filter(|_| marked).and_then(ways);
        let what = [words::BASELINE, words::WAYS, words::NORMALIZED_IPC, words::PREFERRED];
        teller.numbers(app, what, [baseline, own, ipc, preferred]);
    }
}

/// Whether a workload hardly ran.
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
        if let Some(change) = self.running.take_promises(event) {
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
