//! Which threads are managed.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use fairways_core::{AppId, CpuSet};
use fairways_perf::Target;
use fairways_programs::ProgramKey;

use super::super::domain::touched;
use super::super::roster::{Member, Roster};
use super::super::state::HostState;
use super::super::trouble::Looked;
use super::orders::Orders;
use super::{Thread, Turns};

/// How long to wait before a refused thread is tried again, with the next listing of its program's
/// threads.
const AGAIN: Duration = Duration::from_secs(1);

impl Turns {
    /// Finds a program's threads that came or went, or run in other domains. A new thread that got
    /// the number of an old one is found only if `all` are looked at, or if the program has other
    /// threads than before, as that takes reading a file for each thread.
    pub(super) fn list_threads_of(
        &mut self,
        program: ProgramKey,
        all: bool,
        state: &mut HostState,
    ) {
        let mut listed = Vec::new();
        if let Err(why) = state.roster.programs.tasks(program, &mut listed) {
            state.trouble.not_seen(Looked::Threads(program), &why);
            return;
        }
        state.trouble.seen(Looked::Threads(program));
        let Some(of) = self.programs.get(&program) else { return };
        let known: Vec<(i32, AppId)> = of.threads.iter().map(|(&tid, &app)| (tid, app)).collect();
        let there: HashSet<i32> = listed.iter().copied().collect();
        let same = known.len() == there.len() && known.iter().all(|(tid, _)| there.contains(tid));
        let all = all || !same;
        for (thread, app) in known {
            if !there.contains(&thread) || self.is_another(app, thread, all, &state.roster) {
                self.leave(app, state);
            }
        }
        self.refused.retain(|(of, thread, _), _| *of != program || there.contains(thread));
        for thread in listed {
            if self.has(program, thread) {
                continue;
            }
            if let Some(started) = state.roster.programs.thread_started(thread) {
                self.take_in(program, thread, started, state);
            }
        }
    }

    /// Whether a thread of a program is managed.
    fn has(&self, program: ProgramKey, number: i32) -> bool {
        self.programs.get(&program).is_some_and(|of| of.threads.contains_key(&number))
    }

    /// Whether that number belongs to another thread now, or the thread runs in other domains than
    /// before. What only the kernel knows is checked only if `all` are looked at.
    fn is_another(&self, app: AppId, thread: i32, all: bool, roster: &Roster) -> bool {
        let started = self.threads.get(&app).map(|thread| thread.started);
        all && roster.programs.thread_started(thread) != started
            || (all || self.owners(app).is_some()) && self.has_moved(app, thread, roster)
    }

    /// Whether a thread belongs to other domains than before, because its owner changed its CPUs,
    /// or CPUs came or went.
    fn has_moved(&self, app: AppId, thread: i32, roster: &Roster) -> bool {
        let Some(member) = roster.members.get(&app) else { return false };
        self.caches.domains().len() > 1 && self.lives(app, thread, roster) != member.domains
    }

    /// The domains of the CPUs that a thread's owner lets it use. A policy that confines it to some
    /// of them does not change these.
    fn lives(&self, app: AppId, thread: i32, roster: &Roster) -> Vec<u32> {
        match self.caches.domains() {
            [only] => vec![only.id],
            all => {
                let cpus = self.owners(app).or_else(|| roster.programs.cpus_of_thread(thread));
                touched(all, &cpus.unwrap_or_default())
            }
        }
    }

    /// The CPUs that a thread's owner lets it use, if the scheduler knows them better than the
    /// kernel.
    fn owners(&self, app: AppId) -> Option<CpuSet> {
        self.scheduler.as_ref()?.owners(app)
    }

    /// Begins to manage a thread.
    fn take_in(&mut self, program: ProgramKey, number: i32, started: u64, state: &mut HostState) {
        let (app, now) = (state.roster.next_id(), state.agenda.now());
        if self.refused.get(&(program, number, started)).is_some_and(|again| *again > now) {
            return;
        }
        let Some(scheduler) = &mut self.scheduler else { return };
        if let Err(why) = scheduler.begin(app, number) {
            let again = now.after(AGAIN);
            if self.refused.insert((program, number, started), again).is_none() {
                self.errors.came_from_system(&why);
                state.trouble.log(&format!(
                    "thread {number} can't be taken in, which is tried again: {why}"
                ));
            }
            return;
        }
        self.refused.remove(&(program, number, started));
        let Some(of) = self.programs.get_mut(&program) else { return };
        of.threads.insert(number, app);
        let is_named = std::mem::replace(&mut of.is_named, true);
        let name = if is_named { format!("{}/{number}", of.name) } else { of.name.clone() };
        let entry = of.entry;
        let thread = Thread {
            program,
            number,
            started,
            allowed: BTreeMap::new(),
            cpus: CpuSet::new(),
            raised: BTreeSet::new(),
            orders: Orders::default(),
        };
        self.threads.insert(app, thread);
        // Only now does the scheduler know the owner's CPUs: a confined thread may have made this
        // one.
        let domains = self.lives(app, number, &state.roster);
        let (target, tasks) = (name.clone(), vec![number]);
        let target = Target { app, name: target, cgroup: None, threads: tasks.clone() };
        state.counting.source.begin(&target);
        state.start(Member { program, entry, name, cgroup: None, domains, tasks, is_gone: false });
    }

    /// Stops managing a thread, because it has ended, or is no longer wanted.
    pub(super) fn leave(&mut self, app: AppId, state: &mut HostState) {
        if let Some(thread) = self.threads.remove(&app) {
            if let Some(program) = self.programs.get_mut(&thread.program)
                && program.threads.get(&thread.number) == Some(&app)
            {
                program.threads.remove(&thread.number);
            }
            if let Some(scheduler) = &mut self.scheduler {
                scheduler.end(app);
            }
        }
        // Nothing is kept of a thread once it has ended for every domain.
        state.end(app);
    }
}
