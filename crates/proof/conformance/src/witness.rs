//! The witness: it checks every event of a machine.

use std::collections::BTreeSet;
use std::time::Duration;

use fairways_core::{
    Action, AppId, BandwidthLever, Event, Latencies, Levers, Llc, Machine, Sample, Time,
};

use crate::plans::PlanChecker;
use crate::promise::{self, require};
use crate::subject::Subject;
use crate::turns::TurnChecker;
use crate::windows::WindowChecker;

/// A machine whose every event is checked against the promises, given the actions requested so far.
pub struct Witness<'a> {
    machine: Box<dyn Machine + 'a>,
    is_simulated: bool,
    now: Time,
    /// The rank of the last event in the order of events at one instant.
    rank: u8,
    levers: Option<Levers>,
    running: Vec<AppId>,
    started: BTreeSet<AppId>,
    windows: WindowChecker,
    plans: PlanChecker,
    turns: TurnChecker,
    /// When the alarm is to ring, no earlier than when it was set.
    alarm: Option<Time>,
}

impl<'a> Witness<'a> {
    /// Watches a fresh machine of this kind.
    #[must_use]
    pub fn new(subject: &dyn Subject, machine: Box<dyn Machine + 'a>) -> Self {
        Self {
            machine,
            is_simulated: subject.is_simulated(),
            now: Time::ZERO,
            rank: 0,
            levers: None,
            running: Vec::new(),
            started: BTreeSet::new(),
            windows: WindowChecker::new(subject.is_noisy()),
            plans: PlanChecker::default(),
            turns: TurnChecker::default(),
            alarm: None,
        }
    }

    /// The time of the last event.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The cache, as reported last; `None` before the first event.
    #[must_use]
    pub fn llc(&self) -> Option<Llc> {
        self.levers.map(|levers| levers.llc)
    }

    /// How the machine limits memory bandwidth, if it can.
    #[must_use]
    pub fn bandwidth(&self) -> Option<BandwidthLever> {
        self.levers.and_then(|levers| levers.bandwidth)
    }

    /// The number of CPUs on which the machine schedules threads; `None` if it has reported none.
    #[must_use]
    pub fn cpus(&self) -> Option<u32> {
        self.turns.cpus()
    }

    /// The programs that run, in the order in which they started.
    #[must_use]
    pub fn running(&self) -> &[AppId] {
        &self.running
    }

    fn check_order(&mut self, at: Time, event: &Event) {
        require(
            at >= self.now,
            promise::FORWARD,
            format_args!("{event:?} at {at:?}, {:?}", self.now),
        );
        let rank = match event {
            // Answers follow the actions that they answer; turns may end by actions.
            Event::Applied { .. }
            | Event::Refused { .. }
            | Event::RanTogether(_)
            | Event::QuantumGiven(_) => {
                self.rank = if at > self.now { 0 } else { self.rank };
                return;
            }
            Event::Sampled(_) | Event::Latency(_) => 0,
            Event::Machine(_)
            | Event::Cpus(_)
            | Event::Started { .. }
            | Event::Wished { .. }
            | Event::Exited { .. } => 1,
            Event::Woke => 2,
        };
        let in_order = at > self.now || rank >= self.rank;
        require(in_order, promise::ORDER, format_args!("{event:?} comes late at {at:?}"));
        self.rank = rank;
    }

    fn check_alarm(&mut self, at: Time) {
        let alarm = self.alarm.take();
        let due = alarm.is_some_and(|alarm| alarm <= at);
        require(due, promise::ALARM, format_args!("it rang at {at:?}, set to {alarm:?}"));
    }

    fn check(&mut self, at: Time, event: &Event) {
        let is_machine = matches!(event, Event::Machine(_));
        require(is_machine || self.levers.is_some(), promise::FIRST, format_args!("{event:?}"));
        self.plans.settle(Some(event), &self.running, self.bandwidth());
        if let Event::Exited { app }
        | Event::Wished { app, .. }
        | Event::Sampled(Sample { app, .. })
        | Event::Latency(Latencies { app, .. }) = event
        {
            require(self.running.contains(app), promise::RUNNING, format_args!("{event:?}"));
        }
        self.check_order(at, event);
        if let (Some(alarm), true) = (self.alarm, self.is_simulated) {
            require(
                at <= alarm,
                promise::ALARM,
                format_args!("{event:?} at {at:?} before {alarm:?}"),
            );
        }
        self.now = at;
        if !matches!(event, Event::Latency(_) | Event::Applied { .. } | Event::Refused { .. }) {
            self.windows.note_other_event();
        }
        match event {
            Event::Machine(levers) => self.levers = Some(*levers),
            Event::Started { app, .. } => {
                require(
                    self.started.insert(*app),
                    promise::NO_REUSE,
                    format_args!("{app} once more"),
                );
                self.running.push(*app);
            }
            Event::Exited { app } => {
                self.running.retain(|other| other != app);
                self.windows.forget(*app);
                self.turns.forget(*app);
            }
            Event::Sampled(sample) => self.windows.check_sample(at, sample, &self.plans),
            Event::Latency(latencies) => self.windows.check_latencies(at, latencies),
            Event::Wished { wish, .. } => {
                let slo = wish.objective.map(|objective| objective.slo);
                require(slo != Some(Duration::ZERO), promise::WISHES, format_args!("{event:?}"));
            }
            Event::Woke => self.check_alarm(at),
            Event::Cpus(cpus) => self.turns.set_cpus(*cpus),
            Event::RanTogether(co_run) => self.turns.check_co_run(at, co_run, &self.running),
            Event::QuantumGiven(turn) => self.turns.check_turn(at, turn, &self.running),
            Event::Applied { .. } | Event::Refused { .. } => {}
        }
    }
}

impl Machine for Witness<'_> {
    fn next_event(&mut self) -> Option<(Time, Event)> {
        let event = self.machine.next_event();
        match &event {
            Some((at, event)) => self.check(*at, event),
            None => self.plans.settle(None, &self.running, self.bandwidth()),
        }
        event
    }

    fn carry_out(&mut self, action: Action<'_>) {
        match &action {
            &Action::Partition { plan, ref partition, .. } => {
                if let Some(levers) = self.levers {
                    let legal = partition.check_levers(levers, self.running.iter().copied());
                    self.plans.request(self.now, plan, legal);
                }
            }
            &Action::Watch { app, every } if self.running.contains(&app) => {
                self.windows.request(self.now, app, every);
            }
            &Action::Wake { at } => self.alarm = Some(at.max(self.now)),
            Action::WatchTogether { .. } => self.turns.request(self.now, &action),
            Action::Allow { thread, .. } | Action::Quantum { thread, .. }
                if self.running.contains(&thread.app) =>
            {
                self.turns.request(self.now, &action);
            }
            Action::Watch { .. }
            | Action::Allow { .. }
            | Action::Quantum { .. }
            | Action::Priority { .. }
            | Action::Estimated { .. }
            | Action::Classified { .. } => {}
        }
        self.machine.carry_out(action);
    }
}
