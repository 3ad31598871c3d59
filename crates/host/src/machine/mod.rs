//! The host as what policies know: events and actions, a domain at a time.
//!
//! Each L3 domain is to its policy what a [`Machine`] is: [`Host::next_event`] says what happened and in which
//! domain, [`Host::carry_out`] does what the domain's policy asks for. A host with one domain is a machine by itself
//! ([`Host::one_domain`]).
//!
//! - **A program lives** in the domains that its CPUs touch, and each of their policies is told of it under the same id. One that
//!   moves to other domains exits from all of its domains and starts in the others under a new id.
//! - **A domain that goes**, with its last CPU or because others have all of it, is left by everybody: its policy is told so, and asked
//!   again should it return.
//! - **Windows** by time end when their time has come; windows by instructions when the clock says so, and where it can't, at about the
//!   time that the program's rate lets expect, which is looked at the more often the closer it is: late by 10 ms at most, as long
//!   as it goes no more than twice as fast as before. One of a steady program may be a thirty-second longer than it was to be, so that
//!   several are looked at whenever the machine is awake for one. While the instructions of a program can't be read, its windows by
//!   instructions don't end, and begin anew when they can be. Whatever was missing at a window's start or end is missing in it.
//! - **A machine that was suspended** gives up the windows under way: the cache is cold, as after a new
//!   [`Watch`](fairways_core::Action::Watch).
//! - **A plan that resctrl fails to take** is refused as [`Failed`](fairways_core::PartitionError::Failed), the reason logged, and the plan
//!   before it stays.
//! - **By resctrl** ([`Means::Ways`]) policies give out ways. No [`Cpus`](fairways_core::Event::Cpus) is told, and actions that need it do
//!   nothing.
//! - **By a scheduler** ([`Means::Turns`]) they say where threads run, and for how long; every thread is a program to them. Resctrl is
//!   not used, and a plan is refused as [`Failed`](fairways_core::PartitionError::Failed).

mod actions;
mod domain;
mod events;
mod latency;
mod means;
mod members;
mod settings;
mod shown;
mod told;
mod turns;
mod windows;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fairways_core::{Action, AppId, Event, Machine, Time};
use fairways_programs::Programs;
use fairways_resctrl_client::Restored;

use crate::clock::Clock;

use domain::Domain;
pub use means::Means;
use members::Member;
use settings::Kind;
pub use settings::{Managed, OpenLatency, Parts, Settings};
pub use shown::{Shown, ShownDomain};
pub use turns::{Instead, Turns};

/// A host whose programs are watched, and whose caches are partitioned or threads scheduled.
pub struct Host {
    means: Means,
    programs: Programs,
    source: Box<dyn fairways_perf::Source>,
    clock: Box<dyn Clock>,
    settings: Settings,
    kinds: Vec<Kind>,
    members: BTreeMap<AppId, Member>,
    domains: BTreeMap<u32, Domain>,
    next_id: u32,
    /// What is told happens now.
    now: Time,
    /// When to look again at who is there; at what others did, and at threads, if nothing tells of them.
    look_at: Time,
    others_at: Time,
    tasks_at: Time,
    /// When to heed again who calls for attention, and whether somebody has called who was not heeded.
    heed_at: Time,
    is_called: bool,
    /// When an alarm rang last, after which nothing but alarms happens at that instant.
    rang: Option<Time>,
    /// Programs of which something else is asked.
    wished: Vec<AppId>,
    stop: Option<Arc<AtomicBool>>,
    stop_at: Option<Time>,
    failure: Option<Failure>,
    /// What went wrong in the last look, which is said once.
    trouble: Option<String>,
    turn: Option<Turn>,
}

/// Who is shown a host time and again.
type Turn = Box<dyn FnMut(&Host)>;

/// Why a host has no more to tell.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Resctrl is not there any longer.
    #[error(transparent)]
    Unmounted(fairways_resctrl_client::Error),
    /// Its clock has stopped.
    #[error("clock: {0}")]
    Clock(io::Error),
    /// The kernel has ended the scheduler, and there is none in its place.
    #[error("scheduler: {0}")]
    Scheduler(io::Error),
}

impl Host {
    /// A host of these parts, which manages these programs.
    ///
    /// # Errors
    /// If programs can't be looked for: of [`Programs::new`].
    pub fn new(parts: Parts, managed: Vec<Managed>, settings: Settings) -> io::Result<Self> {
        let Parts { means, proc_and_cgroup, source, clock } = parts;
        let (wanted, kinds) = managed.into_iter().map(Managed::part).unzip();
        let now = clock.now();
        let mut host = Self {
            means,
            programs: Programs::new(proc_and_cgroup, wanted)?,
            source,
            clock,
            settings,
            kinds,
            members: BTreeMap::new(),
            domains: BTreeMap::new(),
            next_id: 0,
            now,
            look_at: now,
            others_at: now,
            tasks_at: now,
            heed_at: now,
            is_called: false,
            rang: None,
            wished: Vec::new(),
            stop: None,
            stop_at: None,
            failure: None,
            trouble: None,
            turn: None,
        };
        host.survey();
        Ok(host)
    }

    /// Nothing more is told once this is true.
    pub fn stop_when(&mut self, stop: Arc<AtomicBool>) {
        self.stop = Some(stop);
    }

    /// Nothing more is told from that time on.
    pub fn stop_at(&mut self, time: Time) {
        self.stop_at = Some(time);
    }

    /// Shows the host before each look at what happened, whether or not anything did; they are little more than a minute apart.
    pub fn on_turn(&mut self, turn: impl FnMut(&Self) + 'static) {
        self.turn = Some(Box::new(turn));
    }

    /// Why there is no more to tell, if that is not because it was [told to stop](Self::stop_when).
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    fn is_over(&self) -> bool {
        let stops = self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        let has_ended = self.stop_at.is_some_and(|time| time <= self.now);
        stops || has_ended || self.failure.is_some()
    }

    /// Puts everything back, and says what was and what was not.
    pub fn close(mut self) -> Restored {
        for app in std::mem::take(&mut self.members).into_keys() {
            self.source.end(app);
        }
        match self.means {
            Means::Ways(actuator) => actuator.close(),
            Means::Turns(turns) => turns.close(),
        }
    }

    /// The host as a machine, if it has one domain; `None` if it has several, each of which needs a policy of its own.
    pub fn one_domain(&mut self) -> Option<OneDomain<'_>> {
        let mut domains = self.domains.keys();
        let domain = domains.next().copied().filter(|_| domains.next().is_none())?;
        Some(OneDomain { host: self, domain })
    }
}

/// A host with one domain. One that joins it later is not managed.
pub struct OneDomain<'a> {
    host: &'a mut Host,
    domain: u32,
}

impl Machine for OneDomain<'_> {
    fn next_event(&mut self) -> Option<(Time, Event)> {
        loop {
            let (at, domain, event) = self.host.next_event()?;
            if domain == self.domain {
                return Some((at, event));
            }
        }
    }

    fn carry_out(&mut self, action: Action<'_>) {
        self.host.carry_out(self.domain, action);
    }
}
