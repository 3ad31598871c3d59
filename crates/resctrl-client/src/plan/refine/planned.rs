//! What a program has in a domain, by the plan.

use std::collections::BTreeMap;

use fairways_core::{BandwidthLevel, WayMask};

use super::{Draft, Plan};
use crate::offer::ways::Room;

/// What a program has in a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PlannedShare {
    /// Its ways, in the cache's bits.
    pub(crate) mask: WayMask,
    /// Its level of memory bandwidth; `None`: no limit.
    pub(crate) level: Option<BandwidthLevel>,
    /// The cluster whose programs have the level together; `None` where each core has it, and of
    /// several clusters.
    pub(crate) shared_by: Option<u32>,
}

impl PlannedShare {
    /// These ways, and no limit.
    pub(crate) const fn ways(mask: WayMask) -> Self {
        Self { mask, level: None, shared_by: None }
    }

    /// What is left of a plan that was made for an earlier offer: of its mask, or every way if that
    /// is no mask; and its level, if it is one still.
    pub(crate) fn fit(self, room: &Room) -> Self {
        let left = WayMask::from_bits(self.mask.bits() & room.ways.bits());
        let ok = left.count() >= room.min_bits.max(1) && (!room.contiguous || left.is_contiguous());
        let level = self.level.filter(|&level| room.bandwidth.is_some_and(|of| of.accepts(level)));
        let shared_by = self.shared_by.filter(|_| level.is_some());
        Self { mask: if ok { left } else { room.ways }, level, shared_by }
    }

    /// The least mask that holds both, and the higher level: no program is slowed down for another
    /// cluster's plan.
    pub(crate) fn join(self, other: Self, room: &Room) -> Self {
        let level = self.level.zip(other.level).map(|(one, two)| one.max(two));
        let shared_by = self.shared_by.filter(|_| self.shared_by == other.shared_by);
        Self { mask: join(room, self.mask, other.mask), level, shared_by }
    }

    /// Its level as a number, of which no limit is the greatest, that of the lever.
    pub(crate) fn value(self, room: &Room) -> u32 {
        let most = room.bandwidth.map(|lever| lever.most);
        self.level.or(most).map_or(0, BandwidthLevel::get)
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
/// Where each class had all of it, they would move several times as much as planned. A class of
/// several clusters has the highest of their parts. The highest level of a lever is no limit, of
/// which there are no parts.
pub(crate) fn divide(
    rooms: &BTreeMap<u32, Room>,
    plans: &BTreeMap<u32, Plan>,
    drafts: &mut [Draft],
) {
    for (at, (domain, room)) in rooms.iter().enumerate() {
        let (Some(lever), Some(plan)) = (room.bandwidth, plans.get(domain)) else { continue };
        // The levels that clusters have together, by class and cluster.
        let mut shared: Vec<BTreeMap<u32, u32>> = vec![BTreeMap::new(); drafts.len()];
        let mut classes: BTreeMap<u32, u32> = BTreeMap::new();
        for (draft, shared) in drafts.iter().zip(&mut shared) {
            let level = draft.places[at].and_then(|place| place.level);
            if level.is_none_or(|level| level >= lever.most) {
                continue;
            }
            for place in draft.members.iter().filter_map(|app| plan.get(app)) {
                let PlannedShare { level, shared_by, .. } = place.fit(room);
                shared.extend(shared_by.zip(level.map(BandwidthLevel::get)));
            }
            for &cluster in shared.keys() {
                *classes.entry(cluster).or_default() += 1;
            }
        }
        for (draft, shared) in drafts.iter_mut().zip(&shared) {
            let parts = shared.iter().map(|(cluster, level)| level / classes[cluster]);
            if let (Some(place), Some(part)) = (draft.places[at].as_mut(), parts.max()) {
                place.level = BandwidthLevel::new(part.max(lever.least.get()));
            }
        }
    }
}
