//! What the checks drive a machine with.

use std::time::Duration;

use fairways_core::{
    Action, AppId, Event, Llc, Machine, Partition, PlanId, Sample, Time, WindowLength,
};

use crate::promise::{self, hold};
use crate::subject::{Kind, Program, Scale, Subject};
use crate::witness::Witness;

/// Within so many events comes what must come.
const PATIENCE: u32 = 10_000;

/// So many times may a machine refuse a plan that breaks no rule.
const ATTEMPTS: u32 = 100;

/// A machine under a witness.
pub(crate) struct Drive<'a> {
    witness: Witness<'a>,
    pub(crate) scale: Scale,
    pub(crate) has_time: bool,
    pub(crate) is_simulated: bool,
    next: PlanId,
    /// The plan that is made again if it is refused though it breaks no rule.
    wanted: Option<(PlanId, Partition)>,
    attempts: u32,
}

impl<'a> Drive<'a> {
    pub(crate) fn new(subject: &'a dyn Subject, programs: &[Program]) -> Self {
        Self {
            witness: Witness::new(subject, subject.machine(programs)),
            scale: subject.scale(),
            has_time: subject.has_time(),
            is_simulated: subject.is_simulated(),
            next: PlanId(0),
            wanted: None,
            attempts: 0,
        }
    }

    /// A machine on which programs of these kinds have started at once and run on.
    pub(crate) fn of(subject: &'a dyn Subject, kinds: &[Kind]) -> (Self, Vec<AppId>) {
        let programs: Vec<_> = kinds.iter().map(|&kind| Program::new(kind)).collect();
        let mut drive = Self::new(subject, &programs);
        let apps = drive.starts(kinds.len());
        (drive, apps)
    }

    /// The cache, as last told.
    pub(crate) fn llc(&self) -> Llc {
        self.witness.llc().expect("nothing is asked before the first event")
    }

    /// Whether it can limit memory bandwidth.
    pub(crate) fn limits(&self) -> bool {
        self.witness.limits()
    }

    pub(crate) fn cpus(&self) -> Option<u32> {
        self.witness.cpus()
    }

    pub(crate) fn running(&self) -> &[AppId] {
        self.witness.running()
    }

    pub(crate) fn now(&self) -> Time {
        self.witness.now()
    }

    pub(crate) fn next_event(&mut self) -> Option<(Time, Event)> {
        let told = self.witness.next_event();
        if let Some((_, Event::Refused { plan, .. })) = &told
            && let Some((_, partition)) = self.wanted.take_if(|(wanted, _)| wanted == plan)
        {
            self.attempts += 1;
            hold(self.attempts < ATTEMPTS, promise::CARRIED_OUT, format_args!("{told:?}"));
            self.insist(partition);
        }
        told
    }

    /// Waits for an event; `promise` says that it comes.
    pub(crate) fn until<T>(
        &mut self,
        promise: &str,
        mut wanted: impl FnMut(Time, &Event) -> Option<T>,
    ) -> T {
        let mut last = None;
        for _ in 0..PATIENCE {
            let Some((at, event)) = self.next_event() else { break };
            if let Some(found) = wanted(at, &event) {
                return found;
            }
            last = Some((at, event));
        }
        panic!("{promise}: it never came, and this was last: {last:?}")
    }

    pub(crate) fn starts(&mut self, count: usize) -> Vec<AppId> {
        let started = |_, event: &Event| match event {
            Event::Started { app, .. } => Some(*app),
            _ => None,
        };
        (0..count).map(|_| self.until(promise::LIVES, started)).collect()
    }

    /// Waits for a program's next windows, if time passes.
    pub(crate) fn samples(&mut self, app: AppId, count: usize) -> Vec<Sample> {
        let sampled = |_, event: &Event| match event {
            Event::Sampled(sample) if sample.app == app => Some(*sample),
            _ => None,
        };
        let count = if self.has_time { count } else { 0 };
        (0..count).map(|_| self.until(promise::TOLD, sampled)).collect()
    }

    /// Lets so many quarters of a window pass by the alarm, if time passes.
    pub(crate) fn pass(&mut self, quarters: u32) {
        if self.has_time {
            self.wake(self.scale.time / 4 * quarters);
            self.woken();
        }
    }

    pub(crate) fn woken(&mut self) -> Time {
        self.until(promise::ALARM, |at, event| matches!(event, Event::Woke).then_some(at))
    }

    pub(crate) fn wake(&mut self, after: Duration) {
        self.act(Action::Wake { at: self.now().after(after) });
    }

    pub(crate) fn watch(&mut self, app: AppId, every: WindowLength) {
        self.act(Action::Watch { app, every });
    }

    /// Makes a plan.
    pub(crate) fn plan(&mut self, partition: &Partition) -> PlanId {
        let plan = self.next;
        self.next = plan.next();
        self.act(Action::Partition { plan, partition: partition.into(), reason: "a check".into() });
        plan
    }

    /// Makes a plan that breaks no rule, and makes it again if it is refused.
    pub(crate) fn insist(&mut self, partition: Partition) {
        let plan = self.plan(&partition);
        self.wanted = Some((plan, partition));
    }

    /// Waits for a plan's refusal.
    pub(crate) fn refused(&mut self, plan: PlanId) {
        self.until(promise::REFUSED, |_, event| {
            matches!(event, Event::Refused { plan: refused, .. } if *refused == plan).then_some(())
        });
    }

    pub(crate) fn act(&mut self, action: Action<'_>) {
        self.witness.carry_out(action);
    }
}
