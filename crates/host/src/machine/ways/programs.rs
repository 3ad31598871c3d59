//! Programs and their threads, as resctrl groups them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;

use fairways_core::AppId;
use fairways_perf::Target;
use fairways_programs::{ProgramKey, Programs};
use fairways_resctrl::language::CpuSet;

use super::super::domain::touched;
use super::super::mechanism::{FoundProgram, Mechanism};
use super::super::roster::Member;
use super::super::state::HostState;
use super::CacheWays;

/// The latencies of a service.
type LatencySource = Box<dyn fairways_latency::Source>;

/// What is known of a program besides the roster.
#[derive(Default)]
pub(super) struct ManagedProgram {
    /// The cgroup by which it is counted.
    cgroup: Option<PathBuf>,
    /// How many of its tasks are in which groups of others, as last listed.
    pub(super) left: BTreeMap<String, usize>,
    /// The groups of others that were logged.
    logged: BTreeSet<String>,
}

impl ManagedProgram {
    /// Updates how many of its tasks stay in which groups of others, and logs each group once.
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
    /// Adds a program, with this source of its latencies or with one that is opened now.
    pub(super) fn take_in(
        &mut self,
        found: FoundProgram,
        latencies: Option<LatencySource>,
        state: &mut HostState,
    ) {
        let FoundProgram { program, entry, name } = found;
        let app = state.roster.next_id();
        let mut tasks = Vec::new();
        if let Err(why) = state.roster.programs.tasks(program, &mut tasks) {
            state.trouble.log(&format!("threads: {why}"));
        }
        let mut managed = ManagedProgram::default();
        match self.actuator.add(app, &name, &tasks) {
            Ok(_) => managed.leave_to_others(&name, self.actuator.left(app)),
            Err(why) => {
                self.actuator.erred(&why);
                tracing::error!(target: "fairways::machine", program = name, "{why}");
            }
        }
        managed.cgroup = state.roster.programs.cgroup(program).map(Into::into);
        let target = Target { app, name, cgroup: managed.cgroup.clone(), threads: tasks };
        state.counting.source.begin(&target);
        let latencies = latencies.or_else(|| {
            let open = state.roster.open_latency(entry)?;
            open(&target).inspect_err(|why| log_latencies(&target.name, why)).ok()
        });
        let domains = self.touched(program, &mut state.roster.programs);
        let domains = domains.unwrap_or_else(|_| touched(self.actuator.domains(), &CpuSet::new()));
        if let Some(source) = latencies {
            state.counting.listen(app, source, &domains);
        }
        self.programs.insert(app, managed);
        let Target { name, threads: tasks, .. } = target;
        state.start(Member { program, entry, name, domains, tasks, is_gone: false });
    }

    /// Removes a program that has ended. Returns the source of its latencies.
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
        let Some(member) = state.roster.members.get(&app).filter(|member| !member.is_gone) else {
            return;
        };
        let program = member.program;
        let touched = match self.touched(program, &mut state.roster.programs) {
            Ok(touched) => touched,
            Err(why) => {
                // The words are the same as for its threads, which are logged once.
                return state.trouble.log(&format!("{}: {why}", member.name));
            }
        };
        let was = self.programs.get(&app).and_then(|managed| managed.cgroup.as_deref());
        if touched != member.domains {
            let (entry, name) = (member.entry, member.name.clone());
            let latencies = self.leave(app, state);
            self.take_in(FoundProgram { program, entry, name }, latencies, state);
        } else if state.roster.programs.cgroup(program) != was {
            self.count_again(app, state);
        }
    }

    /// Lists a program's threads, and moves those that came into its group.
    fn move_threads(&mut self, app: AppId, state: &mut HostState) {
        let HostState { roster, counting, trouble, .. } = state;
        let member = roster.members.get_mut(&app).filter(|member| !member.is_gone);
        let (Some(member), Some(managed)) = (member, self.programs.get_mut(&app)) else { return };
        let mut tasks = member.tasks.clone();
        let mut unseen = None;
        let moved = self.actuator.tasks(app, &mut |list| {
            match roster.programs.tasks(member.program, list) {
                Ok(()) => tasks.clone_from(list),
                // Threads that can't be seen have not left.
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
        if let Some(why) = unseen {
            trouble.log(&format!("{name}: {why}"));
        }
    }

    /// Counts a program by the cgroup that it now is, or no longer by one, and begins its windows
    /// again.
    fn count_again(&mut self, app: AppId, state: &mut HostState) {
        let member = state.roster.members.get(&app);
        let (Some(member), Some(managed)) = (member, self.programs.get_mut(&app)) else { return };
        managed.cgroup = state.roster.programs.cgroup(member.program).map(Into::into);
        let (name, cgroup) = (member.name.clone(), managed.cgroup.clone());
        let threads = member.tasks.clone();
        state.counting.source.begin(&Target { app, name, cgroup, threads });
        state.counting.restart(Some(app), state.agenda.now(), self);
    }

    /// The domains that a program's CPUs touch; all if none are known.
    fn touched(&self, program: ProgramKey, programs: &mut Programs) -> io::Result<Vec<u32>> {
        match self.actuator.domains() {
            [only] => Ok(vec![only.id]),
            all => Ok(touched(all, &programs.cpus(program)?)),
        }
    }
}

fn log_latencies(name: &str, why: &io::Error) {
    tracing::warn!(target: "fairways::machine", program = name, "latencies: {why}");
}
