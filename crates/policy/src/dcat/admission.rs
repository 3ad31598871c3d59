//! Who owns ways, and how many he has a right to.

use alloc::vec::Vec;

use fairways_core::{AppId, Llc};

use super::workload::Workload;
use crate::program::RunningProgram;

pub(super) const TOO_MANY: &str =
    "more programs than classes of service or ways: the last ones share";
const OVERCOMMITTED: &str =
    "more ways are promised than exist: promises hold while others do not claim theirs";
const REFUSED: &str = "more ways are promised than exist: the last promises are refused";

/// Settles who of `programs` owns ways and who shares what is left, and gives each owner its baseline:
/// what it was promised, or an even share of what was promised to nobody. Returns what is wrong with
/// the promises.
///
/// Where not everybody can have ways of his own, those that were promised some come first, and among
/// them those that came first (§6: at most 16 classes of service, and fewer workloads than ways).
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

    workloads.retain(|one| order.iter().any(|program| program.app == one.app));
    let total = llc.ways.get() - if others.is_empty() { 0 } else { least };
    // What there is beside the least for everybody.
    let count = |programs: usize| u32::try_from(programs).unwrap_or(u32::MAX);
    let mut left = total.saturating_sub(count(order.len()).saturating_mul(least));
    let mut warning = (!others.is_empty()).then_some(TOO_MANY);
    let mut unpromised = Vec::new();
    for program in order {
        if !workloads.iter().any(|one| one.app == program.app) {
            workloads.push(Workload::new(program.app));
        }
        let Some(one) = workloads.iter_mut().find(|one| one.app == program.app) else { continue };
        one.least = least;
        let Some(ways) = program.wish.baseline_ways else {
            unpromised.push(program.app);
            continue;
        };
        let baseline = ways.clamp(least, total.max(least));
        let more = baseline - least;
        if more > left && refuse {
            warning = Some(REFUSED);
            one.rebase(least);
            continue;
        }
        if more > left {
            warning = Some(OVERCOMMITTED);
        }
        left = left.saturating_sub(more);
        one.rebase(baseline);
    }
    let each = left / count(unpromised.len()).max(1);
    for one in workloads.iter_mut().filter(|one| unpromised.contains(&one.app)) {
        one.rebase(least + each);
    }
    warning
}
