//! What a machine tells a policy, and what a policy asks of a machine.

use alloc::borrow::Cow;
use alloc::sync::Arc;
use core::time::Duration;

use crate::{
    AppId, CoRun, Cpus, EndedTurn, Latencies, Levers, Objective, Partition, PartitionError, PlanId,
    Profile, Q32, Sample, ThreadId, Time, WindowLength,
};

/// What happened on a machine.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case", deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Event {
    /// The levers of the machine: the first event, and again whenever they change, or when a plan
    /// that failed can be tried again.
    Machine(Levers),
    /// How threads are scheduled, from a machine that lets policies have a say in it: right after the first
    /// [`Event::Machine`], and again whenever it changes. Of other machines, threads are not told.
    Cpus(Cpus),
    /// A program began to run.
    Started {
        /// The program.
        app: AppId,
        /// What its owner asks for.
        wish: Wish,
        /// What was measured of it before, where something was.
        profile: Option<Arc<Profile>>,
    },
    /// The owner of a program asks for something else from now on.
    Wished {
        /// The program.
        app: AppId,
        /// All that its owner asks for now.
        wish: Wish,
    },
    /// A program ended.
    Exited {
        /// The program.
        app: AppId,
    },
    /// A window that the policy asked for ended ([`Action::Watch`]).
    Sampled(Sample),
    /// What a service's requests took in the same window: after it, and before anything else but what became of
    /// plans.
    Latency(Latencies),
    /// A time ended in which the same threads ran ([`Action::WatchTogether`]).
    RanTogether(CoRun),
    /// A thread went off its CPU.
    QuantumGiven(EndedTurn),
    /// The time came that the policy asked to be woken at ([`Action::Wake`]).
    Woke,
    /// A plan is in force. Each plan that is not refused is answered so before any other event, and
    /// again whenever the partition in force changes.
    Applied {
        /// The plan.
        plan: PlanId,
        /// The partition in force: with masks as the platform rounded them, clusters merged where
        /// classes are too few, and programs that could not be moved where they are. A program
        /// without a place is not limited by the plan.
        actual: Partition,
    },
    /// The machine can't carry a plan out; the one before it still holds.
    Refused {
        /// The plan.
        plan: PlanId,
        /// The rule that it breaks.
        why: PartitionError,
    },
}

impl Event {
    /// What it is, in the word of the journal.
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

/// What the owner of a program asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Wish {
    /// Ways that the program is to have at least (dCat's baseline).
    pub baseline_ways: Option<u32>,
    /// Whether it is background work, whose CPU time others may be given (cache-fair's best-effort class,
    /// §2).
    #[cfg_attr(feature = "serde", serde(default))]
    pub best_effort: bool,
    /// How soon it is to answer its requests; only of a latency-critical service (Locpart §III-A).
    #[cfg_attr(feature = "serde", serde(default))]
    pub objective: Option<Objective>,
}

/// What a policy asks of a machine.
///
/// A policy borrows what it has at hand and allocates nothing; the reader of a journal owns what it
/// has read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case", deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Action<'a> {
    /// Let each cluster's programs fill its ways, and no others. It is
    /// answered before any other event ([`Event::Applied`], [`Event::Refused`]).
    Partition {
        /// The plan's number.
        plan: PlanId,
        /// The clusters and their masks.
        partition: Cow<'a, Partition>,
        /// Why the policy decided so, in a line for people.
        reason: Cow<'static, str>,
    },
    /// From now on, tell what the program does in windows of this length, one after the other
    /// ([`Event::Sampled`]), and how soon it answered if it is a service ([`Event::Latency`]); a window that is
    /// under way is given up. A program that does not run
    /// is not watched.
    Watch {
        /// The program.
        app: AppId,
        /// How long a window is.
        every: WindowLength,
    },
    /// Wake the policy at this time, or at once if it is past ([`Event::Woke`]). There is one
    /// alarm: this replaces one that is yet to come.
    Wake {
        /// When.
        at: Time,
    },
    /// From now on, tell of every time of at least this length in which the same threads ran
    /// ([`Event::RanTogether`]); one that is under way counts from now on.
    WatchTogether {
        /// Shorter ones are not told.
        #[cfg_attr(feature = "serde", serde(with = "crate::nanos"))]
        #[cfg_attr(feature = "schema", schemars(with = "u64"))]
        shortest: Duration,
    },
    /// Let a thread run on these CPUs only, until told otherwise; one that runs on another leaves it.
    Allow {
        /// The thread.
        thread: ThreadId,
        /// The CPUs, in order; those that there are not are passed over, and if that leaves none, the thread
        /// may run on every one.
        cpus: Cow<'a, [u32]>,
        /// Why the policy decided so, in a line for people.
        reason: Cow<'static, str>,
    },
    /// Let these threads run before all that are not raised, or no longer.
    Priority {
        /// The threads.
        threads: Cow<'a, [ThreadId]>,
        /// Whether they are raised; none is when it starts.
        raised: bool,
        /// Why the policy decided so, in a line for people.
        reason: Cow<'static, str>,
    },
    /// Let a thread's next turn on a CPU be so long; the turns after it are as usual again. A thread that is
    /// on a CPU finishes its turn first. A later order replaces one that was not yet given.
    Quantum {
        /// The thread.
        thread: ThreadId,
        /// How long, more than nothing.
        #[cfg_attr(feature = "serde", serde(with = "crate::nanos"))]
        #[cfg_attr(feature = "schema", schemars(with = "u64"))]
        time: Duration,
        /// Why the policy decided so, in a line for people.
        reason: Cow<'static, str>,
    },
    /// A number that the policy found out of a thread, or of a program by its first, for people and journals; a
    /// machine does nothing about it. It stands before the plan that it decided, and is not told again until it is
    /// another, or the program's class is told again.
    Estimated {
        /// The thread.
        thread: ThreadId,
        /// Which number, in the paper's word, and its unit behind a comma; `slowdown` always is the completion time
        /// to expect with the ways that it is given, over that with all or with those at which it is fastest,
        /// whichever the policy divides by.
        what: Cow<'static, str>,
        /// The number that the policy goes by.
        value: Q32,
        /// As it came out, before it was held to what it can be, in units of 2^-32.
        raw: i64,
    },
    /// What the policy holds a program to be, for people and journals; a machine does nothing
    /// about it. Numbers of its class that were told before are void, also if the class is that of before.
    Classified {
        /// The program.
        app: AppId,
        /// The class, in the policy's word.
        class: Cow<'static, str>,
        /// Why, in a line for people.
        reason: Cow<'static, str>,
    },
}

impl Action<'_> {
    /// What it is, in the word of the journal.
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
