//! What sets a lever as policies decide.

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
    /// How often the one in use had no room for a thread, which ran where its owner lets it.
    pub threads_without_room: u64,
}

/// Sets a lever as policies decide, and knows what is special about that lever:
/// [`CacheWays`](super::ways::CacheWays) sets ways, [`Turns`](super::Turns) sets turns,
/// [`CountedHost`](super::CountedHost) nothing.
pub(super) trait Mechanism {
    /// Updates the domains.
    fn survey(&mut self, state: &mut HostState);

    /// Looks at what others did to the lever: this takes longer than a look at programs.
    fn look(&mut self, state: &mut HostState);

    /// Adds a program.
    fn begin(&mut self, found: FoundProgram, state: &mut HostState);

    /// Removes a program that has ended, or is not wanted any longer.
    fn end(&mut self, program: ProgramKey, state: &mut HostState);

    /// Finds which threads came or went, and where they may run now.
    fn list_threads(&mut self, state: &mut HostState);

    /// Adds a new process of one thread to a program, before it is found by a look.
    fn admit(&mut self, program: ProgramKey, thread: i32, state: &mut HostState);

    /// Forgets a program that is over for every domain.
    fn release(&mut self, _: AppId, _: &mut Trouble) {}

    /// The list of programs has changed: for each entry of the old list, its entry in the new one,
    /// if any.
    fn reconfigure(&mut self, _moved: &[Option<usize>]) {}

    /// Carries out an action of a domain's policy, except windows and alarms. An action of another
    /// lever does nothing.
    fn carry_out(&mut self, domain: u32, action: Action<'_>, state: &mut HostState);

    /// Reports the partition in force where it has changed by itself.
    fn report_in_force(&mut self, _: &mut HostState) {}

    /// Fetches what else has happened, before windows end.
    fn fetch(&mut self, _: &mut HostState) {}

    /// Reports what was [fetched](Self::fetch), after windows have ended.
    fn report(&mut self, _: &mut HostState) {}

    /// Carries out what was only noted until now, before time passes.
    fn settle(&mut self, _: &mut Trouble) {}

    /// How often to [fetch](Self::fetch) at least, if programs are managed.
    fn fetch_within(&self) -> Option<Duration> {
        None
    }

    /// Descriptors that become readable when there is something to [fetch](Self::fetch).
    fn attention(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    /// The bytes that a program's lines occupy in a domain, where it counts them.
    fn occupied_bytes(&mut self, _: AppId, _domain: u32) -> Option<u64> {
        None
    }

    /// The number of the group that counts a program's lines: another one where they have to be
    /// counted from zero again.
    fn counting_group(&self, _: AppId) -> u32 {
        0
    }

    /// Sets the bytes that a program has moved, where it counts them rather than the source.
    fn count_bytes(&mut self, _: AppId, _domain: u32, _: &mut Counters) {}

    /// Puts everything back, and returns what was put back and what was not.
    fn close(self: Box<Self>) -> Restored;

    /// The requests that failed.
    fn errors(&self) -> &Errors;

    /// Resctrl's client, if the mechanism uses it.
    fn actuator(&self) -> Option<&Actuator> {
        None
    }

    /// What is not as it should be, though policies are in force; a line each.
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

    /// The ways that others let programs fill, where these are not all, by domain; `None` where
    /// the partition in force shows what programs may fill.
    fn limits(&self) -> Option<&BTreeMap<(u32, AppId), WayMask>> {
        None
    }

    /// How many threads of a program stay in which groups of others.
    fn left(&self, _: AppId) -> Option<&BTreeMap<String, usize>> {
        None
    }
}
