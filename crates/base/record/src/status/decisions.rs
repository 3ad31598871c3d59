//! The last decisions, each with its event, what the policy found about each program, and what it
//! did.

use std::collections::VecDeque;

use fairways_core::{Action, AppId, Event, PlanId, Time};

use super::decision::{Decision, Outcome};
use super::kept::{KeptAction, KeptClusters, KeptDecision};
use super::{MachineView, Status};

/// The number of decisions kept for a machine.
const KEPT: usize = 256;

/// The last event, in a line. Most events are windows, on which nothing is decided: their line is
/// composed only when it is needed, while the program still exists.
#[derive(Clone, Debug)]
enum LastEvent {
    Line(String),
    Window(AppId),
}

impl Default for LastEvent {
    fn default() -> Self {
        Self::Line(String::new())
    }
}

/// The last decisions about a machine.
#[derive(Clone, Debug, Default)]
pub struct Decisions {
    /// The oldest first.
    kept: VecDeque<KeptDecision>,
    /// The number of all decisions so far.
    count: u64,
    /// The last event, with its domain and time.
    last_event: (u32, Time, LastEvent),
    /// Whether a decision on `last_event` has begun.
    is_open: bool,
}

impl Decisions {
    /// The last decisions, the oldest first.
    pub fn kept(&self) -> impl DoubleEndedIterator<Item = Decision> {
        self.kept.iter().map(KeptDecision::to_decision)
    }

    /// The last decision, without its actions.
    pub fn last_head(&self) -> Option<&Decision> {
        self.kept.back().map(|kept| &kept.head)
    }

    /// Records an event before the policy decides on it; `status` is the machine's state.
    pub fn record_event(
        &mut self,
        domain: u32,
        at: Time,
        event: &Event,
        status: &Status,
        seen: &dyn MachineView,
    ) {
        match event {
            Event::Refused { plan, why } => {
                self.set_outcome(domain, *plan, Outcome::Refused(why.to_string()));
            }
            Event::Applied { plan, actual } => {
                let is_as_planned = status
                    .planned(domain, *plan)
                    .is_none_or(|partition| actual.agrees_with(partition));
                let outcome = match is_as_planned {
                    true => Outcome::Done,
                    false => {
                        Outcome::Otherwise(KeptClusters::new(domain, actual, status, seen).shares())
                    }
                };
                self.set_outcome(domain, *plan, outcome);
                self.merge_alike();
            }
            _ => {}
        }
        self.is_open = false;
        let name = |app: AppId| status.name(domain, app);
        let line = match event {
            Event::Machine(levers) => format!("a cache of {} ways", levers.llc.ways),
            Event::Cpus(cpus) => format!("{} CPUs", cpus.count),
            Event::Started { app, .. } => format!("{} started", name(*app)),
            Event::Wished { app, .. } => format!("{} has another request of its owner", name(*app)),
            Event::Exited { app } => format!("{} ended", name(*app)),
            Event::Sampled(sample) => {
                self.last_event = (domain, at, LastEvent::Window(sample.app));
                return;
            }
            Event::Latency(latencies) => {
                format!("latencies of {} were reported", name(latencies.app))
            }
            Event::RanTogether(_) => "threads ran together".to_owned(),
            Event::QuantumGiven(slice) => format!("{} had its turn", name(slice.thread.app)),
            Event::Woke => "the policy's period was over".to_owned(),
            Event::Applied { plan, .. } => format!("plan {} is in force", plan.0),
            Event::Refused { plan, .. } => format!("plan {} was refused", plan.0),
        };
        if let Event::Exited { app } = event {
            let name = name(*app);
            self.note_ended(domain, name);
        }
        self.last_event = (domain, at, LastEvent::Line(line));
    }

    /// Records the outcome of a plan.
    fn set_outcome(&mut self, domain: u32, plan: PlanId, now: Outcome) {
        let here = self.kept.iter_mut().rev().filter(|kept| kept.head.domain == domain);
        let mut actions = here.flat_map(|kept| kept.actions.iter_mut());
        let found = actions.find_map(|action| match action {
            KeptAction::Planned(made) if made.plan == plan => Some(&mut made.outcome),
            _ => None,
        });
        if let Some(outcome) = found {
            *outcome = now;
        }
    }

    /// Records an action, before `status` does.
    pub fn record_action(
        &mut self,
        domain: u32,
        action: &Action<'_>,
        status: &Status,
        seen: &dyn MachineView,
    ) {
        let Some(action) = KeptAction::new(domain, action, status, seen) else { return };
        if !self.is_open {
            self.count += 1;
            let (domain, at, event) = &self.last_event;
            let event = match event {
                LastEvent::Line(line) => line.clone(),
                LastEvent::Window(app) => {
                    format!("a window of {} ended", status.name(*domain, *app))
                }
            };
            let (domain, at) = (*domain, *at);
            if self.kept.len() == KEPT {
                self.kept.pop_front();
            }
            let head = Decision {
                number: self.count,
                at_ns: at.nanos(),
                at: status.now,
                domain,
                event,
                ..Decision::default()
            };
            self.kept.push_back(KeptDecision { head, actions: Vec::new() });
            self.is_open = true;
        }
        if let Some(last) = self.kept.back_mut() {
            last.actions.push(action);
        }
    }

    /// Merges the last decision into the one before if they are alike.
    fn merge_alike(&mut self) {
        let mut last = self.kept.iter().rev();
        let (Some(new), Some(old)) = (last.next(), last.next()) else { return };
        if !new.is_like(old) {
            return;
        }
        let alike = old.head.alike + 1;
        self.kept.remove(self.kept.len() - 2);
        if let Some(new) = self.kept.back_mut() {
            new.head.alike = alike;
        }
    }

    /// Notes that a program ended: its last decisions are not about a later program of that name.
    fn note_ended(&mut self, domain: u32, name: String) {
        let mut here = self.kept.iter().filter(|kept| kept.head.domain == domain);
        if !here.any(|kept| kept.actions.iter().any(|action| action.is_about(&name))) {
            return;
        }
        let last = self.kept.iter_mut().rfind(|kept| kept.head.domain == domain);
        if let Some(last) = last.filter(|kept| !kept.head.ended.contains(&name)) {
            last.head.ended.push(name);
        }
    }
}
