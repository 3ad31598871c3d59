//! From a plan for each domain to classes of service, of which a task has one on all domains.
//!
//! The classes are the common refinement of the domains' clusters: programs that are in one cluster in each domain are of one class. Where
//! that takes more classes than there are, the two whose union changes the masks of fewest programs become one, and again.

use std::collections::BTreeMap;

use fairways_core::{AppId, WayMask};

/// A domain as classes need to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    /// The ways on offer, the cache's bits.
    pub(super) ways: WayMask,
    /// Whether a mask must be one run.
    pub(super) contiguous: bool,
    /// The fewest ways of a mask.
    pub(super) min_bits: u32,
}

/// A domain's plan: masks in the cache's bits by program.
pub(super) type Plan = BTreeMap<AppId, WayMask>;

/// A class of service to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// The mask in each domain.
    pub(super) masks: BTreeMap<u32, WayMask>,
    /// Its programs, ascending; at least one.
    pub(super) members: Vec<AppId>,
}

/// The classes for the programs that have a place somewhere, at most `most` (at least 1), and how many pairs were made one.
///
/// A program without a place in a domain may fill everything on offer there. Clusters of one mask are one class: nothing tells them apart.
pub(super) fn refine(
    rooms: &BTreeMap<u32, Room>,
    plans: &BTreeMap<u32, Plan>,
    most: usize,
) -> (Vec<Target>, usize) {
    let mut classes: BTreeMap<Vec<u32>, Vec<AppId>> = BTreeMap::new();
    let mut apps: Vec<AppId> = plans.values().flat_map(|plan| plan.keys().copied()).collect();
    apps.sort_unstable();
    apps.dedup();
    for app in apps {
        let mask = |(domain, room): (&u32, &Room)| {
            let planned = plans.get(domain).and_then(|plan| plan.get(&app));
            planned.map_or(room.ways, |&mask| fit(room, mask)).bits()
        };
        classes.entry(rooms.iter().map(mask).collect()).or_default().push(app);
    }
    let mut targets: Vec<Target> = classes
        .into_iter()
        .map(|(masks, members)| {
            let masks = masks.into_iter().map(WayMask::from_bits);
            Target { masks: rooms.keys().copied().zip(masks).collect(), members }
        })
        .collect();
    let mut merged = 0;
    while targets.len() > most.max(1) {
        let Some((one, other)) = cheapest(rooms, &targets) else { break };
        let gone = targets.remove(other);
        let into = &mut targets[one];
        for (domain, room) in rooms {
            let (Some(a), Some(b)) = (into.masks.get_mut(domain), gone.masks.get(domain)) else {
                continue;
            };
            *a = join(room, *a, *b);
        }
        into.members.extend(gone.members);
        into.members.sort_unstable();
        merged += 1;
    }
    (targets, merged)
}

/// A mask of a plan that was made for what was on offer then: what is left of it, or everything if that is no mask.
fn fit(room: &Room, mask: WayMask) -> WayMask {
    let left = WayMask::from_bits(mask.bits() & room.ways.bits());
    let ok = left.count() >= room.min_bits.max(1) && (!room.contiguous || left.is_contiguous());
    if ok { left } else { room.ways }
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

/// The two whose union differs least from what their programs have, by ways times programs over all domains; the first of several.
fn cheapest(rooms: &BTreeMap<u32, Room>, targets: &[Target]) -> Option<(usize, usize)> {
    let pairs =
        (0..targets.len()).flat_map(|one| (one + 1..targets.len()).map(move |other| (one, other)));
    pairs.min_by_key(|&(one, other)| {
        let (one, other) = (&targets[one], &targets[other]);
        let costs = rooms.iter().map(|(domain, room)| {
            let (Some(&a), Some(&b)) = (one.masks.get(domain), other.masks.get(domain)) else {
                return 0;
            };
            let both = join(room, a, b);
            let more = |mask: WayMask, members: &[AppId]| {
                u64::from((both.bits() ^ mask.bits()).count_ones()) * members.len() as u64
            };
            more(a, &one.members) + more(b, &other.members)
        });
        costs.sum::<u64>()
    })
}

/// Which group becomes which class, so that many programs stay: of all pairs, the one with most programs in common is taken first, and of
/// several the first. Groups that have nothing in common with any class are used as well before others are made; `None` is one
/// to be made.
pub(super) fn assign(groups: &[Vec<AppId>], targets: &[Target]) -> Vec<Option<usize>> {
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn room(ways: u32, contiguous: bool) -> Room {
        Room { ways: WayMask::span(0, ways), contiguous, min_bits: 1 }
    }

    fn plan(of: &[(u32, u32)]) -> Plan {
        of.iter().map(|&(app, mask)| (AppId(app), WayMask::from_bits(mask))).collect()
    }

    fn seen(targets: &[Target]) -> Vec<(Vec<u32>, Vec<u32>)> {
        let masks = |target: &Target| target.masks.values().map(|mask| mask.bits()).collect();
        let members = |target: &Target| target.members.iter().map(|app| app.0).collect();
        targets.iter().map(|target| (masks(target), members(target))).collect()
    }

    #[test]
    fn one_domain_has_its_clusters() {
        let rooms = BTreeMap::from([(0, room(8, true))]);
        let plans = BTreeMap::from([(0, plan(&[(1, 0x0f), (2, 0xf0), (3, 0x0f)]))]);
        let (targets, merged) = refine(&rooms, &plans, 4);
        assert_eq!(seen(&targets), [(vec![0x0f], vec![1, 3]), (vec![0xf0], vec![2])]);
        assert_eq!(merged, 0);
    }

    #[test]
    fn classes_are_the_common_refinement() {
        let rooms = BTreeMap::from([(0, room(8, true)), (8, room(8, true))]);
        let first = plan(&[(1, 0x0f), (2, 0x0f), (3, 0xf0)]);
        let second = plan(&[(2, 0x03), (4, 0xfc)]);
        let plans = BTreeMap::from([(0, first), (8, second)]);
        let (targets, _) = refine(&rooms, &plans, 4);
        let expected = [
            (vec![0x0f, 0x03], vec![2]),
            (vec![0x0f, 0xff], vec![1]),
            (vec![0xf0, 0xff], vec![3]),
            (vec![0xff, 0xfc], vec![4]),
        ];
        assert_eq!(seen(&targets), expected);
    }

    #[test]
    fn the_two_that_differ_least_become_one() {
        let rooms = BTreeMap::from([(0, room(8, true))]);
        let plans = BTreeMap::from([(0, plan(&[(1, 0x01), (2, 0x06), (3, 0xf8), (4, 0xf8)]))]);
        let (targets, merged) = refine(&rooms, &plans, 2);
        assert_eq!(seen(&targets), [(vec![0x07], vec![1, 2]), (vec![0xf8], vec![3, 4])]);
        assert_eq!(merged, 1);
    }

    #[test]
    fn a_plan_for_another_offer_keeps_what_is_left_of_it() {
        let rooms = BTreeMap::from([(0, Room { ways: WayMask::from_bits(0xf0), ..room(8, true) })]);
        let plans = BTreeMap::from([(0, plan(&[(1, 0x3c), (2, 0x0f)]))]);
        let (targets, _) = refine(&rooms, &plans, 4);
        assert_eq!(seen(&targets), [(vec![0x30], vec![1]), (vec![0xf0], vec![2])]);
    }

    #[test]
    fn groups_stay_where_most_of_their_programs_are() {
        let target = |members: &[u32]| Target {
            masks: BTreeMap::new(),
            members: members.iter().map(|&app| AppId(app)).collect(),
        };
        let groups = [vec![AppId(1), AppId(2)], vec![AppId(3)], vec![]];
        let targets = [target(&[3, 1]), target(&[2, 4]), target(&[5])];
        assert_eq!(assign(&groups, &targets), [Some(0), Some(1), Some(2)]);
        let targets = [target(&[3]), target(&[1, 2])];
        assert_eq!(assign(&groups, &targets), [Some(1), Some(0)]);
        assert_eq!(assign(&groups[..1], &targets), [None, Some(0)]);
    }

    proptest! {
        #[test]
        fn every_program_has_its_ways_at_least_and_classes_suffice(
            domains in 1_u32..4,
            masks in prop::collection::vec((0_u32..3, 0_u32..12, 1_u32..13, 0_u32..12), 1..40),
            contiguous: bool,
            most in 1_usize..6,
        ) {
            let rooms: BTreeMap<u32, Room> =
                (0..domains).map(|domain| (domain, room(12, contiguous))).collect();
            let mut plans: BTreeMap<u32, Plan> = BTreeMap::new();
            for (domain, app, width, lowest) in masks {
                let mask = WayMask::span(lowest, width.min(12 - lowest));
                plans.entry(domain % domains).or_default().insert(AppId(app), mask);
            }
            let (targets, merged) = refine(&rooms, &plans, most);
            prop_assert!(targets.len() <= most);
            for (domain, plan) in &plans {
                for (app, mask) in plan {
                    let of: Vec<&Target> =
                        targets.iter().filter(|target| target.members.contains(app)).collect();
                    prop_assert_eq!(of.len(), 1, "one class each");
                    let got = of[0].masks[domain];
                    prop_assert_eq!(got.bits() & mask.bits(), mask.bits());
                    prop_assert!(merged > 0 || got == *mask);
                    prop_assert!(!contiguous || got.is_contiguous());
                    prop_assert_eq!(got.bits() & !0xfff, 0);
                }
            }
            prop_assert_eq!(refine(&rooms, &plans, most), (targets, merged), "always the same");
        }
    }
}
