//! A monitoring group of another manager that came along, and its counts.

use std::collections::BTreeSet;

use fairways_resctrl::language::Reading;

use super::added_counts::AddedCounts;
use super::places::CountedPlace;
use super::tree::{Tree, monitor_in};

/// A group that came along.
#[derive(Debug, Default)]
pub(super) struct Adopted {
    /// Its name here.
    pub(super) name: String,
    /// Its maker's name for it.
    pub(super) theirs: String,
    pub(super) counts: AddedCounts,
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
        let Self { name, counts, .. } = self;
        counts.occupancy(tree, || monitor_in(class, name), place)
    }

    /// The bytes that it has moved through a place since it came, or was first read there.
    pub(super) fn memory(&mut self, tree: &Tree, class: &str, place: CountedPlace) -> Reading {
        let Self { name, counts, .. } = self;
        counts.memory(tree, || monitor_in(class, name), place)
    }
}
