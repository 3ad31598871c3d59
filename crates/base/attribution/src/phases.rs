//! The phases of a program. Its miss ratios in one phase say nothing about another.
//!
//! How often a program refers to the cache hardly depends on how much of the cache it has. So a new
//! phase begins when it refers to the cache much more or much less often for a while.

use alloc::boxed::Box;
use alloc::vec::Vec;

use fairways_core::Q32;

use crate::sizes::MissShares;

/// The most phases that are kept of a program.
pub(crate) const MOST_PHASES: usize = 4;

/// How many unlike windows in a row begin another phase, and how long they last together at least,
/// in nanoseconds. Changes from one short window to the next are part of one phase.
const PERSISTENCE: u32 = 2;
const PERSISTENCE_NANOS: u64 = 25_000_000;

/// The mean of a phase covers roughly this many of its last windows.
const REMEMBERED: u64 = 16;

/// Windows are unlike if their references per 1000 instructions differ by more than a fourth, and
/// one has more than `FEW`.
const UNLIKE: u64 = 4;
const FEW: u64 = Q32::ONE.raw();

/// A phase that was seen.
#[derive(Clone, Debug, Default)]
struct SeenPhase {
    shares: Box<MissShares>,
    /// References per 1000 instructions, times 2^32; `None` before its first window.
    references: Option<u64>,
    /// The number of the phase change that last began it.
    last: u32,
}

/// A run of windows that are unlike the current phase.
#[derive(Clone, Copy, Debug, Default)]
struct UnlikeWindows {
    windows: u32,
    nanos: u64,
    references: u64,
}

/// The phases that were seen of a program.
#[derive(Clone, Debug)]
pub(crate) struct SeenPhases {
    /// At least one.
    phases: Vec<SeenPhase>,
    /// The place of the current phase.
    current: usize,
    unlike: UnlikeWindows,
    changes: u32,
}

impl Default for SeenPhases {
    fn default() -> Self {
        let phases = Vec::from([SeenPhase::default()]);
        Self { phases, current: 0, unlike: UnlikeWindows::default(), changes: 0 }
    }
}

/// The phase that a window belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowPhase {
    /// The phase at this place.
    Known(usize),
    /// A new phase at this place, which may replace another one.
    New(usize),
    /// Not known yet.
    Unknown,
}

impl SeenPhases {
    /// The miss ratios of a phase.
    pub(crate) fn shares(&self, place: usize) -> &MissShares {
        &self.phases[place].shares
    }

    pub(crate) fn shares_mut(&mut self, place: usize) -> &mut MissShares {
        &mut self.phases[place].shares
    }

    /// The place of the current phase.
    pub(crate) const fn current_place(&self) -> usize {
        self.current
    }

    /// The miss ratios of the current phase.
    pub(crate) fn current(&self) -> &MissShares {
        self.shares(self.current)
    }

    /// Finds the phase of a window of this length, from how often the program refers to the cache.
    pub(crate) fn take_in(
        &mut self,
        references: u64,
        instructions: Option<u64>,
        nanos: u64,
    ) -> WindowPhase {
        let Some(instructions) = instructions.filter(|&count| count > 0) else {
            return WindowPhase::Known(self.current);
        };
        let now = Q32::ratio(references.saturating_mul(1000), instructions).raw();
        if self.phases[self.current].is_like(now) {
            self.unlike = UnlikeWindows::default();
            self.phases[self.current].blend(now);
            return WindowPhase::Known(self.current);
        }
        let unlike = &mut self.unlike;
        if unlike.windows > 0 && !are_like(unlike.references, now) {
            // This window is unlike the previous unlike ones, too: start again.
            *unlike = UnlikeWindows::default();
        }
        unlike.windows += 1;
        unlike.nanos = unlike.nanos.saturating_add(nanos);
        unlike.references = now;
        if unlike.windows < PERSISTENCE || unlike.nanos < PERSISTENCE_NANOS {
            return WindowPhase::Unknown;
        }
        self.turn(now)
    }

    /// Begins the phase of the recent windows: one that is known, or a new one. If all places are
    /// in use, the new phase replaces the one that began longest ago.
    fn turn(&mut self, now: u64) -> WindowPhase {
        self.unlike = UnlikeWindows::default();
        self.changes = self.changes.wrapping_add(1);
        let known = self.phases.iter().position(|phase| phase.is_like(now));
        let place = known.unwrap_or_else(|| {
            if self.phases.len() < MOST_PHASES {
                self.phases.push(SeenPhase::default());
                return self.phases.len() - 1;
            }
            let oldest = (0..MOST_PHASES).min_by_key(|&place| self.phases[place].last).unwrap_or(0);
            *self.phases[oldest].shares = MissShares::default();
            self.phases[oldest].references = None;
            oldest
        });
        self.current = place;
        self.phases[place].last = self.changes;
        self.phases[place].blend(now);
        if known.is_some() { WindowPhase::Known(place) } else { WindowPhase::New(place) }
    }
}

impl SeenPhase {
    fn is_like(&self, now: u64) -> bool {
        self.references.is_none_or(|before| are_like(before, now))
    }

    fn blend(&mut self, now: u64) {
        let before = self.references.unwrap_or(now);
        self.references = Some(before - before / REMEMBERED + now / REMEMBERED);
    }
}

fn are_like(one: u64, other: u64) -> bool {
    let most = one.max(other);
    most <= FEW || one.abs_diff(other) <= most / UNLIKE
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: u64 = 1_000_000;

    fn window(phases: &mut SeenPhases, references: u64, millis: u64) -> WindowPhase {
        phases.take_in(references, Some(1000), millis * MILLISECOND)
    }

    #[test]
    fn a_phase_begins_once_it_lasts_and_is_known_when_it_comes_back() {
        let mut phases = SeenPhases::default();
        assert_eq!(window(&mut phases, 10, 50), WindowPhase::Known(0));
        assert_eq!(window(&mut phases, 12, 50), WindowPhase::Known(0));
        assert_eq!(window(&mut phases, 40, 50), WindowPhase::Unknown);
        assert_eq!(window(&mut phases, 41, 50), WindowPhase::New(1));
        assert_eq!(window(&mut phases, 10, 50), WindowPhase::Unknown);
        assert_eq!(window(&mut phases, 10, 50), WindowPhase::Known(0));
    }

    #[test]
    fn what_changes_from_one_short_window_to_the_next_is_one_phase() {
        let mut phases = SeenPhases::default();
        window(&mut phases, 10, 50);
        for _ in 0..100 {
            assert_eq!(window(&mut phases, 40, 1), WindowPhase::Unknown);
            assert_eq!(window(&mut phases, 10, 1), WindowPhase::Known(0));
        }
        let lasting = (0..25).map(|_| window(&mut phases, 40, 1)).last();
        assert_eq!(lasting, Some(WindowPhase::New(1)));
    }

    #[test]
    fn few_references_are_as_few() {
        let mut phases = SeenPhases::default();
        for references in [0, 1, 0, 1] {
            assert_eq!(window(&mut phases, references, 50), WindowPhase::Known(0));
        }
    }

    #[test]
    fn the_phase_that_is_longest_gone_makes_room() {
        let mut phases = SeenPhases::default();
        let found = (0..5).map(|phase| {
            window(&mut phases, 10 << phase, 50);
            window(&mut phases, 10 << phase, 50)
        });
        let (known, new) = (WindowPhase::Known(0), WindowPhase::New);
        assert_eq!(found.collect::<Vec<_>>(), [known, new(1), new(2), new(3), new(0)]);
    }
}
