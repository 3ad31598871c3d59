//! Admission: which programs have ways of their own, and their baselines.

use alloc::vec::Vec;

use fairways_core::{AppId, Llc};

use super::workload::Workload;
use crate::program::RunningProgram;

pub(super) const TOO_MANY: &str =
    "more programs than classes of service or ways: the last ones share";
const OVERCOMMITTED: &str =
    "more ways are promised than exist: promises hold while others do not claim theirs";
const REFUSED: &str = "more ways are promised than exist: the last promises are refused";

/// Settles which of `programs` have ways of their own, and which share the rest. Each program with
/// ways of its own gets its baseline: its promise, or an even share of the ways that were not
/// promised. Returns what is wrong with the promises.
///
/// If not all programs can have ways of their own, those with a promise come first, and among them
/// those that started first (§6: at most 16 classes of service, and fewer workloads than ways).
pub(super) fn admit(
    llc: &Llc,
    programs: &[RunningProgram],
    refuse: bool,
    workloads: &mut Vec<Workload>,
    others: &mut Vec<AppId>,
) -> Option<&'static str> {
    let (least, most) = (llc.min_ways(), llc.max_clusters() as usize);
    let mut order: Vec<&RunningProgram> = programs.iter().collect();
    order.sort_by_key(|program| program.wish.baseline_ways.is_none());
    let own = if order.len() > most { most - 1 } else { order.len() };
    others.clear();
    others.extend(order[own..].iter().map(|program| program.app));
    order.truncate(own);

    workloads.retain(|workload| order.iter().any(|program| program.app == workload.app));
    let total = llc.ways.get() - if others.is_empty() { 0 } else { least };
    // The ways beside the least number for each program.
    let count = u32::try_from(order.len()).unwrap_or(u32::MAX);
    let mut left = total.saturating_sub(count.saturating_mul(least));
    let mut warning = (!others.is_empty()).then_some(TOO_MANY);
    let mut unpromised = Vec::new();
    for program in order {
        if !workloads.iter().any(|workload| workload.app == program.app) {
            workloads.push(Workload::new(program.app));
        }
        let Some(workload) = workloads.iter_mut().find(|workload| workload.app == program.app)
        else {
            continue;
        };
        workload.least = least;
        let Some(ways) = program.wish.baseline_ways else {
            unpromised.push(program.app);
            continue;
        };
        let baseline = ways.clamp(least, total.max(least));
        let more = baseline - least;
        if more > left && refuse {
            warning = Some(REFUSED);
            workload.rebase(least);
            continue;
        }
        if more > left {
            warning = Some(OVERCOMMITTED);
        }
        left = left.saturating_sub(more);
        workload.rebase(baseline);
    }
    let each = left / u32::try_from(unpromised.len()).unwrap_or(u32::MAX).max(1);
    for workload in workloads.iter_mut().filter(|workload| unpromised.contains(&workload.app)) {
        workload.rebase(least + each);
    }
    warning
}
