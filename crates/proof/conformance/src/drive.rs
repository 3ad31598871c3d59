//! A driver with which the checks bring a machine into situations.

use std::time::Duration;

use fairways_core::{
    Action, AppId, BandwidthLever, Event, Llc, Machine, Partition, PlanId, Sample, Time,
    WindowLength,
};

use crate::promise::{self, require};
use crate::subject::{ProgramKind, Scale, Subject, TestProgram};
use crate::witness::Witness;

/// An expected event must come within this many events.
const PATIENCE: u32 = 10_000;

/// How often a machine may refuse a plan that breaks no rule.
const ATTEMPTS: u32 = 100;

/// A machine under a witness.
pub(crate) struct Drive<'a> {
    witness: Witness<'a>,
    pub(crate) scale: Scale,
    pub(crate) has_time: bool,
    pub(crate) is_simulated: bool,
    next: PlanId,
    /// The plan that is made again if it is refused although it breaks no rule.
    insisted: Option<(PlanId, Partition)>,
    attempts: u32,
}

impl<'a> Drive<'a> {
    pub(crate) fn new(subject: &'a dyn Subject, programs: &[TestProgram]) -> Self {
        Self {
            witness: Witness::new(subject, subject.machine(programs)),
            scale: subject.scale(),
            has_time: subject.has_time(),
            is_simulated: subject.is_simulated(),
            next: PlanId(0),
            insisted: None,
            attempts: 0,
        }
    }

    /// A machine on which programs of these kinds have started together and run without end.
    pub(crate) fn with_kinds(
        subject: &'a dyn Subject,
        kinds: &[ProgramKind],
    ) -> (Self, Vec<AppId>) {
        let programs: Vec<_> = kinds.iter().map(|&kind| TestProgram::new(kind)).collect();
        let mut drive = Self::new(subject, &programs);
        let apps = drive.wait_for_starts(kinds.len());
        (drive, apps)
    }

    /// The cache, as reported last.
    pub(crate) fn llc(&self) -> Llc {
        self.witness.llc().expect("the first event has been reported")
    }

    /// How the machine limits memory bandwidth, if it can.
    pub(crate) fn bandwidth(&self) -> Option<BandwidthLever> {
        self.witness.bandwidth()
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
        let event = self.witness.next_event();
        if let Some((_, Event::Refused { plan, .. })) = &event
            && let Some((_, partition)) = self.insisted.take_if(|(insisted, _)| insisted == plan)
        {
            self.attempts += 1;
            require(self.attempts < ATTEMPTS, promise::CARRIED_OUT, format_args!("{event:?}"));
            self.insist(partition);
        }
        event
    }

    /// Waits for an event that `promise` promises.
    pub(crate) fn wait_for<T>(
        &mut self,
        promise: &str,
        mut pick: impl FnMut(Time, &Event) -> Option<T>,
    ) -> T {
        let mut last = None;
        for _ in 0..PATIENCE {
            let Some((at, event)) = self.next_event() else { break };
            if let Some(found) = pick(at, &event) {
                return found;
            }
            last = Some((at, event));
        }
        panic!("{promise}: it never came; the last event was: {last:?}")
    }

    pub(crate) fn wait_for_starts(&mut self, count: usize) -> Vec<AppId> {
        let starts = (0..count).map(|_| {
            self.wait_for(promise::LIVES, |_, event| match event {
                Event::Started { app, .. } => Some(*app),
                _ => None,
            })
        });
        starts.collect()
    }

    /// Waits for a program's next windows, if time passes.
    pub(crate) fn wait_for_samples(&mut self, app: AppId, count: usize) -> Vec<Sample> {
        let count = if self.has_time { count } else { 0 };
        let samples = (0..count).map(|_| {
            self.wait_for(promise::REPORTED, |_, event| match event {
                Event::Sampled(sample) if sample.app == app => Some(*sample),
                _ => None,
            })
        });
        samples.collect()
    }

    /// Waits for a number of quarters of a window by the alarm, if time passes.
    pub(crate) fn let_pass(&mut self, quarters: u32) {
        if self.has_time {
            self.wake(self.scale.time / 4 * quarters);
            self.wait_for_alarm();
        }
    }

    pub(crate) fn wait_for_alarm(&mut self) -> Time {
        self.wait_for(promise::ALARM, |at, event| matches!(event, Event::Woke).then_some(at))
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
        self.insisted = Some((plan, partition));
    }

    /// Waits for a plan's refusal.
    pub(crate) fn wait_for_refusal(&mut self, plan: PlanId) {
        self.wait_for(promise::REFUSED, |_, event| {
            matches!(event, Event::Refused { plan: refused, .. } if *refused == plan).then_some(())
        });
    }

    pub(crate) fn act(&mut self, action: Action<'_>) {
        self.witness.carry_out(action);
    }
}
