//! Decisions as they are stored: few are ever shown, so a plan becomes text only on request. Names
//! and ways are those at the time of the plan.

use std::collections::BTreeSet;
use std::sync::Arc;

use fairways_core::{Action, AppId, Partition, PlanId, Resources, WayMask};
use fairways_policy::{kpart, lfoc, words};

use super::decision::{Decision, Member, Outcome, RecordedAction, Share};
use super::fold::estimate_value;
use super::{MachineView, Status};

/// A decision as it is stored.
#[derive(Clone, Debug)]
pub(super) struct KeptDecision {
    /// Everything but the actions.
    pub(super) head: Decision,
    pub(super) actions: Vec<KeptAction>,
}

/// An action as it is stored.
#[derive(Clone, Debug)]
pub(super) enum KeptAction {
    Planned(KeptPlan),
    Other(RecordedAction),
}

/// A plan as it is stored.
#[derive(Clone, Debug)]
pub(super) struct KeptPlan {
    pub(super) plan: PlanId,
    reason: String,
    clusters: KeptClusters,
    pub(super) outcome: Outcome,
}

/// The clusters of a plan that have programs.
#[derive(Clone, Debug)]
pub(super) struct KeptClusters {
    /// In the order of their first programs.
    ways: Vec<KeptWays>,
    /// By cluster, and within a cluster in the order in which the programs began.
    members: Vec<KeptMember>,
}

/// The ways of a cluster.
#[derive(Clone, Debug)]
struct KeptWays {
    /// The cache's ways.
    mask: WayMask,
    /// How many ways it has, of those that policies may give out.
    count: u32,
    /// The level of memory bandwidth, with its unit.
    bandwidth: Option<String>,
}

/// A program in a cluster.
#[derive(Clone, Debug)]
struct KeptMember {
    /// An index into the clusters' ways.
    cluster: usize,
    /// Its position among all programs.
    position: usize,
    name: Arc<str>,
    /// The number of ways that it had before.
    before: Option<u32>,
}

impl KeptDecision {
    /// The decision with its text.
    pub(super) fn to_decision(&self) -> Decision {
        let actions = self.actions.iter().map(KeptAction::to_recorded).collect();
        Decision { actions, ..self.head.clone() }
    }

    /// Whether both plans were made by the same rule of sampling and came into force, with the same
    /// programs in the same clusters.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let [KeptAction::Planned(new)] = &self.actions[..] else { return false };
        let [KeptAction::Planned(old)] = &other.actions[..] else { return false };
        self.head.domain == other.head.domain
            && other.head.ended.is_empty()
            && [&new.outcome, &old.outcome].into_iter().all(|of| *of == Outcome::Done)
            && [lfoc::SAMPLING, kpart::SAMPLING].contains(&new.reason.as_str())
            && new.reason == old.reason
            && new.clusters.has_members_of(&old.clusters)
    }
}

impl KeptAction {
    /// The action with names; `None` for one that only sets a time.
    pub(super) fn new(
        domain: u32,
        action: &Action<'_>,
        status: &Status,
        seen: &dyn MachineView,
    ) -> Option<Self> {
        let Action::Partition { plan, partition, reason } = action else {
            return recorded(domain, action, status).map(Self::Other);
        };
        Some(Self::Planned(KeptPlan {
            plan: *plan,
            reason: reason.clone().into_owned(),
            clusters: KeptClusters::new(domain, partition, status, seen),
            outcome: Outcome::Done,
        }))
    }

    fn to_recorded(&self) -> RecordedAction {
        match self {
            Self::Other(action) => action.clone(),
            Self::Planned(made) => RecordedAction::Planned {
                plan: made.plan.0,
                reason: made.reason.clone(),
                clusters: made.clusters.shares(),
                outcome: made.outcome.clone(),
            },
        }
    }

    /// Whether the action is about the program of this name.
    pub(super) fn is_about(&self, name: &str) -> bool {
        match self {
            Self::Other(action) => action.is_about(name),
            Self::Planned(made) => made.clusters.members.iter().any(|member| &*member.name == name),
        }
    }
}

impl KeptClusters {
    pub(super) fn new(
        domain: u32,
        partition: &Partition,
        status: &Status,
        seen: &dyn MachineView,
    ) -> Self {
        let mut members: Vec<KeptMember> = Vec::with_capacity(partition.placements().len());
        for place in partition.placements() {
            let named = status.index.named(&status.programs, domain, place.app.0);
            let Some((position, name)) = named else { continue };
            let cluster = place.cluster as usize;
            if cluster < partition.clusters().len() {
                let (name, before) = (Arc::clone(name), status.programs[position].ways);
                members.push(KeptMember { cluster, position, name, before });
            }
        }
        members.sort_unstable_by_key(|member| (member.position, member.cluster));
        let (mut ways, mut numbers) = (Vec::new(), Vec::new());
        for member in &mut members {
            let known = numbers.iter().position(|&number| number == member.cluster);
            let index = known.unwrap_or(numbers.len());
            if known.is_none() {
                numbers.push(member.cluster);
                let Resources { mask, bandwidth } = partition.clusters()[member.cluster];
                let bandwidth = bandwidth.map(|level| status.level_text(domain, level.get()));
                let (count, mask) = (mask.count(), seen.physical(domain, mask));
                ways.push(KeptWays { mask, count, bandwidth });
            }
            member.cluster = index;
        }
        members.sort_unstable_by_key(|member| (member.cluster, member.position));
        Self { ways, members }
    }

    /// Whether the same programs are in the same clusters.
    fn has_members_of(&self, other: &Self) -> bool {
        fn placement(member: &KeptMember) -> (usize, &str) {
            (member.cluster, &member.name)
        }
        self.members.iter().map(placement).eq(other.members.iter().map(placement))
    }

    /// The clusters with their text.
    pub(super) fn shares(&self) -> Vec<Share> {
        let mut shares: Vec<Share> = Vec::with_capacity(self.ways.len());
        for ways in &self.ways {
            let (mask, bandwidth) = (ways.mask.to_string(), ways.bandwidth.clone());
            shares.push(Share { mask, ways: ways.count, bandwidth, members: Vec::new() });
        }
        for member in &self.members {
            let (program, before) = (member.name.to_string(), member.before);
            shares[member.cluster].members.push(Member { program, before });
        }
        shares
    }
}

/// An action with names; `None` for a plan, and for one that only sets a time.
fn recorded(domain: u32, action: &Action<'_>, status: &Status) -> Option<RecordedAction> {
    fn name(app: AppId, domain: u32, status: &Status) -> String {
        status.name(domain, app)
    }
    Some(match action {
        Action::Classified { app, class, reason } => RecordedAction::Classified {
            program: name(*app, domain, status),
            class: class.clone().into_owned(),
            reason: reason.clone().into_owned(),
        },
        Action::Estimated { thread, what, value, raw } => RecordedAction::Estimated {
            program: name(thread.app, domain, status),
            what: words::current(what).to_owned(),
            value: estimate_value(*value, *raw),
        },
        Action::Allow { thread, cpus, reason } => RecordedAction::Allowed {
            program: name(thread.app, domain, status),
            cpus: cpus.to_vec(),
            reason: reason.clone().into_owned(),
        },
        Action::Priority { threads, raised, reason } => RecordedAction::Raised {
            programs: unique(threads.iter().map(|thread| name(thread.app, domain, status))),
            raised: *raised,
            reason: reason.clone().into_owned(),
        },
        Action::Quantum { thread, time, reason } => RecordedAction::Ordered {
            program: name(thread.app, domain, status),
            time_ns: u64::try_from(time.as_nanos()).unwrap_or(u64::MAX),
            reason: reason.clone().into_owned(),
        },
        Action::Partition { .. }
        | Action::Watch { .. }
        | Action::Wake { .. }
        | Action::WatchTogether { .. } => return None,
    })
}

/// The names in order, without repetitions: a program may have several threads.
fn unique(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names.filter(|name| seen.insert(name.clone())).collect()
}
