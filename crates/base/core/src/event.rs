//! Events, which a machine reports to a policy, and actions, which a policy asks of a machine.

use alloc::borrow::Cow;
use alloc::sync::Arc;
use core::time::Duration;

use crate::{
    AppId, CoRun, Cpus, EndedTurn, Latencies, Levers, Objective, Partition, PartitionError, PlanId,
    Profile, Q32, Sample, ThreadId, Time, WindowLength,
};

/// An event: something that happened on a machine.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case", deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Event {
    /// The levers of the machine: the first event, and again whenever they change, or when a plan
    /// that failed can be tried again.
    Machine(Levers),
    /// How threads are scheduled, from a machine that lets policies schedule: right after the first
    /// [`Event::Machine`], and again whenever it changes. Other machines report nothing about
    /// threads.
    Cpus(Cpus),
    /// A program began to run.
    Started {
        /// The program.
        app: AppId,
        /// The wish of its owner.
        wish: Wish,
        /// Its profile, if it was measured before.
        profile: Option<Arc<Profile>>,
    },
    /// The owner of a program changed its wish.
    Wished {
        /// The program.
        app: AppId,
        /// The owner's whole wish from now on.
        wish: Wish,
    },
    /// A program ended.
    Exited {
        /// The program.
        app: AppId,
    },
    /// A window that the policy requested ended ([`Action::Watch`]).
    Sampled(Sample),
    /// The latencies of a service's requests in that window: reported right after the sample; only
    /// answers to plans may come between.
    Latency(Latencies),
    /// A span ended in which the same threads ran ([`Action::WatchTogether`]).
    RanTogether(CoRun),
    /// A thread went off its CPU.
    QuantumGiven(EndedTurn),
    /// The alarm rang that the policy set ([`Action::Wake`]).
    Woke,
    /// A plan is in force. This answers each plan that is not refused, before any other event; it
    /// is reported again whenever the partition in force changes.
    Applied {
        /// The plan.
        plan: PlanId,
        /// The partition in force: with masks and levels as the platform rounded them, or lower
        /// levels where somebody else limits more, clusters merged where classes are too few, and
        /// programs that could not be moved where they are. The plan does not limit a program that
        /// is in no cluster.
        actual: Partition,
    },
    /// The machine can't carry a plan out; the plan before it stays in force.
    Refused {
        /// The plan.
        plan: PlanId,
        /// The rule that it breaks.
        why: PartitionError,
    },
}

impl Event {
    /// Its name in the journal.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Machine(_) => "machine",
            Self::Cpus(_) => "cpus",
            Self::Started { .. } => "started",
            Self::Wished { .. } => "wished",
            Self::Exited { .. } => "exited",
            Self::Sampled(_) => "sampled",
            Self::Latency(_) => "latency",
            Self::RanTogether(_) => "ran_together",
            Self::QuantumGiven(_) => "quantum_given",
            Self::Woke => "woke",
            Self::Applied { .. } => "applied",
            Self::Refused { .. } => "refused",
        }
    }
}

/// The wish of a program's owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Wish {
    /// The fewest ways that the program is to have (dCat's baseline).
    pub baseline_ways: Option<u32>,
    /// Whether it is background work, whose CPU time may go to other programs (cache-fair's
    /// best-effort class, §2).
    #[cfg_attr(feature = "serde", serde(default))]
    pub best_effort: bool,
    /// The latency target of a latency-critical service (Locpart §III-A); `None` for other
    /// programs.
    #[cfg_attr(feature = "serde", serde(default))]
    pub objective: Option<Objective>,
    /// How many programs this one counts as, where a policy adds programs up; `None` for one.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub importance: Option<u32>,
}

/// An action: a request of a policy to a machine.
///
/// A policy lends its own data and allocates nothing; the reader of a journal owns what it has
/// read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case", deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Action<'a> {
    /// Let each cluster's programs fill its ways, and no others. The machine answers before any
    /// other event ([`Event::Applied`], [`Event::Refused`]).
    Partition {
        /// The plan's number.
        plan: PlanId,
        /// The clusters and their masks.
        partition: Cow<'a, Partition>,
        /// The policy's reason, in a line for people.
        reason: Cow<'static, str>,
    },
    /// From now on, report the program in windows of this length, one after the other
    /// ([`Event::Sampled`]), and the latencies of its requests if it is a service
    /// ([`Event::Latency`]). A window that is under way is dropped. A program that does not run is
    /// not watched.
    Watch {
        /// The program.
        app: AppId,
        /// How long a window is.
        every: WindowLength,
    },
    /// Wake the policy at this time, or at once if it is past ([`Event::Woke`]). There is one
    /// alarm: setting it again replaces the time.
    Wake {
        /// When.
        at: Time,
    },
    /// From now on, report every span of at least this length in which the same threads ran
    /// ([`Event::RanTogether`]); one that is under way counts from now on.
    WatchTogether {
        /// Shorter spans are not reported.
        #[cfg_attr(feature = "serde", serde(with = "crate::nanos"))]
        #[cfg_attr(feature = "schema", schemars(with = "u64"))]
        shortest: Duration,
    },
    /// Let a thread run on these CPUs only, until the next such action; a thread that runs on
    /// another CPU leaves it.
    Allow {
        /// The thread.
        thread: ThreadId,
        /// The CPUs, in order. CPUs that do not exist are ignored; if that leaves none, the thread
        /// may run on every CPU.
        cpus: Cow<'a, [u32]>,
        /// The policy's reason, in a line for people.
        reason: Cow<'static, str>,
    },
    /// Let these threads run before all threads that are not raised, or no longer.
    Priority {
        /// The threads.
        threads: Cow<'a, [ThreadId]>,
        /// Whether they are raised; a thread starts without being raised.
        raised: bool,
        /// The policy's reason, in a line for people.
        reason: Cow<'static, str>,
    },
    /// Set the length of a thread's next turn on a CPU; the turns after it are as usual again. A
    /// thread that is on a CPU finishes its turn first. A later order replaces one that has not
    /// begun.
    Quantum {
        /// The thread.
        thread: ThreadId,
        /// The length; more than 0.
        #[cfg_attr(feature = "serde", serde(with = "crate::nanos"))]
        #[cfg_attr(feature = "schema", schemars(with = "u64"))]
        time: Duration,
        /// The policy's reason, in a line for people.
        reason: Cow<'static, str>,
    },
    /// A number that the policy estimated for a thread (for a program: its first thread), for
    /// people and journals; a machine ignores it. It precedes the plan that it decided. It is
    /// reported again only when it changes, or after the program's class was reported again.
    Estimated {
        /// The thread.
        thread: ThreadId,
        /// The number's name in the paper, and its unit after a comma. `expected slowdown` always
        /// is the expected completion time with the planned ways, over that with all ways or with
        /// the ways at which it is fastest, whichever the policy divides by.
        what: Cow<'static, str>,
        /// The number that the policy uses.
        value: Q32,
        /// The number before it was clamped to its range, in units of 2^-32.
        raw: i64,
    },
    /// How the policy classifies a program, for people and journals; a machine ignores it.
    /// Estimates reported before are void, even if the class is the same as before.
    Classified {
        /// The program.
        app: AppId,
        /// The class, in the policy's own word.
        class: Cow<'static, str>,
        /// The policy's reason, in a line for people.
        reason: Cow<'static, str>,
    },
}

impl Action<'_> {
    /// Its name in the journal.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Partition { .. } => "partition",
            Self::Watch { .. } => "watch",
            Self::Wake { .. } => "wake",
            Self::WatchTogether { .. } => "watch_together",
            Self::Allow { .. } => "allow",
            Self::Priority { .. } => "priority",
            Self::Quantum { .. } => "quantum",
            Self::Estimated { .. } => "estimated",
            Self::Classified { .. } => "classified",
        }
    }
}
