//! What the margin rule remembers of a service, so that it does not try again and again what
//! failed.

use core::array;

use fairways_core::{MAX_WAYS, Time};

use super::parameters::Parameters;

/// A number of ways that failed is avoided for up to 2^4 times as long as at first.
const MOST_FAILS: u32 = 4;
/// After this many known tails, a service counts as unattainable, or no longer does.
const LONG: u32 = 100;
/// After this many known tails, a number of ways counts as sufficient.
const DWELL: u32 = 40;
/// The mean of this many known tails shows what conditions are like.
const FIRST: u32 = 10;

/// The action that a service's tail requires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TailVerdict {
    /// None: there are too few requests.
    #[default]
    Unknown,
    /// More ways.
    More,
    /// None yet: the objective is missed, but the requests that piled up are being answered.
    Drains,
    /// None: the objective is met.
    Hold,
    /// It can give ways, down to this number.
    Down(u32),
}

impl TailVerdict {
    /// The verdict on the planned ways, if the service `had` other ways than were `planned`: the
    /// same number of ways fewer (decision Locpart 14).
    pub(super) fn planned(self, had: u32, planned: u32, least: u32) -> Self {
        match self {
            Self::Down(to) if had != planned => {
                let to = planned.saturating_sub(had.saturating_sub(to)).max(least);
                if to < planned { Self::Down(to) } else { Self::Hold }
            }
            verdict => verdict,
        }
    }
}

/// What is remembered about a number of ways.
#[derive(Clone, Copy, Debug, Default)]
struct MissRecord {
    /// The period until which it is avoided.
    until: u64,
    /// How often the objective was missed with it.
    fails: u32,
    /// Periods without a violation, with at most this number of ways, since the time of avoidance
    /// ended. After as many periods as that time had, the record is forgotten.
    calm: u32,
}

/// What was learnt about a service since it got its objective.
#[derive(Clone, Debug)]
pub(super) struct Margin {
    /// When its ways changed last.
    pub(super) since: Option<Time>,
    /// By number of ways: its record.
    missed: [MissRecord; MAX_WAYS + 1],
    /// The period up to which the service gives nothing.
    hold: u64,
    /// Known tails below the objective since its ways changed.
    met_tails: u32,
    /// How many of the last ones in a row had slack.
    slack_tails: u32,
    /// The tail of all its requests at the last violation, unless the objective was met since.
    climbing: Option<u64>,
    /// The sum of the first known tails at the floor, and their number.
    first: (u64, u32),
    /// Since then: how many more tails were at most half their mean than were above it.
    low: u32,
    /// With all available ways: known tails since the last violation.
    at_most: Option<u32>,
    /// Whether no number of ways seems to suffice.
    pub(super) is_unattainable: bool,
    /// Known tails below the objective since no number of ways seemed to suffice, with any number
    /// of ways; `None` if that was never so, or is long ago.
    hopeless: Option<u32>,
}

impl Margin {
    /// The state of a service about which nothing is known, whose ways changed at `since`.
    pub(super) fn new(since: Option<Time>) -> Self {
        Self {
            since,
            missed: array::from_fn(|_| MissRecord::default()),
            hold: 0,
            met_tails: 0,
            slack_tails: 0,
            climbing: None,
            first: (0, 0),
            low: 0,
            at_most: None,
            is_unattainable: false,
            hopeless: None,
        }
    }

    /// Whether the last known tail was a violation.
    pub(super) const fn is_climbing(&self) -> bool {
        self.climbing.is_some()
    }

    /// The fewest ways that the service may be left with in this period.
    fn floor(&self, period: u64) -> u32 {
        (0..)
            .zip(&self.missed)
            .filter(|(_, record)| record.until > period)
            .last()
            .map_or(0, |(ways, _)| ways + 1)
    }

    /// The verdict on a `tail` that was measured with `ways` ways, in nanoseconds like the
    /// objective `slo`, which it meets. `least` is the fewest ways by any rule.
    pub(super) fn judge(
        &mut self,
        period: u64,
        ways: u32,
        (tail, slo): (u64, u64),
        least: u32,
        parameters: &Parameters,
    ) -> TailVerdict {
        self.climbing = None;
        self.met(period, ways, tail, parameters);
        let slack = (u128::from(tail) << 32)
            <= (u128::from(parameters.util_th.raw()) + 1) * u128::from(slo);
        self.slack_tails = if slack { self.slack_tails.saturating_add(1) } else { 0 };
        // One tail may be good by chance.
        let slack = self.slack_tails >= parameters.hold.max(1);
        let floor = self.floor(period);
        let mut to = least.max(floor);
        // A number of ways that failed, and numbers below it, are tried only after the objective
        // was met for a while.
        if self.met_tails < DWELL {
            let failed = self.missed[ways as usize..].iter().any(|record| record.fails > 0);
            to = to.max(if failed { ways } else { self.failed_below(ways) });
        }
        if slack && period > self.hold && !self.is_unattainable && to < ways {
            TailVerdict::Down(to)
        } else {
            TailVerdict::Hold
        }
    }

    /// One more than the largest number of ways below `ways` that failed before.
    fn failed_below(&self, ways: u32) -> u32 {
        let mut below = (0..ways).zip(&self.missed).filter(|(_, record)| record.fails > 0);
        below.next_back().map_or(0, |(ways, _)| ways + 1)
    }

    /// Handles a period in which the objective was met with `ways` ways.
    fn met(&mut self, period: u64, ways: u32, tail: u64, parameters: &Parameters) {
        self.met_tails = self.met_tails.saturating_add(1);
        for record in &mut self.missed[ways as usize..] {
            if record.fails > 0 && record.until <= period {
                record.calm += 1;
                if u64::from(record.calm) >= u64::from(parameters.memory) << (record.fails - 1) {
                    *record = MissRecord::default();
                }
            }
        }
        self.hopeless = self.hopeless.map(|known| known + 1).filter(|&known| known < LONG);
        self.at_most = self.at_most.map(|known| known + 1).filter(|&known| known < LONG);
        if self.at_most.is_none() && core::mem::take(&mut self.is_unattainable) {
            // What failed while everything failed says little about now.
            self.missed.iter_mut().for_each(|record| record.until = 0);
        }
        if ways != self.floor(period) {
            return;
        }
        let (sum, count) = self.first;
        if count < FIRST {
            self.first = (sum.saturating_add(tail), count + 1);
            return;
        }
        let half = sum / u64::from(2 * FIRST);
        self.low = if tail <= half { self.low + 1 } else { self.low.saturating_sub(1) };
        let fails = self.missed[ways as usize - 1].fails.clamp(1, MOST_FAILS);
        if self.low >= 2 << (3 * (fails - 1)) {
            // Conditions are better than when these numbers of ways failed.
            for record in &mut self.missed {
                record.until = 0;
            }
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        (self.first, self.low) = ((0, 0), 0);
    }

    /// Handles a period in which the objective was missed with `ways` ways; `all` is the tail of
    /// all requests in this time.
    pub(super) fn miss(
        &mut self,
        period: u64,
        ways: u32,
        all: u64,
        parameters: &Parameters,
    ) -> TailVerdict {
        let before = self.climbing.replace(all);
        self.hopeless = self.hopeless.map(|_| 0);
        self.hold = period.saturating_add(u64::from(parameters.hold));
        for record in &mut self.missed {
            record.calm = 0;
        }
        let is_quick = self.met_tails < DWELL;
        (self.met_tails, self.slack_tails) = (0, 0);
        if before.is_some_and(|before| all < before - before / 4) {
            return TailVerdict::Drains;
        }
        // Requests that had piled up before are not blamed on ways that came later, as long as they
        // become fewer.
        if before.is_none_or(|before| all >= before) {
            let record = &mut self.missed[ways as usize];
            record.until = period.saturating_add(u64::from(parameters.memory) << record.fails);
            record.fails = (record.fails + 1 + u32::from(is_quick)).min(MOST_FAILS);
            self.forget_first();
        }
        TailVerdict::More
    }

    /// There are no more ways for the service.
    pub(super) fn has_all(&mut self) {
        self.is_unattainable |= self.at_most.is_some();
        self.at_most = Some(0);
        if self.is_unattainable {
            self.hopeless = Some(0);
        }
    }

    /// Handles a change of its ways.
    pub(super) fn moved(&mut self, at: Time, more: bool) {
        self.since = Some(at);
        (self.met_tails, self.slack_tails) = (0, 0);
        if more {
            (self.at_most, self.is_unattainable) = (None, false);
        }
    }

    /// Forgets what was found with all available ways: it no longer applies.
    pub(super) const fn forget_unattainable(&mut self) {
        (self.at_most, self.is_unattainable, self.hopeless) = (None, false, None);
    }

    /// Whether it has missed its objective with all available ways, and not met it for long since.
    pub(super) const fn is_hopeless(&self) -> bool {
        self.hopeless.is_some()
    }
}
