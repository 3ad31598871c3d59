//! A good partition of more programs than the exact method takes, and how much better one could be.

mod climb;
pub(crate) mod relaxed;

use std::cmp::Ordering;

use fairways_core::WayMask;
use fairways_profiles::Program;
use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;
use rayon::prelude::*;

use crate::{Impossible, Problem};
use climb::{Climb, Cost};

/// Steps of each walk between two looks at what the others have found.
const ROUND: usize = 8;

/// A value that is within this part of its bound is the best.
const REACHED: f64 = 1e-9;

/// The programs' masks in the best partition that walks from partition to partition come upon until it
/// is `late`, and a bound on the value if it is not reached.
///
/// Each walk climbs until nothing nearby is better, and goes on from the best it knows, changed a
/// little (iterated local search).
///
/// # Errors
/// If they come upon none that memory can serve.
pub(crate) fn search(
    problem: &Problem<'_>,
    programs: &[Program],
    late: &(dyn Fn() -> bool + Sync),
    told: &mut dyn FnMut(Option<f64>, f64),
) -> Result<(Vec<WayMask>, Option<f64>), Impossible> {
    let objective = problem.objective;
    let bound = relaxed::bound(programs, problem.llc.ways, objective, problem.bandwidth.is_some());
    let mut walks: Vec<(Cost, Vec<WayMask>, Climb<'_>)> = (0..rayon::current_num_threads() as u64)
        .map(|walk| {
            let climb = Climb::new(problem, Pcg64Mcg::seed_from_u64(walk));
            (climb.cost, climb.masks(), climb)
        })
        .collect();
    let value = |cost: f64| objective.value(cost, programs.len());
    loop {
        walks.par_iter_mut().for_each(|(best, masks, climb)| {
            for _ in 0..ROUND {
                climb.up(&late);
                if climb.cost < *best {
                    (*best, *masks) = (climb.cost, climb.masks());
                }
                if late() {
                    return;
                }
                climb.kick();
            }
        });
        let best = walks.iter().min_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal));
        let served = best.filter(|best| best.0.0.is_finite());
        let best_value = served.map(|best| value(best.0.0));
        told(best_value, bound);
        let reached = best_value.is_some_and(|best| (best - bound).abs() <= REACHED * bound);
        if reached || late() {
            let found = served.map(|best| (best.1.clone(), (!reached).then_some(bound)));
            return found.ok_or(Impossible::NoneInTime { programs: programs.len() });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use fairways_core::{Llc, Ways};
    use fairways_profiles::{Bandwidth, BandwidthModel, Scorer, embedded};

    use crate::{Kind, Objective, solve};

    use super::*;

    /// What walks find is a partition that is never better than the best and seldom worse, and the
    /// bound is on the other side of it.
    #[test]
    fn the_best_lies_between_the_bound_and_what_is_found() {
        let profiles = embedded();
        let ways = Ways::new(11).expect("ways");
        let (mut best_found, mut searches) = (0, 0);
        for mix in [[0, 4, 8, 12, 16, 20], [1, 2, 3, 5, 7, 11], [29, 28, 25, 21, 13, 6]] {
            for kind in [Kind::Clustering, Kind::Partitioning] {
                for objective in
                    [Objective::Unfairness, Objective::Stp, Objective::MaxSlowdown, Objective::Antt]
                {
                    for bandwidth in [None, Bandwidth::new(9_000.0, BandwidthModel::Stalls)] {
                        let llc = Llc { min_bits: 1, clos: 7, ..Llc::with_ways(ways) };
                        let problem =
                            Problem { profiles, mix: &mix, llc, kind, bandwidth, objective };
                        let programs = mix.map(|index| Program::new(profiles, index, ways));
                        let left = AtomicU32::new(20_000);
                        let late = || left.fetch_sub(1, Ordering::Relaxed) < 8;
                        let (masks, bound) = search(&problem, &programs, &late, &mut |_, _| ())
                            .expect("a partition");
                        let mut scorer = Scorer::new(profiles, &mix, ways, bandwidth);
                        let found = objective.cost(scorer.score(&masks).expect("served"));
                        let exact = solve(&problem, None, |_, _| ()).expect("a partition").value;
                        let sign = if objective == Objective::Stp { -1.0 } else { 1.0 };
                        let found = objective.value(found, mix.len()) * sign;
                        let (exact, bound) = (exact * sign, bound.map(|bound| bound * sign));
                        assert!(found >= exact - 1e-9, "{objective:?} {found} {exact}");
                        assert!(
                            bound.unwrap_or(found) <= exact + 1e-8,
                            "{objective:?} {bound:?} {exact}"
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
