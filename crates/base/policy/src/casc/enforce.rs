//! The threads' CPU preferences (§4.3.2), priorities (§4.2.2.1) and classes.

use alloc::vec::Vec;

use fairways_core::{Action, ThreadId};

use super::buckets::allowed;
use super::{Casc, MOST_CPUS};

impl Casc {
    /// Requests what is not in force yet: where each thread may run, and which threads are raised.
    pub(super) fn enforce(&mut self, act: &mut dyn FnMut(Action<'_>)) {
        let every =
            self.cpus.map_or(0, |cpus| u64::MAX >> (MOST_CPUS - cpus.count.clamp(1, MOST_CPUS)));
        for thread in &mut self.threads {
            let (set, reason) = match (&self.assignment, thread.pcmr) {
                _ if self.initial.is_some() => {
                    (every, "every group is to run: initial measurement")
                }
                (None, _) => (every, "no PCMR is known"),
                (Some(_), None) if thread.unmeasured >= self.parameters.initial_limit => {
                    (every, "its PCMR is unknown, and no interval could measure it")
                }
                (Some(_), None) => (1, "its PCMR is unknown: secondary measurement on CPU 0"),
                (Some(assignment), Some(pcmr)) => {
                    let cpus = allowed(&assignment.max_pcmrs, pcmr.value);
                    let set = cpus.fold(0, |set, cpu| set | 1u64.checked_shl(cpu).unwrap_or(0));
                    thread.announce_class(set != every, act);
                    (set, "its PCMR fits these CPUs' buckets")
                }
            };
            if thread.allowed.unwrap_or(every) != set {
                let cpus: Vec<u32> = (0..MOST_CPUS).filter(|cpu| set & (1 << cpu) != 0).collect();
                act(Action::Allow { thread: thread.id, cpus: cpus.into(), reason: reason.into() });
                thread.allowed = Some(set);
            }
        }
        self.raise(act);
    }

    pub(super) fn raise(&mut self, act: &mut dyn FnMut(Action<'_>)) {
        // Up to n threads each have a CPU, or will find one, so they need not be raised.
        let initial =
            self.initial.as_ref().filter(|initial| initial.is_full() && !initial.is_resting);
        let wanted: Vec<ThreadId> =
            initial.map_or(Vec::new(), |initial| initial.threads().collect());
        let mut lowered = without(&self.raised, &wanted);
        lowered.retain(|&thread| self.thread(thread).is_some());
        if !lowered.is_empty() {
            let reason = "takes no part in an initial measurement any more";
            act(Action::Priority { threads: lowered.into(), raised: false, reason: reason.into() });
        }
        let raised = without(&wanted, &self.raised);
        if !raised.is_empty() {
            let reason = "takes part in the initial measurement";
            act(Action::Priority { threads: raised.into(), raised: true, reason: reason.into() });
        }
        self.raised = wanted;
    }
}

/// The threads of the first list that are not in the second.
fn without(threads: &[ThreadId], others: &[ThreadId]) -> Vec<ThreadId> {
    threads.iter().filter(|thread| !others.contains(thread)).copied().collect()
}

impl super::thread::MeasuredThread {
    fn announce_class(&mut self, greedy: bool, act: &mut dyn FnMut(Action<'_>)) {
        if self.is_greedy.replace(greedy) != Some(greedy) {
            let (class, reason) = if greedy {
                ("cache-greedy", "its PCMR keeps it off some CPUs")
            } else {
                ("cache-frugal", "its PCMR lets it run on every CPU")
            };
            act(Action::Classified {
                app: self.id.app,
                class: class.into(),
                reason: reason.into(),
            });
        }
    }
}
