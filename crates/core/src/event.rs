//! What a machine tells a policy, and what a policy asks of a machine.

use alloc::sync::Arc;

use crate::{AppId, Every, Llc, Partition, PartitionError, PlanId, Profile, Sample, Time};

/// What happened on a machine.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case", deny_unknown_fields))]
pub enum Event {
    /// What the cache is like: first of all, and again whenever it changes.
    Machine(Llc),
    /// A program began to run.
    Started {
        /// The program.
        app: AppId,
        /// What its owner asks for.
        wish: Wish,
        /// What was measured of it before, where something was.
        profile: Option<Arc<Profile>>,
    },
    /// A program ended.
    Exited {
        /// The program.
        app: AppId,
    },
    /// A window that the policy asked for ended ([`Action::Watch`]).
    Sampled(Sample),
    /// The time came that the policy asked to be woken at ([`Action::Wake`]).
    Woke,
    /// The machine can't carry a plan out; the one before it still holds.
    Refused {
        /// The plan.
        plan: PlanId,
        /// The rule that it breaks.
        why: PartitionError,
    },
}

/// What the owner of a program asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Wish {
    /// Ways that the program is to have at least (dCat's baseline).
    pub baseline_ways: Option<u32>,
}

/// What a policy asks of a machine.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub enum Action<'a> {
    /// Let each cluster's programs fill its ways, and no others.
    Partition {
        /// The plan's number.
        plan: PlanId,
        /// The clusters and their masks.
        partition: &'a Partition,
        /// Why the policy decided so, in a line for people.
        reason: &'static str,
    },
    /// From now on, tell what the program does in windows of this length, one after the other
    /// ([`Event::Sampled`]); a window that is under way is given up. A program that does not run
    /// is not watched.
    Watch {
        /// The program.
        app: AppId,
        /// How long a window is.
        every: Every,
    },
    /// Wake the policy at this time, or at once if it is past ([`Event::Woke`]). There is one
    /// alarm: this replaces one that is yet to come.
    Wake {
        /// When.
        at: Time,
    },
    /// What the policy holds a program to be, for people and journals; a machine does nothing
    /// about it.
    Classified {
        /// The program.
        app: AppId,
        /// The class, in the policy's word.
        class: &'static str,
        /// Why, in a line for people.
        reason: &'static str,
    },
}
