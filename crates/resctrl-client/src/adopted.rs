//! A monitoring group of another manager that came along, and its counts.

use std::collections::{BTreeMap, BTreeSet};

use fairways_resctrl::language::Reading;

use super::events::Events;
use super::places::CountedPlace;
use super::tree::{Tree, monitor_in};

/// A group that came along.
#[derive(Debug, Default)]
pub(super) struct Adopted {
    /// Its name here.
    pub(super) name: String,
    /// Its maker's name for it.
    pub(super) theirs: String,
    events: Events,
    /// What had been counted when it was first read, by place.
    before: BTreeMap<CountedPlace, u64>,
    /// Threads in it at the last look that are none of the program's. A child is, until it is
    /// listed.
    pub(super) strangers: BTreeSet<i32>,
}

impl Adopted {
    pub(super) fn new(name: String, theirs: String) -> Self {
        Self { name, theirs, ..Self::default() }
    }

    /// The bytes that it occupies in a place, where it is in this class.
    pub(super) fn occupancy(&mut self, tree: &Tree, class: &str, place: CountedPlace) -> Reading {
        let Self { name, events, .. } = self;
        events.occupancy(tree, || monitor_in(class, name), place)
    }

    /// The bytes that it has moved through a place since it came, or was first read there.
    pub(super) fn memory(&mut self, tree: &Tree, class: &str, place: CountedPlace) -> Reading {
        let Self { name, events, before, .. } = self;
        match events.memory(tree, || monitor_in(class, name), place) {
            Reading::Value(bytes) => {
                let before = *before.entry(place).or_insert(bytes);
                Reading::Value(bytes.saturating_sub(before))
            }
            missing => missing,
        }
    }

    /// Where it was read.
    pub(super) fn places(&self) -> Vec<CountedPlace> {
        self.before.keys().copied().collect()
    }
}
