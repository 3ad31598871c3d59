//! The last decisions, and what each rests on: what happened, what the policy held of each program then, and what it did.

use std::collections::{BTreeSet, VecDeque};

use fairways_command_kit::moment::Moment;
use fairways_core::{Action, AppId, Event, Partition, PlanId, Time};
use fairways_policy::{kpart, lfoc};
use serde::{Deserialize, Serialize};

use super::fold::number;
use super::{Seen, Status};

/// So many are kept of a machine.
const KEPT: usize = 256;

/// What a policy said and did about one event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Decision {
    /// Counted from 1.
    pub number: u64,
    /// When, on the machine's clock.
    pub at_ns: u64,
    /// The time of day then; `null` of a simulated machine, and where the emulator's clock is the daemon's.
    pub at: Option<Moment>,
    /// In which domain.
    pub domain: u32,
    /// What happened, in a line.
    pub event: String,
    /// For how many decisions alike before it this one stands: those of sampling, which follow each other with the same reason and
    /// the same programs in the same clusters.
    pub alike: u64,
    /// What was said of programs and done about them, in order.
    pub said: Vec<Said>,
    /// Programs that were spoken of and ended after it, before the next one of its domain: what was said holds for no other of that
    /// name.
    pub ended: Vec<String>,
}

/// What was said or done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// What a program is held to be.
    Classified {
        /// Who.
        program: String,
        /// What.
        class: String,
        /// Why.
        reason: String,
    },
    /// A number that was found out of a program.
    Estimated {
        /// Of whom.
        program: String,
        /// The paper's word, and its unit after a comma.
        what: String,
        /// The value.
        value: f64,
    },
    /// A plan.
    Planned {
        /// Its number.
        plan: u32,
        /// Why.
        reason: String,
        /// Who fills which ways.
        clusters: Vec<Share>,
        /// What became of it.
        outcome: Outcome,
    },
    /// Where a thread may run.
    Allowed {
        /// Who.
        program: String,
        /// On which of the policy's CPUs; none: on all.
        cpus: Vec<u32>,
        /// Why.
        reason: String,
    },
    /// Whether threads run before others.
    Raised {
        /// Who.
        programs: Vec<String>,
        /// Whether they do.
        raised: bool,
        /// Why.
        reason: String,
    },
    /// How long a thread's next turn is to be.
    Ordered {
        /// Who.
        program: String,
        /// How long.
        time_ns: u64,
        /// Why.
        reason: String,
    },
}

/// What became of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It holds, or did until the next.
    #[default]
    Done,
    /// The machine made something else of it: who fills which ways in force.
    Otherwise(Vec<Share>),
    /// The machine could not carry it out: why.
    Refused(String),
}

/// Ways under a plan, and who fills them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Share {
    /// The ways, as a line of schemata has them.
    pub mask: String,
    /// How many they are.
    pub ways: u32,
    /// Who shares them.
    pub members: Vec<Member>,
}

/// A program that has its ways by a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Member {
    /// Who.
    pub program: String,
    /// How many ways it had before; `null` if it had no place.
    pub before: Option<u32>,
}

/// The last decisions about a machine.
#[derive(Clone, Debug, Default)]
pub struct Decisions {
    /// The oldest first.
    kept: VecDeque<Decision>,
    /// How many there were.
    count: u64,
    /// What happened last, and where and when.
    event: (u32, Time, String),
    /// Whether a decision about it has begun.
    open: bool,
}

impl Decisions {
    /// The last decisions, the oldest first.
    pub fn kept(&self) -> impl DoubleEndedIterator<Item = &Decision> {
        self.kept.iter()
    }

    /// Takes in what happened, before the policy decides about it; `status` is what is known of the machine.
    pub fn event(
        &mut self,
        domain: u32,
        at: Time,
        event: &Event,
        status: &Status,
        seen: &dyn Seen,
    ) {
        match event {
            Event::Refused { plan, why } => {
                self.answered(domain, *plan, Outcome::Refused(why.to_string()));
            }
            Event::Applied { plan, actual } => {
                let is_as_planned =
                    status.planned(domain, *plan).is_none_or(|of| actual.agrees_with(of));
                let outcome = match is_as_planned {
                    true => Outcome::Done,
                    false => Outcome::Otherwise(shares(domain, actual, status, seen)),
                };
                self.answered(domain, *plan, outcome);
                self.fold();
            }
            _ => {}
        }
        let name = |app: AppId| status.name(domain, app);
        let line = match event {
            Event::Machine(levers) => format!("a cache of {} ways", levers.llc.ways),
            Event::Cpus(cpus) => format!("{} CPUs", cpus.count),
            Event::Started { app, .. } => format!("{} started", name(*app)),
            Event::Wished { app, .. } => format!("{} was given another wish", name(*app)),
            Event::Exited { app } => format!("{} ended", name(*app)),
            Event::Sampled(sample) => format!("a window of {} ended", name(sample.app)),
            Event::Latency(of) => format!("{} told its latencies", name(of.app)),
            Event::RanTogether(_) => "threads ran together".to_owned(),
            Event::QuantumGiven(of) => format!("{} had its turn", name(of.thread.app)),
            Event::Woke => "the policy's period was over".to_owned(),
            Event::Applied { plan, .. } => format!("plan {} is in force", plan.0),
            Event::Refused { plan, .. } => format!("plan {} was refused", plan.0),
        };
        if let Event::Exited { app } = event {
            let name = name(*app);
            self.ended(domain, name);
        }
        self.event = (domain, at, line);
        self.open = false;
    }

    /// What became of a plan.
    fn answered(&mut self, domain: u32, plan: PlanId, now: Outcome) {
        let of = self.kept.iter_mut().rev().filter(|of| of.domain == domain);
        let mut said = of.flat_map(|of| of.said.iter_mut());
        let found = said.find_map(|said| match said {
            Said::Planned { plan: of, outcome, .. } if *of == plan.0 => Some(outcome),
            _ => None,
        });
        if let Some(outcome) = found {
            *outcome = now;
        }
    }

    /// Takes in what the policy does, before `status` does.
    pub fn action(&mut self, domain: u32, action: &Action<'_>, status: &Status, seen: &dyn Seen) {
        let Some(said) = said(domain, action, status, seen) else { return };
        if !self.open {
            self.count += 1;
            let (domain, at, event) = self.event.clone();
            if self.kept.len() == KEPT {
                self.kept.pop_front();
            }
            self.kept.push_back(Decision {
                number: self.count,
                at_ns: at.nanos(),
                at: status.now,
                domain,
                event,
                ..Decision::default()
            });
            self.open = true;
        }
        if let Some(last) = self.kept.back_mut() {
            last.said.push(said);
        }
    }

    /// Lets the last decision stand for the one before if they are alike.
    fn fold(&mut self) {
        let mut last = self.kept.iter().rev();
        let (Some(new), Some(old)) = (last.next(), last.next()) else { return };
        if !new.is_like(old) {
            return;
        }
        let alike = old.alike + 1;
        self.kept.remove(self.kept.len() - 2);
        if let Some(new) = self.kept.back_mut() {
            new.alike = alike;
        }
    }

    /// A program is over: what was said of it is not of another that is called so.
    fn ended(&mut self, domain: u32, name: String) {
        let mut here = self.kept.iter().filter(|of| of.domain == domain);
        if !here.any(|of| of.said.iter().any(|said| said.names(&name))) {
            return;
        }
        let last = self.kept.iter_mut().rfind(|of| of.domain == domain);
        if let Some(last) = last.filter(|of| !of.ended.contains(&name)) {
            last.ended.push(name);
        }
    }
}

impl Decision {
    /// Whether both are a plan of sampling by the same rule that held, about the same programs in the same clusters.
    fn is_like(&self, other: &Self) -> bool {
        let [Said::Planned { reason, clusters, outcome: Outcome::Done, .. }] = &self.said[..]
        else {
            return false;
        };
        let [Said::Planned { reason: why, clusters: others, outcome: Outcome::Done, .. }] =
            &other.said[..]
        else {
            return false;
        };
        let who = |of: &Share, with: &Share| {
            of.members.iter().map(|of| &of.program).eq(with.members.iter().map(|of| &of.program))
        };
        self.domain == other.domain
            && other.ended.is_empty()
            && [lfoc::SAMPLING, kpart::SAMPLING].contains(&reason.as_str())
            && reason == why
            && clusters.len() == others.len()
            && clusters.iter().zip(others).all(|(of, with)| who(of, with))
    }
}

impl Said {
    /// Whether it says something of a program that is called so.
    pub fn names(&self, name: &str) -> bool {
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

/// The ways of a program that is called so.
pub(crate) fn share_of<'a>(clusters: &'a [Share], name: &str) -> Option<(&'a Share, &'a Member)> {
    clusters.iter().find_map(|share| {
        let member = share.members.iter().find(|member| member.program == name)?;
        Some((share, member))
    })
}

/// In words, what is no more than keeping time apart.
fn said(domain: u32, action: &Action<'_>, status: &Status, seen: &dyn Seen) -> Option<Said> {
    let name = |app: AppId| status.name(domain, app);
    Some(match action {
        Action::Classified { app, class, reason } => Said::Classified {
            program: name(*app),
            class: class.clone().into_owned(),
            reason: reason.clone().into_owned(),
        },
        Action::Estimated { thread, what, value, raw } => Said::Estimated {
            program: name(thread.app),
            what: what.clone().into_owned(),
            value: number(*value, *raw),
        },
        Action::Partition { plan, partition, reason } => Said::Planned {
            plan: plan.0,
            reason: reason.clone().into_owned(),
            clusters: shares(domain, partition, status, seen),
            outcome: Outcome::Done,
        },
        Action::Allow { thread, cpus, reason } => Said::Allowed {
            program: name(thread.app),
            cpus: cpus.to_vec(),
            reason: reason.clone().into_owned(),
        },
        Action::Priority { threads, raised, reason } => Said::Raised {
            programs: once(threads.iter().map(|thread| name(thread.app))),
            raised: *raised,
            reason: reason.clone().into_owned(),
        },
        Action::Quantum { thread, time, reason } => Said::Ordered {
            program: name(thread.app),
            time_ns: u64::try_from(time.as_nanos()).unwrap_or(u64::MAX),
            reason: reason.clone().into_owned(),
        },
        Action::Watch { .. } | Action::Wake { .. } | Action::WatchTogether { .. } => return None,
    })
}

/// Names in their order, each once: a program may have several threads.
fn once(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names.filter(|name| seen.insert(name.clone())).collect()
}

/// Who fills which ways by a plan, in the order in which programs began.
fn shares(domain: u32, partition: &Partition, status: &Status, seen: &dyn Seen) -> Vec<Share> {
    let mut places: Vec<(usize, u32)> = partition
        .placements()
        .iter()
        .filter_map(|place| Some((status.place_of(domain, place.app)?, place.cluster)))
        .collect();
    places.sort_unstable();
    let mut shares: Vec<(u32, Share)> = Vec::new();
    for (place, cluster) in places {
        let of = &status.programs[place];
        let Some(mask) = partition.mask(cluster) else { continue };
        let at = shares.iter().position(|(other, _)| *other == cluster).unwrap_or_else(|| {
            let (physical, members) = (seen.physical(domain, mask), Vec::new());
            let share = Share { mask: physical.to_string(), ways: mask.count(), members };
            shares.push((cluster, share));
            shares.len() - 1
        });
        shares[at].1.members.push(Member { program: of.name.clone(), before: of.ways });
    }
    shares.into_iter().map(|(_, share)| share).collect()
}
