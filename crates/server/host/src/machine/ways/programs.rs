//! Programs and their threads, as resctrl groups them.

use std::collections::{BTreeMap, BTreeSet};

use fairways_core::AppId;

use super::super::mechanism::Mechanism;
use super::super::roster::FoundProgram;
use super::super::state::HostState;
use super::super::trouble::Looked;
use super::super::whole::LatencySource;
use super::CacheWays;

/// What is known of a program besides the roster.
#[derive(Default)]
pub(super) struct ManagedProgram {
    /// The groups of others in which its tasks stay, with the number in each, as last listed.
    pub(super) left: BTreeMap<String, usize>,
    /// The groups of others that were logged already.
    logged: BTreeSet<String>,
}

impl ManagedProgram {
    /// Updates the numbers of its tasks in groups of others, and logs each group once.
    fn leave_to_others(&mut self, name: &str, left: BTreeMap<String, usize>) {
        for (group, threads) in &left {
            if self.logged.insert(group.clone()) {
                tracing::warn!(
                    target: "fairways::machine", program = name, group, threads,
                    "threads are in a group of others and stay there, not managed"
                );
            }
        }
        self.left = left;
    }
}

impl CacheWays {
    /// Adds a program, with this latency source or a new one.
    pub(super) fn take_in(
        &mut self,
        found: FoundProgram,
        latencies: Option<LatencySource>,
        state: &mut HostState,
    ) {
        let app = state.roster.next_id();
        let tasks = state.tasks_of(found.program);
        let mut managed = ManagedProgram::default();
        match self.actuator.add(app, &found.name, &tasks) {
            Ok(_) => managed.leave_to_others(&found.name, self.actuator.left(app)),
            Err(why) => {
                self.actuator.erred(&why);
                tracing::error!(target: "fairways::machine", program = found.name, "{why}");
            }
        }
        self.programs.insert(app, managed);
        state.take_in(found, tasks, latencies, self.actuator.domains());
    }

    /// Removes a program that has ended. Returns its latency source.
    pub(super) fn leave(&mut self, app: AppId, state: &mut HostState) -> Option<LatencySource> {
        let latencies = state.counting.unlisten(app);
        if state.end(app) {
            self.release(app, &mut state.trouble);
        }
        latencies
    }

    /// Finds a program's new threads, and where they may run.
    pub(super) fn list_threads_of(&mut self, app: AppId, state: &mut HostState) {
        self.move_threads(app, state);
        let all = self.actuator.domains().to_vec();
        if state.has_moved(app, &all, self)
            && let Some(found) = state.roster.found(app)
        {
            let latencies = self.leave(app, state);
            self.take_in(found, latencies, state);
        }
    }

    /// Lists a program's threads, and moves new ones into its group.
    fn move_threads(&mut self, app: AppId, state: &mut HostState) {
        let HostState { roster, counting, trouble, .. } = state;
        let member = roster.members.get_mut(&app).filter(|member| !member.is_gone);
        let (Some(member), Some(managed)) = (member, self.programs.get_mut(&app)) else { return };
        let mut tasks = member.tasks.clone();
        let mut unseen = None;
        let moved = self.actuator.tasks(app, &mut |list| {
            match roster.programs.tasks(member.program, list) {
                Ok(()) => tasks.clone_from(list),
                // Threads that can't be seen have not ended.
                Err(why) => {
                    list.clone_from(&tasks);
                    unseen = Some(why);
                }
            }
        });
        if tasks != member.tasks {
            counting.source.threads(app, &tasks);
            member.tasks = tasks;
        }
        let name = &member.name;
        match moved {
            Ok(_) => managed.leave_to_others(name, self.actuator.left(app)),
            Err(why) => {
                self.actuator.erred(&why);
                return trouble.log(&format!("{name}: {why}"));
            }
        }
        match unseen {
            Some(why) => {
                trouble.not_seen(Looked::Threads(member.program), &format!("{name}: {why}"));
            }
            None => trouble.seen(Looked::Threads(member.program)),
        }
    }
}
