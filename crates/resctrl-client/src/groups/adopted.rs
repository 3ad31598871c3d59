//! A monitoring group of another manager that came along, and its counts.

use std::collections::BTreeSet;

use fairways_resctrl::language::Reading;

use crate::counts::added_counts::AddedCounts;
use crate::tree::mon_data::CountedPlace;
use crate::tree::{Tree, monitor_in};

/// A group that came along.
#[derive(Debug, Default)]
pub(crate) struct Adopted {
    /// Its name here.
    pub(crate) name: String,
    /// Its maker's name for it.
    pub(crate) theirs: String,
    pub(crate) counts: AddedCounts,
    /// Threads in it at the last look that are none of the program's. A child is, until it is
    /// listed.
    pub(crate) strangers: BTreeSet<i32>,
}

impl Adopted {
    pub(crate) fn new(name: String, theirs: String) -> Self {
        Self { name, theirs, ..Self::default() }
    }

    /// The bytes that it occupies in a place, where it is in this class.
    pub(crate) fn occupancy(&mut self, tree: &Tree, class: &str, place: CountedPlace) -> Reading {
        let Self { name, counts, .. } = self;
        counts.occupancy(tree, || monitor_in(class, name), place)
    }

    /// The bytes that it has moved through a place since it came, or was first read there.
    pub(crate) fn memory(&mut self, tree: &Tree, class: &str, place: CountedPlace) -> Reading {
        let Self { name, counts, .. } = self;
        counts.memory(tree, || monitor_in(class, name), place)
    }
}
