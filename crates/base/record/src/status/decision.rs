//! A decision: the event, what the policy found about each program, and what it did.

use fairways_command_kit::moment::Moment;
use serde::{Deserialize, Serialize};

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
    /// How many similar decisions this one replaces: consecutive ones of sampling, with the same
    /// reason and the same programs in the same clusters.
    pub alike: u64,
    /// What the policy found about programs and did, in order.
    pub actions: Vec<RecordedAction>,
    /// Its programs that ended before the next decision of its domain: its actions are not about a
    /// later program of the same name.
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
    /// Threads were put ahead of others, or no longer are.
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

/// The outcome of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is or was in force.
    #[default]
    Done,
    /// Something other than the plan is in force: the clusters with their programs and ways.
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
