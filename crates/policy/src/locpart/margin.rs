//! What the margin rule remembers of a service, so that it does not try again and again what failed.

use core::array;

use fairways_core::{MAX_WAYS, Time};

use super::parameters::Parameters;

/// A number of ways is avoided up to 2^4 times as long as at first.
const MOST_FAILS: u32 = 4;
/// Known tails that are looked at before a service is said to be unattainable, or no longer.
const LONG: u32 = 100;
/// Known tails with which a number of ways has proved itself.
const DWELL: u32 = 40;
/// Known tails whose mean tells what conditions are like.
const FIRST: u32 = 10;

/// What a service's tail calls for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TailVerdict {
    /// Too few requests: nothing.
    #[default]
    Unknown,
    /// More ways.
    More,
    /// Nothing yet: the objective is missed, but what had piled up drains.
    Drains,
    /// Nothing: the objective is met.
    Hold,
    /// Nothing, or as few as so many ways.
    Down(u32),
}

impl TailVerdict {
    /// What is to be planned of it where a service has `had` other ways than were `planned`: as
    /// many fewer (decision Locpart 14).
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

/// What is remembered of a number of ways.
#[derive(Clone, Copy, Debug, Default)]
struct MissRecord {
    /// The period until which it is not gone back to.
    until: u64,
    /// How often the objective was missed with it.
    fails: u32,
    /// Periods without a violation with no more ways than that, once its time was over. After as many as it
    /// was avoided for, all is forgotten.
    calm: u32,
}

/// What was learnt of a service since it got its objective.
#[derive(Clone, Debug)]
pub(super) struct Margin {
    /// When its ways changed.
    pub(super) since: Option<Time>,
    /// By number of ways.
    missed: [MissRecord; MAX_WAYS + 1],
    /// The period up to which nothing is given.
    hold: u64,
    /// Known tails below the objective since then, with ways that are still the same; and how many of the last ones
    /// had slack.
    met_tails: u32,
    slack_tails: u32,
    /// The tail of all its requests at the last violation, unless it was met since.
    climbing: Option<u64>,
    /// The sum of the first known tails at the floor and how many of them there were; and how many more of
    /// those since were at most half their mean than were not.
    first: (u64, u32),
    low: u32,
    /// With all the ways that there are: known tails since the last violation.
    at_most: Option<u32>,
    /// Whether no number of ways seems to do.
    pub(super) is_unattainable: bool,
    /// That it once was so, with more ways or fewer: known tails below the objective since.
    hopeless: Option<u32>,
}

impl Margin {
    /// What is known of a service at first, whose ways changed at that time.
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

    /// The fewest ways that it may be brought to in this period.
    fn floor(&self, period: u64) -> u32 {
        (0..)
            .zip(&self.missed)
            .filter(|(_, one)| one.until > period)
            .last()
            .map_or(0, |(ways, _)| ways + 1)
    }

    /// What to do about a tail that was found with `ways`, in nanoseconds; `slo` is the objective. `least` is
    /// what it may be brought to by any rule.
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
        // Down to where it failed, and further down from there, only from where it has held for a while.
        if self.met_tails < DWELL {
            let failed = self.missed[ways as usize..].iter().any(|one| one.fails > 0);
            to = to.max(if failed { ways } else { self.failed_below(ways) });
        }
        if slack && period > self.hold && !self.is_unattainable && to < ways {
            TailVerdict::Down(to)
        } else {
            TailVerdict::Hold
        }
    }

    /// The fewest ways below these of which none was missed before.
    fn failed_below(&self, ways: u32) -> u32 {
        let mut below = (0..ways).zip(&self.missed).filter(|(_, one)| one.fails > 0);
        below.next_back().map_or(0, |(ways, _)| ways + 1)
    }

    /// The objective was met with `ways`.
    fn met(&mut self, period: u64, ways: u32, tail: u64, parameters: &Parameters) {
        self.met_tails = self.met_tails.saturating_add(1);
        for one in &mut self.missed[ways as usize..] {
            if one.fails > 0 && one.until <= period {
                one.calm += 1;
                if u64::from(one.calm) >= u64::from(parameters.memory) << (one.fails - 1) {
                    *one = MissRecord::default();
                }
            }
        }
        self.hopeless = self.hopeless.map(|known| known + 1).filter(|&known| known < LONG);
        self.at_most = self.at_most.map(|known| known + 1).filter(|&known| known < LONG);
        if self.at_most.is_none() && core::mem::take(&mut self.is_unattainable) {
            // What did not do when nothing did says little of now.
            self.missed.iter_mut().for_each(|one| one.until = 0);
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
            // Conditions are better than when it failed.
            for one in &mut self.missed {
                one.until = 0;
            }
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        (self.first, self.low) = ((0, 0), 0);
    }

    /// The objective was missed with `ways`; `all` is the tail of all requests in this time.
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
        for one in &mut self.missed {
            one.calm = 0;
        }
        let quick = self.met_tails < DWELL;
        (self.met_tails, self.slack_tails) = (0, 0);
        if before.is_some_and(|before| all < before - before / 4) {
            return TailVerdict::Drains;
        }
        // What had piled up before is not held against ways that came after, as long as it becomes less.
        if before.is_none_or(|before| all >= before) {
            let one = &mut self.missed[ways as usize];
            one.until = period.saturating_add(u64::from(parameters.memory) << one.fails);
            one.fails = (one.fails + 1 + u32::from(quick)).min(MOST_FAILS);
            self.forget_first();
        }
        TailVerdict::More
    }

    /// There are no more ways for it.
    pub(super) fn has_all(&mut self) {
        self.is_unattainable |= self.at_most.is_some();
        self.at_most = Some(0);
        if self.is_unattainable {
            self.hopeless = Some(0);
        }
    }

    /// Its ways changed.
    pub(super) fn moved(&mut self, at: Time, more: bool) {
        self.since = Some(at);
        (self.met_tails, self.slack_tails) = (0, 0);
        if more {
            (self.at_most, self.is_unattainable) = (None, false);
        }
    }

    /// What was found with all the ways that there were says nothing any more.
    pub(super) const fn forget_unattainable(&mut self) {
        (self.at_most, self.is_unattainable, self.hopeless) = (None, false, None);
    }

    /// Whether it has missed its objective with all the ways that there are, and not met it for long since.
    pub(super) const fn is_hopeless(&self) -> bool {
        self.hopeless.is_some()
    }
}
