//! Where threads run, and for how long: what policies that say so need of a host.
//!
//! A [`Scheduler`] is one way to let threads of the managed programs run on some CPUs only, before others, or for longer; and to see who
//! runs beside whom. Each thread is known by an [`AppId`] of its own: to policies that schedule, every thread is a program.

mod affinity;
pub mod ledger;
mod settings;
mod thread;
pub mod together;

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use fairways_core::{AppId, Counters};
use fairways_resctrl::language::CpuSet;

use fairways_resctrl_client::Restored;

pub use affinity::Affinity;
pub use settings::Settings;

/// A way to let threads take turns.
pub trait Scheduler {
    /// What it is called: in the log, in `status` and in `doctor`.
    fn name(&self) -> &'static str;

    /// How long a turn is when nobody ordered otherwise ([`fairways_core::Cpus::quantum`]).
    fn quantum(&self) -> Duration;

    /// Takes a thread in, as gettid(2) tells it, which may run on every CPU that its owner lets it run on, and is not raised.
    ///
    /// # Errors
    /// If the kernel refuses; a thread that has ended meanwhile is no error.
    fn begin(&mut self, app: AppId, thread: i32) -> io::Result<()>;

    /// Lets a thread go, as it was before, if it has not ended.
    fn end(&mut self, app: AppId);

    /// The CPUs that a thread's owner lets it use, where what the kernel tells of it (`Cpus_allowed_list`) is not that: this scheduler may have
    /// set it. `None` where the kernel's word is the owner's, and of a thread that was not taken in.
    fn owners(&self, _: AppId) -> Option<CpuSet> {
        None
    }

    /// Lets a thread run on these of the host's CPUs only; on all that its owner lets it run on, where none of these is among
    /// them.
    ///
    /// # Errors
    /// If the kernel refuses.
    fn allow(&mut self, app: AppId, cpus: &CpuSet) -> io::Result<()>;

    /// Lets a thread run before those that are not raised, or no longer.
    ///
    /// # Errors
    /// If the kernel refuses.
    fn raise(&mut self, app: AppId, raised: bool) -> io::Result<()>;

    /// Lets a thread's next turn be so long. What is ordered is a share of time: who is ordered twice the [quantum](Self::quantum) gets twice
    /// the time of one who is not, until it has had so long a turn.
    ///
    /// # Errors
    /// If the kernel refuses.
    fn order(&mut self, app: AppId, time: Duration) -> io::Result<()>;

    /// Carries out what was asked since the last time, all at once, where that was not done at once; [`turns`](Self::turns) does, too.
    ///
    /// # Errors
    /// If the kernel refuses; what it does not refuse is carried out.
    fn settle(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Lets all threads go, as they were before, and says what was put back and what was not.
    fn close(self: Box<Self>) -> Restored {
        Restored::default()
    }

    /// Tells from now on of turns of threads that were taken in; with `shortest`, also of what else a CPU did for at least so long: others'
    /// turns, and idleness.
    ///
    /// # Errors
    /// If the kernel can't be asked.
    fn watch(&mut self, shortest: Option<Duration>) -> io::Result<()>;

    /// Now, in nanoseconds, by the clock of [`Turn::span`]: `CLOCK_MONOTONIC`, where nobody makes time up.
    fn now(&self) -> u64 {
        fairways_perf::switches::now()
    }

    /// Descriptors that become readable when turns have ended; a caller looks now and then, too.
    fn attention(&self) -> Vec<BorrowedFd<'_>>;

    /// Appends what has ended since this was last asked: of a CPU in the order of time.
    ///
    /// # Errors
    /// If it does not work any longer: the kernel has ended it, and threads run as they did before.
    fn turns(&mut self, told: &mut Told) -> io::Result<()>;
}

/// What has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Times on CPUs.
    pub turns: Vec<Turn>,
    /// Turns in the policy's sense.
    pub given: Vec<Given>,
}

/// What a CPU did between two switches. A time on a CPU of which nothing is told was too short, or was lost: who ran then is not
/// known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The CPU.
    pub cpu: u32,
    /// Who ran.
    pub who: Who,
    /// When it began and ended, in nanoseconds of `CLOCK_MONOTONIC`.
    pub span: (u64, u64),
    /// What the CPU counted meanwhile; what can't be read is missing.
    pub counters: Counters,
    /// Whether the same goes on: it was looked at while it lasted.
    pub goes_on: bool,
}

/// Who ran on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Nobody.
    Idle,
    /// A thread that was not taken in.
    Other,
    /// One that was.
    Thread(AppId),
}

/// A thread's turn that is over, in the policy's sense: it had the time that was ordered, or gave it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    /// The thread.
    pub app: AppId,
    /// The CPU on which it was last.
    pub cpu: u32,
    /// How long it was to be.
    pub ordered: Duration,
    /// How long it was.
    pub ran: Duration,
    /// When it was over, in nanoseconds of `CLOCK_MONOTONIC`.
    pub at: u64,
}
