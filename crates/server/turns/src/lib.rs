//! Where threads run, and for how long: what policies that schedule need from a host.
//!
//! A [`Scheduler`] is one way to let threads of the managed programs run on some CPUs only, before
//! others, or for longer; and to see which threads run beside each other. Each thread has an
//! [`AppId`] of its own: to policies that schedule, every thread is a program.

mod affinity;
pub mod ledger;
mod policy;
mod settings;
mod thread;
pub mod together;

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use fairways_core::{AppId, Counters, CpuSet};
use fairways_ledger::Restored;

pub use affinity::Affinity;
pub use settings::Settings;

/// A way to let threads take turns.
pub trait Scheduler {
    /// What it is called: in the log, in `status` and in `doctor`.
    fn name(&self) -> &'static str;

    /// How long a turn is unless another length is ordered ([`fairways_core::Cpus::quantum`]).
    fn quantum(&self) -> Duration;

    /// Takes in a thread, by its number from gettid(2). It may run on every CPU that its owner lets
    /// it use, and is not raised.
    ///
    /// # Errors
    /// If the kernel refuses. A thread that has ended meanwhile is no error.
    fn begin(&mut self, app: AppId, thread: i32) -> io::Result<()>;

    /// Releases a thread: puts it back as it was before, if it has not ended.
    fn end(&mut self, app: AppId);

    /// The CPUs that a thread's owner lets it use. This scheduler may have changed the kernel's
    /// list (`Cpus_allowed_list`). `None` where the kernel's list is the owner's, and for a thread
    /// that was not taken in.
    fn owners(&self, _: AppId) -> Option<CpuSet> {
        None
    }

    /// Lets a thread run on these of the host's CPUs only; if its owner allows none of these, on
    /// all that its owner allows.
    ///
    /// # Errors
    /// If the kernel refuses.
    fn allow(&mut self, app: AppId, cpus: &CpuSet) -> io::Result<()>;

    /// Lets a thread run before those that are not raised, or no longer does.
    ///
    /// # Errors
    /// If the kernel refuses.
    fn raise(&mut self, app: AppId, raised: bool) -> io::Result<()>;

    /// Orders the length of a thread's next turn. The order is a share of time: a thread with an
    /// order of twice the [quantum](Self::quantum) gets twice the time of one without an order,
    /// until its turn has been that long.
    ///
    /// # Errors
    /// If the kernel refuses.
    fn order(&mut self, app: AppId, time: Duration) -> io::Result<()>;

    /// Carries out all pending requests together, where they were not carried out at once.
    /// [`turns`](Self::turns) does this, too.
    ///
    /// # Errors
    /// If the kernel refuses a request; the others are carried out.
    fn settle(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Releases all threads as they were before, and returns what was put back and what was not.
    fn close(self: Box<Self>) -> Restored {
        Restored::default()
    }

    /// Reports, from now on, the turns of threads that were taken in. With `shortest`, it also
    /// reports other threads' turns and idle times on a CPU that last at least this long.
    ///
    /// # Errors
    /// If the kernel does not report switches.
    fn watch(&mut self, shortest: Option<Duration>) -> io::Result<()>;

    /// How often it had no room for a thread, which then ran where its owner lets it.
    fn threads_without_room(&self) -> u64 {
        0
    }

    /// Now, in nanoseconds, by the clock of [`Turn::span`]: `CLOCK_MONOTONIC`, except in tests that
    /// have a clock of their own.
    fn now(&self) -> u64 {
        fairways_perf::switches::now()
    }

    /// Descriptors that become readable when turns have ended. A caller calls
    /// [`turns`](Self::turns) now and then, too.
    fn attention(&self) -> Vec<BorrowedFd<'_>>;

    /// Appends the turns that have ended since the last call, those of one CPU in the order of
    /// time.
    ///
    /// # Errors
    /// If scheduling no longer works: the kernel has ended it, and threads run as they did before.
    fn turns(&mut self, ended: &mut TurnReport) -> io::Result<()>;
}

/// Turns that have ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnReport {
    /// Times on CPUs.
    pub turns: Vec<Turn>,
    /// Turns in the policy's sense.
    pub given: Vec<Given>,
}

/// What a CPU did between two switches. A time on a CPU that is not reported was too short, or was
/// lost: which thread ran then is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The CPU.
    pub cpu: u32,
    /// What ran.
    pub who: Who,
    /// When it began and ended, in nanoseconds of `CLOCK_MONOTONIC`.
    pub span: (u64, u64),
    /// What the CPU counted meanwhile; a counter that can't be read is missing.
    pub counters: Counters,
    /// Whether the turn goes on: it was read while it lasted.
    pub goes_on: bool,
}

/// What ran on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// No thread.
    Idle,
    /// A thread that was not taken in.
    Other,
    /// A thread that was taken in.
    Thread(AppId),
}

/// A thread's turn that is over, in the policy's sense: it had the time that was ordered, or gave
/// the rest up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    /// The thread.
    pub app: AppId,
    /// The CPU on which it last ran.
    pub cpu: u32,
    /// How long it was to be.
    pub ordered: Duration,
    /// How long it was.
    pub ran: Duration,
    /// When it ended, in nanoseconds of `CLOCK_MONOTONIC`.
    pub at: u64,
}
