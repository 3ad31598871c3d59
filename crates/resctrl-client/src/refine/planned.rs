//! What a program has in a domain, by the plan.

use std::collections::BTreeMap;

use fairways_core::{BandwidthLevel, WayMask};

use super::super::offer::Room;
use super::Draft;

/// What a program has in a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PlannedShare {
    /// Its ways, in the cache's bits.
    pub(crate) mask: WayMask,
    /// Its level of memory bandwidth; `None`: no limit.
    pub(crate) level: Option<BandwidthLevel>,
    /// The cluster whose programs have the level together; `None` where each core has it.
    pub(crate) shared_by: Option<u32>,
}

impl PlannedShare {
    /// These ways, and no limit.
    pub(crate) const fn ways(mask: WayMask) -> Self {
        Self { mask, level: None, shared_by: None }
    }

    /// What is left of a plan that was made for an earlier offer: of its mask, or every way if that
    /// is no mask; and its level, if it is one still.
    pub(super) fn fit(self, room: &Room) -> Self {
        let left = WayMask::from_bits(self.mask.bits() & room.ways.bits());
        let ok = left.count() >= room.min_bits.max(1) && (!room.contiguous || left.is_contiguous());
        let level = self.level.filter(|&level| room.bandwidth.is_some_and(|of| of.accepts(level)));
        let shared_by = self.shared_by.filter(|_| level.is_some());
        Self { mask: if ok { left } else { room.ways }, level, shared_by }
    }

    /// The least mask that holds both, and the higher level: no program is slowed down for another
    /// cluster's plan.
    pub(super) fn join(self, other: Self, room: &Room) -> Self {
        let level = self.level.zip(other.level).map(|(one, two)| one.max(two));
        let shared_by = self.shared_by.filter(|_| self.shared_by == other.shared_by);
        Self { mask: join(room, self.mask, other.mask), level, shared_by }
    }

    /// Its level as a number, of which no limit is the greatest.
    pub(super) fn value(self) -> u32 {
        self.level.map_or(u32::MAX, BandwidthLevel::get)
    }
}

/// The least mask that holds both.
fn join(room: &Room, one: WayMask, other: WayMask) -> WayMask {
    let union = one.bits() | other.bits();
    if !room.contiguous || union == 0 {
        return WayMask::from_bits(union);
    }
    let lowest = union.trailing_zeros();
    WayMask::span(lowest, 32 - union.leading_zeros() - lowest)
}

/// Divides a level that a cluster's programs have together among the classes that they are in.
/// Where each class had all of it, they would move several times as much as planned.
pub(super) fn divide(rooms: &[Room], drafts: &mut [Draft]) {
    for (at, room) in rooms.iter().enumerate() {
        let Some(lever) = room.bandwidth else { continue };
        let mut classes: BTreeMap<u32, u32> = BTreeMap::new();
        for place in drafts.iter().filter_map(|draft| draft.places[at]) {
            if let Some(cluster) = place.shared_by {
                *classes.entry(cluster).or_default() += 1;
            }
        }
        for place in drafts.iter_mut().filter_map(|draft| draft.places[at].as_mut()) {
            let count = place.shared_by.and_then(|cluster| classes.get(&cluster));
            if let (Some(level), Some(count)) = (place.level, count) {
                let part = (level.get() / count).max(lever.least.get());
                place.level = BandwidthLevel::new(part);
            }
        }
    }
}
