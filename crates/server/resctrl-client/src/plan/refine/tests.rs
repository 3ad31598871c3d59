use fairways_core::{BandwidthLever, BandwidthUnit, LimitScope};
use proptest::prelude::*;

use super::*;

fn room(ways: u32, contiguous: bool) -> Room {
    Room { ways: WayMask::span(0, ways), contiguous, min_bits: 1, bandwidth: None }
}

fn ways(mask: WayMask) -> PlannedShare {
    PlannedShare::ways(mask)
}

fn plan(of: &[(u32, u32)]) -> Plan {
    of.iter().map(|&(app, mask)| (AppId(app), ways(WayMask::from_bits(mask)))).collect()
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
    let (targets, merged) = refine(&rooms, &plans, &Carried::default(), 4);
    assert_eq!(seen(&targets), [(vec![0x0f], vec![1, 3]), (vec![0xf0], vec![2])]);
    assert_eq!(merged, 0);
}

#[test]
fn classes_are_the_common_refinement() {
    let rooms = BTreeMap::from([(0, room(8, true)), (8, room(8, true))]);
    let first = plan(&[(1, 0x0f), (2, 0x0f), (3, 0xf0)]);
    let second = plan(&[(2, 0x03), (4, 0xfc)]);
    let plans = BTreeMap::from([(0, first), (8, second)]);
    let (targets, _) = refine(&rooms, &plans, &Carried::default(), 4);
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
    let (targets, merged) = refine(&rooms, &plans, &Carried::default(), 2);
    assert_eq!(seen(&targets), [(vec![0x07], vec![1, 2]), (vec![0xf8], vec![3, 4])]);
    assert_eq!(merged, 1);
}

/// Programs in different domains share a class, as nothing distinguishes them where they are not.
#[test]
fn programs_of_different_domains_keep_their_masks_in_few_classes() {
    for (domains, clusters) in [(2_u32, 8_u32), (8, 4), (24, 8)] {
        let rooms: BTreeMap<u32, Room> =
            (0..domains).map(|domain| (domain, room(16, true))).collect();
        let width = 16 / clusters;
        let app = |domain: u32, cluster: u32| AppId(domain * clusters + cluster);
        let mask = |cluster: u32| WayMask::span(cluster * width, width);
        let clusters = |domain: u32| (0..clusters).map(move |of| (app(domain, of), ways(mask(of))));
        let plans: BTreeMap<u32, Plan> =
            (0..domains).map(|domain| (domain, clusters(domain).collect())).collect();
        let (targets, merged) = refine(&rooms, &plans, &Carried::default(), 15);
        assert!(targets.len() <= 15, "{}", targets.len());
        assert_eq!(merged, 0, "{domains} domains");
        for (domain, plan) in &plans {
            for (app, place) in plan {
                let of = targets.iter().find(|target| target.members.contains(app));
                assert_eq!(of.map(|of| of.masks[domain]), Some(place.mask), "{domain}: {app}");
            }
        }
    }
}

/// What is tried grows with the square of the classes, not with the cube.
#[test]
fn hundreds_of_classes_that_all_differ_are_merged_at_once() {
    let rooms: BTreeMap<u32, Room> = (0..24).map(|domain| (domain, room(16, true))).collect();
    let app = |at: u32, domain: u32| {
        let low = [at % 13, at / 13][domain as usize % 2];
        (AppId(at), ways(WayMask::span(low, 2)))
    };
    let plans: BTreeMap<u32, Plan> =
        (0..24).map(|domain| (domain, (0..192).map(|at| app(at, domain)).collect())).collect();
    let began = std::time::Instant::now();
    let (targets, merged) = refine(&rooms, &plans, &Carried::default(), 15);
    assert_eq!((targets.len(), targets.iter().map(|of| of.members.len()).sum()), (15, 192));
    assert_eq!(merged, 192 - 15);
    assert!(began.elapsed() < std::time::Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
fn a_plan_for_another_offer_keeps_what_is_left_of_it() {
    let rooms = BTreeMap::from([(0, Room { ways: WayMask::from_bits(0xf0), ..room(8, true) })]);
    let plans = BTreeMap::from([(0, plan(&[(1, 0x3c), (2, 0x0f)]))]);
    let (targets, _) = refine(&rooms, &plans, &Carried::default(), 4);
    assert_eq!(seen(&targets), [(vec![0x30], vec![1]), (vec![0xf0], vec![2])]);
}

#[test]
fn groups_stay_where_most_of_their_programs_are() {
    let target = |members: &[u32]| Target {
        masks: BTreeMap::new(),
        levels: BTreeMap::new(),
        members: members.iter().map(|&app| AppId(app)).collect(),
    };
    let groups = [vec![AppId(1), AppId(2)], vec![AppId(3)], vec![]];
    let targets = [target(&[3, 1]), target(&[2, 4]), target(&[5])];
    assert_eq!(assign(&groups, &targets), [Some(0), Some(1), Some(2)]);
    let targets = [target(&[3]), target(&[1, 2])];
    assert_eq!(assign(&groups, &targets), [Some(1), Some(0)]);
    assert_eq!(assign(&groups[..1], &targets), [None, Some(0)]);
}

fn level(value: u32) -> BandwidthLevel {
    BandwidthLevel::new(value).unwrap()
}

/// A domain whose levels are 1 to 100, of each core or of a class.
fn limited(scope: LimitScope) -> Room {
    let (least, unit) = (level(1), BandwidthUnit::Percent);
    let lever =
        BandwidthLever { unit, least, step: least, most: level(100), scope, capacity_mbps: None };
    Room { bandwidth: Some(lever), ..room(8, true) }
}

/// The levels of a domain, by the programs that have them.
fn levels(targets: &[Target], domain: u32) -> BTreeMap<Vec<u32>, Option<u32>> {
    let mut levels = BTreeMap::new();
    for target in targets {
        let members = target.members.iter().map(|app| app.0).collect();
        levels.insert(members, target.levels.get(&domain).map(|level| level.get()));
    }
    levels
}

/// Ways by program, with a level that is of each core, or of a cluster together.
fn planned(of: &[(u32, u32, u32)], cluster: Option<u32>) -> Plan {
    let mut plan = Plan::new();
    for &(app, mask, value) in of {
        let (mask, level) = (WayMask::from_bits(mask), BandwidthLevel::new(value));
        let shared_by = cluster.filter(|_| level.is_some());
        plan.insert(AppId(app), PlannedShare { mask, level, shared_by });
    }
    plan
}

/// Ways and level are one class's: programs of equal ways and unlike levels are in two classes.
/// Where classes are too few, levels that are near are joined, and the higher one holds.
#[test]
fn unlike_levels_are_unlike_classes() {
    let rooms = BTreeMap::from([(0, limited(LimitScope::Core))]);
    let plans =
        BTreeMap::from([(0, planned(&[(1, 3, 20), (2, 3, 30), (3, 3, 80), (4, 3, 0)], None))]);
    let (targets, merged) = refine(&rooms, &plans, &Carried::default(), 4);
    let all = [(vec![1], Some(20)), (vec![2], Some(30)), (vec![3], Some(80)), (vec![4], None)];
    assert_eq!((levels(&targets, 0), merged), (all.into(), 0));
    let (targets, merged) = refine(&rooms, &plans, &Carried::default(), 3);
    let near = [(vec![1, 2], Some(30)), (vec![3], Some(80)), (vec![4], None)];
    assert_eq!((levels(&targets, 0), merged), (near.into(), 1));
    let (targets, _) = refine(&rooms, &plans, &Carried::default(), 1);
    assert_eq!(levels(&targets, 0), [(vec![1, 2, 3, 4], None)].into());
}

/// A level that a cluster has together is divided among its classes, so that their sum is no more.
#[test]
fn a_level_of_a_cluster_is_divided_among_its_classes() {
    let rooms = BTreeMap::from([(0, limited(LimitScope::Class)), (1, room(8, true))]);
    let parted = plan(&[(1, 0x0f), (2, 0xf0), (3, 0xff)]);
    let mut plans =
        BTreeMap::from([(0, planned(&[(1, 3, 50), (2, 3, 50), (3, 3, 50)], Some(7))), (1, parted)]);
    let (targets, _) = refine(&rooms, &plans, &Carried::default(), 4);
    let thirds = [1, 2, 3].map(|app| (vec![app], Some(16)));
    assert_eq!(levels(&targets, 0), thirds.into());
    plans.remove(&1);
    let (targets, _) = refine(&rooms, &plans, &Carried::default(), 4);
    assert_eq!(levels(&targets, 0), [(vec![1, 2, 3], Some(50))].into());
}

/// The highest level is no limit, of which a class has no part.
#[test]
fn no_limit_is_not_divided() {
    let rooms = BTreeMap::from([(0, limited(LimitScope::Class)), (1, room(8, true))]);
    let parted = plan(&[(1, 0x0f), (2, 0xf0)]);
    let plans = BTreeMap::from([(0, planned(&[(1, 3, 100), (2, 3, 100)], Some(7))), (1, parted)]);
    let (targets, _) = refine(&rooms, &plans, &Carried::default(), 4);
    assert_eq!(levels(&targets, 0), [1, 2].map(|app| (vec![app], Some(100))).into());
}

/// A cluster shares its level with itself in every class, also in one that another cluster joined.
#[test]
fn a_class_of_two_clusters_has_a_part_of_each() {
    let rooms = BTreeMap::from([(0, limited(LimitScope::Class)), (1, limited(LimitScope::Core))]);
    for (joined, expected) in [(8, 8), (12, 12)] {
        let mut first = planned(&[(1, 3, 16), (2, 3, 16)], Some(0));
        first.extend(planned(&[(3, 3, joined)], Some(1)));
        let parted = planned(&[(1, 0x0f, 10), (2, 0xf0, 90), (3, 0xf0, 90)], None);
        let plans = BTreeMap::from([(0, first), (1, parted)]);
        let (targets, merged) = refine(&rooms, &plans, &Carried::default(), 2);
        let all = [(vec![1], Some(8)), (vec![2, 3], Some(expected))];
        assert_eq!((levels(&targets, 0), merged), (all.into(), 1));
    }
}

/// No limit is as far from a level as the lever's highest level is.
#[test]
fn a_high_level_is_nearer_to_no_limit_than_to_a_low_one() {
    let rooms = BTreeMap::from([(0, limited(LimitScope::Core))]);
    let plans = BTreeMap::from([(0, planned(&[(1, 3, 90), (2, 3, 0), (3, 3, 20)], None))]);
    let (targets, _) = refine(&rooms, &plans, &Carried::default(), 2);
    assert_eq!(levels(&targets, 0), [(vec![1, 2], None), (vec![3], Some(20))].into());
}

/// Where the lever is gone since the plan was made, or has other levels, there is no limit.
#[test]
fn a_level_of_another_lever_is_none() {
    let plans = BTreeMap::from([(0, planned(&[(1, 3, 20), (2, 3, 200)], None))]);
    for (room, expected) in [
        (room(8, true), vec![(vec![1, 2], None)]),
        (limited(LimitScope::Core), vec![(vec![1], Some(20)), (vec![2], None)]),
    ] {
        let rooms = BTreeMap::from([(0, room)]);
        let (targets, _) = refine(&rooms, &plans, &Carried::default(), 4);
        assert_eq!(levels(&targets, 0), expected.into_iter().collect());
    }
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
            plans.entry(domain % domains).or_default().insert(AppId(app), ways(mask));
        }
        let (targets, merged) = refine(&rooms, &plans, &Carried::default(), most);
        prop_assert!(targets.len() <= most);
        for (domain, plan) in &plans {
            for (app, PlannedShare { mask, .. }) in plan {
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
        prop_assert_eq!(refine(&rooms, &plans, &Carried::default(), most), (targets, merged), "always the same");
    }
}
