//! The queues of the CPUs.

use std::cmp::Reverse;
use std::collections::VecDeque;

use fairways_core::AppId;

use crate::running_program::RunningProgram;
use crate::running_programs::RunningPrograms;

/// The waiting threads of each CPU.
#[derive(Clone, Debug)]
pub(super) struct RunQueues(Vec<VecDeque<AppId>>);

impl RunQueues {
    pub(super) fn new(cpus: usize) -> Self {
        Self(vec![VecDeque::new(); cpus])
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(VecDeque::is_empty)
    }

    /// The CPU at which a thread waits.
    pub(super) fn place(&self, app: AppId) -> Option<usize> {
        self.0.iter().position(|queue| queue.contains(&app))
    }

    pub(super) fn remove(&mut self, app: AppId) {
        self.0.iter_mut().for_each(|queue| queue.retain(|other| *other != app));
    }

    /// Puts a thread at the end of the queue of the CPU that it was on last, or, if it may not run
    /// there, of the allowed CPU with the shortest queue.
    pub(super) fn push(&mut self, app: &RunningProgram) {
        let last = app.thread.last.filter(|&cpu| app.thread.may_run_on(cpu));
        let allowed = (0..self.0.len()).filter(|&cpu| app.thread.may_run_on(cpu));
        let cpu = last.or_else(|| allowed.min_by_key(|&cpu| self.0[cpu].len()));
        self.0[cpu.unwrap_or(0)].push_back(app.id);
    }

    /// The thread that runs next on a CPU: of those that may run there, the one of the highest
    /// rank, then with the fewest turns (`few` or fewer count as equal), then with the longest
    /// wait.
    pub(super) fn first<'a>(
        &self,
        apps: &'a RunningPrograms,
        cpu: usize,
        few: u64,
    ) -> Option<&'a RunningProgram> {
        let waiting = self.0.iter().flatten().filter_map(|id| apps.find(*id));
        waiting.filter(|app| app.thread.may_run_on(cpu)).min_by_key(|app| {
            (Reverse(app.thread.rank()), app.thread.turns.max(few), app.thread.waits)
        })
    }
}
