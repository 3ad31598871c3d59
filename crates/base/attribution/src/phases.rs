//! The phases of a program: what it misses in one says nothing of another.
//!
//! How often a program refers to the cache depends little on how much of it it has. So another
//! phase has begun once it refers to it much more often than before, or much less, for a while.

use alloc::boxed::Box;
use alloc::vec::Vec;

use fairways_core::Q32;

use crate::sizes::MissShares;

/// Phases that are kept of a program.
pub(crate) const MOST_PHASES: usize = 4;

/// Windows in a row that are unlike the phase before another one begins, and how long they are
/// together at least, in nanoseconds: what changes from one short window to the next is part of one
/// phase.
const PERSISTENCE: u32 = 2;
const PERSISTENCE_NANOS: u64 = 25_000_000;

/// The windows that the mean of a phase remembers: the last of them, roughly.
const REMEMBERED: u64 = 16;

/// References of 1000 instructions differ by more than a fourth, and one is more than this.
const UNLIKE: u64 = 4;
const FEW: u64 = Q32::ONE.raw();

/// A phase that was seen.
#[derive(Clone, Debug, Default)]
struct SeenPhase {
    shares: Box<MissShares>,
    /// References of 1000 instructions, times 2^32; `None` before its first window.
    references: Option<u64>,
    /// The number of the last change to it.
    last: u32,
}

/// Windows in a row that are unlike the phase at hand.
#[derive(Clone, Copy, Debug, Default)]
struct UnlikeWindows {
    windows: u32,
    nanos: u64,
    references: u64,
}

/// The phases that were seen of a program.
#[derive(Clone, Debug)]
pub(crate) struct SeenPhases {
    /// One at least.
    phases: Vec<SeenPhase>,
    /// The place of the phase at hand.
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

/// What a window is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowPhase {
    /// The phase at this place.
    Known(usize),
    /// A new one, at this place, where another one may have been.
    New(usize),
    /// Not known yet.
    Unknown,
}

impl SeenPhases {
    /// The shares of a phase.
    pub(crate) fn shares(&self, place: usize) -> &MissShares {
        &self.phases[place].shares
    }

    pub(crate) fn shares_mut(&mut self, place: usize) -> &mut MissShares {
        &mut self.phases[place].shares
    }

    /// The place of the phase at hand.
    pub(crate) const fn current_place(&self) -> usize {
        self.current
    }

    /// The shares of the phase at hand.
    pub(crate) fn current(&self) -> &MissShares {
        self.shares(self.current)
    }

    /// Takes in how often a program refers to the cache in a window of this length.
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
            // Neither does it stay as it is now.
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

    /// Begins the phase that windows are of: one that is known, or a new one in place of the one
    /// that is longest gone.
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
