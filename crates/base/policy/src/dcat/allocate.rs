//! Step 5 of Figure 4: how many ways each workload gets (§3.5).

use super::parameters::{Parameters, SpareWaysGoal};
use super::performance;
use super::workload::{Workload, WorkloadClass};

/// Gives `total` ways to workloads, of which there are at most as many as fit: first the claimed
/// baselines, then the spare ways.
pub(super) fn allocate(workloads: &mut [Workload], total: u32, parameters: &Parameters) {
    meet_claims(workloads, total, parameters);
    let maximises_performance = parameters.objective == SpareWaysGoal::MaxPerformance;
    let mut given = 0;
    while grow(workloads, total, &mut given) {
        if !maximises_performance && even_out(workloads, &mut given) {
            continue;
        }
        // While several are left out, whether more ways would help them remains unknown: one gives
        // up its spare ways.
        let left_out = workloads.iter_mut().enumerate();
        let left_out = left_out
            .filter(|(place, workload)| wants(given, *place, workload))
            .map(|(_, workload)| workload);
        let vain = left_out.filter(|workload| workload.has_grown_in_vain(parameters));
        if let Some(workload) = vain.max_by_key(|workload| workload.ways) {
            workload.streams_for_now();
            continue;
        }
        if maximises_performance {
            performance::reallocate(workloads, total, Some(parameters.ipc_imp_thr));
        }
        break;
    }
    let pool = spare(workloads, total);
    if let Some(workload) =
        workloads.iter_mut().find(|workload| workload.could_have_more_than_ever(pool))
    {
        workload.tries_again();
        meet_claims(workloads, total, parameters);
    }
}

/// A workload's ways beyond its baseline.
fn surplus(workload: &Workload) -> u32 {
    workload.ways.saturating_sub(workload.baseline)
}

/// Whether a workload wants a way, and has not been given one in this round.
fn wants(given: u32, place: usize, workload: &Workload) -> bool {
    workload.wants() && given >> place & 1 == 0
}

/// Evens out the ways beyond the baselines (§3.5: evenly): of the workloads that want a way, the
/// one with the fewest gets one from the one with the most, if that has at least two more. Returns
/// whether a way changed hands.
fn even_out(workloads: &mut [Workload], given: &mut u32) -> bool {
    let poor =
        workloads.iter().enumerate().filter(|&(place, workload)| wants(*given, place, workload));
    let Some((poor, least)) =
        poor.map(|(place, workload)| (place, surplus(workload))).min_by_key(|poor| poor.1)
    else {
        return false;
    };
    let rich = workloads.iter_mut().enumerate().filter(|(place, _)| *given >> place & 1 == 0);
    let rich = rich.map(|(_, workload)| workload).filter(|workload| surplus(workload) > least + 1);
    let Some(rich) = rich.max_by_key(|workload| surplus(workload)) else { return false };
    rich.lose_way();
    gain_way(&mut workloads[poor]);
    *given |= 1 << poor;
    true
}

fn gain_way(workload: &mut Workload) {
    workload.ways_before_growth = Some(workload.effective_ways());
    workload.ways += 1;
}

/// The ways that no workload has.
pub(super) fn spare(workloads: &[Workload], total: u32) -> u32 {
    let taken: u32 = workloads.iter().map(|workload| workload.ways).sum();
    total.saturating_sub(taken)
}

/// Gives every workload the ways that it claims, from the pool and from those that have more than
/// their baseline (§3.4: Reclaim has the highest priority; decision dCat 7).
pub(super) fn meet_claims(workloads: &mut [Workload], total: u32, parameters: &Parameters) {
    // A refused plan restores earlier numbers of ways, so the ways may be too few even for those.
    if missing(workloads, total) > 0 && parameters.objective == SpareWaysGoal::MaxPerformance {
        performance::reallocate(workloads, total, None);
    }
    while missing(workloads, total) > 0 {
        let above = workloads
            .iter_mut()
            .filter(|workload| workload.ways > workload.baseline.max(workload.claim));
        let least = above
            .min_by_key(|workload| (workload.class != WorkloadClass::Unknown, workload.last_way()));
        let Some(workload) = least else { break };
        workload.lose_way();
    }
    // Every workload needs the least number of ways, whatever was promised.
    for workload in workloads.iter_mut() {
        workload.ways = workload.ways.max(workload.least);
    }
    while workloads.iter().map(|workload| workload.ways).sum::<u32>() > total {
        let rest = workloads.iter_mut().filter(|workload| workload.ways > workload.least);
        let Some(most) = rest.max_by_key(|workload| workload.ways) else { break };
        most.ways -= 1;
    }
    let mut pool = spare(workloads, total);
    for workload in workloads.iter_mut() {
        let given = workload.claim.saturating_sub(workload.ways).min(pool);
        workload.ways += given;
        pool -= given;
    }
    for workload in workloads.iter_mut().filter(|workload| workload.ways >= workload.claim) {
        let Some(to) = workload.jump.take() else { continue };
        match pool.checked_sub(to.saturating_sub(workload.ways)) {
            Some(left) => {
                pool = left;
                workload.jump_to(to.max(workload.ways));
            }
            None => workload.miss_jump(),
        }
    }
}

/// Gives a spare way to each workload that wants one: first to the Unknown ones, so that it is soon
/// known whether they stream; then to those with the fewest beyond their baseline. Returns whether
/// a workload was left out.
fn grow(workloads: &mut [Workload], total: u32, given: &mut u32) -> bool {
    let mut pool = spare(workloads, total);
    loop {
        let wanting = workloads.iter_mut().enumerate();
        let next = wanting.filter(|(place, workload)| wants(*given, *place, workload)).min_by_key(
            |(_, workload)| (workload.class != WorkloadClass::Unknown, surplus(workload)),
        );
        let Some((place, workload)) = next else { return false };
        if pool == 0 {
            return true;
        }
        gain_way(workload);
        pool -= 1;
        *given |= 1 << place;
    }
}

/// The ways that are missing if every workload keeps its own and gets its claim.
fn missing(workloads: &[Workload], total: u32) -> u32 {
    let each =
        workloads.iter().map(|workload| workload.ways.max(workload.claim).max(workload.least));
    each.sum::<u32>().saturating_sub(total)
}
