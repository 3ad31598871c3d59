//! What a machine tells a policy, and what a policy asks of a machine.

use alloc::sync::Arc;

use crate::{AppId, Llc, Partition, PartitionError, PlanId, Profile};

/// What happened on a machine.
#[derive(Clone, Debug)]
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
pub struct Wish {
    /// Ways that the program is to have at least (dCat's baseline).
    pub baseline_ways: Option<u32>,
}

/// What a policy asks of a machine.
#[derive(Clone, Copy, Debug)]
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
}
