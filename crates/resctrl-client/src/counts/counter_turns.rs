//! Which programs have a counter of memory traffic, and for how long.

use std::collections::BTreeMap;

/// The readings after which a program has had two whole windows with its counter: the window under
/// way ends, and two more begin and end.
const READINGS: u32 = 3;

/// The looks after which a program that is not read gives its counter to one that waits.
const LOOKS: u32 = 30;

/// The time that a program has had a domain's counter.
#[derive(Debug, Default)]
pub(crate) struct CounterTurn {
    pub(crate) readings: u32,
    pub(crate) looks: u32,
}

impl CounterTurn {
    /// Whether the program gives its counter to one that waits.
    pub(crate) const fn is_over(&self) -> bool {
        self.readings >= READINGS || self.looks >= LOOKS
    }
}

/// Which counters a program has, by domain.
#[derive(Debug, Default)]
pub(crate) struct HeldCounters {
    pub(crate) held: BTreeMap<u32, CounterTurn>,
    /// The round in which it gave one up.
    pub(crate) lost: BTreeMap<u32, u64>,
}
