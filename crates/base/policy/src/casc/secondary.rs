//! The secondary measurement: the PCMR of one thread among others whose PCMRs are known (§4.2.2.2).

use fairways_core::{CoRun, Q32};

use super::Casc;
use super::rates::signed;
use super::thread::MeasuredThread;

impl Casc {
    /// Handles an interval with exactly one thread whose PCMR is unknown: it is n L2MR less the
    /// others' PCMRs (Formula 2). Once the intervals suffice, returns the thread and its PCMR, the
    /// average.
    pub(super) fn measure(&mut self, together: &CoRun, rate: Q32) -> Option<(usize, i64)> {
        let Self { parameters, threads, .. } = self;
        let (mut unknown, mut known) = (None, 0i64);
        for ran in &together.threads {
            let index = threads.iter().position(|thread| thread.id == ran.thread)?;
            match (threads[index].pcmr, unknown) {
                (Some(pcmr), _) => known = known.saturating_add(signed(pcmr.value)),
                (None, None) => unknown = Some(index),
                // Two unknowns in one equation.
                (None, Some(_)) => return None,
            }
        }
        let index = unknown?;
        let thread: &mut MeasuredThread = &mut threads[index];
        if thread.ran < parameters.delay {
            return None;
        }
        let n = i64::try_from(together.threads.len()).unwrap_or(i64::MAX);
        let own = signed(rate).saturating_mul(n).saturating_sub(known);
        thread.secondary.add(own, together.window);
        if thread.secondary.length() < parameters.min_runlength {
            return None;
        }
        thread.secondary.value().map(|raw| (index, raw))
    }
}
