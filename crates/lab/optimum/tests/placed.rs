//! Placements and plans against looking at every one of them.

#![allow(clippy::unwrap_used)]

use fairways_core::{AppId, Llc, MachineCache, Partition, WayMask, Ways};
use fairways_optimum::{Goal, Impossible, PlacedProblem, SharingKind, place};
use fairways_profiles::{FairnessMetrics, PlacedScorer, ProfileTable, embedded};

const GOALS: [Goal; 4] = [Goal::Unfairness, Goal::Stp, Goal::MaxSlowdown, Goal::Antt];

fn cache(ways: u32, cpus: u32, clos: u32, min_bits: u32) -> MachineCache {
    let ways = Ways::new(ways).unwrap();
    MachineCache { llc: Llc { clos, min_bits, ..Llc::with_ways(ways) }, cpus }
}

/// Every plan of a cache for these programs.
fn plans(cache: &MachineCache, programs: &[u32], kind: SharingKind) -> Vec<Partition> {
    /// Adds the next program to each cluster, and to a new one.
    fn cluster(programs: &[u32], clusters: &mut Vec<Vec<u32>>, all: &mut Vec<Vec<Vec<u32>>>) {
        let Some((&first, rest)) = programs.split_first() else {
            return all.push(clusters.clone());
        };
        for place in 0..=clusters.len() {
            if place == clusters.len() {
                clusters.push(vec![first]);
                cluster(rest, clusters, all);
                clusters.pop();
            } else {
                clusters[place].push(first);
                cluster(rest, clusters, all);
                clusters[place].pop();
            }
        }
    }
    /// Gives each cluster some of the ways, at least `least`, and all of them together.
    fn divide(clusters: usize, ways: u32, least: u32) -> Vec<Vec<u32>> {
        match clusters {
            0 => (ways == 0).then(Vec::new).into_iter().collect(),
            _ => (least..=ways)
                .flat_map(|own| {
                    let rest = divide(clusters - 1, ways - own, least).into_iter();
                    rest.map(move |rest| [vec![own], rest].concat())
                })
                .collect(),
        }
    }
    if programs.is_empty() {
        return vec![Partition::default()];
    }
    let mut clusterings = Vec::new();
    cluster(programs, &mut Vec::new(), &mut clusterings);
    clusterings.retain(|clusters| {
        let are_alone = clusters.iter().all(|cluster| cluster.len() == 1);
        clusters.len() <= cache.llc.clos as usize && (kind == SharingKind::Clustering || are_alone)
    });
    let mut all = Vec::new();
    for clusters in clusterings {
        for ways in divide(clusters.len(), cache.llc.ways.get(), cache.llc.min_ways()) {
            let (mut plan, mut low) = (Partition::default(), 0);
            for (members, ways) in clusters.iter().zip(ways) {
                let number = plan.add_cluster(WayMask::span(low, ways));
                members.iter().for_each(|&app| plan.place(AppId(app), number));
                low += ways;
            }
            all.push(plan);
        }
    }
    all
}

/// Every plan of a machine whose programs are placed so: a set for each cache.
fn machine_plans(
    caches: &[MachineCache],
    placed: &[Vec<u32>],
    kind: SharingKind,
) -> Vec<Vec<Partition>> {
    let mut all = vec![Vec::new()];
    for (cache, programs) in caches.iter().zip(placed) {
        let own = plans(cache, programs, kind);
        let longer = all.iter().flat_map(|start: &Vec<Partition>| {
            own.iter().map(|plan| [&start[..], std::slice::from_ref(plan)].concat())
        });
        all = longer.collect();
    }
    all
}

/// The best value of each goal.
fn by_enumeration(
    table: &ProfileTable,
    mix: &[usize],
    caches: &[MachineCache],
    kind: SharingKind,
) -> [f64; 4] {
    let ways: Vec<Ways> = caches.iter().map(|cache| cache.llc.ways).collect();
    let scorer = PlacedScorer::new(table, mix, &ways);
    let mut best = [f64::INFINITY, 0.0, f64::INFINITY, f64::INFINITY];
    for mut number in 0..caches.len().pow(u32::try_from(mix.len()).unwrap()) {
        let mut placed = vec![Vec::new(); caches.len()];
        for program in 0..u32::try_from(mix.len()).unwrap() {
            placed[number % caches.len()].push(program);
            number /= caches.len();
        }
        if caches.iter().zip(&placed).any(|(cache, there)| there.len() > cache.cpus as usize) {
            continue;
        }
        for plans in machine_plans(caches, &placed, kind) {
            let slowdowns = scorer.score(&plans);
            let metrics = FairnessMetrics::from_slowdowns(&slowdowns);
            let most = slowdowns.iter().copied().fold(0.0, f64::max);
            best[0] = best[0].min(metrics.unfairness);
            best[1] = best[1].max(metrics.stp);
            best[2] = best[2].min(most);
            best[3] = best[3].min(metrics.antt);
        }
    }
    best
}

#[test]
fn no_placement_and_no_plans_are_better() {
    let table = embedded();
    let (shared, own) = (SharingKind::Clustering, SharingKind::Partitioning);
    for (first, count, kind, caches) in [
        (0, 5, shared, &[cache(4, 3, 16, 1), cache(3, 3, 16, 1)][..]),
        (7, 5, shared, &[cache(5, 5, 2, 1), cache(2, 4, 2, 1)]),
        (12, 4, shared, &[cache(6, 2, 3, 2), cache(6, 2, 3, 2)]),
        (19, 5, shared, &[cache(3, 1, 16, 1), cache(5, 4, 1, 1)]),
        (23, 3, shared, &[cache(4, 4, 16, 1), cache(2, 4, 16, 1)]),
        (4, 4, shared, &[cache(3, 2, 16, 1), cache(2, 3, 16, 1), cache(4, 2, 16, 1)]),
        (9, 4, shared, &[cache(2, 1, 16, 1), cache(2, 1, 16, 1), cache(2, 2, 16, 1)]),
        (15, 4, own, &[cache(4, 3, 16, 1), cache(3, 3, 16, 1)]),
    ] {
        let mix: Vec<usize> = (first..first + count).collect();
        let expected = by_enumeration(table, &mix, caches, kind);
        for (goal, expected) in GOALS.into_iter().zip(expected) {
            let problem = PlacedProblem { profiles: table, mix: &mix, caches, kind, goal };
            let found = place(&problem, None, |_, _| ()).unwrap();
            assert!(found.is_proven && (found.bound - found.value).abs() < 1e-12);
            let off = (found.value - expected).abs();
            assert!(
                off < 1e-9,
                "{mix:?}, {goal:?}: {} for {expected}, {:?}",
                found.value,
                found.plans
            );
            for (plan, cache) in found.plans.iter().zip(caches) {
                let apps: Vec<AppId> = plan.placements().iter().map(|place| place.app).collect();
                assert!(apps.len() <= cache.cpus as usize);
                assert_eq!(plan.check(&cache.llc, apps), Ok(()));
            }
        }
    }
}

/// Why these caches have no place for three programs.
fn refused(caches: &[MachineCache], kind: SharingKind) -> Impossible {
    let (profiles, mix, goal) = (embedded(), &[0, 1, 2], Goal::Unfairness);
    place(&PlacedProblem { profiles, mix, caches, kind, goal }, None, |_, _| ()).unwrap_err()
}

#[test]
fn what_cannot_be_placed_is_refused() {
    let two = [cache(4, 1, 16, 1); 2];
    let why = refused(&two, SharingKind::Clustering);
    assert_eq!(why, Impossible::TooFewCpus { programs: 3, cpus: 2 });
    let why = refused(&[cache(4, 3, 16, 4); 2], SharingKind::Partitioning);
    assert_eq!(why, Impossible::NoPlacement { programs: 3 });
}
