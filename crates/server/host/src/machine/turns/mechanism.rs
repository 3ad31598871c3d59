//! Turns of threads, as a mechanism.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use fairways_core::{Action, Event, PartitionError};
use fairways_programs::ProgramKey;
use fairways_resctrl_client::{Errors, Restored};
use fairways_turns::Scheduler;

use super::super::agenda::RARELY;
use super::super::mechanism::{Mechanism, SchedulerCounts};
use super::super::roster::{FoundProgram, moved_to};
use super::super::state::HostState;
use super::super::trouble::Trouble;
use super::{ThreadedProgram, Turns};

/// The longest time between two fetches of turns, even without a call.
const LOOK: Duration = Duration::from_millis(10);

impl Mechanism for Turns {
    fn survey(&mut self, state: &mut HostState) {
        let quantum = self.scheduler.as_ref().map(|scheduler| scheduler.quantum());
        state.survey(self.caches.domains(), quantum);
        self.fit_all(state);
    }

    fn look(&mut self, state: &mut HostState) {
        if self.refresh() {
            self.survey(state);
        }
    }

    fn begin(&mut self, found: FoundProgram, state: &mut HostState) {
        let FoundProgram { program, entry, name, .. } = found;
        let new = ThreadedProgram { entry, name, ..ThreadedProgram::default() };
        self.programs.insert(program, new);
        self.list_threads_of(program, true, state);
    }

    fn end(&mut self, program: ProgramKey, state: &mut HostState) {
        self.programs.remove(&program);
        self.refused.retain(|(of, ..), _| *of != program);
        for app in state.roster.members_of(program) {
            self.leave(app, state);
        }
    }

    fn list_threads(&mut self, state: &mut HostState) {
        let all = state.agenda.is_time_for_threads();
        if all {
            state.agenda.list_threads_after(RARELY);
        }
        for program in self.programs.keys().copied().collect::<Vec<_>>() {
            self.list_threads_of(program, all, state);
        }
    }

    fn admit(&mut self, program: ProgramKey, _thread: i32, state: &mut HostState) {
        self.list_threads_of(program, false, state);
    }

    fn reconfigure(&mut self, moved: &[Option<usize>]) {
        for program in self.programs.values_mut() {
            program.entry = moved_to(moved, program.entry);
        }
    }

    fn carry_out(&mut self, domain: u32, action: Action<'_>, state: &mut HostState) {
        match action {
            Action::Partition { plan, partition, .. } => {
                let Some(domain) = state.domains.get_mut(domain) else { return };
                let why = domain.check(&partition).err().unwrap_or(PartitionError::Failed);
                domain.due.push_answer(Event::Refused { plan, why });
            }
            Action::WatchTogether { shortest } => {
                self.watch_together(domain, shortest, &mut state.trouble);
            }
            Action::Allow { thread, cpus, reason } => {
                self.allow(domain, thread, &cpus, &reason, state);
            }
            Action::Priority { threads, raised, reason } => {
                for &thread in &*threads {
                    self.raise(domain, thread, raised, &reason, state);
                }
            }
            Action::Quantum { thread, time, reason } => {
                self.order(domain, thread, time, &reason, state);
            }
            Action::Watch { .. }
            | Action::Wake { .. }
            | Action::Estimated { .. }
            | Action::Classified { .. } => {}
        }
    }

    fn fetch(&mut self, state: &mut HostState) {
        self.fetch_turns(state);
    }

    fn report(&mut self, state: &mut HostState) {
        self.report_turns(state);
    }

    fn settle(&mut self, trouble: &mut Trouble) {
        self.ask(trouble, |scheduler| scheduler.settle());
    }

    fn fetch_within(&self) -> Option<Duration> {
        self.scheduler.is_some().then_some(LOOK)
    }

    fn attention(&self) -> Vec<BorrowedFd<'_>> {
        self.scheduler.as_ref().map(|scheduler| scheduler.attention()).unwrap_or_default()
    }

    /// Lets every thread go.
    fn close(self: Box<Self>) -> Restored {
        self.scheduler.map(Scheduler::close).unwrap_or_default()
    }

    fn errors(&self) -> &Errors {
        &self.errors
    }

    fn degraded(&self) -> Vec<String> {
        self.ends.degraded.iter().cloned().collect()
    }

    fn scheduler_counts(&self) -> Option<SchedulerCounts> {
        let now = self.scheduler.as_ref().map_or(0, |scheduler| scheduler.threads_without_room());
        let threads_without_room = self.ends.threads_without_room + now;
        Some(SchedulerCounts { ended: self.ends.count, threads_without_room })
    }

    fn scheduler(&self) -> Option<&'static str> {
        self.scheduler.as_ref().map(|scheduler| scheduler.name())
    }
}
