//! Promised ways that a plan does not keep.

use fairways_core::{AppId, Partition, WayMask};
use fairways_experiments::Comparison as ScoredMix;
use fairways_policy::descriptor;
use fairways_policy::table::OwnerRequest;
use fairways_profiles::Mix;

use super::Comparison;

/// How much slower a program may be than alone with its promised ways: as `fairways` has it
/// (`tolerance_percent`).
const TOLERATED: f64 = 1.02;

/// Each promise that a policy which keeps promises did not keep, in a line.
pub(super) fn not_kept(compared: &Comparison, scored: &[(&Mix, ScoredMix)]) -> Vec<String> {
    let (world, programs) = (&compared.world, compared.programs());
    let mut lines = Vec::new();
    for (mix, result) in scored {
        let keeping = result.outcomes.iter().filter(|outcome| {
            descriptor(outcome.policy).is_some_and(|of| of.honours(OwnerRequest::Baselines))
        });
        for outcome in keeping {
            let slowed = mix.programs.iter().zip(&outcome.slowdowns);
            for (app, (&program, slowdown)) in (0..).map(AppId).zip(slowed) {
                let wish = world.wishes.get(program).copied().unwrap_or_default();
                let Some(promised) = wish.baseline_ways else { continue };
                let ipc = programs.table().profile(program).ipc;
                let best = (1..=world.llc.ways.get()).map(|ways| ipc.at(ways).raw()).max();
                let with_own = best.unwrap_or(1) as f64 / ipc.at(promised).raw() as f64;
                let has_them =
                    outcome.plans.iter().map(|plan| own_ways(plan, app)).sum::<u32>() >= promised;
                if !has_them && slowdown / with_own > TOLERATED {
                    lines.push(format!(
                        "mix {}, policy {}: {} is promised {promised} ways, does not have them, and \
                         is {:.0} % slower than alone with so many",
                        mix.name,
                        outcome.policy,
                        programs.name(program),
                        100.0 * (slowdown / with_own - 1.0),
                    ));
                }
            }
        }
    }
    lines
}

/// The ways that no other program may fill.
fn own_ways(partition: &Partition, app: AppId) -> u32 {
    let Some(mask) = partition.mask_of(app) else { return 0 };
    let mut others = partition.placements().iter().filter(|place| place.app != app);
    let is_shared =
        others.any(|place| partition.mask_of(place.app).unwrap_or_default().overlaps(mask));
    if is_shared { 0 } else { WayMask::count(mask) }
}
