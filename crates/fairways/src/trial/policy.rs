//! A policy on trial: it decides for a while, and then what it decided is switched on and off.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fairways_core::{
    Action, AppId, Event, Levers, Llc, Partition, PlanId, Policy, Time, WayMask, WindowLength,
};
use parking_lot::Mutex;

use super::found::{Arm, Found};

/// A window is so small a part of a block; the first ones of a block, in which the cache fills anew, tell nothing.
const WINDOWS: u32 = 10;
const SETTLING: u32 = 3;

/// How a trial goes.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    /// How long the policy decides by itself.
    pub(crate) learn: Duration,
    /// How long a block is.
    pub(crate) block: Duration,
    /// What is in force in each block.
    pub(crate) order: Vec<Arm>,
}

/// A domain's policy on trial.
pub(crate) struct Trial {
    policy: Box<dyn Policy>,
    domain: u32,
    planned: Planned,
    found: Arc<Mutex<Found>>,
    state: State,
    llc: Option<Llc>,
    /// Who runs, and since when nobody came or went.
    running: Vec<AppId>,
    /// When the policy wants to be woken, and when it is to have decided.
    alarm: Option<Time>,
    learnt: Option<Time>,
    /// The policy's plans since the programs are these, and for how long each was in force.
    plans: Vec<(Partition, Duration)>,
    since: Time,
    /// The number of the next plan.
    next: PlanId,
    /// The plan of the block.
    now: Option<PlanId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Learning,
    /// Of so many that are over, since when.
    Block(usize, Time),
    Over,
}

impl Trial {
    pub(crate) fn new(
        policy: Box<dyn Policy>,
        domain: u32,
        planned: Planned,
        found: Arc<Mutex<Found>>,
    ) -> Self {
        found.lock().begins(domain);
        Self {
            policy,
            domain,
            planned,
            found,
            state: State::Learning,
            llc: None,
            running: Vec::new(),
            alarm: None,
            learnt: None,
            plans: Vec::new(),
            since: Time::ZERO,
            next: PlanId::default(),
            now: None,
        }
    }

    /// Lets the policy decide.
    fn learn(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        let Self { policy, plans, since, next, alarm, learnt, .. } = self;
        let end = *learnt.get_or_insert(at.after(self.planned.learn));
        policy.handle(at, event, &mut |action| match action {
            Action::Partition { plan, ref partition, .. } => {
                held(plans, at.since(*since));
                *since = at;
                *next = plan.next();
                let partition = &**partition;
                plans.retain(|(other, held)| other != partition || !held.is_zero());
                let known = plans.iter().position(|(other, _)| other == partition);
                // The one in force stands last.
                let held = known.map_or(Duration::ZERO, |known| plans.remove(known).1);
                plans.push((partition.clone(), held));
                act(action);
            }
            Action::Wake { at } => {
                *alarm = Some(at);
                act(Action::Wake { at: at.min(end) });
            }
            action => act(action),
        });
        if self.alarm.is_none() {
            act(Action::Wake { at: end });
        }
    }

    /// What the policy decided: of its plans the one that was in force for longest, as it also makes some to find out about programs.
    fn decided(&self) -> Option<&Partition> {
        let longest = self.plans.iter().max_by_key(|(_, held)| *held);
        longest.map(|(partition, _)| partition)
    }

    /// Begins a block, or ends the trial behind the last.
    fn begin(&mut self, number: usize, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        let Some(&arm) = self.planned.order.get(number) else {
            self.end(None);
            self.plan(Arm::Without, "the trial is over", act);
            return;
        };
        self.state = State::Block(number, at);
        self.found.lock().block(self.domain, arm);
        let reason = match arm {
            Arm::With => "a trial: with partitioning",
            Arm::Without => "a trial: without partitioning",
        };
        self.plan(arm, reason, act);
        for &app in &self.running {
            act(Action::Watch { app, every: WindowLength::Time(self.planned.block / WINDOWS) });
        }
        act(Action::Wake { at: at.after(self.planned.block) });
    }

    fn plan(&mut self, arm: Arm, reason: &'static str, act: &mut dyn FnMut(Action<'_>)) {
        let Some(llc) = self.llc else { return };
        let decided = self.decided().cloned().unwrap_or_default();
        let mut partition = Partition::default();
        let mut clusters: BTreeMap<WayMask, u32> = BTreeMap::new();
        for &app in &self.running {
            let mask = match arm {
                Arm::With => decided.mask_of(app),
                Arm::Without => None,
            };
            // Who came later may fill every way.
            let mask = mask.unwrap_or(WayMask::full(llc.ways));
            let cluster = *clusters.entry(mask).or_insert_with(|| partition.add_cluster(mask));
            partition.place(app, cluster);
        }
        let plan = self.next;
        self.next = plan.next();
        self.now = Some(plan);
        act(Action::Partition { plan, partition: (&partition).into(), reason: reason.into() });
    }

    fn end(&mut self, why: Option<&'static str>) {
        self.state = State::Over;
        self.found.lock().ends(self.domain, why);
    }

    /// What happens in a block.
    fn block(
        &mut self,
        number: usize,
        since: Time,
        at: Time,
        event: &Event,
        act: &mut dyn FnMut(Action<'_>),
    ) {
        let settled = since.after(self.planned.block * SETTLING / WINDOWS);
        match event {
            Event::Woke => self.begin(number + 1, at, act),
            Event::Machine(_) => self.end(Some("the cache changed")),
            Event::Refused { plan, .. } if Some(*plan) == self.now => {
                self.end(Some("a plan could not be carried out"));
            }
            Event::Started { .. } | Event::Exited { .. } => {
                self.found.lock().others(self.domain);
                let arm = self.planned.order.get(number).copied().unwrap_or(Arm::Without);
                self.plan(arm, "a trial: another program came or went", act);
            }
            Event::Sampled(sample) => {
                let is_whole = !sample.straddled && sample.plan == self.now;
                if is_whole && at.since(settled) >= sample.window {
                    self.found.lock().sampled(self.domain, sample);
                }
            }
            Event::Latency(latencies) if at.since(settled) >= latencies.window => {
                self.found.lock().answered(self.domain, latencies);
            }
            _ => {}
        }
    }
}

/// The last plan was in force for so much longer.
fn held(plans: &mut [(Partition, Duration)], more: Duration) {
    if let Some((_, held)) = plans.last_mut() {
        *held += more;
    }
}

impl Policy for Trial {
    fn name(&self) -> &'static str {
        self.policy.name()
    }

    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        match event {
            Event::Machine(Levers { llc, .. }) => self.llc = Some(*llc),
            Event::Started { app, wish, .. } => {
                self.running.push(*app);
                self.found.lock().objective(self.domain, *app, wish.objective);
            }
            Event::Exited { app } => self.running.retain(|other| other != app),
            _ => {}
        }
        match self.state {
            State::Over => {
                // Everybody is to have every way until the end.
                if matches!(event, Event::Started { .. } | Event::Exited { .. }) {
                    self.plan(Arm::Without, "the trial is over", act);
                }
            }
            State::Block(number, since) => self.block(number, since, at, event, act),
            State::Learning => {
                if matches!(event, Event::Started { .. } | Event::Exited { .. }) {
                    // What was decided for others says nothing.
                    self.plans.clear();
                }
                let is_over = self.learnt.is_some_and(|end| end <= at);
                if !(is_over && matches!(event, Event::Woke)) {
                    let is_its = self.alarm.take_if(|alarm| *alarm <= at).is_some();
                    if is_its || !matches!(event, Event::Woke) {
                        self.learn(at, event, act);
                    }
                    return;
                }
                held(&mut self.plans, at.since(self.since));
                let decided = self.decided();
                self.found.lock().decided(self.domain, decided);
                if decided.is_some() {
                    self.begin(0, at, act);
                } else {
                    self.end(Some(
                        "the policy has decided nothing in the time that it had to learn",
                    ));
                }
            }
        }
    }
}
