//! Counts programs as a whole, whether or not resctrl groups them.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use fairways_core::{AppId, CpuSet};
use fairways_perf::Target;
use fairways_programs::ProgramKey;
use fairways_resctrl_client as client;

use super::domain::touched;
use super::mechanism::Mechanism;
use super::roster::{FoundProgram, Member};
use super::state::HostState;
use super::trouble::Looked;

/// The latencies of a service.
pub(super) type LatencySource = Box<dyn fairways_latency::Source>;

impl HostState {
    /// The threads of a program that was found; none, with a line in the log, if they can't be
    /// listed.
    pub(super) fn tasks_of(&mut self, program: ProgramKey) -> Vec<i32> {
        let mut tasks = Vec::new();
        if let Err(why) = self.roster.programs.tasks(program, &mut tasks) {
            self.trouble.not_seen(Looked::Threads(program), &why);
        }
        tasks
    }

    /// Counts a program under the next id, and starts it in the domains of its CPUs. Latencies come
    /// from this source, or from a new one.
    pub(super) fn take_in(
        &mut self,
        found: FoundProgram,
        tasks: Vec<i32>,
        latencies: Option<LatencySource>,
        all: &[client::Domain],
    ) {
        let FoundProgram { program, entry, name, is_starting } = found;
        let app = self.roster.next_id();
        let cgroup = self.roster.programs.cgroup(program).map(Path::to_path_buf);
        let target = Target { app, name, cgroup, threads: tasks };
        self.counting.source.begin(&target);
        if is_starting || self.counting.source.has_not_run(app) {
            self.counting.turnover.begin_whole(app);
        }
        let latencies = latencies.or_else(|| {
            let open = self.roster.open_latency(entry)?;
            open(&target).inspect_err(|why| log_latencies(&target.name, why)).ok()
        });
        let domains = self.touched(program, all);
        let domains = domains.unwrap_or_else(|_| touched(all, &CpuSet::new()));
        if let Some(source) = latencies {
            self.counting.listen(app, source, &domains);
        }
        let Target { name, cgroup, threads: tasks, .. } = target;
        self.start(Member { program, entry, name, cgroup, domains, tasks, is_gone: false });
    }

    /// Whether there are programs, and each may run only on the CPUs of one of these sets. A
    /// program whose CPUs are not known is in none.
    pub(super) fn are_all_within(&mut self, sets: &[CpuSet]) -> bool {
        let Self { roster, .. } = self;
        let programs = roster.members.values().filter(|member| !member.is_gone);
        let programs: BTreeSet<ProgramKey> = programs.map(|member| member.program).collect();
        for &program in &programs {
            let cpus = roster.programs.cpus(program).unwrap_or_default();
            if cpus.is_empty() || !sets.iter().any(|set| cpus.is_subset(set)) {
                return false;
            }
        }
        !programs.is_empty()
    }

    /// The domains of a program's CPUs; all domains if the CPUs are not known.
    fn touched(&mut self, program: ProgramKey, all: &[client::Domain]) -> io::Result<Vec<u32>> {
        match all {
            [only] => Ok(vec![only.id]),
            all => Ok(touched(all, &self.roster.programs.cpus(program)?)),
        }
    }

    /// Whether a program belongs to other domains than before. If its cgroup has changed or is
    /// gone, restarts its windows.
    pub(super) fn has_moved(
        &mut self,
        app: AppId,
        all: &[client::Domain],
        mechanism: &mut dyn Mechanism,
    ) -> bool {
        let member = self.roster.members.get(&app).filter(|member| !member.is_gone);
        let Some(program) = member.map(|member| member.program) else { return false };
        let touched = self.touched(program, all);
        let Some(member) = self.roster.members.get_mut(&app) else { return false };
        let touched = match touched {
            Ok(touched) => touched,
            Err(why) => {
                let why = format!("{}: {why}", member.name);
                self.trouble.not_seen(Looked::Threads(program), &why);
                return false;
            }
        };
        if touched != member.domains {
            return true;
        }
        let cgroup = self.roster.programs.cgroup(program);
        if cgroup != member.cgroup.as_deref() {
            member.cgroup = cgroup.map(Path::to_path_buf);
            let (name, cgroup) = (member.name.clone(), member.cgroup.clone());
            let threads = member.tasks.clone();
            self.counting.source.begin(&Target { app, name, cgroup, threads });
            self.counting.restart(Some(app), self.agenda.now(), mechanism);
        }
        false
    }
}

fn log_latencies(name: &str, why: &io::Error) {
    tracing::warn!(target: "fairways::machine", program = name, "latencies: {why}");
}
