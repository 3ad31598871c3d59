//! Preemption, and threads that make room for others.

use std::cmp::Reverse;

use fairways_core::AppId;

use crate::running_program::RunningProgram;
use crate::running_programs::RunningPrograms;
use crate::thread_state::Priority;
use crate::time_sharing::PriorityLevel;

use super::state::{ScheduledThreads, Scheduler};

impl Scheduler {
    /// Lets waiting threads preempt threads of lower rank.
    pub(super) fn preempt(&mut self, threads: &mut ScheduledThreads<'_>) {
        while let Some((id, cpu)) = self.next_to_preempt(threads.apps) {
            let turn = self.turns[cpu];
            // It waits as if since its turn began, so that it runs before threads that came later.
            self.put_back(threads, cpu, turn.map_or(threads.clock.now, |turn| turn.since));
            if let Some(turn) = turn.filter(|_| self.next_second.is_some())
                && let Some(app) = threads.apps.find_mut(turn.app)
            {
                let left = threads
                    .clock
                    .to_policy(turn.end)
                    .since(threads.clock.to_policy(threads.clock.now));
                app.thread.left = Some(left).filter(|left| !left.is_zero());
            }
            self.put_on(threads, cpu, id);
        }
    }

    /// The first waiting thread that preempts another, and the CPU of that.
    fn next_to_preempt(&self, apps: &RunningPrograms) -> Option<(AppId, usize)> {
        let waiting = apps.iter().filter_map(|app| {
            let waits = app.thread.waits?;
            Some((Reverse(app.thread.rank()), waits, app.id, self.cpu_to_preempt(apps, app)?))
        });
        waiting.min().map(|(.., id, cpu)| (id, cpu))
    }

    /// The CPU whose thread a waiting program preempts; `None` if it preempts none.
    fn cpu_to_preempt(&self, apps: &RunningPrograms, app: &RunningProgram) -> Option<usize> {
        let cpus = app.thread.last.into_iter().chain(0..self.turns.len());
        let cpus = cpus.filter(|&cpu| app.thread.may_run_on(cpu));
        // Free CPUs are used without preemption.
        if cpus.clone().any(|cpu| self.is_free(cpu)) {
            return None;
        }
        let lowest = cpus.min_by_key(|&cpu| self.rank_on(apps, cpu))?;
        (self.rank_on(apps, lowest) < Some(app.thread.rank())).then_some(lowest)
    }

    /// The rank of the thread on a CPU; `None` if the CPU is free.
    fn rank_on(&self, apps: &RunningPrograms, cpu: usize) -> Option<(Priority, PriorityLevel)> {
        Some(apps.find(self.turns[cpu]?.app)?.thread.rank())
    }

    /// Lets a waiting thread run on a free CPU, if necessary after other threads moved to it.
    pub(super) fn occupy(&mut self, threads: &mut ScheduledThreads<'_>, cpu: usize) {
        let mut path = vec![cpu];
        if self.queues.is_empty() || !self.finds_waiting(threads.apps, &mut path, &mut 0) {
            return;
        }
        for step in path.windows(2) {
            let (to, from) = (step[0], step[1]);
            self.needs_reschedule = true;
            // The turn continues on another CPU.
            let moved = self.turns[from].take();
            self.turns[to] = moved;
            let Some(app) = moved.and_then(|turn| threads.apps.find_mut(turn.app)) else { return };
            (app.cpu, app.thread.last) = (Some(to), Some(to));
            self.free[from] = app.runner.clock;
            app.runner.wait_until(self.free[to]);
            threads.fills.allow(app);
        }
        let last = path.last().copied().unwrap_or(cpu);
        if let Some(id) = self.first(threads.apps, last).map(|app| app.id) {
            self.put_on(threads, last, id);
        }
    }

    /// Whether a thread waits for the last CPU of `path`; if not, extends `path` by CPUs whose
    /// threads can each move to the CPU before them. `seen` are the CPUs that were tried, a bit
    /// each.
    fn finds_waiting(&self, apps: &RunningPrograms, path: &mut Vec<usize>, seen: &mut u64) -> bool {
        let Some(&cpu) = path.last() else { return false };
        *seen |= 1 << cpu;
        if self.first(apps, cpu).is_some() {
            return true;
        }
        for other in 0..self.turns.len() {
            let Some(turn) = self.turns[other] else { continue };
            let may = apps.find(turn.app).is_some_and(|app| app.thread.may_run_on(cpu));
            if *seen >> other & 1 == 1 || !may {
                continue;
            }
            path.push(other);
            if self.finds_waiting(apps, path, seen) {
                return true;
            }
            path.pop();
        }
        false
    }
}
