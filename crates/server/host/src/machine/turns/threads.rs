//! Which threads are taken in.

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

/// When to try again to take in a thread that was refused, with the next look at its program's
/// threads.
const AGAIN: Duration = Duration::from_secs(1);

impl Turns {
    /// Finds a program's threads that came or went, or live in other domains. A thread that took
    /// another's place under its number is found only if `all` are looked at, or where the program
    /// has other threads than before: that is a file for each thread.
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

    /// Whether a thread of a program was taken in.
    fn has(&self, program: ProgramKey, number: i32) -> bool {
        self.programs.get(&program).is_some_and(|of| of.threads.contains_key(&number))
    }

    /// Whether that number is another thread's by now, or the thread lives in other domains than
    /// before. Where the kernel must be asked, that is seen only if `all` are looked at.
    fn is_another(&self, app: AppId, thread: i32, all: bool, roster: &Roster) -> bool {
        let started = self.threads.get(&app).map(|thread| thread.started);
        all && roster.programs.thread_started(thread) != started
            || (all || self.owners(app).is_some()) && self.has_moved(app, thread, roster)
    }

    /// Whether a thread lives in other domains than before: its owner lets it use other CPUs, or
    /// CPUs came or went.
    fn has_moved(&self, app: AppId, thread: i32, roster: &Roster) -> bool {
        let Some(member) = roster.members.get(&app) else { return false };
        self.caches.domains().len() > 1 && self.lives(app, thread, roster) != member.domains
    }

    /// The domains of the CPUs that a thread's owner lets it use: where a policy confines it to
    /// some of them, it lives in the others, too.
    fn lives(&self, app: AppId, thread: i32, roster: &Roster) -> Vec<u32> {
        match self.caches.domains() {
            [only] => vec![only.id],
            all => {
                let cpus = self.owners(app).or_else(|| roster.programs.cpus_of_thread(thread));
                touched(all, &cpus.unwrap_or_default())
            }
        }
    }

    /// The CPUs that a thread's owner lets it use, where the scheduler knows better than the
    /// kernel.
    fn owners(&self, app: AppId) -> Option<CpuSet> {
        self.scheduler.as_ref()?.owners(app)
    }

    /// Takes a thread in.
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
        // Now that the scheduler knows the owner's CPUs: a thread that is confined may have made
        // it.
        let domains = self.lives(app, number, &state.roster);
        let (target, tasks) = (name.clone(), vec![number]);
        let target = Target { app, name: target, cgroup: None, threads: tasks.clone() };
        state.counting.source.begin(&target);
        state.start(Member { program, entry, name, cgroup: None, domains, tasks, is_gone: false });
    }

    /// Lets a thread go: it has ended, or is not managed any longer.
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
        // Of a thread nothing is kept once it is over for every domain.
        state.end(app);
    }
}
