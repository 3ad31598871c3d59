//! The phases of a program. What it did in each is kept for when the phase returns (dCat §3.4).

use alloc::vec::Vec;

use fairways_core::{Curve, Q32, Ways};

use super::observed::Observed;
use super::rates::ObservedRates;

/// The most phases that are kept of a program.
const MOST_PHASES: usize = 4;

/// How many unlike windows in a row begin another phase.
const PERSISTENCE: usize = 2;

/// How long these windows must be together, in nanoseconds: by default half a window of normal
/// operation. Changes in the short windows of a sampling may be parts of one phase.
const PERSISTENCE_NANOS: u64 = 25_000_000;

/// The most unlike windows that are kept; 25 windows of a millisecond last as long as required.
const MOST_UNLIKE: usize = 32;

/// What was observed of a program, phase by phase; the present phase comes first.
#[derive(Clone, Debug)]
pub(crate) struct ObservedPhases {
    phases: Vec<Observed>,
    /// A run of windows that are unlike the present phase.
    unlike: Vec<ObservedRates>,
    /// How many phases have begun; a phase that returns counts again.
    pub(crate) begun: u32,
}

impl ObservedPhases {
    pub(crate) fn new() -> Self {
        let mut phases = Vec::with_capacity(MOST_PHASES);
        phases.push(Observed::default());
        Self { phases, unlike: Vec::with_capacity(MOST_UNLIKE), begun: 0 }
    }

    /// The present phase.
    pub(crate) fn current(&self) -> &Observed {
        &self.phases[0]
    }

    pub(crate) fn current_mut(&mut self) -> &mut Observed {
        &mut self.phases[0]
    }

    /// Its IPC and its LLCMPKC with each number of ways, and its IPC with hardly any cache. If that
    /// was not seen in the present phase, it is the IPC with one way times the ratio of the two in
    /// the last phase in which it was seen.
    pub(crate) fn curves(&self, ways: Ways) -> Option<([Curve; 2], Option<Q32>)> {
        let (curves, least) = self.current().curves(ways)?;
        let least = least.or_else(|| {
            let (least_then, one_way_then) = self.phases[1..].iter().find_map(|phase| {
                let ([ipc, _], least) = phase.curves(ways)?;
                Some((least?, ipc.at(1)))
            })?;
            let now = u128::from(curves[0].at(1).raw()) * u128::from(least_then.raw());
            let least = now / u128::from(one_way_then.raw().max(1));
            Some(Q32::from_raw(u64::try_from(least).unwrap_or(u64::MAX).max(1)))
        });
        Some((curves, least))
    }

    /// Forgets everything, as the cache is another one.
    pub(crate) fn clear(&mut self) {
        self.phases.truncate(1);
        self.phases[0].clear();
        self.unlike.clear();
    }

    /// Adds a window; returns whether that changes the curves by more than noise would.
    pub(crate) fn add(&mut self, rates: &ObservedRates) -> bool {
        let is_unlike = self.phases[0].differs(rates) == Some(true);
        let unlike_for = self.unlike.iter().map(|one| one.nanos).sum::<u64>();
        if !is_unlike {
            // A long run of them may have been parts of two phases.
            let is_news = unlike_for < PERSISTENCE_NANOS && self.add_unlike(0);
            self.unlike.clear();
            return self.phases[0].add(rates) | is_news;
        }
        self.unlike.push(*rates);
        let is_lasting = self.unlike.len() >= PERSISTENCE
            && unlike_for + rates.nanos >= PERSISTENCE_NANOS
            || self.unlike.len() == MOST_UNLIKE;
        if !is_lasting {
            return false;
        }
        let mut whole = self.unlike[0];
        self.unlike[1..].iter().for_each(|one| whole.blend(one));
        let is_another = self.phases[0].differs(&whole) == Some(true);
        if is_another {
            self.turn(&whole);
        }
        // The first window may belong to both phases.
        let is_news = self.add_unlike(usize::from(is_another));
        self.unlike.clear();
        is_news | is_another
    }

    /// Adds the unlike windows to the present phase, without the first `first` ones; returns
    /// whether that changes its curves.
    fn add_unlike(&mut self, first: usize) -> bool {
        let Self { phases, unlike, .. } = self;
        let mut is_news = false;
        for rates in &unlike[first..] {
            is_news |= phases[0].add(rates);
        }
        is_news
    }

    /// Begins the phase of a window: one that is known, or a new one. If all places are in use, the
    /// new phase replaces the one that was left longest ago.
    fn turn(&mut self, rates: &ObservedRates) {
        let known = self.phases.iter().position(|phase| phase.differs(rates) == Some(false));
        let place = known.unwrap_or_else(|| {
            if self.phases.len() < MOST_PHASES {
                self.phases.push(Observed::default());
            } else {
                self.phases[MOST_PHASES - 1].clear();
            }
            self.phases.len() - 1
        });
        self.begun = self.begun.wrapping_add(1);
        if known.is_none() {
            self.phases[place].number = self.begun;
        }
        self.phases[..=place].rotate_right(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fairways::observed::tests::rates;

    #[test]
    fn a_phase_that_comes_back_is_known() {
        let mut phases = ObservedPhases::new();
        assert!(phases.add(&rates(8, 1000, 4)));
        // One window may have been part of both.
        assert!(!phases.add(&rates(8, 1600, 4)));
        assert!(phases.add(&rates(8, 2000, 4)));
        assert_eq!(phases.phases.len(), 2);
        phases.current_mut().is_sampled = true;
        for cycles in [1000, 2000] {
            assert!(!phases.add(&rates(8, cycles, 4)));
            assert!(phases.add(&rates(8, cycles, 4)));
            assert_eq!(phases.phases.len(), 2);
        }
        assert!(phases.current().is_sampled);
    }

    fn short(cycles: u64) -> ObservedRates {
        ObservedRates { nanos: 1_000_000, ..rates(8, cycles, 4) }
    }

    /// Windows of a millisecond show parts of a phase.
    #[test]
    fn short_windows_that_are_unlike_are_of_a_phase_only_if_they_go_on() {
        let mut phases = ObservedPhases::new();
        assert!(phases.add(&rates(8, 840, 4)));
        for _ in 0..40 {
            phases.add(&short(600));
            phases.add(&short(1400));
        }
        assert_eq!((phases.phases.len(), phases.begun), (1, 0));
        assert_eq!(phases.current().differs(&rates(8, 840, 4)), Some(false));
        (0..25).for_each(|_| _ = phases.add(&short(2000)));
        assert_eq!((phases.phases.len(), phases.begun), (2, 1));
    }

    /// Cycles per 1000 instructions with one way, and with hardly any cache.
    fn cycles(phases: &ObservedPhases) -> [u64; 2] {
        let ([ipc, _], least) = phases.curves(Ways::new(8).unwrap()).unwrap();
        [ipc.at(1), least.unwrap()].map(|ipc| (1000 << 32) / ipc.raw())
    }

    /// Twice as slow with a quarter of a way as with one, and then a phase that is three times as
    /// slow, seen with two ways only.
    #[test]
    fn what_part_of_a_way_does_in_a_new_phase_is_as_in_the_last_one_in_which_it_was_seen() {
        let mut phases = ObservedPhases::new();
        for (quarters, cycles) in [(1, 2000), (4, 1000), (8, 1000)] {
            phases.add(&rates(quarters, cycles, 4));
        }
        assert_eq!(cycles(&phases), [1000, 2333]);
        (0..2).for_each(|_| _ = phases.add(&rates(8, 3000, 4)));
        assert_eq!((phases.begun, cycles(&phases)), (1, [3000, 7000]));
    }

    #[test]
    fn the_phase_that_is_longest_gone_makes_room() {
        let mut phases = ObservedPhases::new();
        for phase in 0..=MOST_PHASES as u64 {
            phases.add(&rates(8, 1000 << phase, 4));
            phases.add(&rates(8, 1000 << phase, 4));
        }
        assert_eq!(phases.phases.len(), MOST_PHASES);
        let first =
            phases.phases.iter().any(|phase| phase.differs(&rates(8, 1000, 4)) == Some(false));
        assert!(!first);
    }
}
