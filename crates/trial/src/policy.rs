//! A policy on trial: it decides for a while, and then its plan is switched on and off.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fairways_core::{
    Action, AppId, Event, Levers, Llc, Partition, PlanId, Policy, Time, WayMask, WindowLength,
};
use parking_lot::Mutex;

use super::found::{Arm, Found};

/// Windows per block.
const WINDOWS: u32 = 10;
/// Windows at the start of a block that do not count, because the cache fills again in them.
const SETTLING: u32 = 3;

/// How a trial goes.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    /// How long the policy decides before the first block.
    pub(crate) learn: Duration,
    /// How long a block is.
    pub(crate) block: Duration,
    /// What is in force in each block.
    pub(crate) order: Vec<Arm>,
}

/// A domain's policy on trial.
pub(crate) struct PolicyOnTrial {
    policy: Box<dyn Policy>,
    domain: u32,
    planned: Planned,
    found: Arc<Mutex<Found>>,
    state: State,
    llc: Option<Llc>,
    /// The programs that run.
    running: Vec<AppId>,
    /// When the policy wants to be woken.
    alarm: Option<Time>,
    /// When its time to decide ends.
    learnt: Option<Time>,
    /// The policy's plans for these programs, with how long each was in force.
    plans: Vec<(Partition, Duration)>,
    /// Since when the last plan is in force.
    since: Time,
    /// The number of the next plan.
    next: PlanId,
    /// The plan of the block.
    now: Option<PlanId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Learning,
    /// The number of blocks that are over, and when this one began.
    Block(usize, Time),
    Over,
}

impl PolicyOnTrial {
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
                extend_last(plans, at.since(*since));
                *since = at;
                *next = plan.next();
                let partition = &**partition;
                plans.retain(|(other, in_force)| other != partition || !in_force.is_zero());
                let known = plans.iter().position(|(other, _)| other == partition);
                // The one in force stands last.
                let in_force = known.map_or(Duration::ZERO, |known| plans.remove(known).1);
                plans.push((partition.clone(), in_force));
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

    /// The policy's decision: its plan that was in force for longest. Other plans may only have
    /// been for sampling programs.
    fn decided(&self) -> Option<&Partition> {
        let longest = self.plans.iter().max_by_key(|(_, in_force)| *in_force);
        longest.map(|(partition, _)| partition)
    }

    /// Begins a block, or ends the trial after the last one.
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
            // A program that started later may fill every way.
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

    /// Handles an event in a block.
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
            Event::Started { app, .. } | Event::Exited { app } => {
                self.found.lock().other(self.domain, *app);
                let arm = self.planned.order.get(number).copied().unwrap_or(Arm::Without);
                self.plan(arm, "a trial: a program started or exited", act);
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

/// Adds to the time that the last plan was in force.
fn extend_last(plans: &mut [(Partition, Duration)], more: Duration) {
    if let Some((_, in_force)) = plans.last_mut() {
        *in_force += more;
    }
}

impl Policy for PolicyOnTrial {
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
                // All programs may fill every way until the end.
                if matches!(event, Event::Started { .. } | Event::Exited { .. }) {
                    self.plan(Arm::Without, "the trial is over", act);
                }
            }
            State::Block(number, since) => self.block(number, since, at, event, act),
            State::Learning => {
                if matches!(event, Event::Started { .. } | Event::Exited { .. }) {
                    // Plans for other programs do not count.
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
                extend_last(&mut self.plans, at.since(self.since));
                let decided = self.decided();
                self.found.lock().decided(self.domain, decided);
                if decided.is_some() {
                    self.begin(0, at, act);
                } else {
                    self.end(Some("the policy made no plan during --learn"));
                }
            }
        }
    }
}
