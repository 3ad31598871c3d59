//! The phases of a program: what it did in each, kept for when it comes back (dCat §3.4).

use alloc::vec::Vec;

use super::observed::Observed;
use super::rates::ObservedRates;

/// Phases that are kept of a program.
const MOST_PHASES: usize = 4;

/// Windows in a row that are unlike the phase before another one begins.
const PERSISTENCE: u32 = 2;

/// What was observed of a program, phase by phase; the one at hand comes first.
#[derive(Clone, Debug)]
pub(crate) struct ObservedPhases {
    phases: Vec<Observed>,
    /// Windows in a row that were unlike the phase at hand.
    unlike: u32,
    /// How many phases have begun, the same one again among them.
    pub(crate) begun: u32,
}

impl ObservedPhases {
    pub(crate) fn new() -> Self {
        let mut phases = Vec::with_capacity(MOST_PHASES);
        phases.push(Observed::default());
        Self { phases, unlike: 0, begun: 0 }
    }

    /// The phase at hand.
    pub(crate) fn current(&self) -> &Observed {
        &self.phases[0]
    }

    pub(crate) fn current_mut(&mut self) -> &mut Observed {
        &mut self.phases[0]
    }

    /// Forgets all, on another cache.
    pub(crate) fn clear(&mut self) {
        self.phases.truncate(1);
        self.phases[0].clear();
        self.unlike = 0;
    }

    /// Adds a window; whether that changes the curves by more than noise would.
    pub(crate) fn add(&mut self, rates: &ObservedRates) -> bool {
        if self.phases[0].differs(rates) != Some(true) {
            self.unlike = 0;
            return self.phases[0].add(rates);
        }
        self.unlike += 1;
        if self.unlike < PERSISTENCE {
            return false;
        }
        self.unlike = 0;
        self.turn(rates);
        self.phases[0].add(rates);
        true
    }

    /// Begins the phase that a window is of: one that is known, or a new one in place of the one
    /// that is longest gone.
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
        self.phases[..=place].rotate_right(1);
        self.begun = self.begun.wrapping_add(1);
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
