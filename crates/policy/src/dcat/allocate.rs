//! Step 5 of Figure 4: who gets which number of ways (§3.5).

use super::parameters::{Parameters, SpareWaysGoal};
use super::performance;
use super::workload::{Workload, WorkloadClass};

/// Gives `total` ways to workloads, of which there are at most as many as fit: first what each claims
/// of its baseline, then the spare ones.
pub(super) fn allocate(workloads: &mut [Workload], total: u32, parameters: &Parameters) {
    meet_claims(workloads, total, parameters);
    let fast = parameters.objective == SpareWaysGoal::MaxPerformance;
    let mut given = 0;
    while grow(workloads, total, &mut given) {
        if !fast && even_out(workloads, &mut given) {
            continue;
        }
        // It is not known of several at once whether more ways would help them: one frees its own.
        let left_out = workloads.iter_mut().enumerate();
        let left_out =
            left_out.filter(|(place, one)| wants(given, *place, one)).map(|(_, one)| one);
        let vain = left_out.filter(|one| one.has_grown_in_vain(parameters));
        if let Some(one) = vain.max_by_key(|one| one.ways) {
            one.streams_for_now();
            continue;
        }
        if fast {
            performance::reallocate(workloads, total, Some(parameters.ipc_imp_thr));
        }
        break;
    }
    let pool = spare(workloads, total);
    if let Some(one) = workloads.iter_mut().find(|one| one.could_have_more_than_ever(pool)) {
        one.tries_again();
        meet_claims(workloads, total, parameters);
    }
}

/// A workload's ways beyond its baseline.
fn surplus(one: &Workload) -> u32 {
    one.ways.saturating_sub(one.baseline)
}

/// Who wants a way, and has not been given one in this round.
fn wants(given: u32, place: usize, one: &Workload) -> bool {
    one.wants() && given >> place & 1 == 0
}

/// Evens out what several have beyond their baselines (§3.5: evenly): the one with the least that wants
/// a way gets one of the one with the most, if that has more than one more. Returns whether a way
/// changed hands.
fn even_out(workloads: &mut [Workload], given: &mut u32) -> bool {
    let poor = workloads.iter().enumerate().filter(|&(place, one)| wants(*given, place, one));
    let Some((poor, least)) =
        poor.map(|(place, one)| (place, surplus(one))).min_by_key(|one| one.1)
    else {
        return false;
    };
    let rich = workloads.iter_mut().enumerate().filter(|(place, _)| *given >> place & 1 == 0);
    let rich = rich.map(|(_, one)| one).filter(|one| surplus(one) > least + 1);
    let Some(rich) = rich.max_by_key(|one| surplus(one)) else { return false };
    rich.lose_way();
    gain_way(&mut workloads[poor]);
    *given |= 1 << poor;
    true
}

fn gain_way(one: &mut Workload) {
    one.ways_before_growth = Some(one.effective_ways());
    one.ways += 1;
}

/// The ways that nobody has.
pub(super) fn spare(workloads: &[Workload], total: u32) -> u32 {
    let taken: u32 = workloads.iter().map(|workload| workload.ways).sum();
    total.saturating_sub(taken)
}

/// Gives every workload what it claims, from the pool, and from those that have more than their
/// baseline (§3.4: Reclaim has the highest priority; decision dCat 7).
pub(super) fn meet_claims(workloads: &mut [Workload], total: u32, parameters: &Parameters) {
    // A refused plan gives back what there may be no more, so that there can be too few ways even for
    // what everybody has.
    let missing = |workloads: &[Workload]| -> u32 {
        let each = workloads.iter().map(|one| one.ways.max(one.claim).max(one.least));
        each.sum::<u32>().saturating_sub(total)
    };
    if missing(workloads) > 0 && parameters.objective == SpareWaysGoal::MaxPerformance {
        performance::reallocate(workloads, total, None);
    }
    while missing(workloads) > 0 {
        let above = workloads.iter_mut().filter(|one| one.ways > one.baseline.max(one.claim));
        let rank = |one: &&mut Workload| (one.class != WorkloadClass::Unknown, one.last_way());
        let Some(one) = above.min_by_key(rank) else { break };
        one.lose_way();
    }
    // Nobody can have nothing, whatever was promised to whom.
    for one in workloads.iter_mut() {
        one.ways = one.ways.max(one.least);
    }
    while workloads.iter().map(|one| one.ways).sum::<u32>() > total {
        let rest = workloads.iter_mut().filter(|one| one.ways > one.least);
        let Some(most) = rest.max_by_key(|one| one.ways) else { break };
        most.ways -= 1;
    }
    let mut pool = spare(workloads, total);
    for workload in workloads.iter_mut() {
        let given = workload.claim.saturating_sub(workload.ways).min(pool);
        workload.ways += given;
        pool -= given;
    }
    for workload in workloads.iter_mut().filter(|one| one.ways >= one.claim) {
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

/// A spare way to each that wants one: those that are Unknown first, so that it is soon known whether
/// they stream; then those that have had the fewest. Returns whether somebody was left out.
fn grow(workloads: &mut [Workload], total: u32, given: &mut u32) -> bool {
    let mut pool = spare(workloads, total);
    loop {
        let wanting = workloads.iter_mut().enumerate();
        let next = wanting
            .filter(|(place, one)| wants(*given, *place, one))
            .min_by_key(|(_, one)| (one.class != WorkloadClass::Unknown, surplus(one)));
        let Some((place, one)) = next else { return false };
        if pool == 0 {
            return true;
        }
        gain_way(one);
        pool -= 1;
        *given |= 1 << place;
    }
}
