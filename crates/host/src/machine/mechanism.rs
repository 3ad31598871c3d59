//! What sets a lever as policies decide.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use fairways_core::{Action, AppId, Counters};
use fairways_programs::ProgramKey;
use fairways_resctrl_client::{Actuator, Errors, Restored};

use super::settings::Lever;
use super::state::HostState;
use super::trouble::Trouble;
use super::ways::CacheWays;

/// A program that was found.
pub(super) struct FoundProgram {
    pub(super) program: ProgramKey,
    /// Which entry of the list it is.
    pub(super) entry: Option<usize>,
    pub(super) name: String,
}

/// Sets a lever as policies decide, and knows what is peculiar to that lever: [`CacheWays`] sets
/// ways, [`Turns`](super::Turns) sets turns.
pub(super) trait Mechanism {
    /// Takes in which domains exist.
    fn survey(&mut self, state: &mut HostState);

    /// Looks what others did to what it sets or goes by: this takes longer than a look at programs.
    fn look(&mut self, state: &mut HostState);

    /// Takes a program in.
    fn begin(&mut self, found: FoundProgram, state: &mut HostState);

    /// A program is there no longer, or not wanted.
    fn end(&mut self, program: ProgramKey, state: &mut HostState);

    /// Finds which threads came or went, and where they may run now.
    fn list_threads(&mut self, state: &mut HostState);

    /// Lets a program go that is over for every domain.
    fn release(&mut self, _: AppId, _: &mut Trouble) {}

    /// The list of programs is another: which entry each of the old list's is now, if any.
    fn reconfigure(&mut self, _moved: &[Option<usize>]) {}

    /// Carries out an action of a domain's policy, but for windows and alarms. One for which it is
    /// not made does nothing.
    fn carry_out(&mut self, domain: u32, action: Action<'_>, state: &mut HostState);

    /// Reports what is in force where that has changed by itself.
    fn report_in_force(&mut self, _: &mut HostState) {}

    /// Takes in what else has happened, before windows end.
    fn fetch(&mut self, _: &mut HostState) {}

    /// Reports what was [fetched](Self::fetch), after windows have ended.
    fn report(&mut self, _: &mut HostState) {}

    /// Carries out what was only noted until now: time is about to pass.
    fn settle(&mut self, _: &mut Trouble) {}

    /// Within which time to [fetch](Self::fetch), if programs are managed.
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

    /// Sets the bytes that a program has moved, where it counts them rather than the source.
    fn count_bytes(&mut self, _: AppId, _domain: u32, _: &mut Counters) {}

    /// Puts everything back, and says what was and what was not.
    fn close(self: Box<Self>) -> Restored;

    /// What was requested and could not be done.
    fn errors(&self) -> &Errors;

    /// Resctrl's client, where that is what it acts by.
    fn actuator(&self) -> Option<&Actuator> {
        None
    }

    /// The scheduler's name, where that is what it acts by.
    fn scheduler(&self) -> Option<&'static str> {
        None
    }

    /// How many threads of a program stay in which groups of others, where they do.
    fn left(&self, _: AppId) -> Option<&BTreeMap<String, usize>> {
        None
    }
}

impl Lever {
    /// What sets it; nothing is set if programs are only watched.
    pub(super) fn mechanism(self, observe: bool) -> Box<dyn Mechanism> {
        match self {
            Self::Ways(actuator) => Box::new(CacheWays::new(actuator, observe)),
            Self::Turns(mut turns) => {
                turns.observe = observe;
                turns
            }
        }
    }
}
