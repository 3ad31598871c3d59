//! A host whose policies set where threads run, and for how long.
//!
//! - **Every thread of a managed program is a program** to the policies, and is reported by its
//!   [`Started`](fairways_core::Event::Started) and [`Exited`](fairways_core::Event::Exited). The
//!   first is called as the program is, others `NAME/TID`, and each has its program's wishes. A
//!   number that the kernel gives to another thread is recognized by when that thread started,
//!   which is read where threads came or went, and every five seconds.
//! - **Domains** are the L3 caches in sysfs with their CPUs that are on line, which policies number
//!   in order from 0; all CPUs, where sysfs has no caches. What one domain's policy allows a thread
//!   counts for that domain's CPUs: where a thread lives in several, it may run where any of them
//!   lets it. A turn that is over is reported to the domain that ordered it so, and to those whose
//!   orders that one replaced; a usual turn to the domain of its CPU.
//! - **Turns** are reported when they are seen, at most 10 ms late: turns and times together may
//!   have ended a little before.
//! - **Counters that CPUs did not count** ([`Turn::counters`](fairways_turns::Turn::counters)) are
//!   read from the source ([`Source::beside`](fairways_perf::Source::beside)).
//! - **A scheduler that the kernel ends** is replaced by [another](Successors), which takes over
//!   its requests. The first is tried again after 10 s, and after three times as long after each
//!   further end, at most three times an hour.

mod actions;
mod again;
mod ended;
mod mechanism;
mod orders;
mod threads;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use fairways_core::{AppId, CpuSet, Time};
use fairways_programs::ProgramKey;

use fairways_resctrl_client::Errors;
use fairways_turns::together::{Gathering, Stretch};
use fairways_turns::{Scheduler, TurnReport};

use super::caches::Caches;
use super::trouble::Trouble;
use again::SchedulerEnds;
pub use again::Successors;
use orders::Orders;

/// A scheduler, and the requests made of it.
pub struct Turns {
    /// `None` once the kernel has ended it and none has replaced it.
    scheduler: Option<Box<dyn Scheduler>>,
    successors: Option<Box<dyn Successors>>,
    ends: SchedulerEnds,
    caches: Caches,
    /// Whether requests are logged and not carried out.
    pub(super) observe: bool,
    programs: BTreeMap<ProgramKey, ThreadedProgram>,
    threads: BTreeMap<AppId, Thread>,
    /// Threads that the scheduler refused, by number and start, and when to try again.
    refused: BTreeMap<(ProgramKey, i32, u64), Time>,
    watches: BTreeMap<u32, Watch>,
    /// When turns were last fetched, which have ended, and which times together are to be reported.
    fetched_at: Option<Time>,
    ended: TurnReport,
    stretches: Vec<(u32, Stretch)>,
    /// The requests that the scheduler refused.
    errors: Errors,
}

/// A program whose threads are managed.
#[derive(Default)]
struct ThreadedProgram {
    entry: Option<usize>,
    name: String,
    /// Whether one of its threads has the program's own name.
    is_named: bool,
    /// Its managed threads, by number.
    threads: BTreeMap<i32, AppId>,
}

/// A managed thread.
struct Thread {
    program: ProgramKey,
    number: i32,
    started: u64,
    /// The CPUs on which each domain's policy lets it run, by the policy's numbers; all CPUs of the
    /// other domains.
    allowed: BTreeMap<u32, Vec<u32>>,
    /// The CPUs that were requested from the scheduler; empty for all.
    cpus: CpuSet,
    /// The domains whose policies have raised it.
    raised: BTreeSet<u32>,
    orders: Orders,
}

/// A domain's request for times together.
struct Watch {
    shortest: Duration,
    gathering: Gathering,
}

impl Turns {
    /// A scheduler, with the ones that replace it if the kernel ends it, on the host whose sysfs is
    /// mounted at this path.
    ///
    /// # Errors
    /// If sysfs does not list which CPUs are on line; if the scheduler can't report turns.
    pub fn new(
        mut scheduler: Box<dyn Scheduler>,
        successors: Option<Box<dyn Successors>>,
        sysfs: PathBuf,
    ) -> io::Result<Self> {
        scheduler.watch(None)?;
        Ok(Self {
            scheduler: Some(scheduler),
            successors,
            ends: SchedulerEnds::default(),
            caches: Caches::new(sysfs)?,
            observe: false,
            programs: BTreeMap::new(),
            threads: BTreeMap::new(),
            refused: BTreeMap::new(),
            watches: BTreeMap::new(),
            fetched_at: None,
            ended: TurnReport::default(),
            stretches: Vec::new(),
            errors: Errors::default(),
        })
    }

    /// Whether CPUs or caches have changed.
    fn refresh(&mut self) -> bool {
        let has_changed = self.caches.refresh();
        if has_changed {
            let now = self.scheduler.as_ref().map_or(0, |scheduler| scheduler.now());
            for domain in self.caches.domains() {
                if let Some(watch) = self.watches.get_mut(&domain.id) {
                    watch.gathering = gathering(&domain.cpus, watch.shortest, now);
                }
            }
            self.watches.retain(|id, _| self.caches.domains().iter().any(|of| of.id == *id));
        }
        has_changed
    }

    /// The shortest time together that any domain's policy requested.
    fn shortest(&self) -> Option<Duration> {
        self.watches.values().map(|watch| watch.shortest).min()
    }

    /// Makes a request to the scheduler, and logs a failure.
    fn ask(
        &mut self,
        trouble: &mut Trouble,
        ask: impl FnOnce(&mut dyn Scheduler) -> io::Result<()>,
    ) {
        let Some(scheduler) = self.scheduler.as_mut() else { return };
        if let Err(why) = ask(scheduler.as_mut()) {
            self.errors.came_from_system(&why);
            trouble.log(&format!("{}: {why}", scheduler.name()));
        }
    }
}

/// Watches times from `now` on.
fn gathering(cpus: &CpuSet, shortest: Duration, now: u64) -> Gathering {
    Gathering::new(cpus, u64::try_from(shortest.as_nanos()).unwrap_or(u64::MAX)).since(now)
}
