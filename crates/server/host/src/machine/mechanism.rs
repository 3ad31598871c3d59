//! The mechanism that sets a lever for policies.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use fairways_core::{Action, AppId, Counters, WayMask};
use fairways_programs::ProgramKey;
use fairways_resctrl_client::{Actuator, Errors, Restored};

use super::roster::FoundProgram;
use super::state::HostState;
use super::trouble::Trouble;

/// What happened to a scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedulerCounts {
    /// How often the kernel has ended it.
    pub ended: u64,
    /// How often the current scheduler had no room for a thread, which then ran where its owner
    /// lets it.
    pub threads_without_room: u64,
}

/// Sets a lever as policies decide. Everything that is particular to a lever is in its mechanism:
/// [`CacheWays`](super::ways::CacheWays) sets ways, [`Turns`](super::Turns) sets turns,
/// [`CountedHost`](super::CountedHost) nothing.
pub(super) trait Mechanism {
    /// Updates the domains.
    fn survey(&mut self, state: &mut HostState);

    /// Checks for others' changes of the lever; this takes longer than looking for programs.
    fn look(&mut self, state: &mut HostState);

    /// Adds a program.
    fn begin(&mut self, found: FoundProgram, state: &mut HostState);

    /// Removes a program that has ended, or is no longer managed.
    fn end(&mut self, program: ProgramKey, state: &mut HostState);

    /// Updates the programs' threads, and where they may run.
    fn list_threads(&mut self, state: &mut HostState);

    /// Adds a new process with one thread to a program, before a look finds it.
    fn admit(&mut self, program: ProgramKey, thread: i32, state: &mut HostState);

    /// Forgets a program that has ended for every domain.
    fn release(&mut self, _: AppId, _: &mut Trouble) {}

    /// Follows a change of the list of programs: `_moved` has, for each entry of the old list, its
    /// entry in the new one, if any.
    fn reconfigure(&mut self, _moved: &[Option<usize>]) {}

    /// Carries out an action of a domain's policy, except windows and alarms. Actions for other
    /// levers do nothing.
    fn carry_out(&mut self, domain: u32, action: Action<'_>, state: &mut HostState);

    /// Reports the partition in force if it changed without a plan.
    fn report_in_force(&mut self, _: &mut HostState) {}

    /// Fetches other events, before windows end.
    fn fetch(&mut self, _: &mut HostState) {}

    /// Reports what was [fetched](Self::fetch), after windows have ended.
    fn report(&mut self, _: &mut HostState) {}

    /// Carries out requests that were only recorded so far, before time passes.
    fn settle(&mut self, _: &mut Trouble) {}

    /// The longest time between two calls of [`fetch`](Self::fetch), if programs are managed.
    fn fetch_within(&self) -> Option<Duration> {
        None
    }

    /// Descriptors that become readable when there is something to [fetch](Self::fetch).
    fn attention(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    /// The bytes that a program's lines occupy in a domain, if the mechanism counts them.
    fn occupied_bytes(&mut self, _: AppId, _domain: u32) -> Option<u64> {
        None
    }

    /// The number of the group that counts a program's lines; it changes when they are counted from
    /// zero again.
    fn counting_group(&self, _: AppId) -> u32 {
        0
    }

    /// Sets a program's memory traffic, if the mechanism counts it rather than the source.
    fn count_bytes(&mut self, _: AppId, _domain: u32, _: &mut Counters) {}

    /// Puts everything back; returns what was put back and what was not.
    fn close(self: Box<Self>) -> Restored;

    /// The requests that failed.
    fn errors(&self) -> &Errors;

    /// Resctrl's client, if the mechanism uses it.
    fn actuator(&self) -> Option<&Actuator> {
        None
    }

    /// Problems that do not stop policies, a line each.
    fn degraded(&self) -> Vec<String> {
        self.actuator().map(Actuator::degraded).unwrap_or_default()
    }

    /// What happened to the scheduler, if the mechanism uses one.
    fn scheduler_counts(&self) -> Option<SchedulerCounts> {
        None
    }

    /// The scheduler's name, if the mechanism uses one.
    fn scheduler(&self) -> Option<&'static str> {
        None
    }

    /// The ways that others let programs fill, if these are not all, by domain; `None` if the
    /// partition in force shows what programs may fill.
    fn limits(&self) -> Option<&BTreeMap<(u32, AppId), WayMask>> {
        None
    }

    /// The groups of others in which threads of a program stay, with the number of threads in each.
    fn left(&self, _: AppId) -> Option<&BTreeMap<String, usize>> {
        None
    }
}
