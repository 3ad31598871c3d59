//! When a PCMR is no longer valid: phases of programs (§4.2.1, which leaves them to the future),
//! and the periodic re-measurement of §5.3.4.

use alloc::vec::Vec;

use fairways_core::{CoRun, Q32};

use super::rates::signed;
use super::{Casc, matching};

impl Casc {
    /// Compares a group's miss rate with the prediction. If a thread's groups have been off for
    /// long, its PCMR is marked unknown. Of several such threads, it is the one whose groups were
    /// off for longest, whatever other threads were in them; then the comparisons of all others
    /// start again, as this thread may have been the cause. Returns whether a PCMR was marked.
    pub(super) fn compare(&mut self, together: &CoRun, rate: Q32) -> bool {
        let Self { parameters, threads, .. } = self;
        // If fewer threads run than could, each has more of the cache than its PCMR is about.
        let n = self.cpus.map_or(0, |cpus| cpus.count as usize).min(threads.len());
        if parameters.phase_measurements == 0 || together.threads.len() < n {
            return false;
        }
        let mut sum = 0;
        for ran in &together.threads {
            let thread = threads.iter().find(|thread| thread.id == ran.thread);
            let Some(pcmr) = thread.and_then(|thread| thread.pcmr) else { return false };
            sum += signed(pcmr.value);
        }
        let n = i64::try_from(together.threads.len()).unwrap_or(i64::MAX);
        let Some(predicted) = sum.checked_div(n) else { return false };
        for ran in &together.threads {
            let thread = threads.iter_mut().find(|thread| thread.id == ran.thread);
            let Some(thread) = thread else { continue };
            thread.seen.add(signed(rate), together.window);
            thread.predicted.add(predicted, together.window);
            if thread.seen.length() < parameters.min_runlength {
                continue;
            }
            let (seen, predicted) = (thread.seen.value(), thread.predicted.value());
            let differs = seen.zip(predicted).is_some_and(|(seen, predicted)| {
                is_off(seen, predicted, parameters.phase_margin_percent)
            });
            let before = thread.off;
            thread.trust();
            thread.off = if differs { before.saturating_add(1) } else { 0 };
        }
        let longest = (0..threads.len()).rev().max_by_key(|&index| threads[index].off);
        let longest = longest.filter(|&at| threads[at].off >= parameters.phase_measurements);
        let Some(longest) = longest else { return false };
        if !self.can_spare(longest) {
            return false;
        }
        let threads = &mut self.threads;
        threads[longest].forget();
        threads.iter_mut().for_each(super::thread::MeasuredThread::trust);
        true
    }

    /// Marks the next thread's PCMR unknown, unless too few others would be known to measure it by
    /// (§5.3.4).
    pub(super) fn next_turn(&mut self) {
        let known = self.threads.iter().filter(|thread| thread.pcmr.is_some());
        let known = known.map(|thread| thread.id);
        let after_last = known.clone().filter(|&id| Some(id) > self.turn).min();
        let Some(next) = after_last.or_else(|| known.min()) else { return };
        let index = self.threads.iter().position(|thread| thread.id == next);
        let Some(index) = index else { return };
        self.turn = Some(next);
        if self.known() > self.peers_needed() && self.can_spare(index) {
            self.threads[index].forget();
        }
    }

    /// Whether the other CPUs stay busy without a thread, which would be measured on CPU 0 in the
    /// meantime.
    fn can_spare(&self, index: usize) -> bool {
        let others = self.threads.iter().enumerate().filter(|(at, _)| *at != index);
        let others: Vec<Q32> = others.filter_map(|(_, one)| Some(one.pcmr?.value)).collect();
        let rest = self.max_pcmrs().get(1..).unwrap_or_default();
        matching::keeps_busy(rest, &others, self.parameters.m)
    }
}

/// Whether a miss rate is off the prediction, both in units of 2^-32: by more than `percent`
/// percent, and by more than 1, below which a percentage means little.
fn is_off(seen: i64, predicted: i64, percent: u32) -> bool {
    let by = i128::from(seen.abs_diff(predicted));
    by > i128::from(Q32::ONE.raw()) && by * 100 > i128::from(predicted) * i128::from(percent)
}
