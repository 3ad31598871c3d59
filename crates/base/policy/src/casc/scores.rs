//! The values that experiments and tables read from the policy.

use alloc::vec::Vec;

use fairways_core::{Q32, ThreadId, Time};

use super::Casc;
use super::buckets::{self, Assignment};
use super::initial::Initial;
use super::thread::{MeasuredThread, Measurement};

impl Casc {
    pub(super) fn thread(&self, thread: ThreadId) -> Option<&MeasuredThread> {
        self.threads.iter().find(|one| one.id == thread)
    }

    /// A thread's PCMR in misses per 100 references, 0 to 100; `None` while it is unknown.
    #[must_use]
    pub fn pcmr(&self, thread: ThreadId) -> Option<Q32> {
        Some(self.thread(thread)?.pcmr?.value)
    }

    /// A thread's PCMR as it was computed, in units of 2^-32 misses per 100 references: it may be
    /// negative, or over 100.
    #[must_use]
    pub fn raw_pcmr(&self, thread: ThreadId) -> Option<i64> {
        Some(self.thread(thread)?.pcmr?.raw)
    }

    /// Which measurement a thread's PCMR is from; `None` while it is unknown.
    #[must_use]
    pub fn measured_by(&self, thread: ThreadId) -> Option<Measurement> {
        Some(self.thread(thread)?.pcmr?.by)
    }

    /// The miss rate of these threads on as many CPUs, in misses per 100 references: the average of
    /// their PCMRs (Formula 1). `None` if there are no threads, or if one PCMR is unknown.
    #[must_use]
    pub fn estimate(&self, threads: &[ThreadId]) -> Option<Q32> {
        let pcmrs: Vec<Q32> = threads.iter().map(|&one| self.pcmr(one)).collect::<Option<_>>()?;
        (!pcmrs.is_empty()).then(|| buckets::average(&pcmrs))
    }

    /// The assignment that threads' CPU preferences follow; `None` before the first.
    #[must_use]
    pub const fn assignment(&self) -> Option<&Assignment> {
        self.assignment.as_ref()
    }

    /// Each CPU's `MAX_PCMR` in misses per 100 references, by its number; empty before the first
    /// bucketization.
    #[must_use]
    pub fn max_pcmrs(&self) -> &[Q32] {
        self.assignment.as_ref().map_or(&[], |assignment| &assignment.max_pcmrs)
    }

    /// The threshold in force, in misses per 100 references; `None` before the first bucketization.
    #[must_use]
    pub fn threshold(&self) -> Option<Q32> {
        Some(self.assignment.as_ref()?.threshold)
    }

    /// When the last initial measurement began, and when it ended (`None` while it is under way);
    /// `None` before the first.
    #[must_use]
    pub const fn initial_measurement(&self) -> Option<(Time, Option<Time>)> {
        self.span
    }

    /// The threads that take part in the initial measurement that is under way.
    pub fn taking_part(&self) -> impl Iterator<Item = ThreadId> {
        self.initial.iter().flat_map(Initial::threads)
    }
}
