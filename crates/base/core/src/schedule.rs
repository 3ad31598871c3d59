//! Which threads run when, and on which CPU.

use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use crate::{AppId, Counters};

/// A thread of a program; never reused. A program's first is number 0, and starts and ends with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadId {
    /// The program.
    pub app: AppId,
    /// The thread's number within the program.
    pub number: u32,
}

impl ThreadId {
    /// A program's first thread.
    #[must_use]
    pub const fn first_of(app: AppId) -> Self {
        Self { app, number: 0 }
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.number == 0 {
            self.app.fmt(f)
        } else {
            write!(f, "{} thread {}", self.app, self.number)
        }
    }
}

/// How a machine's operating system lets threads take turns on its CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cpus {
    /// The number of CPUs, at least 1; they are numbered from 0. Each hardware thread is a CPU.
    pub count: u32,
    /// How long a thread stays on a CPU when another waits for it and no policy ordered another
    /// length.
    #[cfg_attr(feature = "serde", serde(with = "crate::nanos"))]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub quantum: Duration,
}

/// A span in which the same threads ran: from when the last of them went on its CPU to when the
/// first went off.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoRun {
    /// All threads that ran, in the order of their ids, and the counts of each; at least one.
    pub threads: Vec<ThreadCounters>,
    /// The counts of all threads that share the cache, including threads that are not reported to
    /// the policy.
    pub group: Counters,
    /// Its length.
    #[cfg_attr(feature = "serde", serde(with = "crate::nanos"))]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub window: Duration,
}

/// The counts of one of several threads while they ran together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadCounters {
    /// The thread.
    pub thread: ThreadId,
    /// The counts.
    pub counters: Counters,
}

/// A thread's turn on a CPU that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EndedTurn {
    /// The thread.
    pub thread: ThreadId,
    /// The CPU; the last one if the turn moved to another.
    pub cpu: u32,
    /// The planned length: as ordered ([`Action::Quantum`](crate::Action::Quantum)), or the
    /// machine's quantum.
    #[cfg_attr(feature = "serde", serde(with = "crate::nanos"))]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub ordered: Duration,
    /// The real length, as measured.
    #[cfg_attr(feature = "serde", serde(with = "crate::nanos"))]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub ran: Duration,
}
