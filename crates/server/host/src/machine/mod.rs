//! The host as policies see it: events and actions, one domain at a time.
//!
//! Each L3 domain is a [`Machine`] to its policy: [`Host::next_event`] reports what happened in
//! which domain, [`Host::carry_out`] does what the domain's policy requests. A host with one domain
//! is a machine by itself ([`Host::one_domain`]).
//!
//! - **A program lives** in the domains that its CPUs touch, and is reported to each of their
//!   policies under the same id. A program that moves to other domains exits from all of its
//!   domains and starts in the others under a new id.
//! - **A domain goes** with its last CPU, or because another manager takes all of it. All programs
//!   then leave it; that is reported to its policy, which is called again if the domain returns.
//! - **Windows** by time end when their time has come. Windows by instructions end when the clock
//!   says so. Where it can't, they are looked at when the program's rate lets their end be
//!   expected, and the more often the closer that is: an end is found 10 ms late at most, as long
//!   as the program goes no more than twice as fast as before. The windows of a steady program,
//!   whose last window took as long as the one before to an eighth, are looked at only when their
//!   end is expected, so one is longer when such a program becomes faster. They may be a
//!   thirty-second longer than requested, so that several are looked at together.
//!   While the instructions of a program can't be read, its windows by instructions don't end; they
//!   begin again when the instructions can be read. A reading that was missing at a window's start
//!   or end is missing in the window.
//! - **A machine that was suspended** gives up the windows under way: the cache is cold, as after a
//!   new [`Watch`](fairways_core::Action::Watch).
//! - **A plan that resctrl fails to take** is refused as
//!   [`Failed`](fairways_core::PartitionError::Failed), the reason is logged, and the plan before
//!   it stays. The policy is asked for another in a second, and later after each further
//!   failure. From the second on, its plans until then are refused likewise and not tried.
//! - **By resctrl** ([`Lever::Ways`]) policies give out ways. No
//!   [`Cpus`](fairways_core::Event::Cpus) is reported, and actions that need it do nothing.
//! - **By a scheduler** ([`Lever::Turns`]) policies set where threads run, and for how long; every
//!   thread is a program to them. Resctrl is not used, and a plan is refused as
//!   [`Failed`](fairways_core::PartitionError::Failed).
//! - **By counters alone** ([`Lever::Nothing`]) programs are watched on a host without resctrl, and
//!   a plan is refused as [`Failed`](fairways_core::PartitionError::Failed).
//!
//! A [`Host`] has a `Mechanism`, which sets the lever, and a `HostState`, whose parts are the same
//! for every lever.

mod agenda;
mod announcements;
mod announcer;
mod caches;
mod counted_host;
mod counting;
mod domain;
mod domains;
mod latency;
mod lever;
mod mechanism;
mod next_event;
mod plan;
mod pod_places;
mod roster;
mod settings;
mod shown;
mod state;
mod traffic_check;
mod trouble;
mod turnover;
mod turns;
mod ways;
mod whole;
mod window_table;
mod windows;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fairways_core::{Action, Counter, Event, Machine, Time};
use fairways_resctrl_client::Restored;

use agenda::Agenda;
use announcements::Announcements;
pub use announcer::{Announcement, ContainerAnnouncer};
pub use counted_host::CountedHost;
use counting::Counting;
use domains::Domains;
pub use lever::{Lever, Parts};
use mechanism::Mechanism;
pub use mechanism::SchedulerCounts;
pub use pod_places::PlaceLimits;
use roster::Roster;
pub use settings::{Managed, NewContainer, OpenLatency, Settings};
pub use shown::{Shown, ShownDomain};
use state::HostState;
pub use trouble::Failure;
use trouble::Trouble;
pub use turns::{Successors, Turns};

/// A host: its programs are watched, and its caches are partitioned or its threads scheduled.
pub struct Host {
    mechanism: Box<dyn Mechanism>,
    state: HostState,
    stop: Option<Arc<AtomicBool>>,
    stop_at: Option<Time>,
    /// See [`Self::changes`].
    changes: u64,
    announcements: Announcements,
}

impl Host {
    /// A host that consists of these parts and manages these programs.
    ///
    /// # Errors
    /// If programs can't be looked for: see [`Programs::new`](fairways_programs::Programs::new).
    pub fn new(parts: Parts, managed: Vec<Managed>, settings: Settings) -> io::Result<Self> {
        let mut state = HostState {
            agenda: Agenda::new(parts.clock, settings.look),
            roster: Roster::new(parts.proc_and_cgroup, managed)?,
            domains: Domains::default(),
            counting: Counting::new(parts.source),
            trouble: Trouble::default(),
            announcer: None,
        };
        let mut mechanism = parts.lever.mechanism(settings.observe);
        mechanism.survey(&mut state);
        Ok(Self {
            mechanism,
            state,
            stop: None,
            stop_at: None,
            changes: 0,
            announcements: Announcements::default(),
        })
    }

    /// Replaces the list of programs. Programs continue if they are found by the same name and
    /// [selector](fairways_programs::Selector) as before, and still each by itself or all together.
    ///
    /// # Errors
    /// If the new programs can't be looked for; nothing has changed then.
    pub fn reconfigure(&mut self, managed: Vec<Managed>) -> io::Result<()> {
        let moved = self.state.roster.reconfigure(managed)?;
        self.mechanism.reconfigure(&moved);
        self.state.agenda.look_soon();
        Ok(())
    }

    /// Also counts these counters of programs ([`Source::count_also`]).
    ///
    /// [`Source::count_also`]: fairways_perf::Source::count_also
    pub fn count_also(&mut self, counters: &[Counter], may_take_turns: bool) {
        self.state.counting.source.count_also(counters, may_take_turns);
    }

    /// Makes the host report nothing more once this is true.
    pub fn stop_when(&mut self, stop: Arc<AtomicBool>) {
        self.stop = Some(stop);
    }

    /// Makes the host report nothing more from that time on.
    pub fn stop_at(&mut self, time: Time) {
        self.stop_at = Some(time);
    }

    /// A number that grows whenever something of the host may have changed that can be shown,
    /// except that time passed, windows ended and plans were made: at least once a
    /// [look](Settings::look).
    #[must_use]
    pub const fn changes(&self) -> u64 {
        self.changes
    }

    /// Why nothing more is reported, unless the host was [to stop](Self::stop_when).
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        self.state.trouble.failure()
    }

    fn is_over(&self) -> bool {
        let stops = self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        let has_ended = self.stop_at.is_some_and(|time| time <= self.state.agenda.now());
        stops || has_ended || self.failure().is_some()
    }

    /// Puts everything back, and returns what was put back and what was not.
    pub fn close(mut self) -> Restored {
        for &app in self.state.roster.members.keys() {
            self.state.counting.source.end(app);
        }
        self.mechanism.close()
    }

    /// The host as a machine, if it has one domain; `None` if it has several, each of which needs
    /// its own policy.
    pub fn one_domain(&mut self) -> Option<OneDomain<'_>> {
        let domain = self.state.domains.only()?;
        Some(OneDomain { host: self, domain })
    }
}

/// A host with one domain. Domains that appear later are not managed.
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
