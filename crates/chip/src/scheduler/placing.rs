//! Who takes whose place.

use crate::app::App;
use crate::machine::Chip;

use super::Scheduler;

impl Chip {
    /// Threads that wait take the places of others of lower rank.
    pub(super) fn preempt(&mut self, scheduler: &mut Scheduler) {
        loop {
            let rank = |cpu: usize| {
                let index = self.find(scheduler.turns[cpu]?.app)?;
                Some(self.apps[index].thread.rank())
            };
            let place = |app: &App| {
                let may = |&cpu: &usize| app.thread.may(cpu);
                let cpus = app.thread.last.into_iter().chain(0..scheduler.turns.len()).filter(may);
                // Free CPUs are taken in any case.
                if cpus.clone().any(|cpu| scheduler.is_free(cpu)) {
                    return None;
                }
                let lowest = cpus.min_by_key(|&cpu| rank(cpu))?;
                (rank(lowest) < Some(app.thread.rank())).then_some(lowest)
            };
            let above = |app: &App| core::cmp::Reverse(app.thread.rank());
            let waiting = self
                .apps
                .iter()
                .filter_map(|app| Some((above(app), app.thread.waits?, app.id, place(app)?)));
            let Some((.., id, cpu)) = waiting.min() else { return };
            let since = scheduler.turns[cpu].map_or(self.now, |turn| turn.since);
            let turn = scheduler.turns[cpu];
            let left = turn.map(|turn| (turn.app, self.told(turn.end).since(self.told(self.now))));
            // As if it had waited since its turn began: it goes on before those that came later.
            self.put_back(scheduler, cpu, since);
            if let Some((app, left)) = left.filter(|_| scheduler.next_second.is_some())
                && let Some(index) = self.find(app)
            {
                self.apps[index].thread.left = Some(left).filter(|left| !left.is_zero());
            }
            let Some(index) = self.find(id) else { return };
            self.put_on(scheduler, cpu, index);
        }
    }

    /// Lets somebody run on a CPU that is free, if anybody can: if need be, after others moved on to it.
    pub(super) fn occupy(&mut self, scheduler: &mut Scheduler, cpu: usize) {
        let mut path = vec![cpu];
        if scheduler.queues.is_empty() || !self.leads_somewhere(scheduler, &mut path, &mut 0) {
            return;
        }
        for step in path.windows(2) {
            let (to, from) = (step[0], step[1]);
            scheduler.unsettled = true;
            // A turn goes on elsewhere.
            let moved = scheduler.turns[from].take();
            scheduler.turns[to] = moved;
            let Some(index) = moved.and_then(|turn| self.find(turn.app)) else { return };
            let app = &mut self.apps[index];
            (app.cpu, app.thread.last) = (Some(to), Some(to));
            scheduler.free[from] = app.runner.clock;
            app.runner.wait_until(scheduler.free[to]);
            self.apps[index].runner.fill = self.fill_of(index);
        }
        let last = path.last().copied().unwrap_or(cpu);
        if let Some(index) = scheduler.first(&self.apps, last, self.quantum()) {
            self.put_on(scheduler, last, index);
        }
    }

    /// Whether somebody waits for the last CPU of `path`, or, once its thread has moved to the CPU before it,
    /// for another, which is appended. `seen` are CPUs, a bit each, that were tried.
    fn leads_somewhere(
        &self,
        scheduler: &Scheduler,
        path: &mut Vec<usize>,
        seen: &mut u64,
    ) -> bool {
        let Some(&cpu) = path.last() else { return false };
        *seen |= 1 << cpu;
        if scheduler.first(&self.apps, cpu, self.quantum()).is_some() {
            return true;
        }
        for other in 0..scheduler.turns.len() {
            let Some(turn) = scheduler.turns[other] else { continue };
            let may = self.find(turn.app).is_some_and(|index| self.apps[index].thread.may(cpu));
            if *seen >> other & 1 == 1 || !may {
                continue;
            }
            path.push(other);
            if self.leads_somewhere(scheduler, path, seen) {
                return true;
            }
            path.pop();
        }
        false
    }
}
