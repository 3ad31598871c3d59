//! The smallest machine that keeps every promise, and ways to break each: a program retires an
//! instruction a nanosecond, whatever other programs do.

mod actions;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fairways_conformance::TestProgram;
use fairways_core::{
    Action, AppId, Counters, Event, Latencies, LatencyBin, Llc, Machine, Objective, Q32, Sample,
    Time, Wish,
};

use fairways_core::machine::{Alarm, EventQueue, OpenWindow, PlanInForce};

use crate::{Fault, SCALE};

struct TinyProgram {
    id: AppId,
    ends: u64,
    /// In time, which equals its instructions.
    window: Option<OpenWindow<()>>,
}

pub(crate) struct Tiny {
    fault: Fault,
    llc: Llc,
    now: u64,
    due: EventQueue<Event>,
    /// Answers that are reported in reverse order.
    reversed: Vec<Event>,
    /// The programs that are still to start, the next one last.
    arrivals: Vec<TestProgram>,
    apps: Vec<TinyProgram>,
    /// The programs reported to run.
    reported: Vec<AppId>,
    next: u32,
    in_force: PlanInForce,
    alarm: Alarm,
    calls: u32,
}

/// Every second program is a service that answers two requests a window.
fn latencies(app: AppId, window: u64, fault: Fault) -> Option<Event> {
    let mut latencies = [1, 2].map(Duration::from_nanos);
    if fault == Fault::UnsortedLatency {
        latencies.reverse();
    }
    let answered = latencies.map(|latency| LatencyBin { latency, requests: 1 }).to_vec();
    let window = Duration::from_nanos(window + u64::from(fault == Fault::LongLatency));
    app.0.is_multiple_of(2).then_some(Event::Latency(Latencies { app, window, answered }))
}

static MACHINES: AtomicU64 = AtomicU64::new(0);

impl Tiny {
    pub(crate) fn new(fault: Fault, llc: Llc, programs: &[TestProgram]) -> Self {
        let mut arrivals = programs.to_vec();
        arrivals.sort_by_key(|program| program.start_windows);
        arrivals.reverse();
        let due = if fault == Fault::NoMachine { None } else { Some(Event::Machine(llc.into())) };
        let now = if fault == Fault::Moody { MACHINES.fetch_add(1, Ordering::Relaxed) } else { 0 };
        Self {
            fault,
            llc,
            now,
            due: due.into_iter().collect(),
            reversed: Vec::new(),
            arrivals,
            apps: Vec::new(),
            reported: Vec::new(),
            next: 0,
            in_force: PlanInForce::default(),
            alarm: Alarm::default(),
            calls: 0,
        }
    }

    fn end_windows(&mut self) {
        let now = Time::from_nanos(self.now);
        for app in &mut self.apps {
            let Some(window) = &mut app.window else { continue };
            let cut = self.fault == Fault::ReportsCutWindow && app.ends <= self.now;
            if !window.has_ended(now, 0) && !cut {
                continue;
            }
            let gap = u64::from(self.fault == Fault::Gap);
            let window = window.restart(Time::from_nanos(self.now + gap), ());
            let ran = self.now - window.start.nanos();
            let misses = if self.fault == Fault::ManyMisses { ran + 2 } else { ran / 2 };
            let latency = latencies(app.id, ran, self.fault);
            let first = latency.clone().filter(|_| self.fault == Fault::EarlyLatency);
            self.due.extend(first);
            self.due.push(Event::Sampled(Sample {
                app: app.id,
                counters: Counters {
                    instructions: Some(ran),
                    cycles: Some(ran),
                    llc_references: Some(ran),
                    llc_misses: Some(misses),
                    ..Counters::default()
                },
                occupancy: None,
                window: Duration::from_nanos(ran),
                plan: if self.fault == Fault::ForgetsPlan { None } else { self.in_force.plan },
                occupancy_at_least: None,
                straddled: window.straddled && self.fault != Fault::ForgetsStraddling,
            }));
            self.due.extend(latency.filter(|_| self.fault != Fault::EarlyLatency));
        }
    }

    fn start_and_end(&mut self) {
        let now = self.now;
        for app in self.apps.extract_if(.., |app| app.ends <= now) {
            if self.fault != Fault::HidesExits {
                self.due.push(Event::Exited { app: app.id });
            }
            if let (Fault::ReportsAfterExit, Some(_)) = (self.fault, &app.window) {
                let last = Sample {
                    plan: self.in_force.plan,
                    ..Sample::new(app.id, Counters::default(), SCALE.time)
                };
                self.due.push(Event::Sampled(last));
            }
        }
        while let Some(program) = self.arrivals.pop_if(|program| program.at(SCALE).nanos() <= now) {
            let id = AppId(self.next);
            let reuses = self.fault == Fault::ReusesIds && self.next == 2;
            self.next = if reuses { 0 } else { self.next + 1 };
            let ends = program.instructions(SCALE).map_or(u64::MAX, |n| now + n);
            self.apps.push(TinyProgram { id, ends, window: None });
            self.due.push(Event::Started { app: id, wish: Wish::default(), profile: None });
            if self.fault == Fault::EmptyObjective {
                let objective = Objective { slo: Duration::ZERO, percentile: Q32::from_int(99) };
                let wish = Wish { objective: Some(objective), ..Wish::default() };
                self.due.push(Event::Wished { app: id, wish });
            }
        }
    }

    fn ring(&mut self) {
        if self.fault != Fault::NeverRings && self.alarm.rings(Time::from_nanos(self.now)) {
            self.due.push(Event::Woke);
        }
    }

    fn step(&mut self) -> bool {
        let ends = self.apps.iter().map(|app| app.ends);
        let windows = self.apps.iter().filter_map(|app| app.window.as_ref());
        let next = ends
            .chain(windows.filter_map(OpenWindow::ends_at).map(Time::nanos))
            .chain(self.arrivals.last().map(|program| program.at(SCALE).nanos()))
            .chain(self.alarm.at().map(Time::nanos))
            .filter(|&at| at > self.now)
            .min();
        let over = self.apps.is_empty() && self.arrivals.is_empty();
        match next {
            Some(next) if !over && next < 10_000 * SCALE.instructions => self.now = next,
            _ => return false,
        }
        true
    }
}

impl Machine for Tiny {
    fn next_event(&mut self) -> Option<(Time, Event)> {
        self.calls += 1;
        while self.due.is_empty() && self.reversed.is_empty() {
            if self.fault == Fault::AlarmFirst {
                self.ring();
            }
            if self.fault == Fault::ExitsFirst {
                self.start_and_end();
            }
            self.end_windows();
            self.start_and_end();
            // Until then, it may still be set again.
            if self.due.is_empty() {
                self.ring();
            }
            if self.due.is_empty() && !self.step() {
                let more = self.fault == Fault::GoesOn && self.calls.is_multiple_of(7);
                return more
                    .then_some((Time::from_nanos(self.now), Event::Machine(self.llc.into())));
            }
        }
        let event = self.reversed.pop().or_else(|| self.due.pop())?;
        match &event {
            Event::Started { app, .. } => self.reported.push(*app),
            Event::Exited { app } => self.reported.retain(|other| other != app),
            _ => {}
        }
        let back = self.fault == Fault::TimeGoesBack && self.calls.is_multiple_of(7);
        Some((Time::from_nanos(if back { self.now / 2 } else { self.now }), event))
    }

    fn carry_out(&mut self, action: Action<'_>) {
        match action {
            Action::Partition { plan, partition, .. } => self.partition(plan, &partition),
            Action::Watch { app, every } => self.watch(app, every),
            Action::Wake { .. } if self.fault == Fault::KeepsAlarm && self.alarm.at().is_some() => {
            }
            Action::Wake { at } => {
                let early = u64::from(self.fault == Fault::RingsEarly);
                self.alarm.set(Time::from_nanos(at.nanos().saturating_sub(early)));
            }
            Action::WatchTogether { .. }
            | Action::Allow { .. }
            | Action::Priority { .. }
            | Action::Quantum { .. }
            | Action::Estimated { .. }
            | Action::Classified { .. } => {}
        }
    }
}
