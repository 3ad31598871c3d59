//! Policies on trial: each decides for a while, and then their plans are switched on and off.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use fairways_core::{
    Action, AppId, Event, Levers, Partition, PlanId, Policy, Profile, Resources, Time, WayMask,
    WindowLength, Wish,
};
use parking_lot::Mutex;

use super::found::{Arm, Doing, Found};
use super::learner::{CandidatePolicy, LearningPolicy};
use super::plan::limits;

/// Windows per block.
const WINDOWS: u32 = 10;
/// Windows at the start of a block that do not count, because the cache fills again in them.
const SETTLING: u32 = 3;

/// How a trial goes.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    /// How long each policy decides before the first block.
    pub(crate) learn: Duration,
    /// How long a block is.
    pub(crate) block: Duration,
    /// What is in force in each block, by its round. A round has a block for each policy, and one
    /// without partitioning.
    pub(crate) order: Vec<(usize, Arm)>,
}

/// A program that runs.
struct StartedProgram {
    app: AppId,
    wish: Wish,
    profile: Option<Arc<Profile>>,
}

/// A domain's policies on trial.
pub(crate) struct PolicyOnTrial {
    name: &'static str,
    /// Those that have not begun to learn.
    waiting: VecDeque<CandidatePolicy>,
    learner: Option<LearningPolicy>,
    /// By policy: its plan, if it limits any program.
    plans: Vec<Option<Partition>>,
    domain: u32,
    planned: Planned,
    found: Arc<Mutex<Found>>,
    state: State,
    levers: Option<Levers>,
    running: Vec<StartedProgram>,
    /// The number of the next plan.
    next: PlanId,
    /// The plan of the block.
    now: Option<PlanId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Learning,
    /// Its place in the order, and when it began.
    Block(usize, Time),
    Over,
}

impl PolicyOnTrial {
    pub(crate) fn new(
        candidates: VecDeque<CandidatePolicy>,
        domain: u32,
        planned: Planned,
        found: Arc<Mutex<Found>>,
    ) -> Self {
        found.lock().begins(domain, candidates.len());
        Self {
            name: candidates.front().map_or("trial", |first| first.policy.name()),
            waiting: candidates,
            learner: None,
            plans: Vec::new(),
            domain,
            planned,
            found,
            state: State::Learning,
            levers: None,
            running: Vec::new(),
            next: PlanId::default(),
            now: None,
        }
    }

    /// Lets a policy decide, or the next one begin.
    fn learn(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        let Some(learner) = &mut self.learner else { return self.begin_learning(at, act) };
        if !matches!(event, Event::Woke) || at < learner.end {
            learner.handle(at, event, act);
            if matches!(event, Event::Applied { .. } | Event::Refused { .. }) {
                let attempt = learner.attempt(self.levers, false);
                self.found.lock().decided(self.domain, self.plans.len(), attempt);
            }
            return;
        }
        self.next = learner.next;
        let attempt = learner.attempt(self.levers, true);
        let plan = Some(attempt.plan.clone());
        let levers = self.levers;
        let plan = plan.filter(|plan| levers.is_some_and(|levers| limits(plan, &levers)));
        self.found.lock().decided(self.domain, self.plans.len(), attempt);
        self.plans.push(plan);
        self.learner = None;
        if !self.waiting.is_empty() {
            self.plan(Arm::Without, "a trial: the next policy begins", act);
            self.begin_learning(at, act);
        } else if self.plans.iter().any(Option::is_some) {
            self.begin(0, at, act);
        } else {
            self.end(None);
            self.plan(Arm::Without, "the trial is over", act);
        }
    }

    /// Reports the machine and the programs that run to the next policy.
    fn begin_learning(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        let Some(candidate) = self.waiting.pop_front() else { return };
        let Planned { learn, block, order } = &self.planned;
        let mut learner = LearningPolicy::new(candidate, self.next, at.after(*learn));
        let still = u32::try_from(self.waiting.len() + 1).unwrap_or(u32::MAX);
        let blocks = u32::try_from(order.len()).unwrap_or(u32::MAX);
        let left = learn.saturating_mul(still).saturating_add(block.saturating_mul(blocks));
        self.found.lock().does(self.domain, Doing::Learning(self.plans.len()), at.after(left));
        let machine = self.levers.map(Event::Machine);
        let started = self.running.iter().map(|StartedProgram { app, wish, profile }| {
            Event::Started { app: *app, wish: *wish, profile: profile.clone() }
        });
        for event in machine.into_iter().chain(started) {
            learner.handle(at, &event, act);
        }
        self.learner = Some(learner);
    }

    /// Whether a block would have a plan to try, or to compare with.
    fn is_tried(&self, arm: Arm) -> bool {
        match arm {
            Arm::With(policy) => self.plans[policy].is_some(),
            Arm::Without => true,
        }
    }

    /// Begins the block at this place or the next one with a plan to try, or ends the trial.
    fn begin(&mut self, place: usize, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        let order = &self.planned.order;
        let places = (0..order.len()).filter(|place| self.is_tried(order[*place].1));
        let places: Vec<usize> = places.collect();
        let done = places.iter().filter(|own| **own < place).count();
        let Some(&place) = places.get(done) else {
            self.end(None);
            self.plan(Arm::Without, "the trial is over", act);
            return;
        };
        let (all, left) = (places.len(), places.len() - done);
        let (round, arm) = order[place];
        self.state = State::Block(place, at);
        {
            let mut found = self.found.lock();
            let left_blocks = u32::try_from(left).unwrap_or(u32::MAX);
            let end = at.after(self.planned.block.saturating_mul(left_blocks));
            found.does(self.domain, Doing::Block { number: done + 1, of: all, arm }, end);
            found.block(self.domain, round, arm);
        }
        let reason = match arm {
            Arm::With(_) => "a trial: with partitioning",
            Arm::Without => "a trial: without partitioning",
        };
        self.plan(arm, reason, act);
        for program in &self.running {
            let every = WindowLength::Time(self.planned.block / WINDOWS);
            act(Action::Watch { app: program.app, every });
        }
        act(Action::Wake { at: at.after(self.planned.block) });
    }

    fn plan(&mut self, arm: Arm, reason: &'static str, act: &mut dyn FnMut(Action<'_>)) {
        let Some(Levers { llc, .. }) = self.levers else { return };
        let decided = match arm {
            Arm::With(policy) => self.plans[policy].as_ref(),
            Arm::Without => None,
        };
        // A program that started later may fill every way.
        let all = Resources { mask: WayMask::full(llc.ways), bandwidth: None };
        let mut partition = Partition::default();
        for &StartedProgram { app, .. } in &self.running {
            let own = decided.and_then(|plan| plan.resources_of(app)).unwrap_or(all);
            let cluster = partition.clusters().iter().position(|of| *of == own);
            let cluster = cluster.and_then(|cluster| u32::try_from(cluster).ok());
            let cluster = cluster.unwrap_or_else(|| partition.add(own));
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
        place: usize,
        since: Time,
        at: Time,
        event: &Event,
        act: &mut dyn FnMut(Action<'_>),
    ) {
        let settled = since.after(self.planned.block * SETTLING / WINDOWS);
        let (_, arm) = self.planned.order[place];
        match event {
            Event::Woke => self.begin(place + 1, at, act),
            Event::Machine(_) => self.end(Some("the cache changed")),
            Event::Refused { plan, .. } if Some(*plan) == self.now => {
                self.end(Some("a plan could not be carried out"));
            }
            Event::Applied { plan, actual } if Some(*plan) == self.now => {
                if let Arm::With(policy) = arm {
                    self.found.lock().in_force(self.domain, policy, actual);
                }
            }
            Event::Started { app, .. } | Event::Exited { app } => {
                self.found.lock().other(self.domain, *app);
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

    /// Keeps what policies that learn later have to know.
    fn follow(&mut self, event: &Event) {
        match event {
            Event::Machine(levers) => self.levers = Some(*levers),
            Event::Started { app, wish, profile } => {
                let (wish, profile) = (*wish, profile.clone());
                self.running.push(StartedProgram { app: *app, wish, profile });
                self.found.lock().objective(self.domain, *app, wish.objective);
            }
            Event::Wished { app, wish } => {
                let program = self.running.iter_mut().find(|program| program.app == *app);
                program.into_iter().for_each(|program| program.wish = *wish);
            }
            Event::Exited { app } => self.running.retain(|program| program.app != *app),
            _ => {}
        }
    }
}

impl Policy for PolicyOnTrial {
    fn name(&self) -> &'static str {
        self.name
    }

    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        self.follow(event);
        match self.state {
            State::Learning => self.learn(at, event, act),
            State::Block(place, since) => self.block(place, since, at, event, act),
            // All programs may fill every way until the end.
            State::Over if matches!(event, Event::Started { .. } | Event::Exited { .. }) => {
                self.plan(Arm::Without, "the trial is over", act);
            }
            State::Over => {}
        }
    }
}
