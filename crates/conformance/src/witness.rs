//! What every event is held to.

use std::collections::BTreeSet;
use std::time::Duration;

use fairways_core::{Action, AppId, Event, Latencies, Levers, Llc, Machine, Sample, Time};

use crate::plans::Plans;
use crate::promise::{self, hold};
use crate::subject::Subject;
use crate::turns::Turns;
use crate::windows::Windows;

/// A machine whose every event is held to the contract, in view of what was asked of it.
pub struct Witness<'a> {
    machine: Box<dyn Machine + 'a>,
    is_simulated: bool,
    now: Time,
    /// How late at this instant the last event belongs.
    rank: u8,
    llc: Option<Llc>,
    /// Whether it can limit memory bandwidth.
    limits: bool,
    running: Vec<AppId>,
    ever: BTreeSet<AppId>,
    windows: Windows,
    plans: Plans,
    turns: Turns,
    /// When the alarm is to ring: never before it was set.
    alarm: Option<Time>,
}

impl<'a> Witness<'a> {
    /// Watches a fresh machine of such a kind.
    #[must_use]
    pub fn new(subject: &dyn Subject, machine: Box<dyn Machine + 'a>) -> Self {
        Self {
            machine,
            is_simulated: subject.is_simulated(),
            now: Time::ZERO,
            rank: 0,
            llc: None,
            limits: false,
            running: Vec::new(),
            ever: BTreeSet::new(),
            windows: Windows::new(subject.is_noisy()),
            plans: Plans::default(),
            turns: Turns::default(),
            alarm: None,
        }
    }

    /// The time of the last event.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The cache, as last told; `None` before the first event.
    #[must_use]
    pub fn llc(&self) -> Option<Llc> {
        self.llc
    }

    /// Whether the machine can limit memory bandwidth.
    #[must_use]
    pub fn limits(&self) -> bool {
        self.limits
    }

    /// How many CPUs the machine schedules threads on; `None` if it has told of none.
    #[must_use]
    pub fn cpus(&self) -> Option<u32> {
        self.turns.cpus()
    }

    /// The programs that run, in the order in which they started.
    #[must_use]
    pub fn running(&self) -> &[AppId] {
        &self.running
    }

    fn place(&mut self, at: Time, event: &Event) {
        hold(at >= self.now, promise::FORWARD, format_args!("{event:?} at {at:?}, {:?}", self.now));
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
        hold(in_order, promise::ORDER, format_args!("{event:?} comes late at {at:?}"));
        self.rank = rank;
    }

    fn ring(&mut self, at: Time) {
        let alarm = self.alarm.take();
        let due = alarm.is_some_and(|alarm| alarm <= at);
        hold(due, promise::ALARM, format_args!("it rang at {at:?}, set to {alarm:?}"));
    }

    fn take_in(&mut self, at: Time, event: &Event) {
        let is_machine = matches!(event, Event::Machine(_));
        hold(is_machine || self.llc.is_some(), promise::FIRST, format_args!("{event:?}"));
        self.plans.settle(Some(event), &self.running, self.limits);
        if let Event::Exited { app }
        | Event::Wished { app, .. }
        | Event::Sampled(Sample { app, .. })
        | Event::Latency(Latencies { app, .. }) = event
        {
            hold(self.running.contains(app), promise::RUNNING, format_args!("{event:?}"));
        }
        self.place(at, event);
        if let (Some(alarm), true) = (self.alarm, self.is_simulated) {
            hold(at <= alarm, promise::ALARM, format_args!("{event:?} at {at:?} before {alarm:?}"));
        }
        self.now = at;
        if !matches!(event, Event::Latency(_) | Event::Applied { .. } | Event::Refused { .. }) {
            self.windows.go_on();
        }
        match event {
            Event::Machine(Levers { llc, bandwidth }) => {
                (self.llc, self.limits) = (Some(*llc), bandwidth.is_some());
            }
            Event::Started { app, .. } => {
                hold(self.ever.insert(*app), promise::NO_REUSE, format_args!("{app} once more"));
                self.running.push(*app);
            }
            Event::Exited { app } => {
                self.running.retain(|other| other != app);
                self.windows.forget(*app);
                self.turns.forget(*app);
            }
            Event::Sampled(sample) => self.windows.check(at, sample, &self.plans),
            Event::Latency(latencies) => self.windows.answered(at, latencies),
            Event::Wished { wish, .. } => {
                let slo = wish.objective.map(|objective| objective.slo);
                hold(slo != Some(Duration::ZERO), promise::WISHES, format_args!("{event:?}"));
            }
            Event::Woke => self.ring(at),
            Event::Cpus(cpus) => self.turns.machine(*cpus),
            Event::RanTogether(together) => self.turns.ran(at, together, &self.running),
            Event::QuantumGiven(slice) => self.turns.gave(at, slice, &self.running),
            Event::Applied { .. } | Event::Refused { .. } => {}
        }
    }
}

impl Machine for Witness<'_> {
    fn next_event(&mut self) -> Option<(Time, Event)> {
        let told = self.machine.next_event();
        match &told {
            Some((at, event)) => self.take_in(*at, event),
            None => self.plans.settle(None, &self.running, self.limits),
        }
        told
    }

    fn carry_out(&mut self, action: Action<'_>) {
        match &action {
            &Action::Partition { plan, ref partition, .. } => {
                if let Some(llc) = &self.llc {
                    let legal = partition.check(llc, self.running.iter().copied());
                    self.plans.ask(self.now, plan, legal);
                }
            }
            &Action::Watch { app, every } if self.running.contains(&app) => {
                self.windows.ask(self.now, app, every);
            }
            &Action::Wake { at } => self.alarm = Some(at.max(self.now)),
            Action::WatchTogether { .. } => self.turns.ask(self.now, &action),
            Action::Allow { thread, .. } | Action::Quantum { thread, .. }
                if self.running.contains(&thread.app) =>
            {
                self.turns.ask(self.now, &action);
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
