//! Who takes whose place.

use fairways_core::AppId;

use crate::app::App;
use crate::apps::Apps;

use super::state::{Scheduler, Threads};

impl Scheduler {
    /// Threads that wait take the places of others of lower rank.
    pub(super) fn preempt(&mut self, of: &mut Threads<'_>) {
        while let Some((id, cpu)) = self.next_to_preempt(of.apps) {
            let turn = self.turns[cpu];
            // As if it had waited since its turn began: it goes on before those that came later.
            self.put_back(of, cpu, turn.map_or(of.clock.now, |turn| turn.since));
            if let Some(turn) = turn.filter(|_| self.next_second.is_some())
                && let Some(app) = of.apps.find_mut(turn.app)
            {
                let left = of.clock.told(turn.end).since(of.clock.told(of.clock.now));
                app.thread.left = Some(left).filter(|left| !left.is_zero());
            }
            self.put_on(of, cpu, id);
        }
    }

    /// The first of those that wait which takes another's place, and the CPU of that.
    fn next_to_preempt(&self, apps: &Apps) -> Option<(AppId, usize)> {
        let rank = |cpu: usize| Some(apps.find(self.turns[cpu]?.app)?.thread.rank());
        let place = |app: &App| {
            let may = |&cpu: &usize| app.thread.may(cpu);
            let cpus = app.thread.last.into_iter().chain(0..self.turns.len()).filter(may);
            // Free CPUs are taken in any case.
            if cpus.clone().any(|cpu| self.is_free(cpu)) {
                return None;
            }
            let lowest = cpus.min_by_key(|&cpu| rank(cpu))?;
            (rank(lowest) < Some(app.thread.rank())).then_some(lowest)
        };
        let above = |app: &App| core::cmp::Reverse(app.thread.rank());
        let waiting = apps
            .iter()
            .filter_map(|app| Some((above(app), app.thread.waits?, app.id, place(app)?)));
        waiting.min().map(|(.., id, cpu)| (id, cpu))
    }

    /// Lets somebody run on a CPU that is free, if anybody can: if need be, after others moved on
    /// to it.
    pub(super) fn occupy(&mut self, of: &mut Threads<'_>, cpu: usize) {
        let mut path = vec![cpu];
        if self.queues.is_empty() || !self.leads_somewhere(of.apps, &mut path, &mut 0) {
            return;
        }
        for step in path.windows(2) {
            let (to, from) = (step[0], step[1]);
            self.unsettled = true;
            // A turn goes on elsewhere.
            let moved = self.turns[from].take();
            self.turns[to] = moved;
            let Some(app) = moved.and_then(|turn| of.apps.find_mut(turn.app)) else { return };
            (app.cpu, app.thread.last) = (Some(to), Some(to));
            self.free[from] = app.runner.clock;
            app.runner.wait_until(self.free[to]);
            of.fills.allow(app);
        }
        let last = path.last().copied().unwrap_or(cpu);
        if let Some(id) = self.first(of.apps, last).map(|app| app.id) {
            self.put_on(of, last, id);
        }
    }

    /// Whether somebody waits for the last CPU of `path`, or, once its thread has moved to the CPU
    /// before it, for another, which is appended. `seen` are CPUs, a bit each, that were tried.
    fn leads_somewhere(&self, apps: &Apps, path: &mut Vec<usize>, seen: &mut u64) -> bool {
        let Some(&cpu) = path.last() else { return false };
        *seen |= 1 << cpu;
        if self.first(apps, cpu).is_some() {
            return true;
        }
        for other in 0..self.turns.len() {
            let Some(turn) = self.turns[other] else { continue };
            let may = apps.find(turn.app).is_some_and(|app| app.thread.may(cpu));
            if *seen >> other & 1 == 1 || !may {
                continue;
            }
            path.push(other);
            if self.leads_somewhere(apps, path, seen) {
                return true;
            }
            path.pop();
        }
        false
    }
}
