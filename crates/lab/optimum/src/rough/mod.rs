//! A good partition for more programs than the exact method takes, and a bound on how much better a
//! partition could be.

mod local_search;
pub(crate) mod relaxed;

use std::cmp::Ordering;

use fairways_core::WayMask;
use fairways_profiles::ProfiledProgram;
use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;
use rayon::prelude::*;

use crate::{Impossible, Problem};
use local_search::{LocalSearch, WalkCost};

/// The number of steps of each walk between two comparisons of all walks.
const ROUND: usize = 8;

/// The walks of a [`start`].
const WALKS: u64 = 4;

/// A value that is within this part of its bound is the best.
const REACHED: f64 = 1e-9;

/// The programs' masks in a good partition: the best of a few walks, the same each time.
pub(crate) fn start(problem: &Problem<'_>) -> Vec<WayMask> {
    let walks = (0..WALKS).into_par_iter().map(|seed| {
        let mut walk = LocalSearch::new(problem, Pcg64Mcg::seed_from_u64(seed));
        walk.up(&|| false);
        (walk.cost, walk.masks())
    });
    let walks: Vec<(WalkCost, Vec<WayMask>)> = walks.collect();
    let best = walks.into_iter().min_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal));
    best.map_or_else(Vec::new, |(_, masks)| masks)
}

/// The programs' masks in the best partition that parallel walks find until it `is_late`, and a
/// bound on the value if it is not reached.
///
/// Each walk climbs to a local optimum, then changes that a little and climbs again (iterated local
/// search).
///
/// # Errors
/// If they find no partition that memory can serve.
pub(crate) fn search(
    problem: &Problem<'_>,
    programs: &[ProfiledProgram],
    is_late: &(dyn Fn() -> bool + Sync),
    report: &mut dyn FnMut(Option<f64>, f64),
) -> Result<(Vec<WayMask>, Option<f64>), Impossible> {
    let goal = problem.goal;
    let bound = relaxed::bound(programs, problem.llc.ways, goal, problem.bandwidth.is_some());
    let mut walks: Vec<(WalkCost, Vec<WayMask>, LocalSearch<'_>)> = (0
        ..rayon::current_num_threads() as u64)
        .map(|seed| {
            let walk = LocalSearch::new(problem, Pcg64Mcg::seed_from_u64(seed));
            (walk.cost, walk.masks(), walk)
        })
        .collect();
    loop {
        walks.par_iter_mut().for_each(|(best, masks, walk)| {
            for _ in 0..ROUND {
                walk.up(&is_late);
                if walk.cost < *best {
                    (*best, *masks) = (walk.cost, walk.masks());
                }
                if is_late() {
                    return;
                }
                walk.kick();
            }
        });
        let best = walks.iter().min_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal));
        let served = best.filter(|best| best.0.0.is_finite());
        let best_value = served.map(|best| goal.value(best.0.0, programs.len()));
        report(best_value, bound);
        let reached = best_value.is_some_and(|best| (best - bound).abs() <= REACHED * bound);
        if reached || is_late() {
            let found = served.map(|best| (best.1.clone(), (!reached).then_some(bound)));
            return found.ok_or(Impossible::NoneInTime { programs: programs.len() });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use fairways_core::{Llc, Ways};
    use fairways_profiles::{BandwidthModel, MemoryBandwidth, Scorer, embedded};

    use crate::{Goal, SharingKind, solve};

    use super::*;

    /// The walks never find a better partition than the exact best, and seldom a worse one; the
    /// bound lies on the other side of it.
    #[test]
    fn the_best_lies_between_the_bound_and_what_is_found() {
        let profiles = embedded();
        let ways = Ways::new(11).expect("ways");
        let (mut best_found, mut searches) = (0, 0);
        for mix in [[0, 4, 8, 12, 16, 20], [1, 2, 3, 5, 7, 11], [29, 28, 25, 21, 13, 6]] {
            for kind in [SharingKind::Clustering, SharingKind::Partitioning] {
                for goal in [Goal::Unfairness, Goal::Stp, Goal::MaxSlowdown, Goal::Antt] {
                    for bandwidth in [None, MemoryBandwidth::new(9_000.0, BandwidthModel::Stalls)] {
                        let llc = Llc { min_bits: 1, clos: 7, ..Llc::with_ways(ways) };
                        let problem =
                            Problem { bandwidth, ..Problem::new(profiles, &mix, llc, kind, goal) };
                        let programs = mix.map(|index| ProfiledProgram::new(profiles, index, ways));
                        let left = AtomicU32::new(20_000);
                        let is_late = || left.fetch_sub(1, Ordering::Relaxed) < 8;
                        let (masks, bound) = search(&problem, &programs, &is_late, &mut |_, _| ())
                            .expect("a partition");
                        let mut scorer = Scorer::new(profiles, &mix, ways, bandwidth);
                        let found = goal.cost(scorer.score(&masks).expect("served"));
                        let exact = solve(&problem, None, |_, _| ()).expect("a partition").value;
                        let sign = if goal == Goal::Stp { -1.0 } else { 1.0 };
                        let found = goal.value(found, mix.len()) * sign;
                        let (exact, bound) = (exact * sign, bound.map(|bound| bound * sign));
                        assert!(found >= exact - 1e-9, "{goal:?} {found} {exact}");
                        assert!(
                            bound.unwrap_or(found) <= exact + 1e-8,
                            "{goal:?} {bound:?} {exact}"
                        );
                        searches += 1;
                        best_found += u32::from(found <= exact + 1e-6);
                    }
                }
            }
        }
        assert!(best_found * 10 >= searches * 9, "{best_found} of {searches}");
    }
}
