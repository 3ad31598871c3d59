//! When which measurement is taken, and what follows from its PCMRs (§4.2; §4.3.1 for when
//! bucketization is run again).

use alloc::vec::Vec;

use fairways_core::{Action, CoRun, ThreadId, Time};

use super::buckets::Assignment;
use super::thread::{MeasuredThread, Measurement};
use super::{Casc, SHORTEST, matching, rates};
use crate::words::PCMR;

impl Casc {
    /// How many PCMRs are known.
    pub(super) fn known(&self) -> usize {
        self.threads.iter().filter(|thread| thread.pcmr.is_some()).count()
    }

    /// How many PCMRs must be known for a secondary measurement of the others: n - 1 (§4.2). With
    /// no more threads than CPUs, one is enough, as all threads with a known PCMR run at once.
    pub(super) fn peers_needed(&self) -> usize {
        let n = self.cpus.map_or(1, |cpus| cpus.count as usize);
        if self.threads.len() <= n { 1 } else { n.saturating_sub(1).max(1) }
    }

    /// Whether the linear system is needed: "when the PCMRs of zero or very few threads are known"
    /// (§4.2), or if it had fewer than n + 1 threads before, and now there are enough. A thread
    /// that was given up waits for its secondary measurement.
    pub(super) fn needs_initial(&self) -> bool {
        let known = self.known();
        let unknown =
            self.threads.iter().any(|thread| thread.pcmr.is_none() && !thread.is_given_up);
        let awake = self.threads.iter().filter(|thread| !thread.is_given_up).count();
        let enough = self.cpus.is_some_and(|cpus| awake > cpus.count as usize);
        !self.threads.is_empty()
            && (known == 0
                || (unknown && known < self.peers_needed())
                || (self.is_incomplete && enough))
    }

    pub(super) fn ran(&mut self, at: Time, together: &CoRun, act: &mut dyn FnMut(Action<'_>)) {
        if self.cpus.is_none() || together.window < self.parameters.shortest_interval {
            return;
        }
        let group = together.threads.iter().map(|ran| ran.thread);
        let rate = rates::miss_rate(together);
        if let Some(initial) = &mut self.initial {
            let is_ready = group.clone().all(|id| {
                let thread = self.threads.iter().find(|thread| thread.id == id);
                thread.is_some_and(|thread| thread.ran >= self.parameters.delay)
            });
            let rate = rate.filter(|_| is_ready);
            initial.add(group.clone(), rate, together.window);
            if initial.is_complete(&self.parameters) {
                self.finish_initial(at, act);
                self.follow(at, act);
            }
        } else if let Some(rate) = rate {
            if let Some((index, raw)) = self.measure(together, rate) {
                self.measured(index, raw, act);
                self.follow(at, act);
            } else if self.compare(together, rate) {
                self.follow(at, act);
            }
        }
        let (mut is_freed, limit) = (false, self.parameters.initial_limit);
        for thread in self.threads.iter_mut().filter(|one| group.clone().any(|id| id == one.id)) {
            thread.ran = thread.ran.saturating_add(together.window);
            if thread.pcmr.is_none() && self.initial.is_none() {
                let before = thread.unmeasured;
                thread.unmeasured = before.saturating_add(together.window);
                is_freed |= before < limit && thread.unmeasured >= limit;
            }
        }
        if is_freed {
            self.follow(at, act);
        }
    }

    /// Handles an initial measurement that takes too long: threads that do not run are replaced; if
    /// no thread is left to replace them, the rows that ran have to suffice (decisions CASC 9 and
    /// 10).
    pub(super) fn extend_initial(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        let Some(initial) = &mut self.initial else { return };
        let sleepers = initial.sleepers(&self.parameters);
        let taking_part: Vec<ThreadId> = initial.threads().collect();
        let waiting = self
            .threads
            .iter()
            .filter(|thread| !thread.is_given_up && !taking_part.contains(&thread.id))
            .count();
        initial.go_on(at.after(self.parameters.initial_limit.max(SHORTEST)));
        if waiting == 0 || sleepers.is_empty() {
            self.finish_initial(at, act);
            return;
        }
        for &sleeper in sleepers.iter().take(waiting) {
            initial.leave(sleeper);
            let thread = self.threads.iter_mut().find(|thread| thread.id == sleeper);
            thread.into_iter().for_each(|thread| thread.is_given_up = true);
        }
    }

    /// Solves the system; if no row of it has run, the measurement goes on.
    fn finish_initial(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        let Some(initial) = &mut self.initial else { return };
        let pcmrs = initial.solve(&self.parameters);
        if pcmrs.is_empty() {
            // Perhaps nothing can be counted here. The other threads must not wait for ever.
            initial.is_resting = !initial.is_resting;
            return;
        }
        let taking_part: Vec<ThreadId> = initial.threads().collect();
        for thread in self.threads.iter_mut().filter(|thread| taking_part.contains(&thread.id)) {
            match pcmrs.iter().find(|(id, _)| *id == thread.id) {
                Some(&(_, raw)) => announce(thread, raw, Measurement::Initial, act),
                None => thread.is_given_up = thread.pcmr.is_none(),
            }
        }
        self.is_incomplete = !initial.is_full();
        self.initial = None;
        self.span = self.span.map(|(since, _)| (since, Some(at)));
        self.bucketize();
    }

    /// Handles the end of a secondary measurement. Bucketization is run again if the new PCMR is
    /// larger than all others, and always if the assignment misses the threshold (§4.3.1; decision
    /// CASC 8).
    fn measured(&mut self, index: usize, raw: i64, act: &mut dyn FnMut(Action<'_>)) {
        let largest = self.pcmrs().into_iter().max();
        announce(&mut self.threads[index], raw, Measurement::Secondary, act);
        let new = self.threads[index].pcmr.map(|pcmr| pcmr.value);
        let projected = self.assignment.as_ref().map(Assignment::projected);
        let threshold = Some(self.parameters.threshold);
        // Ours, as at an exit: if there are fewer threads than CPUs, another thread could leave
        // CPUs idle that a new assignment would not.
        let idles = !matching::keeps_busy(self.max_pcmrs(), &self.pcmrs(), self.parameters.m);
        // A thread whose PCMR does not exceed all others has a bucket: the one of the largest, if
        // no other.
        if new > largest || projected > threshold || idles {
            self.bucketize();
        }
    }
}

/// Stores a PCMR and announces it.
fn announce(
    thread: &mut MeasuredThread,
    raw: i64,
    by: Measurement,
    act: &mut dyn FnMut(Action<'_>),
) {
    let value = thread.learn(raw, by);
    act(Action::Estimated { thread: thread.id, what: PCMR.text().into(), value, raw });
}
