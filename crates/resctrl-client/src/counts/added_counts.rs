//! What a group counts that is read along with a program's own group.

use std::collections::BTreeMap;

use fairways_resctrl::language::Reading;

use super::events::Events;
use crate::tree::Tree;
use crate::tree::mon_data::CountedPlace;

/// The counts of a group since it was first read.
#[derive(Debug, Default)]
pub(crate) struct AddedCounts {
    events: Events,
    /// The traffic that had been counted when it was first read, by place.
    before: BTreeMap<CountedPlace, u64>,
    /// The traffic since, as last read.
    last: BTreeMap<CountedPlace, u64>,
}

impl AddedCounts {
    /// The bytes that it occupies in a place. `group` returns its path, and is called only if a
    /// file must be opened.
    pub(crate) fn occupancy(
        &mut self,
        tree: &Tree,
        group: impl Fn() -> String,
        place: CountedPlace,
    ) -> Reading {
        self.events.occupancy(tree, group, place)
    }

    /// The bytes that it has moved through a place since it was first read there.
    pub(crate) fn memory(
        &mut self,
        tree: &Tree,
        group: impl Fn() -> String,
        place: CountedPlace,
    ) -> Reading {
        let Self { events, before, last } = self;
        match events.memory(tree, group, place) {
            Reading::Value(bytes) => {
                let before = *before.entry(place).or_insert(bytes);
                let bytes = bytes.saturating_sub(before);
                last.insert(place, bytes);
                Reading::Value(bytes)
            }
            missing => missing,
        }
    }

    /// No window that is under way has a whole count.
    pub(crate) fn distrust(&mut self) {
        self.events.distrust();
    }

    /// Reads its traffic once more, the last time. Returns what it has counted, by place; where
    /// that can't be read any longer, what it showed last.
    pub(crate) fn end(
        mut self,
        tree: &Tree,
        group: impl Fn() -> String,
    ) -> BTreeMap<CountedPlace, u64> {
        for place in self.last.keys().copied().collect::<Vec<_>>() {
            self.memory(tree, &group, place);
        }
        self.so_far()
    }

    /// The traffic that it has counted by place, as last read.
    pub(crate) fn so_far(self) -> BTreeMap<CountedPlace, u64> {
        self.last
    }
}
