//! From what is known of programs to a plan.

use alloc::vec::Vec;
use core::cmp::Reverse;

use fairways_core::{Llc, Partition};

use super::learner::Learner;
use super::levels;
use super::merge::Tables;
use crate::lookahead::Lookahead;
use crate::running::{Program, everybody};
use crate::split::Stack;

pub(super) fn everybody_for_now(
    llc: &Llc,
    programs: &[Program],
    partition: &mut Partition,
) -> &'static str {
    everybody(llc, programs, partition);
    "a plan was refused: no partitioning until it is made again"
}

/// Clusters programs of which everything is known, once all others have been tried in vain: those join the
/// largest cluster.
pub(super) fn cluster(
    llc: &Llc,
    programs: &[Program],
    learners: &[Learner],
    lookahead: &mut Lookahead,
    partition: &mut Partition,
) -> &'static str {
    let learner = |program: &Program| learners.iter().find(|one| one.app == program.app);
    let tables = |program: &Program| {
        if let Some(profile) = &program.profile {
            return Some(Tables::new(&profile.llcmpki, &profile.ipc, llc.ways, programs.len()));
        }
        let (llcmpki, ipc) = learner(program)?.tables(llc)?;
        Some(Tables::new(&llcmpki, &ipc, llc.ways, programs.len()))
    };
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    let mut all = Vec::new();
    let mut waiting = false;
    for program in programs {
        if let Some(tables) = tables(program) {
            known.push(program.app);
            all.push(tables);
        } else {
            unknown.push(program.app);
            waiting |= learner(program).is_none_or(|one| one.failures == 0);
        }
    }
    if waiting || known.is_empty() {
        everybody(llc, programs, partition);
        return "not every program has been measured: no partitioning";
    }
    let tables = all;
    let level = levels::best(llc, &tables, lookahead);
    let mut stack = Stack::new(llc);
    for (members, &ways) in level.clusters.iter().zip(&level.ways) {
        let cluster = partition.add_cluster(stack.next(ways));
        let members = members.iter().map(|&index| known[index]);
        partition.place_all(members, cluster..=cluster);
    }
    let largest = (0..).zip(&level.ways).max_by_key(|&(cluster, ways)| (ways, Reverse(cluster)));
    let largest = largest.map_or(0, |(cluster, _)| cluster);
    partition.place_all(unknown, largest..=largest);
    "the clusters and ways at which speedups over an equal share add up to the most"
}
