//! A cache-fair thread: its phase of the algorithm (§4, Figure 5), and what was learnt of it.

use alloc::collections::VecDeque;

use fairways_core::{Counters, Q32, Time};

use super::Parameters;
use super::calibration::judge;
use super::phase::Accesses;
use super::recon::{DataPoint, Fit, MOST_POINTS, equation_1, equation_2, mean};
use crate::regression::saturate;
use crate::words::{FAIR_CPI, FAIR_MISS_RATE};

/// Announces a number: its word, its value, and the value as it was computed.
pub(super) type AnnounceNumber<'a> = &'a mut dyn FnMut(&'static str, Q32, i64);

/// A reconnaissance that is under way.
#[derive(Clone, Copy, Debug)]
struct Reconnaissance {
    began: Time,
    instructions: u64,
}

#[derive(Clone, Debug)]
pub(super) struct FairThread {
    recon: Option<Reconnaissance>,
    /// The points of the current or the last reconnaissance.
    pub(super) points: VecDeque<DataPoint>,
    /// Instructions since the last reconnaissance ended; `None` before the first has ended.
    since: Option<u64>,
    /// The fair miss rate, misses per cycle; where no estimate was possible, the mean of the
    /// observed rates.
    pub(super) rate: Option<Q32>,
    /// The fair miss rate, if it is known and needs no estimate.
    known: Option<Q32>,
    /// The last successful fit.
    fit: Option<Fit>,
    accesses: Accesses,
    /// The fair CPI, cycles per instruction.
    pub(super) cpi: Option<Q32>,
    announced_cpi: Option<Q32>,
}

impl FairThread {
    pub(super) fn new(at: Time, known: Option<Q32>) -> Self {
        Self {
            recon: Some(Reconnaissance { began: at, instructions: 0 }),
            points: VecDeque::new(),
            since: None,
            rate: None,
            known,
            fit: None,
            accesses: Accesses::default(),
            cpi: None,
            announced_cpi: None,
        }
    }

    /// Whether it is in its calibration phase: a reconnaissance has ended.
    pub(super) const fn is_calibrated(&self) -> bool {
        self.since.is_some()
    }

    /// Begins a reconnaissance. Until it ends, the results of the last one are valid.
    fn observe(&mut self, at: Time) {
        self.recon = Some(Reconnaissance { began: at, instructions: 0 });
        self.accesses = Accesses::default();
        self.points.clear();
    }

    /// Forgets what was learnt, as the machine is another one.
    pub(super) fn forget(&mut self, at: Time) {
        (self.since, self.rate, self.fit, self.cpi) = (None, None, None, None);
        self.observe(at);
    }

    /// Adds what was counted while it ran beside the same co-runners.
    pub(super) fn ran(
        &mut self,
        at: Time,
        point: DataPoint,
        co_runners: u32,
        to: &Parameters,
        announce: AnnounceNumber<'_>,
    ) {
        if self.recon.is_some() {
            if self.points.len() == MOST_POINTS {
                self.points.pop_front();
            }
            self.points.push_back(point);
        }
        self.end_if_due(at, co_runners, to, announce);
    }

    /// Handles a window of its program. Returns its cycles and those that it would have taken at
    /// the fair CPI; `None` if nothing can be adjusted.
    pub(super) fn window(
        &mut self,
        at: Time,
        counters: &Counters,
        co_runners: u32,
        to: &Parameters,
        announce: AnnounceNumber<'_>,
    ) -> Option<(u64, u64)> {
        let instructions = counters.instructions.unwrap_or(0);
        if let Some(recon) = &mut self.recon {
            recon.instructions = recon.instructions.saturating_add(instructions);
            self.accesses.learn(counters);
        } else {
            let since = self.since.unwrap_or(0).saturating_add(instructions);
            self.since = Some(since);
            if since >= to.repetition || self.accesses.changed(counters, to.phase_change) {
                self.observe(at);
            }
        }
        let judged = self.fit.and_then(|fit| judge(counters, &fit, to.least_ideal_cpi));
        if let Some((.., cpi)) = judged {
            self.cpi = Some(cpi);
            if self.announced_cpi.is_none_or(|announced| differ(announced, cpi)) {
                self.announced_cpi = Some(cpi);
                announce(FAIR_CPI.text(), cpi, saturate(cpi.raw().into()));
            }
        }
        self.end_if_due(at, co_runners, to, announce);
        judged.map(|(cycles, fair_cycles, _)| (cycles, fair_cycles))
    }

    /// Ends a reconnaissance that is complete, or has lasted too long (decision cache-fair 3).
    fn end_if_due(
        &mut self,
        at: Time,
        co_runners: u32,
        to: &Parameters,
        announce: AnnounceNumber<'_>,
    ) {
        let Some(recon) = self.recon else { return };
        let needed = usize::try_from(to.data_points).unwrap_or(MOST_POINTS).min(MOST_POINTS);
        let is_complete = self.points.len() >= needed && recon.instructions >= to.reconnaissance;
        if !is_complete && at.since(recon.began) < to.reconnaissance_limit {
            return;
        }
        (self.recon, self.since) = (None, Some(0));
        // A failed reconnaissance leaves the last successful one in force. Without one, only the
        // mean is known, and nothing is adjusted (decision cache-fair 2).
        let fit = match self.known {
            Some(rate) => Fit::at(rate, &self.points),
            None => Fit::through(&self.points, co_runners, to.extrapolates),
        };
        self.fit = fit.or(self.fit);
        let rate = self.fit.map(|fit| fit.rate);
        let rate = rate.or_else(|| mean(self.points.iter().map(|point| point.own)));
        if let Some(rate) = rate.filter(|_| rate != self.rate) {
            let raw = equation_1(&self.points).and_then(|line| equation_2(&line, co_runners));
            let raw = saturate(i128::from(raw.unwrap_or(0)) * 1000);
            announce(FAIR_MISS_RATE.text(), Q32::from_raw(rate.raw().saturating_mul(1000)), raw);
        }
        self.rate = rate;
    }
}

/// Whether two numbers differ by more than a hundredth: smaller changes are not worth announcing.
/// Ours.
fn differ(before: Q32, now: Q32) -> bool {
    before.raw().abs_diff(now.raw()) > before.raw() / 100
}
