//! From one plan for each domain to classes of service: a task has one class for all domains.
//!
//! The classes are the common refinement of the domains' clusters: programs that share a cluster in
//! each domain share a class. If a program has a place in one domain, its ways in domains without a
//! place for it do not matter. So if the refinement has more classes than exist, classes that
//! differ in no domain that matters to both are joined first, which changes no program's ways.
//! Then, repeatedly, the two are joined whose union changes levels of bandwidth least; of several,
//! the pair that changes masks least.

use std::collections::BTreeMap;

use fairways_core::{AppId, BandwidthLevel, WayMask};

use crate::offer::ways::Room;
use crate::plan::limits::{Carried, Limits};

/// A domain's plan, by program.
pub(crate) type Plan = BTreeMap<AppId, PlannedShare>;

/// A program's share in a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PlannedShare {
    /// Its ways, in the cache's bits.
    pub(crate) mask: WayMask,
    /// Its level of memory bandwidth; `None`: no limit.
    pub(crate) level: Option<BandwidthLevel>,
    /// The cluster whose programs share the level; `None` if each core has it, and for several
    /// clusters.
    pub(crate) shared_by: Option<u32>,
}

impl PlannedShare {
    /// These ways, and no limit.
    pub(crate) const fn ways(mask: WayMask) -> Self {
        Self { mask, level: None, shared_by: None }
    }

    /// What remains of a share that was planned for an earlier offer: its part of the mask, or
    /// every way if that is not a legal mask; and its level, if it still exists.
    fn fit(self, room: &Room) -> Self {
        let left = WayMask::from_bits(self.mask.bits() & room.ways.bits());
        let ok = left.count() >= room.min_bits.max(1) && (!room.contiguous || left.is_contiguous());
        let level = self.level.filter(|&level| room.bandwidth.is_some_and(|of| of.accepts(level)));
        let shared_by = self.shared_by.filter(|_| level.is_some());
        Self { mask: if ok { left } else { room.ways }, level, shared_by }
    }

    /// The smallest mask that contains both, and the higher level, so that no program is slowed
    /// down for another cluster's plan.
    fn join(self, other: Self, room: &Room) -> Self {
        let level = self.level.zip(other.level).map(|(one, two)| one.max(two));
        let shared_by = self.shared_by.filter(|_| self.shared_by == other.shared_by);
        Self { mask: join(room, self.mask, other.mask), level, shared_by }
    }

    /// Its level as a number; no limit is the lever's highest.
    fn value(self, room: &Room) -> u32 {
        let most = room.bandwidth.map(|lever| lever.most);
        self.level.or(most).map_or(0, BandwidthLevel::get)
    }
}

/// The smallest mask that contains both.
fn join(room: &Room, one: WayMask, other: WayMask) -> WayMask {
    let union = one.bits() | other.bits();
    if !room.contiguous || union == 0 {
        return WayMask::from_bits(union);
    }
    let lowest = union.trailing_zeros();
    WayMask::span(lowest, 32 - union.leading_zeros() - lowest)
}

/// A planned class of service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// The mask in each domain.
    pub(crate) masks: BTreeMap<u32, WayMask>,
    /// The level of memory bandwidth in each domain where it is limited.
    pub(crate) levels: BTreeMap<u32, BandwidthLevel>,
    /// Its programs, ascending; at least one.
    pub(crate) members: Vec<AppId>,
}

/// A class whose masks are not filled in yet for the domains where they do not matter.
#[derive(Clone, Debug)]
struct Draft {
    /// By domain, in the order of the rooms; `None` if none of its programs has a place there.
    places: Vec<Option<PlannedShare>>,
    /// How many of its programs have a place in each domain.
    placed: Vec<u64>,
    /// Its limits, if they differ from the root's; of two joined classes, the first one's.
    limits: Option<Limits>,
    members: Vec<AppId>,
}

/// The classes for the programs that have a place somewhere, at most `most` (at least 1), and how
/// many pairs of different classes were joined.
///
/// If levels apply to each core, clusters with one mask and one level are one class, as nothing
/// distinguishes them. If programs share a level, each cluster is a class. A program with places
/// only in missing domains may fill everything on offer; so may a class in a domain where none of
/// its programs has a place.
pub(crate) fn refine(
    rooms: &BTreeMap<u32, Room>,
    plans: &BTreeMap<u32, Plan>,
    carried: &Carried,
    most: usize,
) -> (Vec<Target>, usize) {
    let order: Vec<Room> = rooms.values().copied().collect();
    let mut drafts = pair(drafts(rooms, plans, carried), most.max(1));
    let merged = merge(&order, &mut drafts, most.max(1));
    divide(rooms, plans, &mut drafts);
    let mut targets: Vec<Target> = drafts
        .into_iter()
        .map(|mut draft| {
            draft.members.sort_unstable();
            let (mut masks, mut levels) = (BTreeMap::new(), BTreeMap::new());
            for ((&id, room), place) in rooms.iter().zip(draft.places) {
                let place = place.unwrap_or(PlannedShare::ways(room.ways));
                masks.insert(id, place.mask);
                levels.extend(place.level.map(|level| (id, level)));
            }
            Target { masks, levels, members: draft.members }
        })
        .collect();
    targets.sort_by(|one, other| {
        let bits =
            |target: &Target| target.masks.values().map(|mask| mask.bits()).collect::<Vec<_>>();
        bits(one).cmp(&bits(other)).then_with(|| one.members.cmp(&other.members))
    });
    (targets, merged)
}

/// The common refinement.
fn drafts(
    rooms: &BTreeMap<u32, Room>,
    plans: &BTreeMap<u32, Plan>,
    carried: &Carried,
) -> Vec<Draft> {
    type Key = (Vec<Option<PlannedShare>>, Option<Limits>);
    let mut classes: BTreeMap<Key, Vec<AppId>> = BTreeMap::new();
    let mut apps: Vec<AppId> = plans.values().flat_map(|plan| plan.keys().copied()).collect();
    // In the root's group they would have weaker limits than where they came from.
    apps.extend(carried.by_program.keys());
    apps.sort_unstable();
    apps.dedup();
    for app in apps {
        let place = |(domain, room): (&u32, &Room)| {
            let planned = plans.get(domain).and_then(|plan| plan.get(&app));
            planned.map(|planned| planned.fit(room))
        };
        let mut places: Vec<Option<PlannedShare>> = rooms.iter().map(place).collect();
        if places.iter().all(Option::is_none) {
            // Its domains are off line, so it runs where it has no place.
            places = rooms.values().map(|room| Some(PlannedShare::ways(room.ways))).collect();
        }
        classes.entry((places, carried.by_program.get(&app).cloned())).or_default().push(app);
    }
    let draft = |((places, limits), members): (Key, Vec<AppId>)| Draft {
        limits,
        placed: places.iter().map(|place| place.map_or(0, |_| members.len() as u64)).collect(),
        places,
        members,
    };
    classes.into_iter().map(draft).collect()
}

/// Joins drafts that differ in no domain that matters, until at most `most` are left: those with
/// places in the most domains first, each with the first one that fits.
fn pair(mut drafts: Vec<Draft>, most: usize) -> Vec<Draft> {
    let mut left = drafts.len();
    drafts.sort_by_key(|draft| draft.places.iter().filter(|place| place.is_none()).count());
    let mut paired: Vec<Draft> = Vec::new();
    for draft in drafts {
        let fits = |other: &&mut Draft| {
            let mut both = other.places.iter().zip(&draft.places);
            other.limits == draft.limits
                && both.all(|(one, other)| one.is_none() || other.is_none() || one == other)
        };
        match paired.iter_mut().find(fits).filter(|_| left > most) {
            Some(into) => {
                for (one, other) in into.places.iter_mut().zip(&draft.places) {
                    *one = one.or(*other);
                }
                into.gain(draft);
                left -= 1;
            }
            None => paired.push(draft),
        }
    }
    paired
}

impl Draft {
    /// Adds another class's programs.
    fn gain(&mut self, other: Self) {
        for (one, other) in self.placed.iter_mut().zip(other.placed) {
            *one += other;
        }
        self.members.extend(other.members);
    }

    /// The cost of joining: how much the union differs from what the programs of both have, times
    /// programs, over all domains: first in levels of bandwidth, then in ways.
    fn cost(&self, other: &Self, rooms: &[Room]) -> (u64, u64) {
        let (mut levels, mut ways) = (0_u64, 0);
        for (at, room) in rooms.iter().enumerate() {
            let (Some(one), Some(two)) = (self.places[at], other.places[at]) else { continue };
            let both = one.join(two, room);
            let more = |place: PlannedShare| {
                u64::from((both.mask.bits() ^ place.mask.bits()).count_ones())
            };
            ways += more(one) * self.placed[at] + more(two) * other.placed[at];
            for (place, placed) in [(one, self.placed[at]), (two, other.placed[at])] {
                let higher = u64::from(both.value(room).abs_diff(place.value(room)));
                levels = levels.saturating_add(higher * placed);
            }
        }
        (levels, ways)
    }
}

/// Joins the two that cost least, the first of several, until at most `most` are left. Returns how
/// often that changed masks or levels.
fn merge(rooms: &[Room], drafts: &mut Vec<Draft>, most: usize) -> usize {
    if drafts.len() <= most {
        return 0;
    }
    // Costs are stored by the later one of each pair; a step changes those of one class only.
    let cost = |drafts: &[Draft], one: usize, other: usize| {
        let (one, other) = (&drafts[one], &drafts[other]);
        (one.cost(other, rooms), one.limits != other.limits)
    };
    let mut costs: Vec<Vec<((u64, u64), bool)>> = (0..drafts.len())
        .map(|other| (0..other).map(|one| cost(&drafts[..], one, other)).collect())
        .collect();
    let mut merged = 0;
    while drafts.len() > most {
        let rows = costs.iter().enumerate();
        let pairs = rows.flat_map(|(other, row)| {
            row.iter().enumerate().map(move |(one, &cost)| (cost, one, other))
        });
        let Some((least, into, gone)) = pairs.min() else { break };
        merged += usize::from(least.0 != (0, 0));
        let from = drafts.remove(gone);
        costs.remove(gone);
        for row in &mut costs[gone..] {
            row.remove(gone);
        }
        let kept = &mut drafts[into];
        for (at, room) in rooms.iter().enumerate() {
            kept.places[at] = match (kept.places[at], from.places[at]) {
                (Some(one), Some(other)) => Some(one.join(other, room)),
                (one, other) => one.or(other),
            };
        }
        kept.gain(from);
        for other in 0..drafts.len() {
            let (one, two) = (into.min(other), into.max(other));
            if one != two {
                costs[two][one] = cost(&drafts[..], one, two);
            }
        }
    }
    merged
}

/// Divides a level that a cluster's programs share among the classes that they are in. If each
/// class had the whole level, they would move several times as much as planned. A class of several
/// clusters gets the highest of their parts. The highest level of a lever means no limit, and is
/// not divided.
fn divide(rooms: &BTreeMap<u32, Room>, plans: &BTreeMap<u32, Plan>, drafts: &mut [Draft]) {
    for (at, (domain, room)) in rooms.iter().enumerate() {
        let (Some(lever), Some(plan)) = (room.bandwidth, plans.get(domain)) else { continue };
        // The levels that clusters share, by class and cluster.
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

/// Chooses a group for each class so that many programs stay: repeatedly the pair with the most
/// programs in common, the first of several. Groups with no program in common with any class are
/// used before new ones are made; `None` is a new group.
pub(crate) fn assign(groups: &[Vec<AppId>], targets: &[Target]) -> Vec<Option<usize>> {
    let mut pairs: Vec<(usize, usize, usize)> = Vec::new();
    for (group, members) in groups.iter().enumerate() {
        for (target, wanted) in targets.iter().enumerate() {
            let common = members.iter().filter(|app| wanted.members.contains(app)).count();
            pairs.push((common, target, group));
        }
    }
    pairs.sort_by_key(|&(common, target, group)| (std::cmp::Reverse(common), target, group));
    let mut of: Vec<Option<usize>> = vec![None; targets.len()];
    let mut used = vec![false; groups.len()];
    for (_, target, group) in pairs {
        if of[target].is_none() && !used[group] {
            of[target] = Some(group);
            used[group] = true;
        }
    }
    of
}

#[cfg(test)]
mod tests;
