//! Which threads are taken in.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use fairways_core::AppId;
use fairways_perf::Target;
use fairways_programs::ProgramKey;
use fairways_resctrl::language::CpuSet;

use super::super::members::Member;
use super::super::{Host, Means};
use super::{Program, Thread, Turns};

/// A thread that was refused is asked for again after so long, with the next look at its program's threads.
const AGAIN: Duration = Duration::from_secs(1);

impl Turns {
    /// A program is there.
    pub(in super::super) fn found(&mut self, program: ProgramKey, kind: usize, name: String) {
        let threads = BTreeMap::new();
        let new = Program { kind: Some(kind), name, is_named: false, threads };
        self.programs.insert(program, new);
    }

    /// A program is there no longer, nor wanted.
    pub(in super::super) fn lost(&mut self, program: ProgramKey) {
        self.programs.remove(&program);
        self.refused.retain(|(of, ..), _| *of != program);
    }

    /// The list is another, in which each entry is now there or nowhere.
    pub(in super::super) fn reconfigure(&mut self, now: impl Fn(Option<usize>) -> Option<usize>) {
        for program in self.programs.values_mut() {
            program.kind = now(program.kind);
        }
    }

    /// Lets a thread go.
    pub(in super::super) fn leave(&mut self, app: AppId) {
        let Some(thread) = self.threads.remove(&app) else { return };
        if let Some(program) = self.programs.get_mut(&thread.program)
            && program.threads.get(&thread.number) == Some(&app)
        {
            program.threads.remove(&thread.number);
        }
        if let Some(scheduler) = &mut self.scheduler {
            scheduler.end(app);
        }
    }

    /// Whether a thread of a program was taken in.
    fn has(&self, program: ProgramKey, number: i32) -> bool {
        self.programs.get(&program).is_some_and(|of| of.threads.contains_key(&number))
    }
}

impl Host {
    /// Finds threads that came or went, or live in other domains. One that took another's place under its number is found `anew` only, or
    /// where its program has other threads besides: that is a file for each thread.
    pub(in super::super) fn look_at_threads(&mut self, anew: bool) {
        let Some(turns) = self.means.turns() else { return };
        for program in turns.programs.keys().copied().collect::<Vec<_>>() {
            self.look_at_threads_of(program, anew);
        }
    }

    /// As [`look_at_threads`](Self::look_at_threads), of one program.
    pub(in super::super) fn look_at_threads_of(&mut self, program: ProgramKey, anew: bool) {
        let mut listed = Vec::new();
        if let Err(why) = self.programs.tasks(program, &mut listed) {
            self.say(&format!("threads: {why}"));
            return;
        }
        let Some(turns) = self.means.turns() else { return };
        let Some(of) = turns.programs.get(&program) else { return };
        let known: Vec<(i32, AppId)> = of.threads.iter().map(|(&tid, &app)| (tid, app)).collect();
        let there: HashSet<i32> = listed.iter().copied().collect();
        let same = known.len() == there.len() && known.iter().all(|(tid, _)| there.contains(tid));
        let anew = anew || !same;
        for (thread, app) in known {
            if !there.contains(&thread) || self.is_another(app, thread, anew) {
                drop(self.end(app));
            }
        }
        let Some(turns) = self.means.turns() else { return };
        turns.refused.retain(|(of, thread, _), _| *of != program || there.contains(thread));
        for thread in listed {
            if self.means.turns().is_none_or(|turns| turns.has(program, thread)) {
                continue;
            }
            if let Some(started) = self.programs.thread_started(thread) {
                self.take_in(program, thread, started);
            }
        }
    }

    /// Whether that number is another thread's by now, or the thread lives in other domains than before. The kernel is asked
    /// `anew` only, where it must be.
    fn is_another(&self, app: AppId, thread: i32, anew: bool) -> bool {
        let Means::Turns(turns) = &self.means else { return false };
        let started = turns.threads.get(&app).map(|of| of.started);
        let is_told = || turns.scheduler().is_some_and(|of| of.owners(app).is_some());
        anew && self.programs.thread_started(thread) != started
            || (anew || is_told()) && self.has_moved(app, thread)
    }

    /// Whether a thread lives in other domains than before: its owner lets it use other CPUs, or CPUs came or went.
    fn has_moved(&self, app: AppId, thread: i32) -> bool {
        let Some(member) = self.members.get(&app) else { return false };
        self.means.domains().len() > 1 && self.lives(app, thread) != member.domains
    }

    /// The domains of the CPUs that a thread's owner lets it use: where a policy confines it to some of them, it lives in the others, too.
    fn lives(&self, app: AppId, thread: i32) -> Vec<u32> {
        if let [only] = self.means.domains() {
            return vec![only.id];
        }
        let owners = self.means.scheduler().and_then(|scheduler| scheduler.owners(app));
        let cpus = owners.or_else(|| self.programs.cpus_of_thread(thread));
        self.touched_by(&cpus.unwrap_or_default())
    }

    /// Takes a thread in.
    fn take_in(&mut self, program: ProgramKey, number: i32, started: u64) {
        let (app, now) = (AppId(self.next_id), self.now);
        let Some(turns) = self.means.turns() else { return };
        if turns.refused.get(&(program, number, started)).is_some_and(|again| *again > now) {
            return;
        }
        let Some(scheduler) = &mut turns.scheduler else { return };
        if let Err(why) = scheduler.begin(app, number) {
            let again = now.after(AGAIN);
            if turns.refused.insert((program, number, started), again).is_none() {
                turns.errors.came_from_system(&why);
                self.say(&format!(
                    "thread {number} can't be taken in, which is tried again: {why}"
                ));
            }
            return;
        }
        turns.refused.remove(&(program, number, started));
        let Some(of) = turns.programs.get_mut(&program) else { return };
        of.threads.insert(number, app);
        let is_named = std::mem::replace(&mut of.is_named, true);
        let name = if is_named { format!("{}/{number}", of.name) } else { of.name.clone() };
        let kind = of.kind;
        let (allowed, raised, orders) = Default::default();
        let cpus = CpuSet::new();
        let thread = Thread { program, number, started, allowed, cpus, raised, orders };
        turns.threads.insert(app, thread);
        self.next_id += 1;
        // Now that the scheduler knows what is its owner's: it may have been made by a thread that is confined.
        let domains = self.lives(app, number);
        let threads = vec![number];
        self.source.begin(&Target { app, name: name.clone(), cgroup: None, threads });
        self.start(app, Member::new(program, kind, name, domains, vec![number]));
    }
}
