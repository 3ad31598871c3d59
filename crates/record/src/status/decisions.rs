//! The last decisions, with what each rests on: the event, what the policy found about each
//! program, and what it did.

use std::collections::VecDeque;

use fairways_command_kit::moment::Moment;
use fairways_core::{Action, AppId, Event, PlanId, Time};
use serde::{Deserialize, Serialize};

use super::kept::{KeptAction, KeptClusters, KeptDecision};
use super::{MachineView, Status};

/// The number of decisions kept for a machine.
const KEPT: usize = 256;

/// A policy's actions on one event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Decision {
    /// The decision's number, from 1.
    pub number: u64,
    /// The time on the machine's clock.
    pub at_ns: u64,
    /// The time of day; `null` for a simulated machine, and where the daemon's clock is the
    /// emulator's.
    pub at: Option<Moment>,
    /// The domain.
    pub domain: u32,
    /// The event, in a line.
    pub event: String,
    /// How many similar decisions before it this one replaces: those of sampling that follow each
    /// other with the same reason and the same programs in the same clusters.
    pub alike: u64,
    /// What the policy found about programs and did, in order.
    pub actions: Vec<RecordedAction>,
    /// Programs in it that ended before the next decision of its domain: the actions are not about
    /// a later program of the same name.
    pub ended: Vec<String>,
}

/// An action of a policy, with names instead of numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedAction {
    /// A program was classified.
    Classified {
        /// The program.
        program: String,
        /// The class.
        class: String,
        /// The reason.
        reason: String,
    },
    /// A number was estimated for a program.
    Estimated {
        /// The program.
        program: String,
        /// The paper's word, and its unit after a comma.
        what: String,
        /// The value.
        value: f64,
    },
    /// A plan was made.
    Planned {
        /// The plan's number.
        plan: u32,
        /// The reason.
        reason: String,
        /// The clusters with their programs and ways.
        clusters: Vec<Share>,
        /// What became of the plan.
        outcome: Outcome,
    },
    /// A thread was confined to CPUs.
    Allowed {
        /// The program.
        program: String,
        /// The CPUs, by the policy's numbers; none: all of them.
        cpus: Vec<u32>,
        /// The reason.
        reason: String,
    },
    /// Threads were put before others, or no longer are.
    Raised {
        /// Their programs.
        programs: Vec<String>,
        /// Whether the threads run before others.
        raised: bool,
        /// The reason.
        reason: String,
    },
    /// The length of a thread's next turn was set.
    Ordered {
        /// The program.
        program: String,
        /// The length, ns.
        time_ns: u64,
        /// The reason.
        reason: String,
    },
}

/// What became of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is or was in force.
    #[default]
    Done,
    /// Something else than planned is in force: the clusters with their programs and ways.
    Otherwise(Vec<Share>),
    /// The machine refused it, for this reason.
    Refused(String),
}

/// The ways of a cluster, and its programs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Share {
    /// The ways, as a line of schemata shows them.
    pub mask: String,
    /// The number of the ways.
    pub ways: u32,
    /// The level of memory bandwidth, with its unit; `null` for no limit.
    pub bandwidth: Option<String>,
    /// The programs that share them.
    pub members: Vec<Member>,
}

/// A program in a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Member {
    /// The program's name.
    pub program: String,
    /// The number of ways that it had before; `null` if it was in no cluster.
    pub before: Option<u32>,
}

/// The last event, in a line. Most are windows, on which nothing is decided: their line is made
/// once it is needed, while the program is there.
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
    /// Whether a decision about it has begun.
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

    /// Notes what became of a plan.
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

impl RecordedAction {
    /// Whether the action is about the program of this name.
    pub fn is_about(&self, name: &str) -> bool {
        match self {
            Self::Classified { program, .. }
            | Self::Estimated { program, .. }
            | Self::Allowed { program, .. }
            | Self::Ordered { program, .. } => program == name,
            Self::Raised { programs, .. } => programs.iter().any(|program| program == name),
            Self::Planned { clusters, .. } => share_of(clusters, name).is_some(),
        }
    }
}

/// The ways of the program of this name.
pub(crate) fn share_of<'a>(clusters: &'a [Share], name: &str) -> Option<(&'a Share, &'a Member)> {
    clusters.iter().find_map(|share| {
        let member = share.members.iter().find(|member| member.program == name)?;
        Some((share, member))
    })
}
